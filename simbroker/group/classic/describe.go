package classic

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

// Describe describes the group of an id, which may be none of these.
func (p Protocol) Describe(id string) group.Description {
	found := p.Groups[id]
	g, ok := found.(*Group)
	switch {
	case found == nil:
		return group.Description{GroupID: id, State: group.Dead, Err: group.NotFound(id)}
	case !ok:
		return group.Description{GroupID: id, State: group.Dead, Err: group.NotA("classic", id)}
	}
	d := group.Description{GroupID: id, State: g.state, ProtocolType: g.protocolType}
	if g.state == group.Stable {
		d.Protocol = *g.Protocol
	}
	for _, m := range g.Members {
		member := group.MemberDescription{
			MemberID: m.ID, InstanceID: m.InstanceID, ClientID: m.ClientID, ClientHost: m.ClientHost,
			Assignment: slices.Clone(m.Assignment),
		}
		if g.state == group.Stable {
			member.Metadata = slices.Clone(*m.Metadata(*g.Protocol))
		}
		d.Members = append(d.Members, member)
	}
	return d
}
