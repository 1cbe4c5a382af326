package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
)

// The cluster of the benchmarks: as large as the one on which peers were
// measured.
const (
	brokers    = 3
	partitions = 2000
	groups     = 100
	commits    = 100 // of each group
)

// side is one of several that do the same.
type side struct {
	name string
	do   func()
}

// versus runs two sides in turn; see inTurn.
func versus(b *testing.B, name string, ours, theirs func()) {
	b.Helper()
	inTurn(b, ours, side{name, theirs})
}

// inTurn runs ours and the other sides in turn, b.N times each after once for
// warming up, and reports the time of each and the ratios.
func inTurn(b *testing.B, ours func(), others ...side) {
	b.Helper()
	sides := append([]side{{"", ours}}, others...)
	for _, s := range sides {
		s.do()
	}
	took := make([]time.Duration, len(sides))
	b.ResetTimer()
	for range b.N {
		for i, s := range sides {
			t := time.Now()
			s.do()
			took[i] += time.Since(t)
		}
	}
	b.StopTimer()
	perRun := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) / 1000 }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(perRun(took[0]), "ms")
	for i, s := range sides[1:] {
		b.ReportMetric(perRun(took[1+i]), s.name+"-ms")
		b.ReportMetric(took[1+i].Seconds()/took[0].Seconds(), "x-faster-than-"+s.name)
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// start starts a simulated cluster over TCP and a client of it.
func start(b *testing.B) (*simbroker.Cluster, *kgo.Client) {
	b.Helper()
	sim, err := simbroker.Start(simbroker.Config{Brokers: brokers, ListenAddress: "127.0.0.1:0"})
	must(b, err)
	b.Cleanup(func() { sim.Close() })
	client, err := kgo.NewClient(kgo.SeedBrokers(sim.Bootstrap()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	must(b, err)
	b.Cleanup(client.Close)
	return sim, client
}

// fill gives the cluster its topic, a record in each partition, and its groups.
func fill(b *testing.B, client *kgo.Client) {
	b.Helper()
	ctx := context.Background()
	admin := kadm.NewClient(client)
	created, err := admin.CreateTopic(ctx, partitions, 1, nil, "t")
	must(b, err)
	must(b, created.Err)
	var records []*kgo.Record
	for p := range int32(partitions) {
		records = append(records, &kgo.Record{Topic: "t", Partition: p, Value: []byte("v")})
	}
	must(b, client.ProduceSync(ctx, records...).FirstErr())
	for g := range groups {
		var offsets kadm.Offsets
		for p := range int32(commits) {
			offsets.Add(kadm.Offset{Topic: "t", Partition: p, At: 0, LeaderEpoch: -1})
		}
		must(b, admin.CommitAllOffsets(ctx, fmt.Sprint("g", g), offsets))
	}
}

// BenchmarkSweep is a sweep, and the view that is made of it, beside the calls
// by which an exporter on kadm learns less: log start, high watermark, last
// stable offset (there is no call for the log end) and the commits.
func BenchmarkSweep(b *testing.B) {
	sim, client := start(b)
	fill(b, client)
	kafka, err := collector.NewKafka(kgo.SeedBrokers(sim.Bootstrap()...))
	must(b, err)
	b.Cleanup(kafka.Close)
	runner := collector.NewRunner(kafka, collector.Options{})
	admin := kadm.NewClient(client)
	ctx := context.Background()
	versus(b, "kadm", func() {
		runner.Sweep(ctx)
		if view := runner.View(); !view.Complete() {
			b.Fatalf("the sweep missed %v", view.Missed)
		}
	}, func() {
		listed, err := admin.ListGroups(ctx)
		must(b, err)
		_, err = admin.DescribeGroups(ctx, listed.Groups()...)
		must(b, err)
		must(b, admin.FetchManyOffsets(ctx, listed.Groups()...).Error())
		for _, list := range []func(context.Context, ...string) (kadm.ListedOffsets, error){
			admin.ListStartOffsets, admin.ListEndOffsets, admin.ListCommittedOffsets,
		} {
			_, err := list(ctx)
			must(b, err)
		}
	})
}

// BenchmarkScrape is a scrape of the page of such a cluster over HTTP, as
// Prometheus makes it (compressed), beside one of a page with as many samples
// that client_golang collects and encodes for each scrape.
func BenchmarkScrape(b *testing.B) {
	sim, client := start(b)
	fill(b, client)
	kafka, err := collector.NewKafka(kgo.SeedBrokers(sim.Bootstrap()...))
	must(b, err)
	b.Cleanup(kafka.Close)
	runner := collector.NewRunner(kafka, collector.Options{})
	exposition := metrics.NewExposition(metrics.Options{})
	runner.Subscribe(exposition.Publish)
	runner.Sweep(context.Background())
	ours := httptest.NewServer(exposition)
	b.Cleanup(ours.Close)

	registry := prometheus.NewRegistry()
	must(b, registry.Register(&everyTime{view: runner.View()}))
	theirs := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	b.Cleanup(theirs.Close)
	versus(b, "client_golang", func() { scrape(b, ours.URL) }, func() { scrape(b, theirs.URL) })
}

// scrape fetches a page as Prometheus does: compressed, and not unpacked here.
func scrape(b *testing.B, url string) {
	req, err := http.NewRequest(http.MethodGet, url, nil)
	must(b, err)
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := http.DefaultClient.Do(req)
	must(b, err)
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	must(b, err)
	if n < 10_000 || resp.StatusCode != http.StatusOK {
		b.Fatalf("a page of %d bytes, status %d", n, resp.StatusCode)
	}
}

// everyTime is a prometheus.Collector of the partitions and commits of a view.
type everyTime struct{ view *lag.View }

var (
	partitionLabels = []string{"topic", "partition"}
	partitionDescs  = descs("partition_metric_", 11, partitionLabels)
	groupDescs      = descs("group_metric_", 3, []string{"group", "topic", "partition"})
)

func descs(prefix string, n int, labels []string) []*prometheus.Desc {
	var out []*prometheus.Desc
	for i := range n {
		out = append(out, prometheus.NewDesc(prefix+strconv.Itoa(i), "A metric.", labels, nil))
	}
	return out
}

// Describe implements prometheus.Collector.
func (c *everyTime) Describe(out chan<- *prometheus.Desc) {
	for _, d := range append(partitionDescs, groupDescs...) {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *everyTime) Collect(out chan<- prometheus.Metric) {
	for _, topic := range c.view.Topics {
		for _, p := range topic.Partitions {
			for _, d := range partitionDescs {
				out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(p.Number), topic.Name, strconv.Itoa(int(p.Number)))
			}
		}
	}
	for _, group := range c.view.Groups {
		for _, topic := range group.Topics {
			for _, p := range topic.Partitions {
				for _, d := range groupDescs {
					out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(p.Partition), group.Name, topic.Topic, strconv.Itoa(int(p.Partition)))
				}
			}
		}
	}
}
