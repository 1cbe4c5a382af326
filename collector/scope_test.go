package collector

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// shownBy renders what a sample of a scope holds: partitions with offsets, and
// the groups' commits.
func shownBy(s lag.Sample) string {
	text := ""
	for _, t := range s.Topics {
		for i := range t.Partitions {
			text += fmt.Sprintf("%s-%d %s, ", t.Name, t.Partitions[i].Number, offsets(&t.Partitions[i]))
		}
	}
	for i := range s.Groups {
		text += s.Groups[i].Name
		for _, t := range s.Groups[i].Commits {
			for _, c := range t.Partitions {
				offset, _ := c.Offset.Get()
				text += fmt.Sprintf(" %s-%d@%d", t.Topic, c.Partition, offset)
			}
		}
		text += "; "
	}
	return text
}

// noteOffsets notes which partitions a request asks for.
func noteOffsets(asked map[string]bool, r *kmsg.ListOffsetsRequest) {
	for _, topic := range r.Topics {
		for _, p := range topic.Partitions {
			asked[fmt.Sprint(topic.Topic, "-", p.Partition)] = true
		}
	}
}

// inScope returns a sweeper that shows what one member is assigned.
func inScope(f *fake, member string) *Sweeper {
	return NewSweeper(f, Options{
		Serial: true, Disabled: noLookUps, NoPendingCommits: true,
		Assigned: func(m lag.Member) bool { return m.ID == member },
	})
}

// TestScope: of other members' partitions nothing is asked and nothing shown,
// while a group rebalances it stays as it was, and a partition on its way
// belongs to who is to get it.
func TestScope(t *testing.T) {
	f := newFake(2)
	f.topic("orders", 2)
	f.topic("payments", 1)
	g := f.group("billing", 1).commit("orders", 0, 3).commit("orders", 1, 4).commit("payments", 0, 6)
	g.assigned = []string{"orders"} // partition 0, each member; the first is shown to have it
	f.group("other", 2).commit("orders", 1, 5).members = 0

	s := inScope(f, fakeMember(0))
	want := "orders-0 0 5 7 9, billing orders-0@3; "
	for _, step := range []struct {
		reason string
		change func()
		want   string
	}{
		{"assigned", func() {}, want},
		{"a rebalance", func() { g.state = "PreparingRebalance" }, want},
		{"another assignment", func() { g.state, g.assigned = "Stable", []string{"payments"} }, "payments-0 0 5 7 9, billing payments-0@6; "},
		{"none", func() { g.assigned = nil }, ""},
		{"a rebalance after none", func() { g.state = "PreparingRebalance" }, ""},
		{"the consumer protocol, on its way", func() {
			g.state, g.groupType, g.target = "Reconciling", "consumer", []string{"orders"}
		}, want},
	} {
		step.change()
		f.take()
		asked := make(map[string]bool)
		f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
			switch r := req.(type) {
			case *kmsg.ListOffsetsRequest:
				noteOffsets(asked, r)
			case *kmsg.OffsetFetchRequest:
				for _, group := range r.Groups {
					asked[group.Group] = true
				}
			}
			return nil, nil
		}
		sample := s.Sweep(t.Context())
		if got := shownBy(sample); got != step.want || len(sample.Missed) > 0 {
			t.Errorf("%s: got %s, want %s; missed %s", step.reason, got, step.want, missed(sample))
		}
		may := map[string]bool{}
		if step.want != "" {
			may["billing"] = true
			may[sample.Topics[0].Name+"-0"] = true
		}
		if !maps.Equal(asked, may) {
			t.Errorf("%s: asked for %v, want %v", step.reason, asked, may)
		}
		if n := len(f.take()); n > 2+8*2 {
			t.Errorf("%s: %d requests", step.reason, n)
		}
	}
	if got := shownBy(inScope(f, fakeMember(1)).Sweep(t.Context())); got != "" {
		t.Errorf("another member shows %s", got)
	}
}

// TestOnlyNeededOffsetsAreRead: without the collectors that show partitions, the
// offsets of partitions on which no group has a commit are not asked for.
func TestOnlyNeededOffsetsAreRead(t *testing.T) {
	f := newFake(1)
	f.topic("orders", 2)
	f.group("g", 1).commit("orders", 1, 3)
	asked := 0
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.ListOffsetsRequest); ok {
			asked += len(r.Topics[0].Partitions)
		}
		return nil, nil
	}
	sample := NewSweeper(f, Options{Serial: true, Disabled: []Collector{Offsets, Transactions}}).Sweep(t.Context())
	if got := offsets(partition(t, sample, "orders", 1)); got != "0 5 7 -" || asked != 3 {
		t.Errorf("offsets %s, asked for %d of partitions", got, asked)
	}
	if got := offsets(partition(t, sample, "orders", 0)); got != "- - - -" || len(sample.Missed) > 0 {
		t.Errorf("offsets %s, missed %s", got, missed(sample))
	}
}

// TestScopeNamesWhatHoldsItsPartitions: what holds a partition in scope is looked
// up, and of no other one that is shown nowhere.
func TestScopeNamesWhatHoldsItsPartitions(t *testing.T) {
	f := newFake(2)
	topic := f.topic("orders", 2)
	f.topic(offsetsTopic, 2)
	for i, p := range topic.partitions {
		p.producers = []fakeProducer{{id: int64(100 + i), start: 5, timestamp: 1}}
	}
	f.group("billing", 1).commit("orders", 0, 3).assigned = []string{"orders"}
	var asked []string
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.DescribeProducersRequest); ok {
			for _, topic := range r.Topics {
				asked = append(asked, fmt.Sprint(topic.Topic, topic.Partitions))
			}
		}
		return nil, nil
	}
	runner := NewRunner(f, Options{Serial: true, Assigned: func(m lag.Member) bool { return m.ID == fakeMember(0) }})
	runner.Sweep(t.Context())
	view := runner.View()
	if len(view.Topics) != 1 || len(view.Topics[0].Partitions) != 1 {
		t.Fatalf("topics %+v", view.Topics)
	}
	b := view.Topics[0].Partitions[0].Blocker
	if b == nil {
		t.Fatal("no blocker")
	}
	if p, _ := b.Producer.Get(); p.ID != 100 {
		t.Errorf("blocker %+v, want producer 100", b)
	}
	if slices.Contains(asked, "orders[1]") || !slices.Contains(asked, "orders[0]") {
		t.Errorf("asked who writes to %v", asked)
	}
	if rows := view.Groups[0].Topics[0].Partitions; len(rows) != 1 || rows[0].LSOLag != lag.Known(lag.Count(2)) {
		t.Errorf("rows %+v", rows)
	}
}
