package share

import (
	"maps"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Heartbeat serves a member that joins, stays or leaves, and answers when what
// it changed is replicated.
func (p Protocol) Heartbeat(req group.ShareHeartbeatRequest, done func(group.ShareHeartbeatResult, error)) {
	fail := func(err error) { done(group.ShareHeartbeatResult{}, err) }
	var result group.ShareHeartbeatResult
	var d *draft
	var err error
	if req.MemberEpoch == group.LeaveEpoch {
		result, d, err = p.leave(req)
	} else {
		result, d, err = p.beat(req)
	}
	if err != nil {
		fail(err)
		return
	}
	p.WriteChanges(d.Changes, func(err error) {
		if err != nil {
			fail(err)
			return
		}
		done(result, nil)
	})
}

// Validate refuses what no member may ask.
func Validate(req group.ShareHeartbeatRequest) error {
	switch {
	case strings.TrimSpace(req.MemberID) == "":
		return group.Refuse(kafka.ErrInvalidRequest, "MemberId can't be empty.")
	case strings.TrimSpace(req.GroupID) == "":
		return group.Refuse(kafka.ErrInvalidRequest, "GroupId can't be empty.")
	case req.RackID != nil && strings.TrimSpace(*req.RackID) == "":
		return group.Refuse(kafka.ErrInvalidRequest, "RackId can't be empty.")
	case req.MemberEpoch == group.JoinEpoch && len(req.SubscribedTopics) == 0:
		return group.Refuse(kafka.ErrInvalidRequest, "SubscribedTopicNames must be set in first request.")
	case req.MemberEpoch < group.LeaveEpoch:
		return group.Refuse(kafka.ErrInvalidRequest, "MemberEpoch is invalid.")
	}
	return nil
}

// beat is a heartbeat of a member that stays or comes.
func (p Protocol) beat(req group.ShareHeartbeatRequest) (group.ShareHeartbeatResult, *draft, error) {
	fail := func(err error) (group.ShareHeartbeatResult, *draft, error) {
		return group.ShareHeartbeatResult{}, nil, err
	}
	d, err := p.draftGroup(req.GroupID, req.MemberEpoch == group.JoinEpoch)
	if err != nil {
		return fail(err)
	}
	before := d.members[req.MemberID]
	switch {
	case before == nil && len(d.members) >= p.Config.ShareMaxSize:
		return fail(group.Refuse(kafka.ErrGroupMaxSizeReached, "The share group has reached its maximum capacity of %d members.", p.Config.ShareMaxSize))
	case before == nil && req.MemberEpoch != group.JoinEpoch:
		_, err := d.member(req.MemberID)
		return fail(err)
	case before == nil:
		before = &member{id: req.MemberID, previous: -1}
	}
	if err := before.acceptsEpoch(req.MemberEpoch); err != nil {
		return fail(err)
	}
	after := before.update(req)
	changed := !slices.Equal(before.topics, after.topics)
	pending := d.targetEpoch >= d.epoch && d.awaitsAssignment()
	if !after.sameMetadata(before) {
		d.emit(memberRecord(d.id, after))
	}
	if hash := assignment.Hash(d.allTopics(), p.Env.Topics); changed || pending || hash != d.metadataHash {
		d.emit(epochRecord(d.id, d.epoch+1, hash))
	}
	p.computeTarget(d)
	after = p.reconcile(d, after, changed)
	p.setUpState(d)
	settings := p.Env.Settings(req.GroupID)
	p.expectMember(d.id, after.id, settings.ShareSessionTimeout)
	result := group.ShareHeartbeatResult{MemberID: after.id, MemberEpoch: after.epoch, Interval: settings.ShareHeartbeatInterval}
	if req.MemberEpoch == group.JoinEpoch || req.SubscribedTopics != nil || !maps.Equal(before.assigned, after.assigned) {
		result.Assignment = assignment.ToTopics(assignment.Sorted(after.assigned))
	}
	return result, d, nil
}

// leave is a heartbeat by which a member leaves.
func (p Protocol) leave(req group.ShareHeartbeatRequest) (group.ShareHeartbeatResult, *draft, error) {
	g, err := shard.Find[*Group](p.Shard, req.GroupID, "share")
	if err != nil {
		return group.ShareHeartbeatResult{}, nil, err
	}
	m, err := g.member(req.MemberID)
	if err != nil {
		return group.ShareHeartbeatResult{}, nil, err
	}
	d := &draft{Group: g, now: p.Now()}
	p.fence(d, m)
	return group.ShareHeartbeatResult{MemberID: req.MemberID, MemberEpoch: req.MemberEpoch}, d, nil
}
