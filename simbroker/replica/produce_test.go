package replica

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// S01: what Produce refuses (rule A5).
func TestA5RefusedRecords(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	edit := func(b commitlog.Batch, sign bool, f func(raw []byte)) []byte {
		raw := slices.Clone(b.Raw)
		f(raw)
		if sign {
			binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], castagnoli))
		}
		return raw
	}
	marker := commitlog.BuildMarker(commitlog.Marker{Producer: kafka.Producer{ID: 1}}, start.UnixMilli())
	for _, test := range []struct {
		name    string
		records []byte
		want    string
	}{
		{"two batches", slices.Concat(N(1).Raw, N(1).Raw), "INVALID_RECORD"},
		{"control batch", marker.Raw, "INVALID_RECORD"},
		{"producer id with sequence -1", I(1, 0, -1, 1).Raw, "INVALID_RECORD"},
		{"base offset 5", edit(N(1), false, func(raw []byte) { raw[7] = 5 }), "INVALID_RECORD"},
		{"count 1 for two records, wrong CRC", edit(N(2), false, func(raw []byte) { raw[60] = 1 }), "CORRUPT_MESSAGE"},
		{"count 3 for two records, right CRC", edit(N(2), true, func(raw []byte) { raw[60] = 3 }), "INVALID_RECORD"},
		{"count and last offset of three for two records", edit(N(2), true, func(raw []byte) { raw[60], raw[26] = 3, 2 }), "INVALID_RECORD"},
		{"bad CRC", edit(N(1), false, func(raw []byte) { raw[17]++ }), "CORRUPT_MESSAGE"},
		{"magic 1", edit(N(1), false, func(raw []byte) { raw[16] = 1 }), "INVALID_RECORD"},
		{"magic 3", edit(N(1), false, func(raw []byte) { raw[16] = 3 }), "CORRUPT_MESSAGE"},
		{"no batch", nil, "INVALID_RECORD"},
		{"half a batch", N(1).Raw[:40], "INVALID_RECORD"},
		{"two hours ahead", N(1, start.Add(2*time.Hour).UnixMilli()).Raw, "INVALID_TIMESTAMP"},
		{"larger than max.message.bytes", commitlog.Build(commitlog.Plainly(), []commitlog.Record{{Value: make([]byte, 2<<20)}}).Raw, "MESSAGE_TOO_LARGE"},
	} {
		r := request(tp, N(1))
		r.TransactionalID = "X1"
		r.Partitions[0].Records = test.records
		c.expect(test.name, test.want, c.send(r))
	}
	c.offsets(tp, "0/0/0")
}

func TestA5RefusedRequests(t *testing.T) {
	c := newCluster(t, 1)
	tp, second := c.topic("T1", one(0)), c.topic("T2", one(0))
	r := request(tp, T(-1, -1, -1, 1))
	c.expect("transactional batch without a producer id", "ok @0", c.send(r))
	c.offsets(tp, "1/1/1")
	r = request(tp, T(1, 0, 0, 1))
	r.TransactionalID = ""
	c.expect("transactional batch without a transactional id", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED", c.send(r))
	r = request(tp, N(1))
	r.Acks = 2
	c.expect("acks=2", "INVALID_REQUIRED_ACKS", c.send(r))
	r = request(tp, T(1, 0, 0, 1))
	r.Partitions = append(r.Partitions, request(second, T(2, 0, 0, 1)).Partitions...)
	c.expect("two producer ids", "INVALID_PRODUCER_ID_MAPPING INVALID_PRODUCER_ID_MAPPING", c.send(r))
	c.expect("nothing is added", "[]", fmt.Sprint(c.asked))
	r = request(tp, N(1))
	r.Partitions = append(r.Partitions, request(kafka.TopicPartition{Topic: "T0"}, N(1)).Partitions...)
	c.expect("unknown topic", "ok @1 UNKNOWN_TOPIC_OR_PARTITION", c.send(r))
	internal := c.topic(kafka.ConsumerOffsetsTopic, one(0))
	c.expect("internal topic", "INVALID_TOPIC_EXCEPTION", c.send(request(internal, N(1))))
	r = request(internal, N(1))
	r.InternalTopics = true
	c.expect("internal topic for __admin_client", "ok @0", c.send(r))
	c.offsets(tp, "2/2/2")
}

func TestCompactedTopicsNeedKeys(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0), func(cfg *TopicConfig) { cfg.Log.Compact, cfg.Log.Delete = true, false })
	c.produce(tp, N(1), "INVALID_RECORD")
	c.produce(tp, commitlog.Build(commitlog.Plainly(), []commitlog.Record{{Key: []byte("k"), TimestampMs: start.UnixMilli()}}), "ok @0")
}

