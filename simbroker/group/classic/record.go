package classic

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
)

// Decode is the group of a record value, Stable if it has members, otherwise
// Empty; it reports false for a version that is not known.
func Decode(id string, value []byte, now int64) (c *Group, known bool, err error) {
	g, known, err := decodeGeneration(value)
	if err != nil || !known {
		return nil, known, err
	}
	return loaded(id, g, now), true, nil
}

// loaded is the group of a record: Stable if it has members, otherwise Empty.
func loaded(id string, g generation, now int64) *Group {
	c := New(id, now)
	c.since = g.since
	c.protocolType, c.Protocol, c.Number = g.protocolType, g.protocol, g.number
	if g.leader != nil {
		c.leader = *g.leader
	}
	for _, m := range g.members {
		loadedMember := &Member{
			ID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost,
			RebalanceTimeout: m.rebalanceTimeout, SessionTimeout: m.sessionTimeout,
			ProtocolType: g.protocolType, Assignment: m.assignment,
		}
		if g.protocol != nil {
			loadedMember.Protocols = []group.Protocol{{Name: *g.protocol, Metadata: m.subscription}}
		}
		c.Members = append(c.Members, loadedMember)
		c.state = group.Stable
	}
	c.subscribed = c.subscriptions()
	return c
}

// Record is the group's record with an assignment for each member.
func (g *Group) Record(assignment map[string][]byte) group.Record {
	r := generation{protocolType: g.protocolType, number: g.Number, protocol: g.Protocol, since: g.since}
	if g.leader != "" {
		r.leader = &g.leader
	}
	for _, m := range g.Members {
		r.members = append(r.members, generationMember{
			id: m.ID, instanceID: m.InstanceID, clientID: m.ClientID, clientHost: m.ClientHost,
			rebalanceTimeout: m.RebalanceTimeout, sessionTimeout: m.SessionTimeout,
			subscription: *m.Metadata(*g.Protocol), assignment: assignment[m.ID],
		})
	}
	return group.Record{Key: record.ClassicKey(g.ID), Value: encodeGeneration(r)}
}

// Tombstones end the group in the log.
func (g *Group) Tombstones() []group.Record { return []group.Record{{Key: record.ClassicKey(g.ID)}} }
