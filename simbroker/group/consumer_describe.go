package group

// DescribeConsumers describes groups of the consumer protocol, in the order
// asked.
func (c *Coordinator) DescribeConsumers(groupIDs []string) []ConsumerDescription {
	descriptions := make([]ConsumerDescription, len(groupIDs))
	for i, id := range groupIDs {
		g, err := findKind[*consumer](c, id, "consumer")
		if err != nil {
			descriptions[i] = ConsumerDescription{GroupID: id, Err: err}
			continue
		}
		descriptions[i] = c.describeConsumer(g)
	}
	return descriptions
}

// findKind is a group that must be of one kind.
func findKind[G group](c *Coordinator, id, kind string) (G, error) {
	var none G
	s, err := c.find(id)
	if err != nil {
		return none, err
	}
	found, exists := s.groups[id]
	g, ok := found.(G)
	switch {
	case !exists:
		return none, notFound(id)
	case !ok:
		return none, notA(kind, id)
	}
	return g, nil
}

func (c *Coordinator) describeConsumer(g *consumer) ConsumerDescription {
	d := ConsumerDescription{
		GroupID: g.id, State: g.state(), Epoch: g.epoch, AssignmentEpoch: g.targetEpoch,
		Assignor: g.preferredAssignor(c.cfg.ConsumerAssignors[0]),
	}
	for _, m := range g.sorted() {
		has := setOfKeys(m.assigned, m.revoking)
		d.Members = append(d.Members, ConsumerMemberDescription{
			MemberID: m.id, InstanceID: m.instanceID, RackID: m.rackID, MemberEpoch: m.epoch,
			ClientID: m.clientID, ClientHost: m.clientHost,
			SubscribedTopics: m.topics, SubscribedRegex: m.regex, Classic: m.classic != nil,
			Assignment: described(sortedPartitions(has), c.env.Topics),
			Target:     described(sortedPartitions(g.target[m.id]), c.env.Topics),
		})
	}
	return d
}
