package group

// StreamsHeartbeat serves a member of a streams group: it joins with its
// topology, leaves, says which tasks it has and learns which it is to have
// (KIP-1071). It answers when what it changed is replicated. Errors, beside
// those of a coordinator that is not there: INVALID_REQUEST,
// STREAMS_INVALID_TOPOLOGY, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID,
// FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED.
func (c *Coordinator) StreamsHeartbeat(req StreamsHeartbeatRequest, done func(StreamsHeartbeatResult, error)) {
	if err := validateStreamsHeartbeat(req); err != nil {
		done(StreamsHeartbeatResult{}, err)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		done(StreamsHeartbeatResult{}, err)
		return
	}
	streamsGroups{s}.heartbeat(req, done)
}

// DescribeStreams describes streams groups, in the order asked.
func (c *Coordinator) DescribeStreams(groupIDs []string) []StreamsDescription {
	descriptions := make([]StreamsDescription, len(groupIDs))
	for i, id := range groupIDs {
		s, err := c.find(id)
		if err != nil {
			descriptions[i] = StreamsDescription{GroupID: id, Err: err}
			continue
		}
		descriptions[i] = streamsGroups{s}.describe(id)
	}
	return descriptions
}
