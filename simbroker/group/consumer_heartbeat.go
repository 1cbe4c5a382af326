package group

import (
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// heartbeat serves a member that joins, stays or leaves, and answers when what
// it changed is replicated.
func (c consumerGroups) heartbeat(req ConsumerHeartbeatRequest, done func(ConsumerHeartbeatResult, error)) {
	var result ConsumerHeartbeatResult
	var d *consumerDraft
	var err error
	if req.MemberEpoch < joinEpoch {
		result, d, err = c.leaveConsumer(req)
	} else {
		result, d, err = c.beatConsumer(req)
	}
	if err != nil {
		done(ConsumerHeartbeatResult{}, err)
		return
	}
	c.writeChanges(d.changes, func(err error) {
		if err != nil {
			result = ConsumerHeartbeatResult{}
		}
		done(result, err)
	})
}

// validateConsumerHeartbeat refuses what no member may ask.
func validateConsumerHeartbeat(req ConsumerHeartbeatRequest, assignors []string) error {
	memberNeeded := req.RequireMemberID || req.MemberEpoch > joinEpoch || req.MemberEpoch == leaveEpoch
	blank := func(s *string) bool { return s != nil && strings.TrimSpace(*s) == "" }
	switch {
	case memberNeeded && blank(&req.MemberID):
		return refuse(kafka.ErrInvalidRequest, "MemberId can't be empty.")
	case blank(&req.GroupID):
		return refuse(kafka.ErrInvalidRequest, "GroupId can't be empty.")
	case blank(req.InstanceID):
		return refuse(kafka.ErrInvalidRequest, "InstanceId can't be empty.")
	case blank(req.RackID):
		return refuse(kafka.ErrInvalidRequest, "RackId can't be empty.")
	case req.MemberEpoch < staticLeaveEpoch:
		return refuse(kafka.ErrInvalidRequest, "MemberEpoch is invalid.")
	case req.MemberEpoch == staticLeaveEpoch && req.InstanceID == nil:
		return refuse(kafka.ErrInvalidRequest, "InstanceId can't be null.")
	}
	if req.MemberEpoch == joinEpoch {
		switch {
		case req.RebalanceTimeout < 0:
			return refuse(kafka.ErrInvalidRequest, "RebalanceTimeoutMs must be provided in first request.")
		case req.Owned == nil || len(req.Owned) > 0:
			return refuse(kafka.ErrInvalidRequest, "TopicPartitions must be empty when (re-)joining.")
		case req.SubscribedTopics == nil && req.SubscribedRegex == nil:
			return refuse(kafka.ErrInvalidRequest, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
		}
	}
	if req.ServerAssignor != nil && !slices.Contains(assignors, *req.ServerAssignor) {
		return refuse(kafka.ErrUnsupportedAssignor, "ServerAssignor %s is not supported. Supported assignors: %s.",
			*req.ServerAssignor, strings.Join(assignors, ", "))
	}
	return nil
}

// beatConsumer is a heartbeat of a member that stays or comes.
func (c consumerGroups) beatConsumer(req ConsumerHeartbeatRequest) (ConsumerHeartbeatResult, *consumerDraft, error) {
	fail := func(err error) (ConsumerHeartbeatResult, *consumerDraft, error) {
		return ConsumerHeartbeatResult{}, nil, err
	}
	d, err := c.draftConsumer(req.GroupID, req.MemberEpoch == joinEpoch)
	if err != nil {
		return fail(err)
	}
	if err := d.acceptsMember(req.MemberID, req.InstanceID, c.cfg.ConsumerMaxSize); err != nil {
		return fail(err)
	}
	if req.MemberID == "" {
		req.MemberID = c.memberID()
	}
	before, err := d.enter(req.MemberID, req.InstanceID, req.MemberEpoch, req.Owned)
	if err != nil {
		return fail(err)
	}
	after := before.update(req)
	changed, err := c.subscribe(d, before, after, req.MayDescribe)
	if err != nil {
		return fail(err)
	}
	c.computeTarget(d)
	var owned partitionSet
	if req.Owned != nil {
		owned = setOf(req.Owned)
	}
	after, err = c.reconcile(d, after, changed, owned)
	if err != nil {
		return fail(err)
	}
	settings := c.env.Settings(req.GroupID)
	c.expectMember(d.id, after.id, settings.ConsumerSessionTimeout)
	result := ConsumerHeartbeatResult{MemberID: after.id, MemberEpoch: after.epoch, Interval: settings.ConsumerHeartbeatInterval}
	// The member is told of its assignment when it changed, and when it says all
	// there is to say, as it does on joining and after errors.
	full := req.RebalanceTimeout >= 0 && (req.SubscribedTopics != nil || req.SubscribedRegex != nil) && req.Owned != nil
	if req.MemberEpoch == joinEpoch || full || !slices.Equal(sortedPartitions(before.assigned), sortedPartitions(after.assigned)) {
		result.Assignment = assigned(sortedPartitions(after.assigned))
	}
	return result, d, nil
}
