package classic

import (
	"fmt"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/embedded"
)

// supported says whether a member with these protocols could take part.
func (g *Group) supported(protocolType string, protocols []group.Protocol) bool {
	if g.state == group.Empty {
		return protocolType != "" && len(protocols) > 0
	}
	return protocolType == g.protocolType &&
		slices.ContainsFunc(protocols, func(p group.Protocol) bool { return g.everybodySupports(p.Name) })
}

func (g *Group) everybodySupports(name string) bool {
	return !slices.ContainsFunc(g.Members, func(m *Member) bool { return m.Metadata(name) == nil })
}

// vote is the protocol that most members prefer among those that all support;
// of several, the one that was voted for first.
func (g *Group) vote() string {
	var names []string
	votes := make(map[string]int)
	for _, m := range g.Members {
		for _, p := range m.Protocols {
			if g.everybodySupports(p.Name) {
				names = append(names, p.Name)
				votes[p.Name]++
				break
			}
		}
	}
	if len(names) == 0 {
		panic(fmt.Sprintf("group %s: no protocol that all of %d members support", g.ID, len(g.Members)))
	}
	chosen := names[0]
	for _, name := range names {
		if votes[name] > votes[chosen] {
			chosen = name
		}
	}
	return chosen
}

// subscriptions is the topics that the members subscribe to, nil if the
// coordinator cannot know.
func (g *Group) subscriptions() map[string]bool {
	if !g.IsConsumer() || len(g.Members) > 0 && g.Protocol == nil {
		return nil
	}
	all := make(map[string]bool)
	for _, m := range g.Members {
		sub, err := embedded.DecodeSubscription(*m.Metadata(*g.Protocol))
		if err != nil {
			return nil
		}
		for _, t := range sub.Topics {
			all[t] = true
		}
	}
	return all
}

// Subscribes says whether members consume a topic; consumers whose
// subscriptions are unknown may consume any.
func (g *Group) Subscribes(topic string) bool {
	if g.subscribed == nil {
		return g.IsConsumer()
	}
	return g.subscribed[topic]
}
