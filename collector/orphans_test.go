package collector

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

func TestOrphansAreAskedAboutOnce(t *testing.T) {
	f := newFake(1)
	f.topic("orders", 1)
	f.group("g", 1).commit("orders", 0, 3).commit("orders", 72, 500).commit("gone", 0, 1)
	s := NewSweeper(f, Options{Serial: true})
	for i, want := range []int{2, 1, 1} {
		sample := s.Sweep(t.Context())
		if got := count(f.take())["Metadata"]; got != want {
			t.Errorf("sweep %d: %d Metadata requests, want %d", i, got, want)
		}
		view := lag.NewTracker(s.options.Period).Observe(sample)
		if got := view.Groups[0].Orphans; got != lag.Known(lag.Count(2)) {
			t.Errorf("sweep %d: orphans %v, want 2", i, got)
		}
	}
}

func TestCommitOnATopicCreatedInTheSweepIsNoOrphan(t *testing.T) {
	f := newFake(1)
	orders := f.topic("orders", 1)
	g := f.group("g", 1).commit("orders", 0, 3)
	s := NewSweeper(f, Options{Serial: true})
	s.Sweep(t.Context())
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if req.Key() == kmsg.ListGroups.Int16() && len(f.topics) == 1 {
			f.topic("created", 1)
			p := *orders.partitions[0]
			orders.partitions = append(orders.partitions, &p)
			g.commit("created", 0, 1).commit("orders", 1, 1)
		}
		return nil, nil
	}
	for i, want := range []string{
		"classic/consumer Stable at 1, 1 members, assigned [], commits orders-0@3",
		"classic/consumer Stable at 1, 1 members, assigned [], commits created-0@1 orders-0@3 orders-1@1",
	} {
		sample := s.Sweep(t.Context())
		if got := showGroup(groupNamed(sample, "g")); got != want {
			t.Errorf("sweep %d: got %s, want %s", i, got, want)
		}
		view := lag.NewTracker(s.options.Period).Observe(sample)
		if got := view.Groups[0].Orphans; got != lag.Known(lag.Count(0)) {
			t.Errorf("sweep %d: orphans %v, want 0", i, got)
		}
	}
}
