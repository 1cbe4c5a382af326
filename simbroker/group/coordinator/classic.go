package coordinator

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/classic"
	"github.com/lso-exporter/lso-exporter/simbroker/group/consumer"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// The classic protocol. Where a group of the consumer protocol has members, it
// takes those of the classic one in.

// Join answers JoinGroup when the generation has its members. Errors, beside
// those of a coordinator that is not there: INVALID_GROUP_ID,
// INVALID_SESSION_TIMEOUT, MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID,
// FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED.
func (c *Coordinator) Join(req group.JoinRequest, done func(group.JoinResult, error)) {
	refuse := func(err error) { done(group.RefusedJoin(req.MemberID), err) }
	if req.GroupID == "" {
		refuse(kafka.ErrInvalidGroupID)
		return
	}
	if req.SessionTimeout < c.broker.Config.MinSessionTimeout || req.SessionTimeout > c.broker.Config.MaxSessionTimeout {
		refuse(kafka.ErrInvalidSessionTimeout)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		refuse(err)
		return
	}
	if g, ok := s.Groups[req.GroupID].(*consumer.Group); ok && g.Listing().State != group.Empty {
		consumer.Protocol{Shard: s}.JoinMixed(g, req, done)
		return
	}
	classic.Protocol{Shard: s}.Join(req, done)
}

// Sync answers SyncGroup when the leader has brought the assignment and it is
// replicated. Errors: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
// ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
func (c *Coordinator) Sync(req group.SyncRequest, done func(group.SyncResult, error)) {
	s, found, err := c.findMembers(req.GroupID)
	if err != nil {
		done(group.SyncResult{}, err)
		return
	}
	if mixed, ok := found.(*consumer.Group); ok {
		consumer.Protocol{Shard: s}.SyncMixed(mixed, req, done)
		return
	}
	classic.Protocol{Shard: s}.Sync(found.(*classic.Group), req, done)
}

// Heartbeat keeps a member alive. Errors: INVALID_GROUP_ID, NOT_COORDINATOR,
// UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID,
// REBALANCE_IN_PROGRESS. While the group is loading every heartbeat is good.
func (c *Coordinator) Heartbeat(req group.HeartbeatRequest) error {
	s, found, err := c.findMembers(req.GroupID)
	if err == kafka.ErrCoordinatorLoadInProgress {
		return nil
	}
	if err != nil {
		return err
	}
	if mixed, ok := found.(*consumer.Group); ok {
		return consumer.Protocol{Shard: s}.HeartbeatMixed(mixed, req)
	}
	return classic.Protocol{Shard: s}.Heartbeat(found.(*classic.Group), req)
}

// findMembers is a group of classic members, or of some among others.
func (c *Coordinator) findMembers(groupID string) (*shard.Shard, shard.Group, error) {
	if groupID == "" {
		return nil, nil, kafka.ErrInvalidGroupID
	}
	s, err := c.find(groupID)
	if err != nil {
		return nil, nil, err
	}
	g := s.Groups[groupID]
	if g == nil || g.Listing().State == group.Empty || g.Kind() > group.Consumer {
		return nil, nil, kafka.ErrUnknownMemberID
	}
	return s, g, nil
}

// Leave takes members out, one result each in the order asked:
// UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID. The error stands for all of them:
// INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS. A group of
// the consumer protocol answers when it is replicated.
func (c *Coordinator) Leave(req group.LeaveRequest, done func([]group.LeftMember, error)) {
	if req.GroupID == "" {
		done(nil, kafka.ErrInvalidGroupID)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		done(nil, err)
		return
	}
	if mixed, ok := s.Groups[req.GroupID].(*consumer.Group); ok {
		consumer.Protocol{Shard: s}.LeaveMixed(mixed, req, done)
		return
	}
	done(classic.Protocol{Shard: s}.Leave(req), nil)
}

// Describe describes classic groups, in the order asked.
func (c *Coordinator) Describe(groupIDs []string) []group.Description {
	descriptions := make([]group.Description, len(groupIDs))
	for i, id := range groupIDs {
		s, err := c.find(id)
		if err != nil {
			descriptions[i] = group.Description{GroupID: id, Err: err}
			continue
		}
		descriptions[i] = classic.Protocol{Shard: s}.Describe(id)
	}
	return descriptions
}
