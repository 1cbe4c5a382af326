package txn

import (
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Rule G8 and litmus S03: who may add, and what adding does.
func TestG8AddPartitions(t *testing.T) {
	cl := newCluster(t)
	expectErr(t, "empty id", cl.add(TV1, "", producer(0, 0), orders0), kafka.ErrInvalidRequest)
	expectErr(t, "unknown id", cl.add(TV1, "X1", producer(0, 0), orders0), kafka.ErrInvalidProducerIDMapping)
	p := cl.mustInit("X1")
	expectErr(t, "other producer", cl.add(TV1, "X1", producer(5, 0), orders0), kafka.ErrInvalidProducerIDMapping)
	expectErr(t, "other epoch", cl.add(TV1, "X1", producer(0, 4), orders0), kafka.ErrProducerFenced)
	cl.expect("X1", "Empty (0,0) start -1 topics []")

	began := cl.loop.Now()
	cl.mustAdd(TV1, "X1", p, orders0)
	cl.pass(time.Second)
	cl.mustAdd(TV1, "X1", p, sales0, orders1)
	cl.expect("X1", "Ongoing (0,0) start set topics [orders-0 orders-1 sales-0]")
	if d, _ := cl.Describe("X1"); !d.Start.Equal(began) {
		t.Errorf("start %s, want the first partition's %s", d.Start, began)
	}
	cl.mustAdd(TV1, "X1", p, orders1)
	cl.expectEntries("X1", "Empty (0,0)", "Ongoing (0,0) [orders-0]", "Ongoing (0,0) [orders-0 orders-1 sales-0]")

	cl.mustEnd(TV1, "X1", p, true)
	expectErr(t, "while PrepareCommit", cl.add(TV1, "X1", p, orders0), kafka.ErrConcurrentTransactions)
	cl.settle()
	cl.pass(time.Second)
	began = cl.loop.Now()
	cl.mustAdd(TV1, "X1", p, orders0)
	if d, _ := cl.Describe("X1"); !d.Start.Equal(began) {
		t.Errorf("next transaction's start %s, want %s", d.Start, began)
	}
}

// Rule G4: while a step is pending, everybody waits, even with a wrong epoch.
func TestG4AddPartitionsWhileAppending(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.loop.Do(func() {
		cl.AddPartitions(AddPartitionsRequest{TransactionalID: "X1", Producer: p, Partitions: []kafka.TopicPartition{orders0}}, func(error) {})
	})
	for _, q := range []kafka.Producer{p, producer(0, 9), producer(9, 0)} {
		expectErr(t, q.String(), cl.add(TV1, "X1", q, orders1), kafka.ErrConcurrentTransactions)
		cl.loop.Do(func() {
			cl.InitProducerID(InitProducerIDRequest{TransactionalID: new("X1"), Timeout: time.Minute, Expected: q},
				func(_ kafka.Producer, err error) {
					expectErr(t, "InitProducerId "+q.String(), err, kafka.ErrConcurrentTransactions)
				})
		})
	}
	cl.expect("X1", "Empty (0,0) start -1 topics []")
	cl.settle()
	cl.expect("X1", "Ongoing (0,0) start set topics [orders-0]")
}

// Rule G8: an append that fails leaves the transaction as it was.
func TestG8LogRefuses(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.appendErr = kafka.ErrNotEnoughReplicas
	expectErr(t, "log below min ISR", cl.add(TV1, "X1", p, orders0), kafka.ErrCoordinatorNotAvailable)
	cl.expect("X1", "Empty (0,0) start -1 topics []")
	cl.appendErr = nil
	cl.mustAdd(TV1, "X1", p, orders0)
}

// Rule G10 and litmus 24, S03: verification answers for each partition and
// changes nothing.
func TestG10Verification(t *testing.T) {
	cl := newCluster(t)
	expectErr(t, "unknown id", cl.verify("X1", producer(0, 0), orders0)[0], kafka.ErrInvalidProducerIDMapping)
	expectErr(t, "empty id", cl.verify("", producer(0, 0), orders0)[0], kafka.ErrInvalidRequest)
	p := cl.mustInit("X1")
	expectErr(t, "not added", cl.verify("X1", p, orders0)[0], kafka.ErrTransactionAbortable)
	cl.mustAdd(TV1, "X1", p, orders1)
	got := cl.verify("X1", p, orders0, orders1)
	expectErr(t, "not added", got[0], kafka.ErrTransactionAbortable)
	expectErr(t, "added", got[1], nil)
	expectErr(t, "other producer", cl.verify("X1", producer(5, 0), orders1)[0], kafka.ErrInvalidProducerIDMapping)
	expectErr(t, "other epoch", cl.verify("X1", producer(0, 4), orders1)[0], kafka.ErrProducerFenced)
	cl.expect("X1", "Ongoing (0,0) start set topics [orders-1]")

	// A pending step is not looked at, the state is.
	cl.loop.Do(func() {
		cl.EndTxn(EndTxnRequest{TransactionalID: "X1", Producer: p, Commit: true}, func(kafka.Producer, error) {})
	})
	expectErr(t, "PrepareCommit pending", cl.verify("X1", p, orders1)[0], nil)
	cl.pass(latency)
	expectErr(t, "PrepareCommit", cl.verify("X1", p, orders1)[0], kafka.ErrConcurrentTransactions)
	cl.settle()
	expectErr(t, "CompleteCommit", cl.verify("X1", p, orders1)[0], kafka.ErrTransactionAbortable)
}
