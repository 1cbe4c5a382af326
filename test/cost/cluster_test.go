package cost

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/test/kafka"
)

const (
	brokers  = 3
	replicas = 3
)

// properties are those of both clusters: small internal topics that are
// replicated as everything else, and no delay before a first rebalance.
var properties = map[string]string{
	"auto.create.topics.enable":                "false",
	"group.initial.rebalance.delay.ms":         "0",
	"offsets.topic.num.partitions":             "5",
	"offsets.topic.replication.factor":         "3",
	"transaction.state.log.num.partitions":     "5",
	"transaction.state.log.replication.factor": "3",
	"transaction.state.log.min.isr":            "2",
}

// site is a cluster that is measured.
type site struct {
	seeds []string
	names atomic.Int32 // of topics and ids that were made
}

// measures are what is measured on each cluster.
var measures = []struct {
	name    string
	measure func(b *testing.B, s *site)
}{
	{"produce", produce}, {"commit", commit}, {"initialize", initialize}, {"consume", consume}, {"delay", delay}, {"transform", transform},
}

func BenchmarkSimulator(b *testing.B) {
	sim, err := simbroker.Start(simbroker.Config{Brokers: brokers, ListenAddress: "127.0.0.1:0", Properties: properties})
	must(b, err)
	b.Cleanup(func() { must(b, sim.Close()) })
	(&site{seeds: sim.Bootstrap()}).measureAll(b)
}

func BenchmarkKafka(b *testing.B) {
	cluster := kafka.StartFor(b, kafka.Config{Version: kafka.Version(b), Brokers: brokers, Properties: properties})
	(&site{seeds: cluster.Bootstrap()}).measureAll(b)
}

func (s *site) measureAll(b *testing.B) {
	for _, m := range measures {
		b.Run(m.name, func(b *testing.B) { m.measure(b, s) })
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// name is one that nothing else on the cluster has.
func (s *site) name(prefix string) string { return fmt.Sprintf("%s-%d", prefix, s.names.Add(1)) }

// client is a client that ends with the benchmark.
func (s *site) client(b *testing.B, opts ...kgo.Opt) *kgo.Client {
	b.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(s.seeds...), kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(0),
	}, opts...)...)
	must(b, err)
	b.Cleanup(cl.Close)
	return cl
}

// topic makes a topic and returns its name.
func (s *site) topic(b *testing.B, partitions int32) string {
	b.Helper()
	name := s.name("topic")
	created, err := kadm.NewClient(s.client(b)).CreateTopic(context.Background(), partitions, replicas, nil, name)
	must(b, err)
	must(b, created.Err)
	return name
}

// compare does the same work at least once and exactly once, b.N times in turn,
// and reports the time of each and their ratio. Either returns how long its work
// took.
func compare(b *testing.B, atLeastOnce, exactlyOnce func() time.Duration) {
	b.Helper()
	atLeastOnce()
	exactlyOnce()
	var least, exactly time.Duration
	b.ResetTimer()
	for range b.N {
		least += atLeastOnce()
		exactly += exactlyOnce()
	}
	b.StopTimer()
	n := float64(b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(least.Microseconds())/n/1000, "least-ms")
	b.ReportMetric(float64(exactly.Microseconds())/n/1000, "exactly-ms")
	b.ReportMetric(exactly.Seconds()/least.Seconds(), "times")
}

// timed is how long work takes.
func timed(work func()) func() time.Duration {
	return func() time.Duration {
		begin := time.Now()
		work()
		return time.Since(begin)
	}
}
