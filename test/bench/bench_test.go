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
	"github.com/twmb/franz-go/pkg/kfake"
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

// versus runs two sides in turn, b.N times each, and reports the time of either
// and the ratio.
func versus(b *testing.B, name string, ours, theirs func()) {
	b.Helper()
	ours()
	theirs()
	var own, other time.Duration
	b.ResetTimer()
	for range b.N {
		t := time.Now()
		ours()
		own += time.Since(t)
		t = time.Now()
		theirs()
		other += time.Since(t)
	}
	b.StopTimer()
	n := float64(b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(own.Microseconds())/n/1000, "ms")
	b.ReportMetric(float64(other.Microseconds())/n/1000, name+"-ms")
	b.ReportMetric(other.Seconds()/own.Seconds(), "x-faster-than-"+name)
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

// BenchmarkProduce is franz-go producing 10,000 records of 100 bytes into the
// simulator, beside the same into kfake: plainly, in one transaction, and with
// three replicas, which kfake has not.
func BenchmarkProduce(b *testing.B) {
	const records = 10_000
	for _, tt := range []struct {
		name        string
		replicas    int16
		transaction bool
	}{{"plain", 1, false}, {"transaction", 1, true}, {"three replicas", 3, false}} {
		b.Run(tt.name, func(b *testing.B) {
			sim, admin := start(b)
			created, err := kadm.NewClient(admin).CreateTopic(context.Background(), 3, tt.replicas, nil, "t")
			must(b, err)
			must(b, created.Err)
			fake, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(3, "t"))
			must(b, err)
			b.Cleanup(fake.Close)
			versus(b, "kfake",
				producing(b, sim.Bootstrap(), records, tt.transaction),
				producing(b, fake.ListenAddrs(), records, tt.transaction))
		})
	}
}

// producing returns what produces so many records to the topic t.
func producing(b *testing.B, seeds []string, records int, transaction bool) func() {
	b.Helper()
	opts := []kgo.Opt{kgo.SeedBrokers(seeds...), kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.NoCompression())}
	if transaction {
		opts = append(opts, kgo.TransactionalID("x"))
	}
	client, err := kgo.NewClient(opts...)
	must(b, err)
	b.Cleanup(client.Close)
	value := make([]byte, 100)
	ctx := context.Background()
	return func() {
		if transaction {
			must(b, client.BeginTransaction())
		}
		for range records {
			client.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
				if err != nil {
					b.Error(err)
				}
			})
		}
		must(b, client.Flush(ctx))
		if transaction {
			must(b, client.EndTransaction(ctx, kgo.TryCommit))
		}
	}
}
