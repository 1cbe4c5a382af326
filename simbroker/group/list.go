package group

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Describe describes classic groups, in the order asked.
func (c *Coordinator) Describe(groupIDs []string) []Description {
	descriptions := make([]Description, len(groupIDs))
	for i, id := range groupIDs {
		s, err := c.find(id)
		if err != nil {
			descriptions[i] = Description{GroupID: id, Err: err}
			continue
		}
		descriptions[i] = describe(id, s.groups[id])
	}
	return descriptions
}

func describe(id string, found group) Description {
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

// List lists the groups of this broker, sorted by id (rule H10). It answers
// COORDINATOR_LOAD_IN_PROGRESS while any partition loads.
func (c *Coordinator) List(req ListRequest) ([]Listing, error) {
	selects := func(names []string, name string) bool {
		return len(names) == 0 ||
			slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(strings.TrimSpace(n), name) })
	}
	var listings []Listing
	for _, s := range c.sortedShards() {
		if s.loading {
			return nil, kafka.ErrCoordinatorLoadInProgress
		}
		for _, g := range s.sorted() {
			l := g.listing()
			if selects(req.States, l.State.String()) && selects(req.Types, l.Kind.String()) {
				listings = append(listings, l)
			}
		}
	}
	slices.SortFunc(listings, func(a, b Listing) int { return cmp.Compare(a.GroupID, b.GroupID) })
	return listings, nil
}
