package group

// describe describes the group of an id, which may be none of these.
func (c consumerGroups) describe(id string) ConsumerDescription {
	g, err := findKind[*consumer](c.shard, id, "consumer")
	if err != nil {
		return ConsumerDescription{GroupID: id, Err: err}
	}
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
