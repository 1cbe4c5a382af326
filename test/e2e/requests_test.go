package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/test/litmus"
)

// budget is the most requests of a sweep of a cluster of B brokers.
func budget(brokers int) int { return 2 + 8*brokers }

// size is a cluster's size.
type size struct{ partitions, groups int }

// fill creates topics and groups, a commit each.
func (w *world) fill(s size) {
	brokers := w.Brokers()
	var replicas [][]int32
	for i := range s.partitions {
		replicas = append(replicas, []int32{brokers[i%len(brokers)]})
	}
	w.createTopic("t", replicas...)
	w.mustProduce(replicas[0][0], "t", 0, 5)
	for g := range s.groups {
		w.mustCommit(fmt.Sprint("g", g), "t", 0, 3)
	}
}

// steady are the requests by API of one sweep of a cluster that is as it was in
// the sweep before, counted where they reach it.
func steady(t *testing.T, brokers int, s size) map[string]int {
	w := newWorld(t, brokers, nil)
	w.fill(s)
	e, client := w.exporter(collector.Options{}, metrics.Options{})
	e.sweep()
	w.wait(period)
	clear(client.counts)
	e.sweep()
	counts := maps.Clone(client.counts)
	total := 0
	for _, n := range counts {
		total += n
	}
	if total > budget(brokers) {
		t.Errorf("%d brokers, %+v: %d requests, want at most %d: %v", brokers, s, total, budget(brokers), counts)
	}
	for range 100 {
		e.get("/metrics")
	}
	if !maps.Equal(counts, client.counts) {
		t.Errorf("scrapes made requests: %v, before them %v", client.counts, counts)
	}
	return counts
}

// A sweep makes the same requests for 20 and for 2,000 partitions, for 1 and for
// 100 groups, at most 2 + 8 B of them; a scrape makes none. A broker that
// coordinates no group is not asked about groups that it has not.
func TestRequestsOfASweep(t *testing.T) {
	each := func(brokers, coordinators int) map[string]int {
		return map[string]int{"Metadata": 1, "ListGroups": brokers, "ListOffsets": 4 * brokers,
			"DescribeGroups": coordinators, "OffsetFetch": coordinators}
	}
	for _, tt := range []struct {
		brokers int
		size    size
		want    map[string]int
	}{
		{1, size{20, 1}, each(1, 1)},
		{1, size{20, 100}, each(1, 1)},
		{3, size{20, 1}, each(3, 1)},
		{3, size{2000, 1}, each(3, 1)},
		{3, size{20, 100}, each(3, 3)},
		{3, size{2000, 100}, each(3, 3)},
	} {
		if got := steady(t, tt.brokers, tt.size); !maps.Equal(got, tt.want) {
			t.Errorf("%d brokers, %+v: requests %v, want %v", tt.brokers, tt.size, got, tt.want)
		}
	}
}

// The budget holds whatever goes wrong: a broker is killed, hangs, leaders and
// coordinators change, groups and topics vanish.
func TestRequestsWhenThingsGoWrong(t *testing.T) {
	w := newWorld(t, 3, map[string]string{"offsets.topic.replication.factor": "3"})
	w.createTopic("t", []int32{1, 2}, []int32{2, 3}, []int32{3, 1})
	w.createTopic("u", []int32{1}, []int32{2})
	for g := range 20 {
		w.mustCommit(fmt.Sprint("g", g), "t", 0, 0)
	}
	e, client := w.exporter(collector.Options{}, metrics.Options{})
	ctx := context.Background()
	acts := []struct {
		name string
		do   func() error
	}{
		{"nothing", func() error { return nil }},
		{"broker 2 is killed", func() error { return w.Kill(ctx, 2) }},
		{"its partitions are led by others", func() error { w.wait(5 * time.Second); return nil }},
		{"broker 2 is started", func() error { return w.Start(ctx, 2) }},
		{"broker 1 hangs", func() error { return w.Pause(ctx, 1) }},
		{"it still hangs", func() error { return nil }},
		{"its partitions are led by others", func() error { w.wait(5 * time.Second); return nil }},
		{"it goes on", func() error { return w.Resume(ctx, 1) }},
		{"broker 3 is shut down", func() error { return w.Stop(ctx, 3) }},
		{"broker 3 is started", func() error { return w.Start(ctx, 3) }},
	}
	for _, a := range acts {
		if err := a.do(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			clear(client.counts)
			e.sweep()
			total := 0
			for _, n := range client.counts {
				total += n
			}
			if total > budget(3) {
				t.Errorf("%s: %d requests: %v", a.name, total, client.counts)
			}
			w.wait(100 * time.Millisecond)
		}
	}
}

// counter counts the requests that go over the connections it dials.
type counter struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *counter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &countedConn{Conn: conn, counter: c}, nil
}

func (c *counter) take() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.counts
	c.counts = nil
	return out
}

type countedConn struct {
	net.Conn
	counter *counter
	buffer  []byte
}

// Write implements net.Conn: franz-go writes from one goroutine.
func (c *countedConn) Write(p []byte) (int, error) {
	c.buffer = append(c.buffer, p...)
	for len(c.buffer) >= 6 {
		size := 4 + int(binary.BigEndian.Uint32(c.buffer))
		if len(c.buffer) < size {
			break
		}
		key := kmsg.Key(binary.BigEndian.Uint16(c.buffer[4:]))
		c.counter.mu.Lock()
		if c.counter.counts == nil {
			c.counter.counts = map[string]int{}
		}
		c.counter.counts[key.Name()]++
		c.counter.mu.Unlock()
		c.buffer = c.buffer[size:]
	}
	return c.Conn.Write(p)
}

// Over TCP, franz-go adds nothing to the requests of a sweep but the handshake
// of a connection.
func TestRequestsOverTCP(t *testing.T) {
	sim, err := simbroker.Start(simbroker.Config{Brokers: 3, Properties: litmus.Properties(), ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Close() })
	var c counter
	client, err := collector.NewKafka(kgo.SeedBrokers(sim.Bootstrap()...), kgo.Dialer(c.dial))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	e := newExporter(t, t.Name(), client, time.Now, collector.Options{}, metrics.Options{})
	e.sweep()
	first := c.take()
	if first["ApiVersions"] == 0 {
		t.Errorf("no handshake among the first sweep's requests: %v", first)
	}
	e.sweep()
	got := c.take()
	// The second Metadata asks whether topics are hidden.
	if want := map[string]int{"Metadata": 2, "ListGroups": 3}; !maps.Equal(got, want) {
		t.Errorf("the sweep of an empty cluster made %v, want %v", got, want)
	}
	e.scrape()
	if got := c.take(); len(got) != 0 {
		t.Errorf("a scrape made %v", got)
	}
}
