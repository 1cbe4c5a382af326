package bench

import (
	"context"
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
)

// knownIDs is how many transactional ids the coordinator of the benchmark
// knows, as where a sink makes thousands of them an hour.
const knownIDs = 200_000

// manyIDs is a broker with one partition, which a transaction holds, and a
// coordinator that knows knownIDs transactional ids; it is a collector.Client.
type manyIDs struct {
	now    time.Time
	holder int64 // the producer that holds the partition at offset holder
	all    []kmsg.ListTransactionsResponseTransactionState
}

// application is what comes before the number of an id of idOf.
func application(id string) string { return id[:strings.IndexByte(id, '-')] }

func idOf(producer int64) string {
	return fmt.Sprintf("Source: Custom Source -> Sink: Unnamed-%032d-%d", producer, producer%7)
}

// Seeds implements collector.Client.
func (*manyIDs) Seeds() []int32 { return []int32{1} }

// Request implements collector.Client.
func (m *manyIDs) Request(_ context.Context, _ int32, req kmsg.Request) (kmsg.Response, error) {
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	switch r := resp.(type) {
	case *kmsg.MetadataResponse:
		r.Brokers = []kmsg.MetadataResponseBroker{{NodeID: 1, Host: "127.0.0.1", Port: 9092}}
		for _, name := range []string{"__transaction_state", "t"} {
			r.Topics = append(r.Topics, kmsg.MetadataResponseTopic{
				Topic: &name, Partitions: []kmsg.MetadataResponseTopicPartition{{Leader: 1, Replicas: []int32{1}, ISR: []int32{1}}},
			})
		}
	case *kmsg.ListOffsetsResponse:
		m.listOffsets(req.(*kmsg.ListOffsetsRequest), r)
	case *kmsg.DescribeProducersResponse:
		p := kmsg.DescribeProducersResponseTopicPartition{}
		p.ActiveProducers = []kmsg.DescribeProducersResponseTopicPartitionActiveProducer{{ProducerID: m.holder, CurrentTxnStartOffset: m.holder}}
		r.Topics = []kmsg.DescribeProducersResponseTopic{{Topic: "t", Partitions: []kmsg.DescribeProducersResponseTopicPartition{p}}}
	case *kmsg.ListTransactionsResponse:
		if len(req.(*kmsg.ListTransactionsRequest).ProducerIDFilters) == 0 {
			r.TransactionStates = m.all
		}
		for _, producer := range req.(*kmsg.ListTransactionsRequest).ProducerIDFilters {
			r.TransactionStates = append(r.TransactionStates, kmsg.ListTransactionsResponseTransactionState{
				TransactionalID: idOf(producer), ProducerID: producer, TransactionState: "Ongoing",
			})
		}
	case *kmsg.DescribeTransactionsResponse:
		for _, id := range req.(*kmsg.DescribeTransactionsRequest).TransactionalIDs {
			r.TransactionStates = append(r.TransactionStates, kmsg.DescribeTransactionsResponseTransactionState{
				TransactionalID: id, State: "Ongoing", ProducerID: m.holder, TimeoutMillis: 60_000, StartTimestamp: m.now.UnixMilli(),
				Topics: []kmsg.DescribeTransactionsResponseTransactionStateTopic{{Topic: "t", Partitions: []int32{0}}},
			})
		}
	}
	return resp, nil
}

// listOffsets answers that the log ends five offsets behind the transaction.
func (m *manyIDs) listOffsets(req *kmsg.ListOffsetsRequest, resp *kmsg.ListOffsetsResponse) {
	for _, t := range req.Topics {
		offset := int64(0)
		if t.Topic == "t" && t.Partitions[0].Timestamp == -1 {
			offset = m.holder + 5
			if req.IsolationLevel == 1 && req.ReplicaID == -1 {
				offset = m.holder
			}
		}
		resp.Topics = append(resp.Topics, kmsg.ListOffsetsResponseTopic{
			Topic: t.Topic, Partitions: []kmsg.ListOffsetsResponseTopicPartition{{Offset: offset}},
		})
	}
}

// heap is what lives on the heap.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// BenchmarkTransactionalIDs is a sweep and a scrape of a partition that another
// one of 200,000 transactional ids holds each time, with a census of all of them
// once a minute: there is one series with an id at a time, and what lives on the
// heap does not grow with the ids seen. -benchtime 200000x goes through all of
// them.
func BenchmarkTransactionalIDs(b *testing.B) {
	m := &manyIDs{now: time.Unix(1_800_000_000, 0)}
	for i := range int64(knownIDs) {
		m.all = append(m.all, kmsg.ListTransactionsResponseTransactionState{TransactionalID: idOf(i), ProducerID: i, TransactionState: "Empty"})
	}
	runner := collector.NewRunner(m, collector.Options{
		Disabled: []collector.Collector{collector.Groups}, LookUpAfter: time.Nanosecond, Now: func() time.Time { return m.now }, Serial: true,
		CensusPeriod: time.Minute, Application: application,
	})
	exposition := metrics.NewExposition(metrics.Options{Now: func() time.Time { return m.now }})
	runner.Subscribe(exposition.Publish)
	next := func() {
		m.holder = (m.holder + 1) % knownIDs
		for range 2 { // the second finds it standing
			m.now = m.now.Add(10 * time.Second)
			runner.Sweep(context.Background())
		}
		w := httptest.NewRecorder()
		exposition.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		page := w.Body.String()
		if n := strings.Count(page, "\nkafka_partition_blocking_transaction_info{"); n != 1 || !strings.Contains(page, idOf(m.holder)) {
			b.Fatalf("%d series, and not of %s alone", n, idOf(m.holder))
		}
	}
	for range 100 {
		next()
	}
	before := heap()
	for b.Loop() {
		next()
	}
	grown := heap() - before
	runtime.KeepAlive(m)
	runtime.KeepAlive(runner)
	b.ReportMetric(grown/1024, "KiB-grown")
	if grown > 1<<20 {
		b.Errorf("%.0f bytes more live on the heap after %d ids", grown, b.N)
	}
}
