package e2e

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
)

// An actor is one client of a load: step sends its next request.
type actor interface{ step() }

// load is clients at full speed: whenever the exporter is about to send a
// request, some of them, by a seed, have sent one before it.
type load struct {
	*world
	rnd    *rand.Rand
	actors []actor
}

func (l *load) between() {
	for range l.rnd.IntN(4) {
		l.actors[l.rnd.IntN(len(l.actors))].step()
	}
}

// place is a partition and its leader.
type place struct {
	topic     string
	partition int32
	leader    int32
}

// again says whether a request is to be sent again later: Kafka's own clients do
// so with CONCURRENT_TRANSACTIONS as well.
func again(code int16) bool {
	err := kerr.ErrorForCode(code)
	return kerr.IsRetriable(err) || err == kerr.ConcurrentTransactions
}

// transactor commits transactions one after the other: a few batches, now and
// then offsets of a group, and the end.
type transactor struct {
	*load
	*producer
	places      []place
	group       string
	coordinator int32 // of the group
	left        int   // steps until the end
	offset      int64
}

func (a *transactor) step() {
	if a.left == 0 {
		code := a.end(a.producer, a.rnd.IntN(5) > 0)
		if code != 0 && !again(code) {
			a.t.Fatalf("%s: end: %v", a.transactionalID, kerr.ErrorForCode(code))
		}
		if code == 0 {
			a.left = 1 + a.rnd.IntN(4)
		}
		return
	}
	if a.left == 1 && a.rnd.IntN(3) == 0 {
		a.commitOffset()
		return
	}
	p := a.places[a.rnd.IntN(len(a.places))]
	at := topicPartition{p.topic, p.partition}
	before := a.sequence[at]
	switch code := a.produce(p.leader, p.topic, p.partition, 1+a.rnd.IntN(5), -1, a.producer); {
	case code == 0:
		a.left--
	case again(code):
		a.sequence[at] = before
	default:
		a.t.Fatalf("%s: produce: %v", a.transactionalID, kerr.ErrorForCode(code))
	}
}

func (a *transactor) commitOffset() {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.Version, req.TransactionalID, req.ProducerID, req.ProducerEpoch = 5, a.transactionalID, a.id, a.epoch
	req.Group, req.Generation = a.group, -1
	t := kmsg.NewTxnOffsetCommitRequestTopic()
	t.Topic = a.places[0].topic
	p := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset = a.places[0].partition, a.offset
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	resp := do[*kmsg.TxnOffsetCommitResponse](a.world, a.coordinator, req)
	if code := resp.Topics[0].Partitions[0].ErrorCode; code == 0 {
		a.left--
		a.offset++
	} else if !again(code) {
		a.t.Fatalf("%s: commit offsets: %v", a.transactionalID, kerr.ErrorForCode(code))
	}
}

// plain appends records without a transaction.
type plain struct {
	*load
	place
}

func (a *plain) step() {
	acks := int16(1 - 2*a.rnd.IntN(2))
	if code := a.produce(a.leader, a.topic, a.partition, 1+a.rnd.IntN(20), acks, nil); code != 0 {
		a.t.Fatalf("produce: %v", kerr.ErrorForCode(code))
	}
}

// reader commits what it can read, at once: read_committed or not.
type reader struct {
	*load
	place
	group       string
	coordinator int32
	committed   bool
}

func (a *reader) step() {
	end := a.latest(a.leader, a.topic, a.partition, a.committed)
	if code := a.commit(a.coordinator, a.group, a.topic, a.partition, end); code != 0 {
		a.t.Fatalf("%s: commit: %v", a.group, kerr.ErrorForCode(code))
	}
}

// newLoad is a load on a cluster of two brokers: three transactional producers
// on two topics, one of which others write to as well, and a topic without
// transactions.
func newLoad(t *testing.T, seed uint64) *load {
	w := newWorld(t, 2, map[string]string{"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2"})
	l := &load{world: w, rnd: rand.New(rand.NewPCG(seed, 1))}
	w.createTopic("transactions", []int32{1, 2}, []int32{2, 1})
	w.createTopic("mixed", []int32{2})
	w.createTopic("plain", []int32{1, 2}, []int32{2, 1})
	transactions := []place{{"transactions", 0, 1}, {"transactions", 1, 2}, {"mixed", 0, 2}}
	for i := range 3 {
		group := "exactly-once"
		w.mustCommit(group, "transactions", 0, 0)
		l.actors = append(l.actors, &transactor{load: l, producer: w.newProducer(fmt.Sprint("x", i), time.Minute),
			places: transactions, group: group, coordinator: w.coordinator(0, group), left: 2})
	}
	l.actors = append(l.actors, &plain{l, transactions[2]}, &plain{l, place{"plain", 0, 1}})
	for i, p := range append(transactions, place{"plain", 0, 1}) {
		for _, committed := range []bool{true, false} {
			group := fmt.Sprintf("reader-%d-%v", i, committed)
			w.mustCommit(group, p.topic, p.partition, 0)
			l.actors = append(l.actors, &reader{load: l, place: p, group: group, coordinator: w.coordinator(0, group), committed: committed})
		}
	}
	return l
}

// Ten thousand sweeps while transactions are committed at full speed: the oracle
// finds no sample that was not true at some moment of its sweep, so no negative
// lag, no last stable offset above the high watermark, no high watermark above
// the log end, and no time below on a topic without transactions.
func TestSweepsUnderLoad(t *testing.T) {
	sweeps := 10_000
	if underRace || testing.Short() {
		sweeps = 500
	}
	t.Parallel()
	l := newLoad(t, 1)
	// Timeouts run by the wall clock, which is nothing to go by here.
	e, client := l.exporter(collector.Options{Period: time.Minute, Deadline: time.Minute, BrokerTimeout: time.Minute}, metrics.Options{})
	client.before = l.between
	for range sweeps {
		e.sweep()
		l.wait(time.Duration(l.rnd.IntN(2000)) * time.Millisecond)
	}
	page := parsePage(e.scrape())
	for partition := range 2 {
		labels := []string{"topic", "plain", "partition", fmt.Sprint(partition)}
		if below := value(t, page, "kafka_partition_lso_below_hwm_seconds_total", labels...); below != 0 {
			t.Errorf("plain-%d: below for %v s", partition, below)
		}
		if seen := value(t, page, "kafka_partition_observed_seconds_total", labels...); seen < 0.9*float64(sweeps) {
			t.Errorf("plain-%d: observed for %v s", partition, seen)
		}
	}
	below := value(t, page, "kafka_partition_lso_below_hwm_seconds_total", "topic", "transactions", "partition", "0")
	if below < 0.1*float64(sweeps) {
		t.Errorf("transactions were open for %v s: there was no load", below)
	}
	if gaps := value(t, page, "lso_exporter_read_gap_seconds"); gaps != float64(2*sweeps) {
		t.Errorf("%v read gaps, want one a broker and sweep", gaps)
	}
	for _, result := range []string{"partial", "failed"} {
		if n := value(t, page, "lso_exporter_sweeps_total", "result", result); n != 0 {
			t.Errorf("%v sweeps were %s", n, result)
		}
	}
}
