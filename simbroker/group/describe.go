package group

import "slices"

// describe describes the group of an id, which may be none of these.
func (c classicGroups) describe(id string) Description {
	found := c.groups[id]
	g, ok := found.(*classic)
	switch {
	case found == nil:
		return Description{GroupID: id, State: Dead, Err: notFound(id)}
	case !ok:
		return Description{GroupID: id, State: Dead, Err: notA("classic", id)}
	}
	d := Description{GroupID: id, State: g.state, ProtocolType: g.protocolType}
	if g.state == Stable {
		d.Protocol = *g.protocol
	}
	for _, m := range g.members {
		member := MemberDescription{
			MemberID: m.id, InstanceID: m.instanceID, ClientID: m.clientID, ClientHost: m.clientHost,
			Assignment: slices.Clone(m.assignment),
		}
		if g.state == Stable {
			member.Metadata = slices.Clone(*m.metadata(*g.protocol))
		}
		d.Members = append(d.Members, member)
	}
	return d
}
