package group

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// ShareHeartbeat serves a member of a share group: it joins, leaves, says what
// it subscribes to and learns what it may share (KIP-932). It answers when what
// it changed is replicated. Errors, beside those of a coordinator that is not
// there: INVALID_REQUEST, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID,
// FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED.
func (c *Coordinator) ShareHeartbeat(req ShareHeartbeatRequest, done func(ShareHeartbeatResult, error)) {
	if err := validateShareHeartbeat(req); err != nil {
		done(ShareHeartbeatResult{}, err)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		done(ShareHeartbeatResult{}, err)
		return
	}
	shareGroups{s}.heartbeat(req, done)
}

// DescribeShares describes share groups, in the order asked.
func (c *Coordinator) DescribeShares(groupIDs []string) []ShareDescription {
	descriptions := make([]ShareDescription, len(groupIDs))
	for i, id := range groupIDs {
		s, err := c.find(id)
		if err != nil {
			descriptions[i] = ShareDescription{GroupID: id, Err: err}
			continue
		}
		descriptions[i] = shareGroups{s}.describe(id)
	}
	return descriptions
}

// SharedPartitions lists the partitions for which a share group has its state
// set up, by topic name; nothing for a group that is none. Errors are those of a
// coordinator that is not there.
func (c *Coordinator) SharedPartitions(groupID string) ([]AssignedTopic, error) {
	s, err := c.find(groupID)
	if err != nil {
		return nil, err
	}
	return shareGroups{s}.partitions(groupID), nil
}

// AlterShareOffsets says where a share group goes on in partitions. The group
// must have no members; where there is none of this id, it is made. It answers
// once that is kept, topics and partitions in the order asked: a partition that
// there is not gets UNKNOWN_TOPIC_OR_PARTITION. Errors for all:
// INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
// COORDINATOR_NOT_AVAILABLE, GROUP_ID_NOT_FOUND for a group of another kind, and
// NON_EMPTY_GROUP.
func (c *Coordinator) AlterShareOffsets(req AlterShareOffsetsRequest, done func([]TopicResult, error)) {
	if req.GroupID == "" {
		done(nil, refuse(kafka.ErrInvalidGroupID, "The group id is invalid."))
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
	shareGroups{s}.alter(req, done)
}

// DeleteShareOffsets makes a share group forget topics: it begins with them
// anew. The group must have no members. It answers once that is done, with the
// topics that were forgotten, in the order asked, and after them the others: a
// topic of which the group has nothing gets UNKNOWN_TOPIC_OR_PARTITION and no
// id. Errors for all are those of AlterShareOffsets, and GROUP_ID_NOT_FOUND.
func (c *Coordinator) DeleteShareOffsets(groupID string, topics []string, done func([]ShareTopicResult, error)) {
	if groupID == "" {
		done(nil, refuse(kafka.ErrInvalidGroupID, "The group id is invalid."))
		return
	}
	s, err := c.find(groupID)
	if err != nil {
		done(nil, err)
		return
	}
	shareGroups{s}.forget(groupID, topics, done)
}
