package collector

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// before30 are versions of Kafka 2.8 and Redpanda, in which a request is about one
// group.
var before30 = map[kmsg.Key]int16{kmsg.OffsetFetch: 7, kmsg.FindCoordinator: 3}

// Of brokers that answer for one group a request each group is asked for by itself,
// and no request is in vain; all others are as many as ever.
func TestGroupsOfBrokersBefore30(t *testing.T) {
	for _, serial := range []bool{true, false} {
		f := newFake(3)
		f.highest = before30
		f.topic("orders", 3)
		for i := range 200 {
			f.group(fmt.Sprintf("g%03d", i), int32(i%2+1)).commit("orders", int32(i%3), int64(i%5))
		}
		s := NewSweeper(f, Options{Serial: serial, Disabled: noLookUps})
		for n := range 2 {
			sample := s.Sweep(t.Context())
			want := map[string]int{
				"Metadata": 1, "ListGroups": 3, "DescribeGroups": 2, "OffsetFetch": 200,
				"log start offset": 3, "high watermark": 3, "last stable offset": 3, "log end offset": 3,
			}
			if got := count(f.take()); !maps.Equal(got, want) {
				t.Errorf("sweep %d: requests %v, want %v", n, got, want)
			}
			if len(sample.Groups) != 200 || len(sample.Missed) > 0 {
				t.Errorf("sweep %d: %d groups, missed %s", n, len(sample.Groups), missed(sample))
			}
			for i := range 200 {
				want := fmt.Sprintf("classic/consumer Stable at %d, 1 members, assigned [], commits orders-%d@%d", i%2+1, i%3, i%5)
				if got := showGroup(groupNamed(sample, fmt.Sprintf("g%03d", i))); got != want {
					t.Errorf("sweep %d: %s, want %s", n, got, want)
				}
			}
		}
	}
}

// No more than so many are asked for, the same in each sweep; the others are missed.
func TestMoreGroupsThanAreAskedForSingly(t *testing.T) {
	f := newFake(1)
	f.highest = before30
	f.topic("orders", 1)
	for i := range maxSingly + 100 {
		f.group(fmt.Sprintf("g%04d", i), 1).commit("orders", 0, 3)
	}
	s := NewSweeper(f, Options{Serial: true, Disabled: noLookUps})
	for n := range 2 {
		sample := s.Sweep(t.Context())
		if got := count(f.take())["OffsetFetch"]; got != maxSingly {
			t.Errorf("sweep %d: %d requests, want %d", n, got, maxSingly)
		}
		if got, want := missed(sample), "[broker 1: deadline 100]"; got != want {
			t.Errorf("sweep %d: missed %s, want %s", n, got, want)
		}
		for i := range sample.Groups {
			if g := &sample.Groups[i]; g.CommitsRead != (i < maxSingly) {
				t.Errorf("sweep %d: the commits of %s were read: %v", n, g.Name, g.CommitsRead)
			}
		}
	}
}

// A coordinator that fails over, and groups that are deleted, are found out about as
// where many groups are asked for at once.
func TestGroupsOfBrokersBefore30Move(t *testing.T) {
	f := newFake(3)
	f.highest = before30
	f.topic("orders", 1)
	for i := range 50 {
		f.group(fmt.Sprintf("g%02d", i), 1).commit("orders", 0, 3)
	}
	s := NewSweeper(f, Options{Serial: true, Disabled: noLookUps})
	s.Sweep(t.Context())
	for _, g := range f.groups {
		g.hidden, g.coordinator = true, 2
	}
	f.groups = f.groups[10:]
	f.take()
	sample := s.Sweep(t.Context())
	calls := count(f.take())
	if calls["FindCoordinator"] != 50 || calls["OffsetFetch"] != 50 {
		t.Errorf("%d FindCoordinator and %d OffsetFetch requests, want one a group", calls["FindCoordinator"], calls["OffsetFetch"])
	}
	if len(sample.Groups) != 40 || len(sample.Missed) > 0 {
		t.Errorf("%d groups, missed %s", len(sample.Groups), missed(sample))
	}
	for i := range sample.Groups {
		if g := &sample.Groups[i]; !g.CommitsRead || g.Coordinator != 2 {
			t.Errorf("%s: %s", g.Name, showGroup(g))
		}
	}
}

// Where more groups move at once than are asked for one by one, the others are missed
// for that reason, and are found once the first ones are.
func TestMoreGroupsBefore30MoveThanAreAskedFor(t *testing.T) {
	f := newFake(2)
	f.highest = map[kmsg.Key]int16{kmsg.FindCoordinator: 3}
	f.topic("orders", 1)
	for i := range maxSingly + 100 {
		f.group(fmt.Sprintf("g%04d", i), 1).commit("orders", 0, 3)
	}
	s := NewSweeper(f, Options{Serial: true, Disabled: noLookUps})
	s.Sweep(t.Context())
	for _, g := range f.groups {
		g.hidden, g.coordinator = true, 2
	}
	f.take()
	sample := s.Sweep(t.Context())
	if got := count(f.take())["FindCoordinator"]; got != maxSingly {
		t.Errorf("%d requests, want %d", got, maxSingly)
	}
	want := []lag.Miss{{Kind: lag.MissDeadline, Subject: "broker 2", Count: 100, Detail: tooManySingly("FindCoordinator")}}
	if !slices.Equal(sample.Missed, want) {
		t.Errorf("missed %v, want %v", sample.Missed, want)
	}
	if len(sample.Groups) != maxSingly {
		t.Errorf("%d groups, want %d", len(sample.Groups), maxSingly)
	}
	for _, g := range f.groups[:maxSingly] {
		g.hidden = false
	}
	if sample = s.Sweep(t.Context()); len(sample.Groups) != maxSingly+100 || len(sample.Missed) > 0 {
		t.Errorf("then: %d groups, missed %s", len(sample.Groups), missed(sample))
	}
}

