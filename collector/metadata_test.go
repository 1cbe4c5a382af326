package collector

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// stale has broker 1 tell, and lead, what it did before it was cut off: a
// transaction holds orders-0 at 5. Others that were cut off with it tell the same. The
// rest know that the next broker leads, that the transaction has ended, and that
// nothing is held.
func stale(f *fake, others ...int32) {
	f.stateTopic()
	orders := f.calm("orders", 3)
	held := orders.partitions[0]
	held.lso = 5
	f.transaction("z", 3, 7, orders, 0, 0)
	f.transactions[0].state, f.transactions[0].topics = "CompleteCommit", nil
	told := f.answer(1, metadataFor()).(*kmsg.MetadataResponse)
	held.leader, held.epoch, held.lso = int32(len(others)+2), 1, 7
	led := *held
	f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		leads := broker == 1 || broker == -100
		if r, ok := req.(*kmsg.MetadataRequest); ok && (leads || slices.Contains(others, broker)) {
			copied := *told
			copied.SetVersion(req.GetVersion())
			copied.Topics = slices.DeleteFunc(slices.Clone(told.Topics), func(t kmsg.MetadataResponseTopic) bool {
				return r.Topics != nil && !slices.ContainsFunc(r.Topics, func(asked kmsg.MetadataRequestTopic) bool { return *asked.Topic == *t.Topic })
			})
			return &copied, nil
		}
		if !leads {
			return nil, nil
		}
		*held = led
		held.leader, held.epoch, held.lso = 1, 0, 5
		resp := f.answer(1, req)
		resp.SetVersion(req.GetVersion())
		*held = led
		return resp, nil
	}
}

// A broker that is cut off goes on telling, and leading, what it knew. Its word is
// not taken in two sweeps in a row, so that what its partitions look like is never
// proven to hang; and once another has told the newer state, it is not taken at all.
func TestBrokerThatIsCutOff(t *testing.T) {
	for _, oneAddress := range []bool{false, true} {
		t.Run(fmt.Sprintf("one address %v", oneAddress), func(t *testing.T) {
			f := newFake(3)
			f.oneAddress = oneAddress
			stale(f)
			s := NewSweeper(f, Options{Serial: true, LookUpAfter: time.Nanosecond})
			tracker := lag.NewTracker(10 * time.Second)
			for n := range 9 {
				sample := s.Sweep(t.Context())
				v := tracker.Observe(sample)
				want := "-"
				if n == 0 { // nobody else has been asked
					want = "unknown not_yet_confirmed z"
				}
				if got := blocker(v, "orders", 0); got != want {
					t.Errorf("sweep %d: %s, want %s", n, got, want)
				}
				if calls := f.take(); len(calls) > 2+8*3 {
					t.Errorf("sweep %d: %d requests", n, len(calls))
				}
				if p := partition(t, sample, "orders", 0); n > 0 && p.Leader != 2 {
					t.Errorf("sweep %d: led by %d", n, p.Leader)
				}
			}
		})
	}
}

// A broker that is cut off, and leads nothing that another one leads now, does not
// hear of topics that are created, deleted, or made anew. What it says of them does not
// come and go with its turns, unless the broker that is asked next is cut off as well.
func TestTopicsThatBrokersHaveNotHeardOf(t *testing.T) {
	for _, c := range []struct {
		brokers int
		cutOff  []int32
		want    string
	}{
		{4, []int32{4}, "shown"},
		{4, []int32{2, 3}, "comes and goes"},
		{4, []int32{1, 4}, "comes and goes"},
		{4, []int32{2, 4}, "not shown"},
		{5, []int32{2, 4}, "not shown"},
	} {
		t.Run(fmt.Sprint(c.cutOff, " of ", c.brokers), func(t *testing.T) {
			if got := newsOf(t, c.brokers, c.cutOff); got != c.want {
				t.Errorf("what is new: %s, want %s", got, c.want)
			}
		})
	}
}

