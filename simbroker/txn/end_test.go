package txn

import (
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Rule G12: the answer comes when Prepare is replicated, the markers after it,
// Complete after them.
func TestG12AnswerBeforeMarkers(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.mustAdd(TV2, "X1", p, orders0, orders1)
	if q := cl.mustEnd(TV2, "X1", p, true); q != producer(0, 1) {
		t.Errorf("answer %s", q)
	}
	cl.expectMarkers()
	cl.expect("X1", "PrepareCommit (0,1) start set topics [orders-0 orders-1]")
	cl.expectEntries("X1", "Empty (0,0)", "Ongoing (0,0) [orders-0 orders-1] v2", "PrepareCommit (0,1) [orders-0 orders-1] v2")
	cl.pass(latency)
	cl.expectMarkers("C(0,1)@orders-0 ce 0 v2", "C(0,1)@orders-1 ce 0 v2")
	cl.expect("X1", "PrepareCommit (0,1) start set topics []")
	cl.pass(latency)
	cl.expect("X1", "CompleteCommit (0,1) start set topics []")
}

// The lives of observability.md: which records each of them leaves.
func TestG2RecordsOfALife(t *testing.T) {
	tests := []struct {
		name    string
		version int16
		live    func(cl *cluster, p kafka.Producer)
		want    []string
	}{
		{"TV1 commit", 2, func(cl *cluster, p kafka.Producer) {
			cl.mustAdd(TV1, "X1", p, orders0)
			cl.mustEnd(TV1, "X1", p, true)
		}, []string{"Empty (0,0)", "Ongoing (0,0) [orders-0]", "PrepareCommit (0,0) [orders-0]", "CompleteCommit (0,0)"}},
		{"TV2 commit", 2, func(cl *cluster, p kafka.Producer) {
			cl.mustAdd(TV2, "X1", p, orders0)
			cl.mustEnd(TV2, "X1", p, true)
		}, []string{"Empty (0,0)", "Ongoing (0,0) [orders-0] v2", "PrepareCommit (0,1) [orders-0] v2", "CompleteCommit (0,1) v2"}},
		{"TV1 abort by the client", 2, func(cl *cluster, p kafka.Producer) {
			cl.mustAdd(TV1, "X1", p, orders0)
			cl.mustEnd(TV1, "X1", p, false)
		}, []string{"Empty (0,0)", "Ongoing (0,0) [orders-0]", "PrepareAbort (0,0) [orders-0]", "CompleteAbort (0,0)"}},
		{"TV1 timeout", 2, func(cl *cluster, p kafka.Producer) {
			cl.mustAdd(TV1, "X1", p, orders0)
			cl.pass(2 * time.Minute)
		}, []string{"Empty (0,0)", "Ongoing (0,0) [orders-0]", "PrepareAbort (0,1) [orders-0] v2", "CompleteAbort (0,1) v2"}},
		{"TV1 fencing", 2, func(cl *cluster, p kafka.Producer) {
			cl.mustAdd(TV1, "X1", p, orders0)
			cl.init("X1", time.Minute)
			cl.settle()
			cl.mustInit("X1")
		}, []string{"Empty (0,0)", "Ongoing (0,0) [orders-0]", "PrepareAbort (0,1) [orders-0] v2", "CompleteAbort (0,1) v2", "Empty (0,2) v2"}},
		{"TV2 abort by the client", 2, func(cl *cluster, p kafka.Producer) {
			cl.mustAdd(TV2, "X1", p, orders0)
			cl.mustEnd(TV2, "X1", p, false)
		}, []string{"Empty (0,0)", "Ongoing (0,0) [orders-0] v2", "PrepareAbort (0,1) [orders-0] v2", "CompleteAbort (0,1) v2"}},
		{"TV2 timeout", 2, func(cl *cluster, p kafka.Producer) {
			cl.mustAdd(TV2, "X1", p, orders0)
			cl.pass(2 * time.Minute)
		}, []string{"Empty (0,0)", "Ongoing (0,0) [orders-0] v2", "PrepareAbort (0,1) [orders-0] v2", "CompleteAbort (0,1) v2"}},
		{"TV2 abort of nothing", 2, func(cl *cluster, p kafka.Producer) {
			cl.mustEnd(TV2, "X1", p, false)
		}, []string{"Empty (0,0)", "PrepareAbort (0,1) v2", "CompleteAbort (0,1) v2"}},
		{"id expiry", 2, func(cl *cluster, p kafka.Producer) {
			cl.cfg.IDExpiration = time.Hour
			cl.pass(2 * time.Hour)
		}, []string{"Empty (0,0)", "tombstone"}},
		{"timeout under transaction.version 1", 1, func(cl *cluster, p kafka.Producer) {
			cl.mustAdd(TV1, "X1", p, orders0)
			cl.pass(2 * time.Minute)
		}, []string{"Empty (0,0)", "Ongoing (0,0) [orders-0]", "PrepareAbort (0,1) [orders-0]", "CompleteAbort (0,1)"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cl := newCluster(t)
			cl.version = test.version
			test.live(cl, cl.mustInit("X1"))
			cl.settle()
			cl.expectEntries("X1", test.want...)
		})
	}
}

// The times in the records: Complete carries the moment at which Prepare was
// replicated, and an abort of nothing has its own moment as its start.
func TestG2Times(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.mustAdd(TV2, "X1", p, orders0)
	cl.markerErr[orders0] = kafka.ErrNotEnoughReplicas
	p = cl.mustEnd(TV2, "X1", p, true)
	prepared := cl.loop.Now()
	cl.pass(time.Minute)
	delete(cl.markerErr, orders0)
	cl.pass(time.Second)
	if e := cl.last("X1"); e.state != CompleteCommit || e.lastUpdate != prepared.UnixMilli() {
		t.Errorf("%s updated at %d, want %d", e.state, e.lastUpdate, prepared.UnixMilli())
	}
	asked := cl.loop.Now().UnixMilli()
	cl.mustEnd(TV2, "X1", p, false)
	cl.settle()
	if e := cl.last("X1"); e.state != CompleteAbort || e.start != asked {
		t.Errorf("%s started at %d, want %d", e.state, e.start, asked)
	}
}

// last is the last entry of an id.
func (cl *cluster) last(id string) entry {
	records := cl.records[cl.PartitionFor(id)]
	e, _, err := decodeValue(records[len(records)-1].Value)
	if err != nil {
		cl.t.Fatal(err)
	}
	return e
}

// Rule G2: the finalised version decides the record's.
func TestG2ValueVersion(t *testing.T) {
	for version, want := range []byte{0, 1, 1} {
		cl := newCluster(t)
		cl.version = int16(version)
		cl.mustInit("X1")
		if got := cl.records[cl.PartitionFor("X1")][0].Value[1]; got != want {
			t.Errorf("transaction.version %d: record version %d, want %d", version, got, want)
		}
	}
}

// Rule G13: TV1's table.
func TestG13EndTxnTV1(t *testing.T) {
	cl := newCluster(t)
	try := func(what string, p kafka.Producer, commit bool, want error) {
		t.Helper()
		q, err := cl.end(TV1, "X1", p, commit)
		expectErr(t, what, err, want)
		if q != noProducer {
			t.Errorf("%s: answered %s", what, q)
		}
	}
	try("unknown id", producer(0, 0), true, kafka.ErrInvalidProducerIDMapping)
	p := cl.mustInit("X1")
	try("commit of Empty", p, true, kafka.ErrInvalidTxnState)
	try("abort of Empty", p, false, kafka.ErrInvalidTxnState)
	try("other producer", producer(5, 0), true, kafka.ErrInvalidProducerIDMapping)
	try("higher epoch", producer(0, 7), true, kafka.ErrProducerFenced)
	cl.mustAdd(TV1, "X1", p, orders0)
	try("Ongoing", p, true, nil)
	try("commit of PrepareCommit", p, true, kafka.ErrConcurrentTransactions)
	try("abort of PrepareCommit", p, false, kafka.ErrConcurrentTransactions)
	try("other epoch of PrepareCommit", producer(0, 7), true, kafka.ErrProducerFenced)
	cl.settle()
	try("commit of CompleteCommit", p, true, nil)
	try("abort of CompleteCommit", p, false, kafka.ErrInvalidTxnState)
	cl.mustAdd(TV1, "X1", p, orders0)
	try("Ongoing", p, false, nil)
	cl.settle()
	try("abort of CompleteAbort", p, false, nil)
	try("commit of CompleteAbort", p, true, kafka.ErrInvalidTxnState)
	cl.expectMarkers("C(0,0)@orders-0 ce 0 v0", "A(0,0)@orders-0 ce 0 v0")
	cl.expect("X1", "CompleteAbort (0,0) start set topics []")
}

// Rule G14: TV2's table. The stored epoch is c.
func TestG14EndTxnTV2(t *testing.T) {
	const c = 5
	fenced, mapping := kafka.ErrProducerFenced, kafka.ErrInvalidProducerIDMapping
	invalid := kafka.ErrInvalidTxnState
	tests := []struct {
		state  State
		epoch  int
		commit bool
		err    error
		want   kafka.Producer
		ends   string
	}{
		{Ongoing, c, true, nil, producer(7, c+1), "CompleteCommit (7,6)"},
		{Ongoing, c, false, nil, producer(7, c+1), "CompleteAbort (7,6)"},
		{Ongoing, c - 1, true, fenced, noProducer, "Ongoing (7,5)"},
		{Ongoing, c + 1, true, fenced, noProducer, "Ongoing (7,5)"},
		{Empty, c, false, nil, producer(7, c+1), "CompleteAbort (7,6)"},
		{Empty, c, true, invalid, noProducer, "Empty (7,5)"},
		{Empty, c - 1, false, fenced, noProducer, "Empty (7,5)"},
		{Empty, c - 1, true, fenced, noProducer, "Empty (7,5)"},
		{CompleteCommit, c - 1, true, nil, producer(7, c), "CompleteCommit (7,5)"},
		{CompleteCommit, c - 1, false, invalid, noProducer, "CompleteCommit (7,5)"},
		{CompleteCommit, c, true, invalid, noProducer, "CompleteCommit (7,5)"},
		{CompleteCommit, c, false, nil, producer(7, c+1), "CompleteAbort (7,6)"},
		{CompleteCommit, c + 1, false, fenced, noProducer, "CompleteCommit (7,5)"},
		{CompleteAbort, c - 1, false, nil, producer(7, c), "CompleteAbort (7,5)"},
		{CompleteAbort, c - 1, true, invalid, noProducer, "CompleteAbort (7,5)"},
		{CompleteAbort, c, true, invalid, noProducer, "CompleteAbort (7,5)"},
		{CompleteAbort, c, false, nil, producer(7, c+1), "CompleteAbort (7,6)"},
		{CompleteAbort, c - 2, false, fenced, noProducer, "CompleteAbort (7,5)"},
	}
	for _, test := range tests {
		cl := newCluster(t)
		e := entry{producer: producer(7, c), timeout: time.Minute, state: test.state, start: cl.loop.Now().UnixMilli()}
		if test.state == Ongoing {
			e.partitions = []kafka.TopicPartition{orders0}
		}
		cl.forge("X1", e)
		what := test.state.String() + " abort"
		if test.commit {
			what = test.state.String() + " commit"
		}
		_, err := cl.end(TV2, "X1", producer(8, test.epoch), test.commit)
		expectErr(t, what+" by another producer", err, mapping)
		p, err := cl.end(TV2, "X1", producer(7, test.epoch), test.commit)
		expectErr(t, what, err, test.err)
		if p != test.want {
			t.Errorf("%s: %s, want %s", what, p, test.want)
		}
		cl.settle()
		d, _ := cl.Describe("X1")
		if got := d.State.String() + " " + d.Producer.String(); got != test.ends {
			t.Errorf("%s with epoch %d ends as %s, want %s", what, test.epoch, got, test.ends)
		}
	}
}

// Rule G4: TV2 looks for a pending step first, TV1 at the producer first
// (litmus 25, S07).
func TestG4EndTxnWhilePreparing(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.mustAdd(TV2, "X1", p, orders0)
	cl.markerErr[orders0] = kafka.ErrNotEnoughReplicas
	cl.mustEnd(TV2, "X1", p, true)
	cl.settle()
	for _, q := range []kafka.Producer{p, producer(0, 1), producer(0, 9), producer(9, 0)} {
		_, err := cl.end(TV2, "X1", q, true)
		expectErr(t, "EndTxn v5 "+q.String(), err, kafka.ErrConcurrentTransactions)
	}
	_, err := cl.end(TV1, "X1", p, true)
	expectErr(t, "EndTxn v4 with the epoch before", err, kafka.ErrProducerFenced)
	_, err = cl.end(TV1, "X1", producer(0, 1), true)
	expectErr(t, "EndTxn v4 with the stored epoch", err, kafka.ErrConcurrentTransactions)
	_, err = cl.init("X1", time.Minute)
	expectErr(t, "InitProducerId", err, kafka.ErrConcurrentTransactions)
	expectErr(t, "AddPartitionsToTxn", cl.add(TV1, "X1", producer(0, 1), orders0), kafka.ErrConcurrentTransactions)
}

// Rule G14: the request's version decides, not what is finalised.
func TestG14RequestVersionDecides(t *testing.T) {
	cl := newCluster(t)
	cl.version = 1
	p := cl.mustInit("X1")
	cl.mustAdd(TV2, "X1", p, orders0)
	if q := cl.mustEnd(TV2, "X1", p, true); q != producer(0, 1) {
		t.Errorf("v5 under transaction.version=1: %s", q)
	}
	cl.settle()
	cl.expectMarkers("C(0,1)@orders-0 ce 0 v2")
}

// Rule G15 and litmus 23: the last epoch's markers carry 32767, the client gets
// a new producer id.
func TestG15Exhaustion(t *testing.T) {
	cl := newCluster(t)
	cl.forge("X1", entry{producer: producer(77, 32765), timeout: time.Minute, state: Empty, start: noTime})
	last := cl.mustInit("X1")
	if last != producer(77, 32766) {
		t.Fatalf("last epoch: %s", last)
	}
	cl.mustAdd(TV2, "X1", last, orders0)
	if p := cl.mustEnd(TV2, "X1", last, true); p != producer(0, 0) {
		t.Errorf("commit answers %s", p)
	}
	cl.expect("X1", "PrepareCommit (77,32767) start set topics [orders-0]")
	cl.settle()
	cl.expect("X1", "CompleteCommit (0,0) start set topics []")
	cl.expectMarkers("C(77,32767)@orders-0 ce 0 v2")
	p, err := cl.end(TV2, "X1", last, true)
	if err != nil || p != producer(0, 0) {
		t.Errorf("retry: %s, %v", p, err)
	}
	_, err = cl.end(TV2, "X1", last, false)
	expectErr(t, "retry as an abort", err, kafka.ErrInvalidTxnState)
	_, err = cl.end(TV2, "X1", producer(77, 3), true)
	expectErr(t, "old producer, old epoch", err, kafka.ErrInvalidProducerIDMapping)
	cl.expectEntries("X1",
		"Empty (77,32765) previous -1", // forged
		"Empty (77,32766)",
		"Ongoing (77,32766) [orders-0] v2",
		"PrepareCommit (77,32767) [orders-0] v2 next 0",
		"CompleteCommit (0,0) v2 previous 77")
	cl.restart(1)
	p, err = cl.end(TV2, "X1", last, true)
	if err != nil || p != producer(0, 0) {
		t.Errorf("retry after a failover: %s, %v", p, err)
	}
}

// Rule G15: a failover in between knows the next producer id from the log.
func TestG15ExhaustionAndFailover(t *testing.T) {
	cl := newCluster(t)
	cl.forge("X1", entry{producer: producer(77, 32766), timeout: time.Minute, state: Ongoing, start: cl.loop.Now().UnixMilli(),
		partitions: []kafka.TopicPartition{orders0}})
	cl.markerErr[orders0] = kafka.ErrNotEnoughReplicas
	cl.mustEnd(TV2, "X1", producer(77, 32766), false)
	cl.settle()
	cl.restart(1)
	delete(cl.markerErr, orders0)
	cl.pass(time.Second)
	cl.expect("X1", "CompleteAbort (0,0) start set topics []")
	cl.expectMarkers("A(77,32767)@orders-0 ce 1 v2")
}

// A timeout or fence at epoch 32766 exchanges the producer id at completion.
func TestG15TimeoutOfAnExhaustedEpoch(t *testing.T) {
	cl := newCluster(t)
	cl.forge("X1", entry{producer: producer(77, 32766), timeout: time.Minute, state: Ongoing, start: cl.loop.Now().UnixMilli(),
		partitions: []kafka.TopicPartition{orders0}})
	cl.pass(2 * time.Minute)
	cl.expect("X1", "CompleteAbort (0,0) start set topics []")
	cl.expectMarkers("A(77,32767)@orders-0 ce 0 v2")
}

// Rule G16 and litmus 20: what a timeout leaves a TV2 client to do.
func TestG16Timeout(t *testing.T) {
	cl := newCluster(t)
	p, _ := cl.init("X1", 15*time.Second)
	cl.mustAdd(TV2, "X1", p, orders0)
	began, _ := cl.Describe("X1")
	for cl.describe("X1") == "Ongoing (0,0) start set topics [orders-0]" {
		cl.pass(time.Second)
	}
	if waited := cl.loop.Now().Sub(began.Start); waited < 15*time.Second || waited > 25*time.Second {
		t.Errorf("aborted after %s, want the timeout and at most one scan more", waited)
	}
	cl.settle()
	cl.expect("X1", "CompleteAbort (0,1) start set topics []")
	cl.expectMarkers("A(0,1)@orders-0 ce 0 v2")
	_, err := cl.end(TV2, "X1", p, true)
	expectErr(t, "EndTxn v5 commit", err, kafka.ErrInvalidTxnState)
	_, err = cl.end(TV1, "X1", p, false)
	expectErr(t, "EndTxn v4 abort", err, kafka.ErrProducerFenced)
	q, err := cl.end(TV2, "X1", p, false)
	if err != nil || q != producer(0, 1) {
		t.Errorf("EndTxn v5 abort: %s, %v", q, err)
	}
	cl.mustAdd(TV2, "X1", q, orders0)
}

// Rule G16: the client's own InitProducerId after a timeout is a retry with
// protocol 2, and fenced with protocol 1.
func TestG16InitProducerIDAfterTimeout(t *testing.T) {
	for version, want := range map[int16]error{2: nil, 1: kafka.ErrProducerFenced} {
		cl := newCluster(t)
		cl.version = version
		p := cl.mustInit("X1")
		cl.mustAdd(TV1, "X1", p, orders0)
		cl.pass(2 * time.Minute)
		cl.expect("X1", "CompleteAbort (0,1) start set topics []")
		q, err := cl.init("X1", time.Minute, p)
		expectErr(t, "InitProducerId", err, want)
		if want == nil && q != producer(0, 1) {
			t.Errorf("transaction.version %d: %s", version, q)
		}
	}
}

// Rule G16: what cannot be persisted is tried again by the next scan; protocol
// 1 must not bump its epoch twice for it.
func TestG16TimeoutThatCannotBePersisted(t *testing.T) {
	for _, version := range []int16{1, 2} {
		cl := newCluster(t)
		cl.version = version
		p := cl.mustInit("X1")
		cl.mustAdd(TV1, "X1", p, orders0)
		cl.appendErr = kafka.ErrNotEnoughReplicas
		cl.pass(3 * time.Minute)
		if d, _ := cl.Describe("X1"); d.State != Ongoing {
			t.Errorf("transaction.version %d: %s without a record", version, d.State)
		}
		_, err := cl.end(TV1, "X1", p, true)
		if err == nil {
			t.Error("EndTxn succeeded without a record")
		}
		cl.appendErr = nil
		cl.pass(time.Minute)
		cl.expect("X1", "CompleteAbort (0,1) start set topics []")
	}
}
