package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// The large cluster: ten topics, and groups with commits in a hundred partitions.
const (
	largeTopics     = 10
	largePartitions = 10_000 // of each
	largeGroups     = 1000
)

// BenchmarkLargeCluster is a sweep of 100,000 partitions and 1,000 groups with
// 100 commits each, its view, and the page that is made of it: over TCP, by the
// call in process, and with answers that were kept, which is what the exporter
// itself takes. It reports how large the page is, and what lives on the heap for
// the exporter after a sweep.
func BenchmarkLargeCluster(b *testing.B) {
	sim, err := simbroker.Start(simbroker.Config{Brokers: brokers, ListenAddress: "127.0.0.1:0"})
	must(b, err)
	b.Cleanup(func() { sim.Close() })
	fillLarge(b, sim)
	tcp, err := collector.NewKafka(kgo.SeedBrokers(sim.Bootstrap()...))
	must(b, err)
	b.Cleanup(tcp.Close)
	for _, tt := range []struct {
		name   string
		client collector.Client
	}{{"TCP", tcp}, {"in process", inProcess{sim}}, {"answers kept", &kept{client: inProcess{sim}, answers: map[string]kmsg.Response{}}}} {
		b.Run(tt.name, func(b *testing.B) { sweepLarge(b, tt.client) })
	}
}

func sweepLarge(b *testing.B, client collector.Client) {
	before := heap()
	runner := collector.NewRunner(client, collector.Options{Period: time.Minute, Serial: true, NoReadableLag: true, NoTimeIndex: true})
	exposition := metrics.NewExposition(metrics.Options{})
	runner.Subscribe(exposition.Publish)
	sweep := func() {
		page(exposition, "gzip") // a page is made in the forms that were asked for before
		runner.Sweep(context.Background())
		if view := runner.View(); !view.Complete() || len(view.Topics) < largeTopics || len(view.Groups) != largeGroups {
			b.Fatalf("%d topics and %d groups; the sweep missed %v", len(view.Topics), len(view.Groups), view.Missed)
		}
	}
	sweep()
	b.ReportAllocs()
	for b.Loop() {
		sweep()
	}
	b.ReportMetric((heap()-before)/(1<<20), "MiB-heap")
	b.ReportMetric(float64(page(exposition, ""))/(1<<20), "MiB-page")
	b.ReportMetric(float64(page(exposition, "gzip"))/(1<<20), "MiB-compressed")
	runtime.KeepAlive(runner)
}

// page is how many bytes a scrape gets.
func page(exposition http.Handler, encoding string) int {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	r.Header.Set("Accept-Encoding", encoding)
	exposition.ServeHTTP(w, r)
	return w.Body.Len()
}

// fillLarge gives the cluster its topics, and its groups their commits.
func fillLarge(b *testing.B, sim *simbroker.Cluster) {
	b.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(sim.Bootstrap()...))
	must(b, err)
	defer client.Close()
	admin, ctx := kadm.NewClient(client), context.Background()
	for t := range largeTopics {
		created, err := admin.CreateTopic(ctx, largePartitions, 1, nil, fmt.Sprint("topic-", t))
		must(b, err)
		must(b, created.Err)
	}
	for g := range largeGroups {
		var offsets kadm.Offsets
		for n := range int32(100) {
			offsets.Add(kadm.Offset{Topic: fmt.Sprint("topic-", g%largeTopics), Partition: int32(g/largeTopics)*100 + n, At: 0, LeaderEpoch: -1})
		}
		must(b, admin.CommitAllOffsets(ctx, fmt.Sprintf("group-%04d", g), offsets))
	}
}

// inProcess is a simulated cluster as a collector.Client.
type inProcess struct{ sim *simbroker.Cluster }

// Seeds implements collector.Client.
func (c inProcess) Seeds() []int32 {
	var ids []int32
	for _, id := range c.sim.Brokers() {
		ids = append(ids, int32(id))
	}
	return ids
}

// Request implements collector.Client.
func (c inProcess) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	return c.sim.Request(ctx, kafka.BrokerID(broker), req)
}

// kept is a client of a cluster on which nothing happens: what was asked before
// has its answer. It keeps them for good.
type kept struct {
	client  collector.Client
	answers map[string]kmsg.Response
}

// Seeds implements collector.Client.
func (k *kept) Seeds() []int32 { return k.client.Seeds() }

// Request implements collector.Client.
func (k *kept) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	asked := fmt.Sprintf("%d %d %d %x", broker, req.Key(), req.GetVersion(), req.AppendTo(nil))
	if resp := k.answers[asked]; resp != nil {
		return resp, nil
	}
	resp, err := k.client.Request(ctx, broker, req)
	if err == nil {
		k.answers[asked] = resp
	}
	return resp, err
}
