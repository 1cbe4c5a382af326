package coordinator

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/streams"
)

// StreamsHeartbeat serves a member of a streams group: it joins with its
// topology, leaves, says which tasks it has and learns which it is to have
// (KIP-1071). It answers when what it changed is replicated. Errors, beside
// those of a coordinator that is not there: INVALID_REQUEST,
// STREAMS_INVALID_TOPOLOGY, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID,
// FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED.
func (c *Coordinator) StreamsHeartbeat(req group.StreamsHeartbeatRequest, done func(group.StreamsHeartbeatResult, error)) {
	if err := streams.Validate(req); err != nil {
		done(group.StreamsHeartbeatResult{}, err)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		done(group.StreamsHeartbeatResult{}, err)
		return
	}
	streams.Protocol{Shard: s}.Heartbeat(req, done)
}

// DescribeStreams describes streams groups, in the order asked.
func (c *Coordinator) DescribeStreams(groupIDs []string) []group.StreamsDescription {
	descriptions := make([]group.StreamsDescription, len(groupIDs))
	for i, id := range groupIDs {
		s, err := c.find(id)
		if err != nil {
			descriptions[i] = group.StreamsDescription{GroupID: id, Err: err}
			continue
		}
		descriptions[i] = streams.Protocol{Shard: s}.Describe(id)
	}
	return descriptions
}
