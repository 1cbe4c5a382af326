package group

// ConsumerHeartbeat serves a member of the consumer protocol: it joins, leaves,
// says what it subscribes to and has, and learns what it is to have (KIP-848,
// rule H3). It answers when what it changed is replicated. Errors, beside those
// of a coordinator that is not there: INVALID_REQUEST, GROUP_ID_NOT_FOUND,
// UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID,
// FENCED_INSTANCE_ID, UNSUPPORTED_ASSIGNOR, INVALID_REGULAR_EXPRESSION,
// GROUP_MAX_SIZE_REACHED.
func (c *Coordinator) ConsumerHeartbeat(req ConsumerHeartbeatRequest, done func(ConsumerHeartbeatResult, error)) {
	if err := validateConsumerHeartbeat(req, c.broker.cfg.ConsumerAssignors); err != nil {
		done(ConsumerHeartbeatResult{}, err)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		done(ConsumerHeartbeatResult{}, err)
		return
	}
	consumerGroups{s}.heartbeat(req, done)
}

// DescribeConsumers describes groups of the consumer protocol, in the order
// asked.
func (c *Coordinator) DescribeConsumers(groupIDs []string) []ConsumerDescription {
	descriptions := make([]ConsumerDescription, len(groupIDs))
	for i, id := range groupIDs {
		s, err := c.find(id)
		if err != nil {
			descriptions[i] = ConsumerDescription{GroupID: id, Err: err}
			continue
		}
		descriptions[i] = consumerGroups{s}.describe(id)
	}
	return descriptions
}
