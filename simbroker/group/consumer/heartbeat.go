package consumer

import (
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Heartbeat serves a member that joins, stays or leaves, and answers when what
// it changed is replicated.
func (p Protocol) Heartbeat(req group.ConsumerHeartbeatRequest, done func(group.ConsumerHeartbeatResult, error)) {
	var result group.ConsumerHeartbeatResult
	var d *draft
	var err error
	if req.MemberEpoch < group.JoinEpoch {
		result, d, err = p.leave(req)
	} else {
		result, d, err = p.beat(req)
	}
	if err != nil {
		done(group.ConsumerHeartbeatResult{}, err)
		return
	}
	p.WriteChanges(d.Changes, func(err error) {
		if err != nil {
			result = group.ConsumerHeartbeatResult{}
		}
		done(result, err)
	})
}

// Validate refuses what no member may ask.
func Validate(req group.ConsumerHeartbeatRequest, assignors []string) error {
	memberNeeded := req.RequireMemberID || req.MemberEpoch > group.JoinEpoch || req.MemberEpoch == group.LeaveEpoch
	blank := func(s *string) bool { return s != nil && strings.TrimSpace(*s) == "" }
	switch {
	case memberNeeded && blank(&req.MemberID):
		return group.Refuse(kafka.ErrInvalidRequest, "MemberId can't be empty.")
	case blank(&req.GroupID):
		return group.Refuse(kafka.ErrInvalidRequest, "GroupId can't be empty.")
	case blank(req.InstanceID):
		return group.Refuse(kafka.ErrInvalidRequest, "InstanceId can't be empty.")
	case blank(req.RackID):
		return group.Refuse(kafka.ErrInvalidRequest, "RackId can't be empty.")
	case req.MemberEpoch < group.StaticLeaveEpoch:
		return group.Refuse(kafka.ErrInvalidRequest, "MemberEpoch is invalid.")
	case req.MemberEpoch == group.StaticLeaveEpoch && req.InstanceID == nil:
		return group.Refuse(kafka.ErrInvalidRequest, "InstanceId can't be null.")
	}
	if req.MemberEpoch == group.JoinEpoch {
		switch {
		case req.RebalanceTimeout < 0:
			return group.Refuse(kafka.ErrInvalidRequest, "RebalanceTimeoutMs must be provided in first request.")
		case req.Owned == nil || len(req.Owned) > 0:
			return group.Refuse(kafka.ErrInvalidRequest, "TopicPartitions must be empty when (re-)joining.")
		case req.SubscribedTopics == nil && req.SubscribedRegex == nil:
			return group.Refuse(kafka.ErrInvalidRequest, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
		}
	}
	if req.ServerAssignor != nil && !slices.Contains(assignors, *req.ServerAssignor) {
		return group.Refuse(kafka.ErrUnsupportedAssignor, "ServerAssignor %s is not supported. Supported assignors: %s.",
			*req.ServerAssignor, strings.Join(assignors, ", "))
	}
	return nil
}

// beat is a heartbeat of a member that stays or comes.
func (p Protocol) beat(req group.ConsumerHeartbeatRequest) (group.ConsumerHeartbeatResult, *draft, error) {
	fail := func(err error) (group.ConsumerHeartbeatResult, *draft, error) {
		return group.ConsumerHeartbeatResult{}, nil, err
	}
	d, err := p.draftGroup(req.GroupID, req.MemberEpoch == group.JoinEpoch)
	if err != nil {
		return fail(err)
	}
	if err := d.acceptsMember(req.MemberID, req.InstanceID, p.Config.ConsumerMaxSize); err != nil {
		return fail(err)
	}
	if req.MemberID == "" {
		req.MemberID = p.memberID()
	}
	before, err := d.enter(req.MemberID, req.InstanceID, req.MemberEpoch, req.Owned)
	if err != nil {
		return fail(err)
	}
	after := before.update(req)
	changed, err := p.subscribe(d, before, after, req.MayDescribe)
	if err != nil {
		return fail(err)
	}
	p.computeTarget(d)
	var owned assignment.Set
	if req.Owned != nil {
		owned = assignment.FromTopics(req.Owned)
	}
	after, err = p.reconcile(d, after, changed, owned)
	if err != nil {
		return fail(err)
	}
	settings := p.Env.Settings(req.GroupID)
	p.expectMember(d.id, after.id, settings.ConsumerSessionTimeout)
	result := group.ConsumerHeartbeatResult{MemberID: after.id, MemberEpoch: after.Epoch, Interval: settings.ConsumerHeartbeatInterval}
	// The member is told of its assignment when it changed, and when it says all
	// there is to say, as it does on joining and after errors.
	full := req.RebalanceTimeout >= 0 && (req.SubscribedTopics != nil || req.SubscribedRegex != nil) && req.Owned != nil
	if req.MemberEpoch == group.JoinEpoch || full || !slices.Equal(assignment.Sorted(before.Assigned), assignment.Sorted(after.Assigned)) {
		result.Assignment = assignment.ToTopics(assignment.Sorted(after.Assigned))
	}
	return result, d, nil
}
