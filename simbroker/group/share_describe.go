package group

// describe describes the group of an id, which may be none of these.
func (c shareGroups) describe(id string) ShareDescription {
	g, err := findKind[*share](c.shard, id, "share")
	if err != nil {
		return ShareDescription{GroupID: id, Err: err}
	}
	d := ShareDescription{GroupID: id, State: g.state(), Epoch: g.epoch, AssignmentEpoch: g.targetEpoch, Assignor: simpleAssignor}
	for _, m := range g.sorted() {
		d.Members = append(d.Members, ShareMemberDescription{
			MemberID: m.id, RackID: m.rackID, MemberEpoch: m.epoch, ClientID: m.clientID, ClientHost: m.clientHost,
			SubscribedTopics: m.topics, Assignment: described(sortedPartitions(m.assigned), c.env.Topics),
		})
	}
	return d
}
