package streams

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
)

// Describe describes the group of an id, which may be none of these.
func (p Protocol) Describe(id string) group.StreamsDescription {
	g, err := shard.Find[*Group](p.Shard, id, "streams")
	if err != nil {
		return group.StreamsDescription{GroupID: id, Err: err}
	}
	d := group.StreamsDescription{GroupID: g.id, State: g.state(), Epoch: g.epoch, AssignmentEpoch: g.targetEpoch}
	if g.topology != nil {
		d.Topology = describedTopology(g.topology, configure(g.topology, p.Env.Topics))
	}
	for _, m := range g.sorted() {
		d.Members = append(d.Members, group.StreamsMemberDescription{
			MemberID: m.id, RackID: m.rackID, MemberEpoch: m.Epoch, ClientID: m.clientID, ClientHost: m.clientHost,
			TopologyEpoch: m.topologyEpoch, ProcessID: m.processID, Endpoint: m.endpoint, Tags: m.tags,
			Active: taskIDs(m.Assigned, false), Standby: taskIDs(m.Assigned, true),
			Target: taskIDs(g.target[m.id], false), TargetStandby: taskIDs(g.target[m.id], true),
		})
	}
	return d
}