// What a client of each version is told of the coordinator's refusal (rule
// G10), and what was asked.
func TestG10VerificationErrors(t *testing.T) {
	versions := []TransactionSupport{DefaultError, GenericErrorSupported, AddPartition}
	for _, test := range []struct {
		verdict       error
		v10, v11, v12 string
	}{
		{nil, "ok @0", "ok @0", "ok @0"},
		{kafka.ErrTransactionAbortable, "INVALID_TXN_STATE", "TRANSACTION_ABORTABLE", ""},
		{kafka.ErrProducerFenced, "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_EPOCH", "INVALID_PRODUCER_EPOCH"},
		{kafka.ErrInvalidProducerIDMapping, "INVALID_PRODUCER_ID_MAPPING", "INVALID_PRODUCER_ID_MAPPING", "INVALID_PRODUCER_ID_MAPPING"},
		{kafka.ErrCoordinatorLoadInProgress, "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS"},
		{kafka.ErrCoordinatorNotAvailable, "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS"},
		{kafka.ErrNotCoordinator, "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS"},
		{kafka.ErrConcurrentTransactions, "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS", "CONCURRENT_TRANSACTIONS"},
	} {
		for i, want := range []string{test.v10, test.v11, test.v12} {
			if want == "" {
				continue
			}
			c := newCluster(t, 1)
			tp := c.topic("T1", one(0))
			c.verdict = func(VerifyRequest) error { return test.verdict }
			c.produceAs(versions[i], tp, T(1, 0, 0, 1), want)
			ask := fmt.Sprint(c.asked[0])
			c.expect("asked", fmt.Sprintf("{X1 (1,0) [T1-0] %v}", versions[i] == AddPartition), ask)
		}
	}
}

// An open transaction is not verified again (L29), one that a marker has ended
// is.
func TestG10OpenPartitionsAreNotVerified(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 0, 3), "ok @0")
	c.verdict = func(VerifyRequest) error { return kafka.ErrInvalidProducerIDMapping }
	c.produce(tp, T(1, 0, 3, 1), "ok @3")
	c.offsets(tp, "4/4/0")
	c.mark(tp, false, 1, 0, 0, 1, "ok")
	c.offsets(tp, "5/5/5")
	c.produce(tp, T(1, 0, 4, 1), "INVALID_PRODUCER_ID_MAPPING")
	c.producers(0, tp, "P1 epoch 0 seq 3 ce 0 start -1")
}

// Produce v12 adds its partition even with verification off; v11 then asks
// nobody.
func TestG10VerificationOff(t *testing.T) {
	c := newCluster(t, 1, unverified)
	tp := c.topic("T1", one(0))
	c.produceAs(GenericErrorSupported, tp, T(1, 0, 0, 1), "ok @0")
	c.expect("asked", "[]", fmt.Sprint(c.asked))
	c.produce(tp, T(2, 0, 0, 1), "ok @1")
	c.expect("asked", "[{X1 (2,0) [T1-0] true}]", fmt.Sprint(c.asked))
}

// The broker itself waits up to 100 ms for the end of the transaction before
// (rule G10).
func TestG10ConcurrentTransactionsAreRetried(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.verdict = func(VerifyRequest) error {
		if len(c.asked) < 4 {
			return kafka.ErrConcurrentTransactions
		}
		return nil
	}
	before := c.loop.Now()
	c.produce(tp, T(1, 0, 0, 1), "ok @0")
	c.expect("waited", "60ms", c.loop.Now().Sub(before).String())
	c.verdict = func(VerifyRequest) error { return kafka.ErrConcurrentTransactions }
	before = c.loop.Now()
	c.produce(tp, T(2, 0, 0, 1), "CONCURRENT_TRANSACTIONS")
	c.expect("waited", "100ms", c.loop.Now().Sub(before).String())
}

// The next transaction's first batch may come before the marker of the one
// before, which takes its first guard away; the retry brings another (rules G10
// and G11).
func TestG11RetriedVerificationHasAGuardOfItsOwn(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 0, 1), "ok @0")
	c.verdict = func(VerifyRequest) error {
		if len(c.asked) > 2 {
			return nil
		}
		c.loop.Post(func() {
			c.nodes[0].WriteMarkers(MarkersRequest{
				Producer: kafka.Producer{ID: 1, Epoch: 1}, Commit: true, TransactionVersion: 2, Partitions: []kafka.TopicPartition{tp},
			}, func([]MarkerResult) {})
		})
		return kafka.ErrConcurrentTransactions
	}
	c.produce(tp, T(1, 1, 0, 1), "ok @2")
	c.offsets(tp, "3/3/2")
}

