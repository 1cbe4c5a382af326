package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
	"github.com/lso-exporter/lso-exporter/test/kafka"
	"github.com/lso-exporter/lso-exporter/test/litmus"
	"github.com/lso-exporter/lso-exporter/test/oracle"
	"github.com/lso-exporter/lso-exporter/test/witness"
)

// overTCP is a cluster on the wall clock with an exporter that sweeps in the
// background, as serve does.
type overTCP struct {
	*world
	exporter *exporter
}

// watchOverTCP starts an exporter of a cluster that is reached over TCP.
func watchOverTCP(t *testing.T, bootstrap []string, faults scenario.Faults, timing oracle.Timing, interval time.Duration) *overTCP {
	t.Helper()
	network, err := scenario.Dial(t.Context(), bootstrap, faults)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Close)
	w := &world{t: t, witness: witness.New(network.Brokers(), timing, network.Now())}
	w.Cluster = w.witness.Watch(network)
	client, err := collector.NewKafka(kgo.SeedBrokers(bootstrap...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	e := newExporter(t, t.Name(), client, time.Now, collector.Options{Period: interval}, metrics.Options{})
	t.Cleanup(func() { e.judge(w.witness.Acts()) })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); e.runner.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return &overTCP{w, e}
}

// until scrapes until the page is as want demands, and returns it.
func (o *overTCP) until(what string, want func(page) bool) page {
	o.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		if p := parsePage(o.exporter.scrape()); want(p) {
			return p
		}
		o.wait(20 * time.Millisecond)
	}
	o.t.Fatalf("no page came with %s", what)
	return nil
}

// high is a partition's high watermark on a page, -1 if it has none.
func high(p page, topic string) float64 {
	pick := selection{labels: map[string]string{"topic": topic, "partition": "0"}}
	for _, m := range p["kafka_partition_high_watermark"] {
		if pick.matches(m) {
			return valueOf(m)
		}
	}
	return -1
}

// hang has a broker's process stand still, and be continued. All the while
// sweeps go on, and scrapes wait for none of them and show what the other
// brokers said in the last one.
func (o *overTCP) hang(t *testing.T, interval, stillness time.Duration) {
	ctx := t.Context()
	o.createTopic("a", []int32{1})
	o.createTopic("b", []int32{2})
	o.mustProduce(1, "a", 0, 10)
	o.mustProduce(2, "b", 0, 20)
	o.until("all partitions", func(p page) bool { return high(p, "a") == 10 && high(p, "b") == 20 })
	if err := o.Pause(ctx, 2); err != nil {
		t.Fatal(err)
	}
	sweeps := map[time.Time]bool{}
	scrapes, waited := 0, 0
	written, gone := int64(10), false
	for end := time.Now().Add(stillness); time.Now().Before(end); {
		o.mustProduce(1, "a", 0, 1)
		written++
		begun := time.Now()
		p := parsePage(o.exporter.scrape())
		shown := o.exporter.scrapes[len(o.exporter.scrapes)-1].End
		sweeps[shown] = true
		scrapes++
		if shown.After(begun) {
			waited++
		}
		if high(p, "a") < 10 {
			t.Fatal("the other broker's samples are absent")
		}
		gone = gone || high(p, "b") < 0
		o.wait(10 * time.Millisecond)
	}
	// A sweep may end while a scrape is under way; a scrape that waited for one
	// would show nothing else.
	if waited > scrapes/2 {
		t.Errorf("%d of %d scrapes show a sweep that ended after they began", waited, scrapes)
	}
	if due := int(stillness / interval); len(sweeps) < due/2 {
		t.Errorf("%d sweeps ended while %d were due", len(sweeps), due)
	}
	if !gone {
		t.Error("the hung broker's samples were shown all the time")
	}
	if err := o.Resume(ctx, 2); err != nil {
		t.Fatal(err)
	}
	o.until("all partitions again", func(p page) bool { return high(p, "a") == float64(written) && high(p, "b") == 20 })
}

func TestHungBroker(t *testing.T) {
	sim, err := simbroker.Start(simbroker.Config{Brokers: 3, Properties: litmus.Properties(), ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sim.Close() })
	o := watchOverTCP(t, sim.Bootstrap(), simulated.New(sim), timing, time.Second)
	o.hang(t, time.Second, 6*time.Second)
}

func TestHungBrokerOnKafka(t *testing.T) {
	cluster := kafka.StartFor(t, kafka.Config{Version: kafka.Version(t), Brokers: 3, Properties: litmus.Properties()})
	late := timing
	late.HeartbeatInterval = 2 * time.Second
	o := watchOverTCP(t, cluster.Bootstrap(), cluster, late, 2*time.Second)
	o.hang(t, 2*time.Second, 12*time.Second)
}
