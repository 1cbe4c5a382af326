package group

import (
	"maps"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// heartbeat serves a member that joins, stays or leaves, and answers when what
// it changed is replicated.
func (c shareGroups) heartbeat(req ShareHeartbeatRequest, done func(ShareHeartbeatResult, error)) {
	fail := func(err error) { done(ShareHeartbeatResult{}, err) }
	var result ShareHeartbeatResult
	var d *shareDraft
	var err error
	if req.MemberEpoch == leaveEpoch {
		result, d, err = c.leaveShare(req)
	} else {
		result, d, err = c.beatShare(req)
	}
	if err != nil {
		fail(err)
		return
	}
	c.writeChanges(d.changes, func(err error) {
		if err != nil {
			fail(err)
			return
		}
		done(result, nil)
	})
}

// validateShareHeartbeat refuses what no member may ask.
func validateShareHeartbeat(req ShareHeartbeatRequest) error {
	switch {
	case strings.TrimSpace(req.MemberID) == "":
		return refuse(kafka.ErrInvalidRequest, "MemberId can't be empty.")
	case strings.TrimSpace(req.GroupID) == "":
		return refuse(kafka.ErrInvalidRequest, "GroupId can't be empty.")
	case req.RackID != nil && strings.TrimSpace(*req.RackID) == "":
		return refuse(kafka.ErrInvalidRequest, "RackId can't be empty.")
	case req.MemberEpoch == joinEpoch && len(req.SubscribedTopics) == 0:
		return refuse(kafka.ErrInvalidRequest, "SubscribedTopicNames must be set in first request.")
	case req.MemberEpoch < leaveEpoch:
		return refuse(kafka.ErrInvalidRequest, "MemberEpoch is invalid.")
	}
	return nil
}

// beatShare is a heartbeat of a member that stays or comes.
func (c shareGroups) beatShare(req ShareHeartbeatRequest) (ShareHeartbeatResult, *shareDraft, error) {
	fail := func(err error) (ShareHeartbeatResult, *shareDraft, error) { return ShareHeartbeatResult{}, nil, err }
	d, err := c.draftShare(req.GroupID, req.MemberEpoch == joinEpoch)
	if err != nil {
		return fail(err)
	}
	before := d.members[req.MemberID]
	switch {
	case before == nil && len(d.members) >= c.cfg.ShareMaxSize:
		return fail(refuse(kafka.ErrGroupMaxSizeReached, "The share group has reached its maximum capacity of %d members.", c.cfg.ShareMaxSize))
	case before == nil && req.MemberEpoch != joinEpoch:
		_, err := d.member(req.MemberID)
		return fail(err)
	case before == nil:
		before = &shareMember{id: req.MemberID, previous: -1}
	}
	if err := before.acceptsEpoch(req.MemberEpoch); err != nil {
		return fail(err)
	}
	after := before.update(req)
	changed := !slices.Equal(before.topics, after.topics)
	pending := d.targetEpoch >= d.epoch && d.awaitsAssignment()
	if !after.sameMetadata(before) {
		d.emit(shareMemberRecord(d.id, after))
	}
	if hash := topicsHash(d.allTopics(), c.env.Topics); changed || pending || hash != d.metadataHash {
		d.emit(shareEpochRecord(d.id, d.epoch+1, hash))
	}
	c.computeShareTarget(d)
	after = c.reconcileShare(d, after, changed)
	c.setUpShareState(d)
	settings := c.env.Settings(req.GroupID)
	c.expectShareMember(d.id, after.id, settings.ShareSessionTimeout)
	result := ShareHeartbeatResult{MemberID: after.id, MemberEpoch: after.epoch, Interval: settings.ShareHeartbeatInterval}
	if req.MemberEpoch == joinEpoch || req.SubscribedTopics != nil || !maps.Equal(before.assigned, after.assigned) {
		result.Assignment = assigned(sortedPartitions(after.assigned))
	}
	return result, d, nil
}

// leaveShare is a heartbeat by which a member leaves.
func (c shareGroups) leaveShare(req ShareHeartbeatRequest) (ShareHeartbeatResult, *shareDraft, error) {
	g, err := findKind[*share](c.shard, req.GroupID, "share")
	if err != nil {
		return ShareHeartbeatResult{}, nil, err
	}
	m, err := g.member(req.MemberID)
	if err != nil {
		return ShareHeartbeatResult{}, nil, err
	}
	d := &shareDraft{share: g, now: c.now()}
	c.fenceShare(d, m)
	return ShareHeartbeatResult{MemberID: req.MemberID, MemberEpoch: req.MemberEpoch}, d, nil
}