// Adding comes before every check of the log (rule G10), so a refused batch has
// been added; an unknown producer must begin at sequence 0 (rule C4).
func TestC4FirstSequenceOfAVerifiedProducer(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 5, 1), "OUT_OF_ORDER_SEQUENCE_NUMBER")
	c.expect("asked", "1", fmt.Sprint(len(c.asked)))
	c.produceAs(GenericErrorSupported, tp, T(2, 0, 5, 1), "ok @0")
	r := request(tp, T(3, 0, 0, 1, start.Add(2*time.Hour).UnixMilli()))
	c.expect("from the future", "INVALID_TIMESTAMP", c.send(r))
	c.expect("asked", "3", fmt.Sprint(len(c.asked)))
}

// lateVerifier keeps the verdict back.
type lateVerifier struct{ done []func([]error) }

func (v *lateVerifier) Verify(_ VerifyRequest, done func([]error)) { v.done = append(v.done, done) }

// A marker that lands between verification and append takes the guard away
// (rule G11).
func TestG11GuardDiesWithAMarker(t *testing.T) {
	for _, test := range []struct {
		name        string
		markerEpoch kafka.ProducerEpoch
		want        error
	}{
		{"protocol 1", 0, kafka.ErrInvalidTxnState},
		{"protocol 2, the epoch has moved", 1, kafka.ErrInvalidProducerEpoch},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t, 1)
			tp := c.topic("T1", one(0))
			late := &lateVerifier{}
			c.nodes[0].deps.Verifier = late
			var got error
			c.loop.Do(func() {
				r := request(tp, T(1, 0, 0, 1))
				r.Support = GenericErrorSupported
				c.nodes[0].Produce(r, func(r ProduceResult) { got = r.Partitions[0].Err })
			})
			c.mark(tp, false, 1, test.markerEpoch, 0, 1, "ok")
			c.loop.Do(func() { late.done[0]([]error{nil}) })
			if got != test.want {
				t.Fatalf("got %v, want %v", got, test.want)
			}
			c.offsets(tp, "1/1/1")
		})
	}
}

// LogAppendTime replaces the clients' timestamps with the broker's (rule E8).
func TestLogAppendTime(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0), func(cfg *TopicConfig) { cfg.Log.TimestampType = commitlog.LogAppendTime })
	now := c.loop.Now().UnixMilli()
	var got ProducedPartition
	c.loop.Do(func() {
		c.nodes[0].Produce(request(tp, N(2, 5, 6)), func(r ProduceResult) { got = r.Partitions[0] })
	})
	c.expect("produce", fmt.Sprintf("%d <nil>", now), fmt.Sprint(got.LogAppendTimeMs, got.Err))
	for b := range c.nodes[0].Log(tp).Batches(0) {
		rs, err := b.Records()
		if err != nil || !b.ValidCRC() || rs[1].TimestampMs != now {
			t.Fatalf("%v: %v, %v, CRC right: %v", b, rs, err, b.ValidCRC())
		}
	}
	c.list(0, latest(tp, now, ReadUncommitted), fmt.Sprintf("0 ts %d epoch 0", now))
	c.list(0, latest(tp, MaxTimestamp, ReadUncommitted), fmt.Sprintf("0 ts %d epoch 0", now))
}

// S05: idle producers are forgotten by record timestamp, those with an open
// transaction never (rule C11).
func TestC11ProducerExpiry(t *testing.T) {
	c := newCluster(t, 1, func(cfg *Config) {
		cfg.ProducerIDExpiration = 30 * time.Minute
		cfg.ProducerIDExpirationCheck = time.Second
	})
	tp := c.topic("T1", one(0), func(cfg *TopicConfig) { cfg.Log.RetentionTime = -1 })
	old := start.Add(-time.Hour).UnixMilli()
	aged := func(as commitlog.Producing) commitlog.Batch { return commitlog.Build(as, records(1, old)) }
	c.produce(tp, T(1, 0, 0, 1, old), "ok @0")
	c.produce(tp, aged(commitlog.Producing{Producer: kafka.Producer{ID: 2}}), "ok @1")
	c.produce(tp, I(3, 0, 0, 1), "ok @2")
	c.producers(0, tp, "P1 epoch 0 seq 0 ce -1 start 0; P2 epoch 0 seq 0 ce -1 start -1; P3 epoch 0 seq 0 ce -1 start -1")
	c.settle()
	c.producers(0, tp, "P1 epoch 0 seq 0 ce -1 start 0; P3 epoch 0 seq 0 ce -1 start -1")
	c.produce(tp, I(2, 0, 7, 1), "ok @3")
	c.mark(tp, true, 1, 1, 0, 2, "ok")
	c.producers(0, tp, "P1 epoch 1 seq -1 ce 0 start -1; P2 epoch 0 seq 7 ce -1 start -1; P3 epoch 0 seq 0 ce -1 start -1")
}

