package coordinator

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/share"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// ShareHeartbeat serves a member of a share group: it joins, leaves, says what
// it subscribes to and learns what it may share (KIP-932). It answers when what
// it changed is replicated. Errors, beside those of a coordinator that is not
// there: INVALID_REQUEST, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID,
// FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED.
func (c *Coordinator) ShareHeartbeat(req group.ShareHeartbeatRequest, done func(group.ShareHeartbeatResult, error)) {
	if err := share.Validate(req); err != nil {
		done(group.ShareHeartbeatResult{}, err)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		done(group.ShareHeartbeatResult{}, err)
		return
	}
	share.Protocol{Shard: s}.Heartbeat(req, done)
}

// DescribeShares describes share groups, in the order asked.
func (c *Coordinator) DescribeShares(groupIDs []string) []group.ShareDescription {
	descriptions := make([]group.ShareDescription, len(groupIDs))
	for i, id := range groupIDs {
		s, err := c.find(id)
		if err != nil {
			descriptions[i] = group.ShareDescription{GroupID: id, Err: err}
			continue
		}
		descriptions[i] = share.Protocol{Shard: s}.Describe(id)
	}
	return descriptions
}

// SharedPartitions lists the partitions for which a share group has its state
// set up, by topic name; nothing for a group that is none. Errors are those of a
// coordinator that is not there.
func (c *Coordinator) SharedPartitions(groupID string) ([]group.AssignedTopic, error) {
	s, err := c.find(groupID)
	if err != nil {
		return nil, err
	}
	return share.Protocol{Shard: s}.Partitions(groupID), nil
}

// AlterShareOffsets says where a share group goes on in partitions. The group
// must have no members; where there is none of this id, it is made. It answers
// once that is kept, topics and partitions in the order asked: a partition that
// there is not gets UNKNOWN_TOPIC_OR_PARTITION. Errors for all:
// INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
// COORDINATOR_NOT_AVAILABLE, GROUP_ID_NOT_FOUND for a group of another kind, and
// NON_EMPTY_GROUP.
func (c *Coordinator) AlterShareOffsets(req group.AlterShareOffsetsRequest, done func([]group.TopicResult, error)) {
	if req.GroupID == "" {
		done(nil, group.Refuse(kafka.ErrInvalidGroupID, "The group id is invalid."))
		return
	}
	if len(req.Topics) == 0 {
		done(nil, nil)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		done(nil, err)
		return
	}
	share.Protocol{Shard: s}.Alter(req, done)
}

// DeleteShareOffsets makes a share group forget topics: it begins with them
// anew. The group must have no members. It answers once that is done, with the
// topics that were forgotten, in the order asked, and after them the others: a
// topic of which the group has nothing gets UNKNOWN_TOPIC_OR_PARTITION and no
// id. Errors for all are those of AlterShareOffsets, and GROUP_ID_NOT_FOUND.
func (c *Coordinator) DeleteShareOffsets(groupID string, topics []string, done func([]group.ShareTopicResult, error)) {
	if groupID == "" {
		done(nil, group.Refuse(kafka.ErrInvalidGroupID, "The group id is invalid."))
		return
	}
	s, err := c.find(groupID)
	if err != nil {
		done(nil, err)
		return
	}
	share.Protocol{Shard: s}.Forget(groupID, topics, done)
}