// A broker that hangs in the middle costs its timeout once, and the commits of its
// groups.
func TestBrokerBefore30Hangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		f.highest = before30
		f.topic("orders", 2)
		for i := range 100 {
			f.group(fmt.Sprintf("g%02d", i), int32(i%2+1)).commit("orders", 0, 3)
		}
		fetched := 0
		f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
			f.set(func() {
				if broker == 1 && req.Key() == kmsg.OffsetFetch.Int16() {
					if fetched++; fetched > 20 {
						f.hung[1] = true
					}
				}
			})
			return nil, nil
		}
		s := NewSweeper(f, Options{Disabled: noLookUps})
		begun := time.Now()
		sample := s.Sweep(t.Context())
		if took := time.Since(begun); took > 1100*time.Millisecond {
			t.Errorf("the sweep took %v", took)
		}
		if got, want := missed(sample), "[broker 1: timeout 1]"; got != want {
			t.Errorf("missed %s, want %s", got, want)
		}
		for i := range sample.Groups {
			if g := &sample.Groups[i]; g.Coordinator == 2 && !g.CommitsRead {
				t.Errorf("the commits of %s were not read", g.Name)
			}
		}
		s.wait()
	})
}

// A broker that is too slow to be asked for all of its groups keeps what it has told:
// the same groups in each sweep. What else it has is read.
func TestSlowBrokerBefore30(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(2)
		f.highest = before30
		f.topic("orders", 2)
		for i := range 1000 {
			f.group(fmt.Sprintf("g%03d", i), int32(i%2+1)).commit("orders", 0, 3)
		}
		f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
			if broker == 1 && req.Key() == kmsg.OffsetFetch.Int16() {
				time.Sleep(800 * time.Millisecond)
			}
			return nil, nil
		}
		s := NewSweeper(f, Options{Disabled: noLookUps, BrokerTimeout: time.Second, Deadline: 9 * time.Second})
		const told = 1 + 4*inFlight // until three quarters of 4.5 s are over
		for n := range 2 {
			sample := s.Sweep(t.Context())
			if got, want := missed(sample), fmt.Sprintf("[broker 1: deadline %d]", 500-told); got != want {
				t.Errorf("sweep %d: missed %s, want %s", n, got, want)
			}
			if len(sample.Groups) != 1000 {
				t.Fatalf("sweep %d: %d groups", n, len(sample.Groups))
			}
			for i := range sample.Groups {
				if g := &sample.Groups[i]; g.CommitsRead != (i%2 == 1 || i/2 < told) {
					t.Errorf("sweep %d: the commits of %s were read: %v", n, g.Name, g.CommitsRead)
				}
			}
			if got, want := offsets(partition(t, sample, "orders", 0)), "0 5 7 9"; got != want {
				t.Errorf("sweep %d: offsets %s, want %s", n, got, want)
			}
		}
		s.wait()
	})
}

// Whether commits are pending is asked for one by one too, and of no broker that
// would answer as if none were.
func TestPendingCommitsOfOldBrokers(t *testing.T) {
	for _, c := range []struct {
		version  int16
		requests int
		want     string
		missed   string
	}{
		{9, 1, "[{orders [1]}]", "[]"},
		{8, 1, "[{orders [1]}]", "[]"},
		{7, 3, "[{orders [1]}]", "[]"},
		{6, 0, "unknown", "[broker 2: api_missing 1]"},
	} {
		t.Run(fmt.Sprint("v", c.version), func(t *testing.T) {
			f := newFake(2)
			f.highest = map[kmsg.Key]int16{kmsg.OffsetFetch: c.version}
			for _, name := range []string{"orders", "payments", "refunds", offsetsTopic} {
				f.calm(name, 2)
			}
			f.below(0)
			f.below(1)
			for i := range 3 {
				f.group(fmt.Sprint("g", i), 2).commit("orders", 0, 3).pending = map[string][]int32{"orders": {1}}
			}
			sample := NewSweeper(f, Options{Serial: true, Disabled: noLookUps}).Sweep(t.Context())
			if n := count(f.take())[askPending]; n != c.requests {
				t.Errorf("%d requests, want %d", n, c.requests)
			}
			for i := range 3 {
				if got := pendingOf(sample, fmt.Sprint("g", i)); got != c.want {
					t.Errorf("g%d: pending %s, want %s", i, got, c.want)
				}
			}
			if got := missed(sample); got != c.missed {
				t.Errorf("missed %s, want %s", got, c.missed)
			}
		})
	}
}
