package bench

import (
	"context"
	"net/http/httptest"
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

// known is a simulated cluster, in process and on simulated time, whose
// coordinators know knownIDs transactional ids; it is a collector.Client.
type known struct {
	b     *testing.B
	sim   *simbroker.Cluster
	nodes map[int]int32 // coordinators, by partition of __transaction_state
	group int32         // the coordinator of group g
}

// statePartitions is how many partitions __transaction_state has.
const statePartitions = 6

// newKnown starts the cluster and has producers initialize all ids.
func newKnown(b *testing.B) *known {
	sim, err := simbroker.Start(simbroker.Config{
		Brokers: brokers, Seed: 1, Clock: simbroker.Simulated(time.Unix(1_800_000_000, 0)),
		Properties: map[string]string{
			"transaction.state.log.num.partitions": "6", "transaction.state.log.replication.factor": "1", "transaction.state.log.min.isr": "1",
			"offsets.topic.num.partitions": "6", "offsets.topic.replication.factor": "1",
		},
	})
	must(b, err)
	b.Cleanup(func() { sim.Close() })
	k := &known{b: b, sim: sim, nodes: make(map[int]int32)}
	for i := int64(0); len(k.nodes) < statePartitions; i++ {
		if p := int(lag.Keeper(idOf(i), statePartitions)); k.nodes[p] == 0 {
			k.nodes[p] = k.coordinator(1, idOf(i))
		}
	}
	k.group = k.coordinator(0, "g")
	for i := range int64(knownIDs) {
		k.initialize(idOf(i))
	}
	return k
}

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

// hold opens a transaction of an id that holds the partition of
// __consumer_offsets which keeps group g, and returns what ends it.
func (k *known) hold(id string) (end func()) {
	producer, epoch := k.initialize(id)
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = id, "g", producer, epoch, -1
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset = 1
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{p}}}
	ask(k, k.group, req, 5, func(r *kmsg.TxnOffsetCommitResponse) int16 { return r.Topics[0].Partitions[0].ErrorCode })
	return func() {
		req := kmsg.NewPtrEndTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch = id, producer, epoch
		ask(k, k.of(id), req, 5, func(r *kmsg.EndTxnResponse) int16 { return r.ErrorCode })
		k.sim.Advance(100 * time.Millisecond)
	}
}

// Seeds implements collector.Client.
func (k *known) Seeds() []int32 { return []int32{1} }

// Request implements collector.Client.
func (k *known) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	return k.sim.Request(ctx, kafka.BrokerID(broker), req)
}

// BenchmarkKnownTransactionalIDs is a sweep with the look-up of one of 200,000
// transactional ids that coordinators know, another one in each, and beside it a
// sweep with a census of all of them. There is one series with an id at a time.
func BenchmarkKnownTransactionalIDs(b *testing.B) {
	begun := time.Now()
	k := newKnown(b)
	b.Logf("%d producers initialized in %v", knownIDs, time.Since(begun).Round(time.Millisecond))
	topic := kmsg.NewPtrCreateTopicsRequest()
	topic.Topics = []kmsg.CreateTopicsRequestTopic{{Topic: "t", NumPartitions: 1, ReplicationFactor: 1}}
	ask(k, 1, topic, 5, func(r *kmsg.CreateTopicsResponse) int16 { return r.Topics[0].ErrorCode })
	options := collector.Options{
		LookUpAfter: time.Nanosecond, Now: k.sim.Now, Serial: true, CensusPeriod: time.Hour, Application: application,
	}
	runner := collector.NewRunner(k, options)
	exposition := metrics.NewExposition(metrics.Options{Now: k.sim.Now})
	runner.Subscribe(exposition.Publish)
	sweep := func() time.Duration {
		begun := time.Now()
		runner.Sweep(context.Background())
		took := time.Since(begun)
		if view := runner.View(); !view.Complete() {
			b.Fatalf("the sweep missed %v", view.Missed)
		}
		k.sim.Advance(10 * time.Second)
		return took
	}
	census := sweep()
	if counts, _ := runner.View().TransactionalIDs.Get(); len(counts) == 0 {
		b.Fatal("the first sweep took no census")
	}
	sweep()
	var lookUps, censuses time.Duration
	n := 0
	for b.Loop() {
		id := idOf(int64(n*7919) % knownIDs)
		n++
		end := k.hold(id)
		sweep() // the next one finds it standing
		lookUps += sweep()
		w := httptest.NewRecorder()
		exposition.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		page := w.Body.String()
		if n := strings.Count(page, "\nkafka_partition_blocking_transaction_info{"); n != 1 || !strings.Contains(page, id) {
			b.Fatalf("%d series, and not of %s alone:\n%s", n, id, page)
		}
		end()
	}
	for range 3 {
		runner = collector.NewRunner(k, options)
		censuses += sweep()
	}
	b.ReportMetric(float64(lookUps.Microseconds())/float64(n)/1000, "look-up-ms")
	b.ReportMetric(float64((censuses+census).Microseconds())/4/1000, "census-ms")
}
