package bench

import (
	"context"
	"fmt"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

const (
	// knownIDs is how many transactional ids the coordinators of the benchmark
	// know, as where a sink makes thousands of them an hour.
	knownIDs = 200_000

	// statePartitions is how many partitions __transaction_state has.
	statePartitions = 6

	// warmUp is how many ids hold a partition before memory is measured the first
	// time.
	warmUp = 200
)

// idOf is one of the transactional ids, which come again after the last.
func idOf(n int) string {
	n %= knownIDs
	return fmt.Sprintf("Source: Custom Source -> Sink: Unnamed-%032d-%d", n, n%7)
}

// application is what comes before the number of an id of idOf.
func application(id string) string { return id[:strings.IndexByte(id, '-')] }

// known is a simulated cluster, in process and on simulated time, whose
// coordinators know knownIDs transactional ids; it is a collector.Client.
type known struct {
	b      *testing.B
	sim    *simbroker.Cluster
	nodes  map[int]int32 // coordinators, by partition of __transaction_state
	groups []int32       // the coordinators of groups, by number
	listed bool          // all ids were asked for
}

// newKnown starts the cluster and has producers initialize all ids. Commits of
// two groups are kept by two partitions of __consumer_offsets.
func newKnown(b *testing.B) *known {
	sim, err := simbroker.Start(simbroker.Config{
		Brokers: brokers, Seed: 1, Clock: simbroker.Simulated(time.Unix(1_800_000_000, 0)),
		Properties: map[string]string{
			"transaction.state.log.num.partitions": fmt.Sprint(statePartitions), "transaction.state.log.replication.factor": "1",
			"transaction.state.log.min.isr": "1", "offsets.topic.num.partitions": "6", "offsets.topic.replication.factor": "1",
		},
	})
	must(b, err)
	b.Cleanup(func() { sim.Close() })
	k := &known{b: b, sim: sim, nodes: make(map[int]int32)}
	for i := 0; len(k.nodes) < statePartitions; i++ {
		if p := int(lag.Keeper(idOf(i), statePartitions)); k.nodes[p] == 0 {
			k.nodes[p] = k.coordinator(1, idOf(i))
		}
	}
	k.groups = []int32{k.coordinator(0, groupOf(0)), k.coordinator(0, groupOf(1))}
	for i := range knownIDs {
		k.initialize(idOf(i))
	}
	topic := kmsg.NewPtrCreateTopicsRequest()
	topic.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "t", NumPartitions: 1, ReplicationFactor: 1}}
	ask(k, 1, topic, 5, func(r *kmsg.CreateTopicsResponse) int16 { return r.Topics[0].ErrorCode })
	return k
}

// groupOf is one of two groups, kept by different partitions.
func groupOf(n int) string { return "g" + string(rune('0'+n%2)) }

// ask sends a request until it is answered without one of the errors that pass.
func ask[R kmsg.Response](k *known, node int32, req kmsg.Request, version int16, code func(R) int16) R {
	for range 1000 {
		req.SetVersion(version)
		resp, err := k.sim.Request(context.Background(), kafka.BrokerID(node), req)
		must(k.b, err)
		if r := resp.(R); code(r) == 0 {
			return r
		}
		k.sim.Advance(10 * time.Millisecond)
	}
	k.b.Fatalf("%s is never done", kmsg.NameForKey(req.Key()))
	panic("unreachable")
}

func (k *known) coordinator(kind int8, key string) int32 {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKeys = kind, []string{key}
	return ask(k, 1, req, 4, func(r *kmsg.FindCoordinatorResponse) int16 { return r.Coordinators[0].ErrorCode }).Coordinators[0].NodeID
}

func (k *known) of(id string) int32 { return k.nodes[int(lag.Keeper(id, statePartitions))] }

func (k *known) initialize(id string) (producer int64, epoch int16) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &id, 600_000
	r := ask(k, k.of(id), req, 4, func(r *kmsg.InitProducerIDResponse) int16 { return r.ErrorCode })
	return r.ProducerID, r.ProducerEpoch
}

// hold opens a transaction of the n-th id that holds the partition of
// __consumer_offsets which keeps its group, and returns what ends it.
func (k *known) hold(n int) (end func()) {
	id := idOf(n)
	producer, epoch := k.initialize(id)
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = id, groupOf(n), producer, epoch, -1
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset = 1
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{p}}}
	ask(k, k.groups[n%2], req, 5, func(r *kmsg.TxnOffsetCommitResponse) int16 { return r.Topics[0].Partitions[0].ErrorCode })
	return func() {
		req := kmsg.NewPtrEndTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch = id, producer, epoch
		ask(k, k.of(id), req, 5, func(r *kmsg.EndTxnResponse) int16 { return r.ErrorCode })
		k.sim.Advance(50 * time.Millisecond) // its marker is written
	}
}

