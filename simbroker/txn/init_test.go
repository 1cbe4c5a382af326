package txn

import (
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Rule G5: a new id starts at epoch 0, an idle one goes up by one, at once.
func TestG5EpochOfAnIdleID(t *testing.T) {
	cl := newCluster(t)
	if p := cl.mustInit("X1"); p != producer(0, 0) {
		t.Errorf("new id: %s", p)
	}
	if p := cl.mustInit("X1"); p != producer(0, 1) {
		t.Errorf("Empty: %s", p)
	}
	cl.mustAdd(TV2, "X1", producer(0, 1), orders0)
	cl.mustEnd(TV2, "X1", producer(0, 1), true)
	cl.settle()
	cl.expect("X1", "CompleteCommit (0,2) start set topics []")
	if p := cl.mustInit("X1"); p != producer(0, 3) {
		t.Errorf("CompleteCommit: %s", p)
	}
	cl.expect("X1", "Empty (0,3) start -1 topics []")
	if p, err := cl.init("", 0); err != nil || p != producer(1, 0) {
		t.Errorf("no id: %s, %v", p, err)
	}
}

// Rule G5: a live transaction is aborted first; the client that comes back gets
// the epoch after that of the markers (litmus 21).
func TestG5FencingALiveTransaction(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.mustAdd(TV2, "X1", p, orders0)
	_, err := cl.init("X1", time.Minute)
	expectErr(t, "InitProducerId while Ongoing", err, kafka.ErrConcurrentTransactions)
	_, err = cl.init("X1", time.Minute)
	expectErr(t, "InitProducerId while PrepareAbort", err, kafka.ErrConcurrentTransactions)
	cl.settle()
	cl.expectMarkers("A(0,1)@orders-0 ce 0 v2")
	cl.expect("X1", "CompleteAbort (0,1) start set topics []")
	if q := cl.mustInit("X1"); q != producer(0, 2) {
		t.Errorf("the client that came back: %s", q)
	}
	_, err = cl.end(TV2, "X1", p, true)
	expectErr(t, "EndTxn v5 commit of the fenced", err, kafka.ErrProducerFenced)
	_, err = cl.end(TV2, "X1", p, false)
	expectErr(t, "EndTxn v5 abort of the fenced", err, kafka.ErrProducerFenced)
	_, err = cl.end(TV1, "X1", p, true)
	expectErr(t, "EndTxn v4 of the fenced", err, kafka.ErrProducerFenced)
	expectErr(t, "AddPartitionsToTxn of the fenced", cl.add(TV1, "X1", p, orders0), kafka.ErrProducerFenced)
	cl.expectEntries("X1",
		"Empty (0,0)", "Ongoing (0,0) [orders-0] v2", "PrepareAbort (0,1) [orders-0] v2", "CompleteAbort (0,1) v2", "Empty (0,2) v2")
}

func TestG5Timeout(t *testing.T) {
	cl := newCluster(t)
	for _, timeout := range []time.Duration{0, -1, 15*time.Minute + 1} {
		_, err := cl.init("X1", timeout)
		expectErr(t, timeout.String(), err, kafka.ErrInvalidTransactionTimeout)
	}
	if _, err := cl.init("X1", 15*time.Minute); err != nil {
		t.Errorf("transaction.max.timeout.ms itself: %v", err)
	}
}

// Rule G6: what a producer id and epoch in the request are worth.
func TestG6ExpectedProducer(t *testing.T) {
	tests := []struct {
		name     string
		expected kafka.Producer
		want     kafka.Producer
		err      error
	}{
		{"current epoch", producer(0, 1), producer(0, 2), nil},
		{"retry of it", producer(0, 1), producer(0, 2), nil},
		{"stale epoch", producer(0, 0), noProducer, kafka.ErrProducerFenced},
		{"future epoch", producer(0, 9), noProducer, kafka.ErrProducerFenced},
		{"other producer", producer(5, 2), noProducer, kafka.ErrProducerFenced},
		{"only an id", producer(0, -1), noProducer, kafka.ErrInvalidRequest},
		{"only an epoch", producer(-1, 2), noProducer, kafka.ErrInvalidRequest},
		{"current again", producer(0, 2), producer(0, 3), nil},
	}
	cl := newCluster(t)
	cl.mustInit("X1")
	cl.mustInit("X1")
	for _, test := range tests {
		p, err := cl.init("X1", time.Minute, test.expected)
		if p != test.want || err != test.err {
			t.Errorf("%s: %s, %v, want %s, %v", test.name, p, err, test.want, test.err)
		}
	}
	if p, err := cl.init("X2", time.Minute, producer(7, 7)); err != nil || p != producer(1, 0) {
		t.Errorf("unknown id: %s, %v", p, err)
	}
}

// Rule G6: a client without expectations makes a retry of the one before it
// recognisable as fenced.
func TestG6AnotherIncarnationForgetsTheLastEpoch(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.mustInit("X1")
	_, err := cl.init("X1", time.Minute, p)
	expectErr(t, "epoch of the one before", err, kafka.ErrProducerFenced)
}

// Rule G6: while Ongoing any epoch aborts, as long as the producer id is right.
func TestG6WhileOngoing(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.mustAdd(TV2, "X1", p, orders0)
	_, err := cl.init("X1", time.Minute, producer(9, 0))
	expectErr(t, "other producer", err, kafka.ErrProducerFenced)
	cl.expect("X1", "Ongoing (0,0) start set topics [orders-0]")
	_, err = cl.init("X1", time.Minute, producer(0, 77))
	expectErr(t, "any epoch", err, kafka.ErrConcurrentTransactions)
	cl.settle()
	cl.expect("X1", "CompleteAbort (0,1) start set topics []")
}

// Rule G6: at epoch 32766 the id is exchanged, and its retry recognised.
func TestG6ExhaustedEpoch(t *testing.T) {
	cl := newCluster(t)
	cl.forge("X1", entry{producer: producer(0, 32766), timeout: time.Minute, state: Empty, start: noTime})
	_, err := cl.init("X1", time.Minute, producer(0, 3))
	expectErr(t, "a stale epoch", err, kafka.ErrUnknownServerError)
	p, err := cl.init("X1", time.Minute, producer(0, 32766))
	if err != nil || p != producer(0, 0) {
		t.Fatalf("exhausted: %s, %v", p, err)
	}
	q, err := cl.init("X1", time.Minute, producer(0, 32766))
	if err != nil || q != p {
		t.Errorf("retry: %s, %v, want %s", q, err, p)
	}
	cl.forge("X2", entry{producer: producer(42, 32766), timeout: time.Minute, state: Empty, start: noTime})
	if p := cl.mustInit("X2"); p != producer(1, 0) {
		t.Errorf("exhausted, without expectations: %s", p)
	}
	_, err = cl.init("X2", time.Minute, producer(42, 32766))
	expectErr(t, "retry after one without expectations", err, kafka.ErrProducerFenced)
}

// forge writes an entry into the log and has it loaded, as a tool for disasters
// could.
func (cl *cluster) forge(id string, e entry) {
	p := cl.PartitionFor(id)
	cl.records[p] = append(cl.records[p], Record{Key: encodeKey(id), Value: encodeValue(e, 0)})
	cl.loop.Do(func() { cl.Load(p, 0) })
}

// Rules G5 and S03: who answers at all.
func TestG5NotTheCoordinator(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	_, err := cl.init("\x00", time.Minute)
	if err != nil {
		t.Errorf("a strange id: %v", err)
	}
	empty := ""
	cl.InitProducerID(InitProducerIDRequest{TransactionalID: &empty, Timeout: time.Minute, Expected: noProducer},
		func(_ kafka.Producer, err error) { expectErr(t, "empty id", err, kafka.ErrInvalidRequest) })
	cl.Unload(cl.PartitionFor("X1"))
	_, err = cl.init("X1", time.Minute)
	expectErr(t, "InitProducerId", err, kafka.ErrNotCoordinator)
	expectErr(t, "AddPartitionsToTxn", cl.add(TV1, "X1", p, orders0), kafka.ErrNotCoordinator)
	expectErr(t, "verification", cl.verify("X1", p, orders0)[0], kafka.ErrNotCoordinator)
	_, err = cl.end(TV2, "X1", p, true)
	expectErr(t, "EndTxn", err, kafka.ErrNotCoordinator)
	cl.expect("X1", "NOT_COORDINATOR")
}

// A record that cannot be written leaves the id as it is in memory: epoch -1,
// and the next request has another go.
func TestG5LogRefuses(t *testing.T) {
	tests := []struct{ log, client kafka.Error }{
		{kafka.ErrNotEnoughReplicas, kafka.ErrCoordinatorNotAvailable},
		{kafka.ErrNotEnoughReplicasAfterAppend, kafka.ErrCoordinatorNotAvailable},
		{kafka.ErrRequestTimedOut, kafka.ErrCoordinatorNotAvailable},
		{kafka.ErrUnknownTopicOrPartition, kafka.ErrCoordinatorNotAvailable},
		{kafka.ErrNotLeaderOrFollower, kafka.ErrNotCoordinator},
		{kafka.ErrKafkaStorageError, kafka.ErrNotCoordinator},
		{kafka.ErrMessageTooLarge, kafka.ErrUnknownServerError},
	}
	cl := newCluster(t)
	for _, test := range tests {
		cl.appendErr = test.log
		_, err := cl.init("X1", time.Minute)
		expectErr(t, test.log.Error(), err, test.client)
		cl.expect("X1", "Empty (0,-1) start -1 topics []")
	}
	cl.appendErr = nil
	if p := cl.mustInit("X1"); p != producer(0, 0) {
		t.Errorf("at last: %s", p)
	}
}
