package coordinator

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/consumer"
)

// ConsumerHeartbeat serves a member of the consumer protocol: it joins, leaves,
// says what it subscribes to and has, and learns what it is to have (KIP-848,
// rule H3). It answers when what it changed is replicated. Errors, beside those
// of a coordinator that is not there: INVALID_REQUEST, GROUP_ID_NOT_FOUND,
// UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID,
// FENCED_INSTANCE_ID, UNSUPPORTED_ASSIGNOR, INVALID_REGULAR_EXPRESSION,
// GROUP_MAX_SIZE_REACHED.
func (c *Coordinator) ConsumerHeartbeat(req group.ConsumerHeartbeatRequest, done func(group.ConsumerHeartbeatResult, error)) {
	if err := consumer.Validate(req, c.broker.Config.ConsumerAssignors); err != nil {
		done(group.ConsumerHeartbeatResult{}, err)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		done(group.ConsumerHeartbeatResult{}, err)
		return
	}
	consumer.Protocol{Shard: s}.Heartbeat(req, done)
}

// DescribeConsumers describes groups of the consumer protocol, in the order
// asked.
func (c *Coordinator) DescribeConsumers(groupIDs []string) []group.ConsumerDescription {
	descriptions := make([]group.ConsumerDescription, len(groupIDs))
	for i, id := range groupIDs {
		s, err := c.find(id)
		if err != nil {
			descriptions[i] = group.ConsumerDescription{GroupID: id, Err: err}
			continue
		}
		descriptions[i] = consumer.Protocol{Shard: s}.Describe(id)
	}
	return descriptions
}