// Seeds implements collector.Client.
func (k *known) Seeds() []int32 { return []int32{1} }

// Request implements collector.Client.
func (k *known) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	if r, ok := req.(*kmsg.ListTransactionsRequest); ok && len(r.ProducerIDFilters) == 0 {
		k.listed = true
	}
	return k.sim.Request(ctx, kafka.BrokerID(broker), req)
}

// heldExporter is an exporter that watches partitions which one transaction
// after the other holds.
type heldExporter struct {
	k          *known
	runner     *collector.Runner
	exposition *metrics.Exposition
	end        func() // of the transaction that began last

	sweeping, censuses time.Duration // what sweeps took, those with a census apart
	counted            int           // sweeps with a census
}

func newHeldExporter(k *known) *heldExporter {
	e := &heldExporter{k: k, end: k.hold(0)}
	e.runner = collector.NewRunner(k, collector.Options{
		LookUpAfter: time.Nanosecond, Now: k.sim.Now, Serial: true, CensusPeriod: 30 * time.Minute, Application: application,
	})
	e.exposition = metrics.NewExposition(metrics.Options{Now: k.sim.Now})
	e.runner.Subscribe(e.exposition.Publish)
	e.sweep() // the next one finds what it sees standing
	return e
}

func (e *heldExporter) sweep() {
	e.k.listed = false
	begun := time.Now()
	e.runner.Sweep(context.Background())
	took := time.Since(begun)
	if view := e.runner.View(); !view.Complete() {
		e.k.b.Fatalf("the sweep missed %v", view.Missed)
	}
	if e.k.listed {
		e.censuses += took
		e.counted++
	} else {
		e.sweeping += took
	}
	e.k.sim.Advance(10 * time.Second)
}

// next begins the transaction of the n-th id in one of the partitions, in which
// none is open, and sweeps. That of the id before, in the other partition, has
// stood still since the sweep before: it has the only series, and ends.
func (e *heldExporter) next(n int) {
	end := e.k.hold(n)
	e.sweep()
	w := httptest.NewRecorder()
	e.exposition.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	page := w.Body.String()
	const series = "\nkafka_partition_blocking_transaction_info{"
	if n, want := strings.Count(page, series), idOf(n-1); n != 1 || strings.Count(page, idLabel(want)) != 1 || strings.Count(page, "transactional_id=") != 1 {
		e.k.b.Fatalf("%d series, and not of %s alone", n, want)
	}
	e.end()
	e.end = end
}

// idLabel is the label of an id.
func idLabel(id string) string { return `transactional_id="` + id + `"` }

// size is what an exporter has on the heap, which it takes from its owner.
func size(e **heldExporter) float64 {
	(*e).end()
	with := heap()
	runtime.KeepAlive(*e)
	*e = nil
	return with - heap()
}

// heap is what lives on the heap, after what was kept for reuse is let go of.
func heap() float64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkTransactionalIDs is a sweep of a cluster whose coordinators know
// 200,000 transactional ids, and a scrape. In each sweep another one of them
// begins to hold a partition, and the one that began in the sweep before is
// looked up; every 180th takes a census of all ids. There is one series with
// an id at a time. What the exporter has on the heap after all of it is what one
// has that has seen warmUp ids. -benchtime 200000x goes through all ids.
func BenchmarkTransactionalIDs(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // most of what lives is the simulator's
	begun := time.Now()
	k := newKnown(b)
	b.Logf("%d producers initialized in %v", knownIDs, time.Since(begun).Round(time.Millisecond))
	short := newHeldExporter(k)
	for n := 1; n <= warmUp; n++ {
		short.next(n)
	}
	before := size(&short)
	long := newHeldExporter(k)
	n := 0
	for b.Loop() {
		n++
		long.next(n)
	}
	for ; n < warmUp; n++ {
		long.next(n + 1)
	}
	b.ReportMetric(float64(long.sweeping.Microseconds())/float64(n+1-long.counted)/1000, "sweep-ms")
	b.ReportMetric(float64(long.censuses.Microseconds())/float64(long.counted)/1000, "census-ms")
	after := size(&long)
	b.ReportMetric(before/1024, "KiB-before")
	b.ReportMetric(after/1024, "KiB-after")
	if grown := after - before; grown > 1<<20 {
		b.Errorf("after %d ids %.0f bytes more live on the heap than after %d", n, grown, warmUp)
	}
}