// A coordinator learns the offset at once and the replication later, and may
// write transactional records with a guard (rule H5).
func TestCoordinatorsAppend(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic(kafka.ConsumerOffsetsTopic, both())
	c.settle()
	var done []string
	write := func(r AppendRequest) string {
		r.Partition, r.Records, r.MinISR = tp, records(1), true
		name := fmt.Sprint("transactional ", r.Transactional)
		offset, err := c.nodes[0].Append(r, func(err error) { done = append(done, fmt.Sprint(name, " ", err)) })
		if err != nil {
			return err.Error()
		}
		return fmt.Sprintf("@%d", offset)
	}
	var guard producer.Guard
	c.loop.Do(func() {
		c.expect("plain", "@0", write(AppendRequest{}))
		p := kafka.Producer{ID: 1}
		c.expect("without a guard", "INVALID_TXN_STATE", write(AppendRequest{Producer: p, Transactional: true}))
		c.nodes[0].Verify(tp, "X1", p, AddPartition, func(g producer.Guard, err error) {
			if guard = g; err != nil {
				t.Fatal(err)
			}
		})
		c.expect("with a guard", "@1", write(AppendRequest{Producer: p, Transactional: true, Guard: guard}))
		c.nodes[0].Verify(tp, "X1", p, AddPartition, func(g producer.Guard, err error) {
			if g.Needed() || err != nil {
				t.Fatalf("an open transaction is verified: %v, %v", g, err)
			}
		})
	})
	c.settle()
	c.expect("done", "transactional false <nil>, transactional true <nil>", strings.Join(done, ", "))
	c.offsets(tp, "2/2/1")
	c.expect("asked", "[{X1 (1,0) [__consumer_offsets-0] true}]", fmt.Sprint(c.asked))
}

// TxnOffsetCommit gets CONCURRENT_TRANSACTIONS raw in every version (rule G10).
func TestG10VerifyForOffsets(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic(kafka.ConsumerOffsetsTopic, one(0))
	for _, test := range []struct {
		support       TransactionSupport
		verdict, want error
	}{
		{DefaultError, kafka.ErrConcurrentTransactions, kafka.ErrConcurrentTransactions},
		{AddPartition, kafka.ErrConcurrentTransactions, kafka.ErrConcurrentTransactions},
		{DefaultError, kafka.ErrTransactionAbortable, kafka.ErrInvalidTxnState},
		{GenericErrorSupported, kafka.ErrTransactionAbortable, kafka.ErrTransactionAbortable},
		{AddPartition, kafka.ErrProducerFenced, kafka.ErrInvalidProducerEpoch},
		{AddPartition, kafka.ErrNotCoordinator, kafka.ErrNotCoordinator},
	} {
		c.verdict = func(VerifyRequest) error { return test.verdict }
		got := error(kafka.ErrUnknownServerError)
		c.nodes[0].Verify(tp, "X1", kafka.Producer{ID: 1}, test.support, func(_ producer.Guard, err error) { got = err })
		if got != test.want {
			t.Errorf("%v for version class %d: got %v, want %v", test.verdict, test.support, got, test.want)
		}
	}
}

// A partition that the broker does not host is unknown to WriteTxnMarkers; one
// that it follows is not (rule G17).
func TestG17MarkersForForeignPartitions(t *testing.T) {
	c := newCluster(t, 2)
	elsewhere, followed, led := c.topic("T1", one(1)), c.topic("T2", []kafka.BrokerID{1, 0}), c.topic("T3", one(0))
	var got []MarkerResult
	c.loop.Do(func() {
		c.nodes[0].WriteMarkers(MarkersRequest{
			Producer: kafka.Producer{ID: 1}, Partitions: []kafka.TopicPartition{elsewhere, followed, led, {Topic: "T0"}},
		}, func(r []MarkerResult) { got = r })
	})
	c.expect("markers", "[{T1-0 -1 UNKNOWN_TOPIC_OR_PARTITION} {T2-0 -1 NOT_LEADER_OR_FOLLOWER} {T3-0 0 <nil>} {T0-0 -1 UNKNOWN_TOPIC_OR_PARTITION}]", fmt.Sprint(got))
}
