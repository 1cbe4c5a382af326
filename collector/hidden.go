package collector

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// readHidden counts what groups have on topics that this principal may not
// describe. Metadata and OffsetFetch leave such topics out without an error, so
// that a group on them looks as if it had no commits. An assignment gives them
// away: a topic that a member is assigned and that Metadata does not list is
// named in a Metadata request of its own, which refuses a hidden topic and does
// not know one that was deleted. What it says is remembered while the topic is
// in question.
func (w *sweep) readHidden(ctx context.Context) {
	groups := make(map[string][]string) // groups by topic
	for i := range w.groups {
		assignment, _ := w.groups[i].Assignment.Get()
		for _, t := range assignment {
			if _, listed := w.layout.index[t.Topic]; !listed {
				groups[t.Topic] = append(groups[t.Topic], w.groups[i].Name)
			}
		}
	}
	maps.DeleteFunc(w.hidden, func(topic string, _ bool) bool { return groups[topic] == nil })
	var unknown []string
	for topic := range groups {
		if _, asked := w.hidden[topic]; !asked {
			unknown = append(unknown, topic)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		w.askHidden(ctx, unknown)
	}
	for _, topic := range slices.Sorted(maps.Keys(groups)) {
		if w.hidden[topic] {
			for _, group := range groups[topic] {
				w.misses.add(lag.MissUnauthorized, "group "+group, 1, "no right to describe topic "+topic, Groups)
			}
		}
	}
}

// askHidden asks whether topics are hidden.
func (w *sweep) askHidden(ctx context.Context, topics []string) {
	l := &line{sweep: w, id: w.asked}
	a, miss := l.ask(ctx, metadataFor(topics...))
	if miss != "" {
		w.markDown(l)
		return
	}
	if w.hidden == nil {
		w.hidden = make(map[string]bool)
	}
	resp := a.resp.(*kmsg.MetadataResponse)
	for i := range resp.Topics {
		if t := &resp.Topics[i]; t.Topic != nil && t.ErrorCode != 0 {
			w.hidden[*t.Topic] = kerr.ErrorForCode(t.ErrorCode) == kerr.TopicAuthorizationFailed
		}
	}
}
