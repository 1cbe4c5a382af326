package consumer

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/classic"
	"github.com/lso-exporter/lso-exporter/simbroker/group/embedded"
)

// downgrades says whether a group goes back to the classic protocol when some
// members leave: all the others speak it.
func (p Protocol) downgrades(g *Group, leaving []*member) bool {
	stay := 0
	for _, m := range g.members {
		if slices.Contains(leaving, m) {
			continue
		}
		if m.classic == nil {
			return false
		}
		stay++
	}
	return stay > 0 && stay <= p.Config.MaxSize && p.Config.ConsumerMigrationPolicy.Downgrades()
}

// downgrade makes a group a classic one of the members that stay. It may have
// to rebalance once that is in the log.
func (p Protocol) downgrade(d *draft, leaving []*member, rebalance bool) {
	old := d.Group
	var members []*classic.Member
	for _, m := range old.sorted() {
		if !slices.Contains(leaving, m) {
			members = append(members, &classic.Member{
				ID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost,
				RebalanceTimeout: m.rebalanceTimeout, SessionTimeout: m.classic.sessionTimeout,
				ProtocolType: group.ConsumerProtocol, Protocols: m.classic.protocols,
			})
		}
		p.Timers.StopMember(old.id, m.id)
	}
	g := classic.Restored(old.id, old.epoch, members, p.Now())
	assignments := make(map[string][]byte)
	for _, m := range members {
		sub, err := embedded.DecodeSubscription(*m.Metadata(*g.Protocol))
		if err != nil {
			sub.Version = 0
		}
		assignments[m.ID] = embedded.EncodeAssignment(sub.Version, assignment.NamedTopics(assignment.Sorted(old.target[m.ID]), p.Env.Topics))
	}
	d.Records = append(d.Records, old.Tombstones()...)
	d.Records = append(d.Records, g.Record(assignments))
	d.Written = func() { classic.Protocol{Shard: p.Shard}.TakeBack(g, rebalance) }
}
