package group

// describe describes the group of an id, which may be none of these.
func (c streamsGroups) describe(id string) StreamsDescription {
	g, err := findKind[*streams](c.shard, id, "streams")
	if err != nil {
		return StreamsDescription{GroupID: id, Err: err}
	}
	d := StreamsDescription{GroupID: g.id, State: g.state(), Epoch: g.epoch, AssignmentEpoch: g.targetEpoch}
	if g.topology != nil {
		d.Topology = describedTopology(g.topology, configure(g.topology, c.env.Topics))
	}
	for _, m := range g.sorted() {
		d.Members = append(d.Members, StreamsMemberDescription{
			MemberID: m.id, RackID: m.rackID, MemberEpoch: m.epoch, ClientID: m.clientID, ClientHost: m.clientHost,
			TopologyEpoch: m.topologyEpoch, ProcessID: m.processID, Endpoint: m.endpoint, Tags: m.tags,
			Active: taskIDs(sortedTasks(m.assigned)), Target: taskIDs(sortedTasks(g.target[m.id])),
		})
	}
	return d
}
