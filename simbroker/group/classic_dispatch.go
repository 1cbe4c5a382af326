package group

import (
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// The classic protocol. Where a group of the consumer protocol has members, it
// takes those of the classic one in.

// Join answers JoinGroup when the generation has its members. Errors, beside
// those of a coordinator that is not there: INVALID_GROUP_ID,
// INVALID_SESSION_TIMEOUT, MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID,
// FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED.
func (c *Coordinator) Join(req JoinRequest, done func(JoinResult, error)) {
	refuse := func(err error) { done(refusedJoin(req.MemberID), err) }
	if req.GroupID == "" {
		refuse(kafka.ErrInvalidGroupID)
		return
	}
	if req.SessionTimeout < c.broker.cfg.MinSessionTimeout || req.SessionTimeout > c.broker.cfg.MaxSessionTimeout {
		refuse(kafka.ErrInvalidSessionTimeout)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		refuse(err)
		return
	}
	if g, ok := s.groups[req.GroupID].(*consumer); ok && g.listing().State != Empty {
		consumerGroups{s}.joinMixed(g, req, done)
		return
	}
	classicGroups{s}.join(req, done)
}

// Sync answers SyncGroup when the leader has brought the assignment and it is
// replicated. Errors: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
// ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
func (c *Coordinator) Sync(req SyncRequest, done func(SyncResult, error)) {
	s, found, err := c.findMembers(req.GroupID)
	if err != nil {
		done(SyncResult{}, err)
		return
	}
	if mixed, ok := found.(*consumer); ok {
		consumerGroups{s}.syncMixed(mixed, req, done)
		return
	}
	classicGroups{s}.sync(found.(*classic), req, done)
}

// Heartbeat keeps a member alive. Errors: INVALID_GROUP_ID, NOT_COORDINATOR,
// UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID,
// REBALANCE_IN_PROGRESS. While the group is loading every heartbeat is good.
func (c *Coordinator) Heartbeat(req HeartbeatRequest) error {
	s, found, err := c.findMembers(req.GroupID)
	if err == kafka.ErrCoordinatorLoadInProgress {
		return nil
	}
	if err != nil {
		return err
	}
	if mixed, ok := found.(*consumer); ok {
		return consumerGroups{s}.heartbeatMixed(mixed, req)
	}
	return classicGroups{s}.heartbeat(found.(*classic), req)
}

// findMembers is a group of classic members, or of some among others.
func (c *Coordinator) findMembers(groupID string) (*shard, group, error) {
	if groupID == "" {
		return nil, nil, kafka.ErrInvalidGroupID
	}
	s, err := c.find(groupID)
	if err != nil {
		return nil, nil, err
	}
	g := s.groups[groupID]
	if g == nil || g.listing().State == Empty || g.kind() > Consumer {
		return nil, nil, kafka.ErrUnknownMemberID
	}
	return s, g, nil
}

// Leave takes members out, one result each in the order asked:
// UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID. The error stands for all of them:
// INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS. A group of
// the consumer protocol answers when it is replicated.
func (c *Coordinator) Leave(req LeaveRequest, done func([]LeftMember, error)) {
	if req.GroupID == "" {
		done(nil, kafka.ErrInvalidGroupID)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		done(nil, err)
		return
	}
	if mixed, ok := s.groups[req.GroupID].(*consumer); ok {
		consumerGroups{s}.leaveMixed(mixed, req, done)
		return
	}
	done(classicGroups{s}.leave(req), nil)
}

// Describe describes classic groups, in the order asked.
func (c *Coordinator) Describe(groupIDs []string) []Description {
	descriptions := make([]Description, len(groupIDs))
	for i, id := range groupIDs {
		s, err := c.find(id)
		if err != nil {
			descriptions[i] = Description{GroupID: id, Err: err}
			continue
		}
		descriptions[i] = classicGroups{s}.describe(id)
	}
	return descriptions
}
