package collector_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// properties let a simulated cluster of three start in no time.
var properties = map[string]string{
	"offsets.topic.num.partitions":             "6",
	"offsets.topic.replication.factor":         "1",
	"transaction.state.log.num.partitions":     "6",
	"transaction.state.log.replication.factor": "1",
	"transaction.state.log.min.isr":            "1",
	"group.initial.rebalance.delay.ms":         "0",
}

// simulated starts a cluster of three brokers, over TCP on the wall clock or in
// process on a simulated one.
func simulated(t testing.TB, tcp bool) *simbroker.Cluster {
	t.Helper()
	cfg := simbroker.Config{Brokers: 3, Properties: properties, Seed: 1}
	if tcp {
		cfg.ListenAddress = "127.0.0.1:0"
	} else {
		cfg.Clock = simbroker.Simulated(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	c, err := simbroker.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// inProcess is a simulated cluster as a collector.Client.
type inProcess struct{ cluster *simbroker.Cluster }

// Seeds implements collector.Client.
func (c inProcess) Seeds() []int32 {
	var ids []int32
	for _, id := range c.cluster.Brokers() {
		ids = append(ids, int32(id))
	}
	return ids
}

// Request implements collector.Client.
func (c inProcess) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	resp, err := c.cluster.Request(ctx, kafka.BrokerID(broker), req)
	if errors.Is(err, simbroker.ErrTimeout) {
		err = context.DeadlineExceeded // what a simulated clock calls it
	}
	return resp, err
}

// ask sends a request to a broker of the cluster, until it has done what it is
// for: some answers tell a client to try again.
func ask[R kmsg.Response](t testing.TB, c *simbroker.Cluster, broker int32, req kmsg.Request, version int16, done func(R) bool) R {
	t.Helper()
	for range 1000 {
		req.SetVersion(version)
		resp, err := c.Request(context.Background(), kafka.BrokerID(broker), req)
		if err != nil {
			t.Fatal(err)
		}
		if r := resp.(R); done(r) {
			return r
		}
		c.Advance(10 * time.Millisecond)
	}
	t.Fatalf("%s is never done", kmsg.NameForKey(req.Key()))
	panic("unreachable")
}

// createTopic creates a topic whose partitions have one replica each.
func createTopic(t testing.TB, c *simbroker.Cluster, name string, partitions int32) {
	t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	req.Topics = append(req.Topics, topic)
	ask(t, c, 1, req, 7, func(r *kmsg.CreateTopicsResponse) bool {
		if code := r.Topics[0].ErrorCode; code != 0 {
			t.Fatalf("create topic: error %d", code)
		}
		return true
	})
}

// commit commits an offset of partition 0 of a topic for a group without
// members.
func commit(t testing.TB, c *simbroker.Cluster, group, topic string, offset int64) {
	t.Helper()
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorKeys = []string{group}
	found := ask(t, c, 1, find, 4, func(r *kmsg.FindCoordinatorResponse) bool { return r.Coordinators[0].ErrorCode == 0 })
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewOffsetCommitRequestTopicPartition()
	rp.Offset = offset
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	ask(t, c, found.Coordinators[0].NodeID, req, 8, func(r *kmsg.OffsetCommitResponse) bool { return r.Topics[0].Partitions[0].ErrorCode == 0 })
}

// wire counts the requests that franz-go writes, by API: those too that it
// sends on its own account.
type wire struct {
	mu    sync.Mutex
	count map[string]int
}

// OnBrokerWrite implements kgo.HookBrokerWrite.
func (w *wire) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == nil {
		w.count = make(map[string]int)
	}
	w.count[kmsg.NameForKey(key)]++
}

// take returns the requests since the last time.
func (w *wire) take() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := w.count
	w.count = nil
	return count
}