// newsOf says what becomes of changes of which some brokers have not heard: shown
// before each broker has had its turn and from then on, or otherwise.
func newsOf(t *testing.T, brokers int, cutOff []int32) string {
	f := newFake(brokers)
	f.topic("orders", 3)
	f.topic("old", 1)
	again := f.topic("again", 1)
	s := NewSweeper(f, Options{Serial: true, Disabled: noLookUps})
	shown := func() string {
		sample := s.Sweep(t.Context())
		var names []string
		for _, topic := range sample.Topics {
			names = append(names, fmt.Sprint(topic.Name, " ", topic.ID[15]))
		}
		if calls := f.take(); len(calls) > 2+8*brokers {
			t.Errorf("%d requests", len(calls))
		}
		return fmt.Sprint(names)
	}
	for range 2 {
		if got, want := shown(), "[again 3 old 2 orders 1]"; got != want {
			t.Fatalf("at first: %s, want %s", got, want)
		}
	}
	told := f.answer(4, metadataFor()).(*kmsg.MetadataResponse)
	f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
		if req.Key() != kmsg.Metadata.Int16() || !slices.Contains(cutOff, broker) {
			return nil, nil
		}
		copied := *told
		copied.SetVersion(req.GetVersion())
		copied.Topics = slices.Clone(told.Topics)
		return &copied, nil
	}
	f.topics = slices.DeleteFunc(f.topics, func(topic *fakeTopic) bool { return topic.name == "old" })
	again.id = 9
	f.topic("fresh", 1).id = 5
	first, old := -1, 0
	for n := range 12 {
		isNew := shown() == "[again 9 fresh 5 orders 1]"
		switch {
		case isNew && first < 0:
			first = n
		case !isNew && first >= 0:
			old++
		}
	}
	switch {
	case first < 0 || first > brokers-2:
		return "not shown"
	case old > 0:
		return "comes and goes"
	}
	return "shown"
}

// Where every broker is behind what was known, as after a cluster was restored
// from a copy, that is how it is.
func TestClusterThatIsRestored(t *testing.T) {
	f := newFake(3)
	f.topic("orders", 3).partitions[0].epoch = 7
	s := NewSweeper(f, Options{Serial: true})
	s.Sweep(t.Context())
	f.topics[0].partitions[0].epoch = 2
	for n := range 3 {
		f.take()
		sample := s.Sweep(t.Context())
		if got, want := offsets(partition(t, sample, "orders", 0)), "0 5 7 9"; got != want || len(sample.Missed) > 0 {
			t.Errorf("sweep %d: offsets %s, want %s; missed %s", n, got, want, missed(sample))
		}
		if n, asked := n, count(f.take())["Metadata"]; n > 0 && asked != 1 {
			t.Errorf("sweep %d: Metadata was asked %d times", n, asked)
		}
	}
}

// One broker that says nothing costs itself, whatever a request may take: at the
// start, when it is the first seed, later, when its turn comes, and where it is the
// second to be asked, as topics have changed.
func TestSilentBrokerIsNotWaitedForAlone(t *testing.T) {
	const period = time.Second
	for _, timeout := range []time.Duration{0, 750 * time.Millisecond} {
		for silent := int32(1); silent <= 3; silent++ {
			for _, since := range []int{0, 3, 4, 5} {
				t.Run(fmt.Sprintf("%v, broker %d since sweep %d", timeout, silent, since), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						ctx, cancel := context.WithCancel(t.Context())
						f := newFake(3)
						f.latency = time.Millisecond
						f.topic("orders", 3)
						s := NewSweeper(f, Options{Period: period, BrokerTimeout: timeout})
						for n := range 8 {
							if n == since {
								f.set(func() {
									f.hung[silent] = true
									f.topic("refunds", 1).partitions[0].leader = silent%3 + 1
								})
							}
							begun := time.Now()
							sample := s.Sweep(ctx)
							for id := range int32(3) {
								if p := partition(t, sample, "orders", int(id)); id+1 != silent && offsets(p) != "0 5 7 9" {
									t.Errorf("sweep %d: orders-%d has %s; missed %s", n, id, offsets(p), missed(sample))
								}
							}
							time.Sleep(period - time.Since(begun))
						}
						cancel()
						s.wait()
					})
				})
			}
		}
	}
}
