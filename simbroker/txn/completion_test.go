package txn

import (
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// prepared is a cluster in which X1 is in PrepareCommit for as long as orders-0
// refuses its marker; orders-1 and sales-0 have theirs.
func prepared(t *testing.T, refusal error) *cluster {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.mustAdd(TV2, "X1", p, orders0, orders1, sales0)
	cl.markerErr[orders0] = refusal
	cl.mustEnd(TV2, "X1", p, true)
	cl.settle()
	cl.expect("X1", "PrepareCommit (0,1) start set topics [orders-0]")
	cl.expectMarkers("C(0,1)@orders-1 ce 0 v2", "C(0,1)@sales-0 ce 0 v2")
	return cl
}

// Rule G17: what may pass is retried for ever, and what was written is not
// written again (litmus 26).
func TestG17RetriableRefusals(t *testing.T) {
	for _, refusal := range []kafka.Error{
		kafka.ErrUnknownTopicOrPartition, kafka.ErrNotLeaderOrFollower, kafka.ErrRequestTimedOut,
		kafka.ErrNotEnoughReplicas, kafka.ErrNotEnoughReplicasAfterAppend, kafka.ErrKafkaStorageError,
	} {
		t.Run(refusal.Error(), func(t *testing.T) {
			cl := prepared(t, refusal)
			cl.pass(time.Minute)
			cl.expect("X1", "PrepareCommit (0,1) start set topics [orders-0]")
			delete(cl.markerErr, orders0)
			cl.pass(time.Second)
			cl.expect("X1", "CompleteCommit (0,1) start set topics []")
			cl.expectMarkers("C(0,1)@orders-1 ce 0 v2", "C(0,1)@sales-0 ce 0 v2", "C(0,1)@orders-0 ce 0 v2")
		})
	}
}

// Rule G17: a newer epoch in the partition's log cancels the completion; the id
// stays in Prepare.
func TestG17FinalRefusals(t *testing.T) {
	for _, refusal := range []kafka.Error{kafka.ErrInvalidProducerEpoch, kafka.ErrTransactionCoordinatorFenced} {
		t.Run(refusal.Error(), func(t *testing.T) {
			cl := prepared(t, refusal)
			delete(cl.markerErr, orders0)
			cl.pass(time.Minute)
			cl.expect("X1", "PrepareCommit (0,1) start set topics [orders-0]")
			_, err := cl.end(TV2, "X1", producer(0, 0), true)
			expectErr(t, "EndTxn", err, kafka.ErrConcurrentTransactions)
			_, err = cl.init("X1", time.Minute)
			expectErr(t, "InitProducerId", err, kafka.ErrConcurrentTransactions)
		})
	}
}

// Rule G17: a broker that cannot be reached is tried again, wherever the
// partition has moved by then.
func TestG17LeaderMoves(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.mustAdd(TV1, "X1", p, orders0, orders1)
	cl.down[2] = true
	cl.mustEnd(TV1, "X1", p, false)
	cl.pass(time.Minute)
	cl.expect("X1", "PrepareAbort (0,0) start set topics [orders-1]")
	cl.leaders[orders1] = 1
	cl.pass(time.Second)
	cl.expect("X1", "CompleteAbort (0,0) start set topics []")
	cl.expectMarkers("A(0,0)@orders-0 ce 0 v0", "A(0,0)@orders-1 ce 0 v0")
}

// Rule G17: a partition without a leader is skipped, at once or when its leader
// is gone from the metadata: its transaction hangs from then on.
func TestG17LeaderlessPartitionIsSkipped(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.mustAdd(TV2, "X1", p, orders0, orders1)
	delete(cl.leaders, orders1)
	cl.mustEnd(TV2, "X1", p, true)
	cl.settle()
	cl.expect("X1", "CompleteCommit (0,1) start set topics []")
	cl.expectMarkers("C(0,1)@orders-0 ce 0 v2")

	p = cl.mustInit("X2")
	cl.mustAdd(TV2, "X2", p, sales0)
	cl.down[2] = true
	cl.mustEnd(TV2, "X2", p, true)
	cl.pass(time.Minute)
	cl.expect("X2", "PrepareCommit (1,1) start set topics [sales-0]")
	delete(cl.leaders, sales0)
	cl.pass(time.Second)
	cl.expect("X2", "CompleteCommit (1,1) start set topics []")
}

// The Complete record is retried while the log is not available.
func TestG17CompleteRecordIsRetried(t *testing.T) {
	cl := prepared(t, kafka.ErrNotEnoughReplicas)
	cl.appendErr = kafka.ErrNotEnoughReplicas
	delete(cl.markerErr, orders0)
	cl.pass(time.Minute)
	cl.expect("X1", "PrepareCommit (0,1) start set topics []")
	_, err := cl.end(TV2, "X1", producer(0, 0), true)
	expectErr(t, "EndTxn", err, kafka.ErrConcurrentTransactions)
	cl.appendErr = nil
	cl.pass(time.Second)
	cl.expect("X1", "CompleteCommit (0,1) start set topics []")
}

// Rule G18 and litmus 25: the next coordinator writes all markers again, under
// its own epoch; what the one before had in flight has no effect.
func TestG18Failover(t *testing.T) {
	cl := prepared(t, kafka.ErrNotEnoughReplicas)
	cl.restart(1)
	cl.expect("X1", "PrepareCommit (0,1) start set topics [orders-0 orders-1 sales-0]")
	cl.settle()
	cl.expect("X1", "PrepareCommit (0,1) start set topics [orders-0]")
	delete(cl.markerErr, orders0)
	cl.pass(time.Second)
	cl.expect("X1", "CompleteCommit (0,1) start set topics []")
	if got := cl.written[2:4]; got[0] != "C(0,1)@orders-1 ce 1 v2" || got[1] != "C(0,1)@sales-0 ce 1 v2" {
		t.Errorf("duplicates %q", got)
	}
}

// Rule G18: loading takes a moment, in which everybody waits; a transaction
// goes on after it, and its timeout counts from its own start.
func TestG18Load(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.mustAdd(TV2, "X1", p, orders0)
	cl.pass(30 * time.Second)
	shard := cl.PartitionFor("X1")
	cl.Load(shard, 1)
	cl.expect("X1", "COORDINATOR_LOAD_IN_PROGRESS")
	_, err := cl.List(ListRequest{Duration: -1})
	expectErr(t, "ListTransactions", err, kafka.ErrCoordinatorLoadInProgress)
	expectErr(t, "verification", cl.verify("X1", p, orders0)[0], kafka.ErrCoordinatorLoadInProgress)
	cl.pass(0)
	cl.expect("X1", "Ongoing (0,0) start set topics [orders-0]")
	cl.mustAdd(TV2, "X1", p, orders1)
	cl.pass(45 * time.Second)
	cl.expect("X1", "CompleteAbort (0,1) start set topics []")
	cl.expectMarkers("A(0,1)@orders-0 ce 1 v2", "A(0,1)@orders-1 ce 1 v2")
}

// Rule G18: a coordinator that comes back at its old epoch and is then elected
// anew sends the markers twice.
func TestG18LoadedTwice(t *testing.T) {
	cl := prepared(t, kafka.ErrNotEnoughReplicas)
	cl.written = nil
	cl.restart(0)
	cl.settle()
	cl.Load(cl.PartitionFor("X1"), 2)
	cl.settle()
	cl.expectMarkers("C(0,1)@orders-1 ce 0 v2", "C(0,1)@sales-0 ce 0 v2", "C(0,1)@orders-1 ce 2 v2", "C(0,1)@sales-0 ce 2 v2")
}

// Rule G18: a step whose record is replicated under another owner, or none, is
// not the old one's to make.
func TestG18OwnerChangesDuringAnAppend(t *testing.T) {
	tests := []struct {
		name   string
		change func(cl *cluster, p int32)
		want   error
	}{
		{"given up", func(cl *cluster, p int32) { cl.Unload(p) }, kafka.ErrNotCoordinator},
		{"loading", func(cl *cluster, p int32) { cl.Load(p, 1) }, kafka.ErrCoordinatorLoadInProgress},
		{"loaded", func(cl *cluster, p int32) { cl.Load(p, 1); cl.load(cl.shards[p]) }, kafka.ErrNotCoordinator},
	}
	for _, test := range tests {
		cl := newCluster(t)
		p := cl.mustInit("X1")
		cl.mustAdd(TV2, "X1", p, orders0)
		var err error
		answered := false
		cl.loop.Do(func() {
			cl.loop.After(latency, func() { test.change(cl, cl.PartitionFor("X1")) }) // just before the log's answer
			cl.EndTxn(EndTxnRequest{TransactionalID: "X1", Producer: p, Commit: true, ClientVersion: TV2},
				func(_ kafka.Producer, e error) { err, answered = e, true })
		})
		cl.answered(&answered)
		expectErr(t, test.name, err, test.want)
	}
}

// Litmus 29: a tombstone that somebody else wrote is seen by the next load, and
// the transaction is nobody's from then on.
func TestG18LoadsATombstone(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.mustAdd(TV2, "X1", p, orders0)
	shard := cl.PartitionFor("X1")
	cl.records[shard] = append(cl.records[shard], Record{Key: encodeKey("X1")})
	cl.expect("X1", "Ongoing (0,0) start set topics [orders-0]")
	cl.restart(1)
	cl.expect("X1", "TRANSACTIONAL_ID_NOT_FOUND")
	if list, err := cl.List(ListRequest{Duration: -1}); err != nil || len(list.Transactions) > 0 {
		t.Errorf("ListTransactions: %v, %v", list, err)
	}
	for _, v := range []ClientVersion{TV1, TV2} {
		_, err := cl.end(v, "X1", p, true)
		expectErr(t, "EndTxn", err, kafka.ErrInvalidProducerIDMapping)
	}
	expectErr(t, "AddPartitionsToTxn", cl.add(TV2, "X1", p, orders0), kafka.ErrInvalidProducerIDMapping)
}

// A record that cannot be read ends the load: what lies before it is served.
func TestG18LoadsUpToABrokenRecord(t *testing.T) {
	cl := newCluster(t)
	cl.mustInit("X1")
	shard := cl.PartitionFor("X1")
	cl.records[shard] = append(cl.records[shard],
		Record{Key: []byte{0, 9}}, // of a type to come
		Record{Key: encodeKey("X1"), Value: []byte{0, 1, 7}},
		Record{Key: encodeKey("X1")})
	cl.restart(1)
	cl.expect("X1", "Empty (0,0) start -1 topics []")
}

// Rule G19 and litmus S08: idle ids leave a tombstone; one with a transaction
// stays.
func TestG19Expiry(t *testing.T) {
	cl := newCluster(t)
	cl.cfg.IDExpiration = 2 * time.Hour
	p1, p2, _ := cl.mustInit("X1"), cl.mustInit("X2"), cl.mustInit("X3")
	cl.mustAdd(TV2, "X1", p1, orders0)
	p1 = cl.mustEnd(TV2, "X1", p1, true)
	cl.settle()
	cl.markerErr[sales0] = kafka.ErrNotEnoughReplicas
	cl.mustAdd(TV2, "X2", p2, sales0)
	cl.mustEnd(TV2, "X2", p2, true)
	cl.pass(time.Hour)
	cl.mustInit("X3")
	cl.pass(90 * time.Minute)
	cl.expect("X1", "CompleteCommit (0,1) start set topics []")
	cl.pass(30 * time.Minute)
	cl.expect("X1", "TRANSACTIONAL_ID_NOT_FOUND")
	cl.expect("X2", "PrepareCommit (1,1) start set topics [sales-0]")
	cl.expect("X3", "Empty (2,1) start -1 topics []")
	cl.pass(time.Hour)
	cl.expect("X3", "TRANSACTIONAL_ID_NOT_FOUND")
	expectErr(t, "AddPartitionsToTxn", cl.add(TV2, "X1", p1, orders0), kafka.ErrInvalidProducerIDMapping)
	_, err := cl.end(TV2, "X1", p1, true)
	expectErr(t, "EndTxn", err, kafka.ErrInvalidProducerIDMapping)
	p, err := cl.init("X1", time.Minute, p1)
	if err != nil || p != producer(3, 0) {
		t.Errorf("InitProducerId: %s, %v", p, err)
	}
	cl.restart(1)
	cl.expect("X3", "TRANSACTIONAL_ID_NOT_FOUND")
}

// Rule G19: a tombstone that cannot be written buries nothing.
func TestG19LogRefuses(t *testing.T) {
	cl := newCluster(t)
	p := cl.mustInit("X1")
	cl.cfg.IDExpiration = time.Hour
	cl.appendErr = kafka.ErrNotEnoughReplicas
	cl.pass(3 * time.Hour)
	cl.expect("X1", "Empty (0,0) start -1 topics []")
	cl.appendErr = nil
	cl.mustAdd(TV2, "X1", p, orders0)
}
