package consumer

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
)

// Describe describes the group of an id, which may be none of these.
func (p Protocol) Describe(id string) group.ConsumerDescription {
	g, err := shard.Find[*Group](p.Shard, id, "consumer")
	if err != nil {
		return group.ConsumerDescription{GroupID: id, Err: err}
	}
	d := group.ConsumerDescription{
		GroupID: g.id, State: g.state(), Epoch: g.epoch, AssignmentEpoch: g.targetEpoch,
		Assignor: g.preferredAssignor(p.Config.ConsumerAssignors[0]),
	}
	for _, m := range g.sorted() {
		has := assignment.SetOfKeys(m.Assigned, m.Revoking)
		d.Members = append(d.Members, group.ConsumerMemberDescription{
			MemberID: m.id, InstanceID: m.instanceID, RackID: m.rackID, MemberEpoch: m.Epoch,
			ClientID: m.clientID, ClientHost: m.clientHost,
			SubscribedTopics: m.topics, SubscribedRegex: m.regex, Classic: m.classic != nil,
			Assignment: assignment.NamedTopics(assignment.Sorted(has), p.Env.Topics),
			Target:     assignment.NamedTopics(assignment.Sorted(g.target[m.id]), p.Env.Topics),
		})
	}
	return d
}