// dial returns a client of the cluster over TCP.
func dial(t testing.TB, c *simbroker.Cluster, options ...kgo.Opt) *collector.Kafka {
	t.Helper()
	k, err := collector.NewKafka(append(options, kgo.SeedBrokers(c.Bootstrap()...))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

// TestRequestsOverTCP counts what a sweep writes to its connections: the same
// for 20 and 2,000 partitions and for 1 and 100 groups, and at most 2 + 8 B.
func TestRequestsOverTCP(t *testing.T) {
	c := simulated(t, true)
	var wire wire
	s := collector.NewSweeper(dial(t, c, kgo.WithHooks(&wire)), collector.Options{})
	createTopic(t, c, "small", 20)
	commit(t, c, "g", "small", 0)
	s.Sweep(t.Context()) // opens the connections

	want := map[string]int{"Metadata": 1, "ListGroups": 3, "DescribeGroups": 3, "OffsetFetch": 3, "ListOffsets": 12}
	for _, step := range []struct {
		reason string
		grow   func()
	}{
		{"20 partitions, 1 group", func() {}},
		{"20 partitions, 100 groups", func() {
			for i := range 99 {
				commit(t, c, fmt.Sprint("g", i), "small", 0)
			}
		}},
		{"2,000 partitions, 100 groups", func() { createTopic(t, c, "large", 1980) }},
	} {
		step.grow()
		s.Sweep(t.Context()) // hears of it
		wire.take()
		sample := s.Sweep(t.Context())
		got := wire.take()
		total := 0
		for _, n := range got {
			total += n
		}
		if total > 2+8*3 {
			t.Errorf("%s: %d requests, above %d", step.reason, total, 2+8*3)
		}
		if len(sample.Missed) > 0 {
			t.Errorf("%s: missed %v", step.reason, sample.Missed)
		}
		if step.reason == "20 partitions, 1 group" {
			// Brokers without a group have nobody to describe.
			if got["DescribeGroups"] != 1 || got["OffsetFetch"] != 1 {
				t.Errorf("%s: requests %v", step.reason, got)
			}
			continue
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: requests %v, want %v", step.reason, got, want)
		}
	}
}

// TestSweepInProcess reads a cluster by synchronous calls, twice over: the same
// history gives the same samples.
func TestSweepInProcess(t *testing.T) {
	history := func(t *testing.T) string {
		c := simulated(t, false)
		createTopic(t, c, "orders", 4)
		commit(t, c, "g", "orders", 3)
		s := collector.NewSweeper(inProcess{c}, collector.Options{Serial: true, Now: c.Now})
		tracker := lag.NewTracker(10 * time.Second)
		text := ""
		for range 3 {
			view := tracker.Observe(s.Sweep(t.Context()))
			if !view.Complete() || len(view.Topics) != 2 || len(view.Groups) != 1 {
				t.Errorf("missed %v, topics %d, groups %d", view.Missed, len(view.Topics), len(view.Groups))
			}
			text += fmt.Sprintf("%+v\n", *view)
			c.Advance(10 * time.Second)
		}
		return text
	}
	if first, second := history(t), history(t); first != second {
		t.Errorf("the same history gave\n%s\nand\n%s", first, second)
	}
}

// led returns how many partitions a broker leads in a sample, and how many of
// those have all their offsets.
func led(s lag.Sample, broker lag.BrokerID) (partitions, read int) {
	for _, topic := range s.Topics {
		for _, p := range topic.Partitions {
			if p.Leader != broker {
				continue
			}
			partitions++
			if p.LogStart.OK() && p.HighWatermark.OK() && p.LastStable.OK() && p.LogEnd.OK() {
				read++
			}
		}
	}
	return partitions, read
}

// TestFaultsOverTCP pauses and kills a broker under a sweeper: it costs its own
// samples, and after the sweep that finds out no time; it is back after two
// sweeps at most.
func TestFaultsOverTCP(t *testing.T) {
	for _, c := range []struct {
		name        string
		fault, mend func(*simbroker.Cluster) error
	}{
		{"paused", func(c *simbroker.Cluster) error { return c.Pause(2) }, func(c *simbroker.Cluster) error { return c.Resume(2) }},
		{"killed", func(c *simbroker.Cluster) error { return c.Kill(2) }, func(c *simbroker.Cluster) error { return c.Start(2) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			sim := simulated(t, true)
			createTopic(t, sim, "orders", 6)
			commit(t, sim, "g", "orders", 0)
			const timeout = 500 * time.Millisecond
			s := collector.NewSweeper(dial(t, sim), collector.Options{BrokerTimeout: timeout})
			if sample := s.Sweep(t.Context()); len(sample.Missed) > 0 {
				t.Fatalf("missed %v before the fault", sample.Missed)
			}
			if err := c.fault(sim); err != nil {
				t.Fatal(err)
			}
			for i := range 3 {
				sample := s.Sweep(t.Context())
				if took := sample.Ended.Sub(sample.Started); i > 0 && took > timeout {
					t.Errorf("sweep %d took %v", i, took)
				}
				for _, id := range []lag.BrokerID{1, 3} {
					if partitions, read := led(sample, id); partitions == 0 || read < partitions {
						t.Errorf("sweep %d: %d of %d partitions of broker %d were read; missed %v", i, read, partitions, id, sample.Missed)
					}
				}
				if _, read := led(sample, 2); read > 0 {
					t.Errorf("sweep %d: %d partitions of the broker were read", i, read)
				}
			}
			if err := c.mend(sim); err != nil {
				t.Fatal(err)
			}
			recovers(t, s)
		})
	}
}

// recovers sweeps until nothing is missed any more, as a broker that is back
// still has to be named leader again.
func recovers(t *testing.T, s *collector.Sweeper) {
	var sample lag.Sample
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		sample = s.Sweep(t.Context())
		if _, read := led(sample, 2); len(sample.Missed) == 0 && read > 0 {
			return
		}
	}
	t.Errorf("missed %v long after the broker was back", sample.Missed)
}

// TestClusterComesUpLater starts a runner before there is a cluster.
func TestClusterComesUpLater(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close() // a port on which nobody listens
	k, err := collector.NewKafka(kgo.SeedBrokers(address))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	s := collector.NewSweeper(k, collector.Options{})
	if sample := s.Sweep(t.Context()); sample.Failure == "" {
		t.Error("a sweep of nothing did not fail")
	}
	c, err := simbroker.Start(simbroker.Config{Properties: properties, ListenAddress: address})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if sample := s.Sweep(t.Context()); !sample.Cluster.IsKnown() {
		t.Errorf("failed with %q though the cluster is there", sample.Failure)
	}
}

func BenchmarkSweepOverTCP(b *testing.B) {
	c := simulated(b, true)
	createTopic(b, c, "large", 2000)
	for i := range 100 {
		commit(b, c, fmt.Sprint("g", i), "large", 0)
	}
	s := collector.NewSweeper(dial(b, c), collector.Options{})
	tracker := lag.NewTracker(10 * time.Second)
	for b.Loop() {
		if view := tracker.Observe(s.Sweep(b.Context())); !view.Complete() {
			b.Fatal(view.Missed, view.Failure)
		}
	}
}
