package share

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
)

// Describe describes the group of an id, which may be none of these.
func (p Protocol) Describe(id string) group.ShareDescription {
	g, err := shard.Find[*Group](p.Shard, id, "share")
	if err != nil {
		return group.ShareDescription{GroupID: id, Err: err}
	}
	d := group.ShareDescription{GroupID: id, State: g.state(), Epoch: g.epoch, AssignmentEpoch: g.targetEpoch, Assignor: group.SimpleAssignor}
	for _, m := range g.sorted() {
		d.Members = append(d.Members, group.ShareMemberDescription{
			MemberID: m.id, RackID: m.rackID, MemberEpoch: m.epoch, ClientID: m.clientID, ClientHost: m.clientHost,
			SubscribedTopics: m.topics, Assignment: assignment.NamedTopics(assignment.Sorted(m.assigned), p.Env.Topics),
		})
	}
	return d
}
