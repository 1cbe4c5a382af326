package coordinator

import (
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Rules H5 and H7, litmus 39: pending offsets are invisible until the commit
// marker, gone after an abort marker, and 88 for those who require stability.
func TestH5PendingOffsets(t *testing.T) {
	for _, commit := range []bool{true, false} {
		cl := newCluster(t)
		cl.simple("G1", 5)
		p := producerOf(1, 0)
		cl.pending("G1", p, 8)
		cl.expectFetch("pending", "G1", false, "orders-0=5", 0)
		cl.expectFetch("pending", "G1", true, "orders-0=-1(88)", 0)
		cl.expectFetch("pending, all", "G1", false, "orders-0=5")
		cl.expectFetch("pending, all", "G1", true, "orders-0=-1(88)")
		if err := cl.mark("G1", p, commit); err != nil {
			t.Fatal(err)
		}
		want := "orders-0=5"
		if commit {
			want = "orders-0=8"
		}
		cl.expectFetch("ended", "G1", false, want, 0)
		cl.expectFetch("ended", "G1", true, want, 0)
		if n := cl.leo(cl.PartitionFor("G1")); n != 3 {
			t.Errorf("%d records, want commit, pending and marker", n)
		}
	}
}

// Rule H7, litmus 39: a partition with nothing but a pending commit is left out
// when all are asked for.
func TestH7OnlyPending(t *testing.T) {
	cl := newCluster(t)
	p := producerOf(1, 0)
	cl.pending("G1", p, 8)
	cl.expectFetch("all", "G1", true, "")
	cl.expectFetch("all", "G1", false, "")
	cl.expectFetch("named", "G1", true, "orders-0=-1(88)", 0)
	cl.expectFetch("named", "G1", false, "orders-0=-1", 0)
	cl.mark("G1", p, true)
	cl.expectFetch("committed, all", "G1", true, "orders-0=8")
}

// Rule H7: what is unknown has no offset and no error.
func TestH7Unknown(t *testing.T) {
	cl := newCluster(t)
	cl.expectFetch("unknown group", "G1", true, "orders-0=-1", 0)
	cl.expectFetch("unknown group, all", "G1", true, "")
	cl.simple("G1", 5)
	cl.expectFetch("unknown partition", "G1", false, "orders-0=5 orders-7=-1", 0, 7)
}

// A commit for another topic of the same name is none (OffsetFetch v10).
func TestFetchByTopicID(t *testing.T) {
	cl := newCluster(t)
	one, two := kafka.TopicID{1}, kafka.TopicID{2}
	topics := offsetsOf(5)
	topics[0].TopicID = one
	if err := cl.commit(group.CommitRequest{GroupID: "G1", Generation: -1, Retention: -1, Topics: topics}); err != nil {
		t.Fatal(err)
	}
	cl.pending("G2", producerOf(1, 0), 8) // knows no id
	cl.mark("G2", producerOf(1, 0), true)
	for _, test := range []struct {
		group string
		id    kafka.TopicID
		want  string
	}{
		{"G1", one, "orders-0=5"},
		{"G1", two, "orders-0=-1"},
		{"G1", kafka.TopicID{}, "orders-0=5"},
		{"G2", two, "orders-0=8"},
	} {
		got := cl.fetchRequest(group.FetchRequest{GroupID: test.group, Topics: []group.FetchTopic{{Topic: "orders", TopicID: test.id, Partitions: []int32{0}}}})
		if got != test.want {
			t.Errorf("%s with id %v: %s, want %s", test.group, test.id[0], got, test.want)
		}
	}
}

// Rule H6, litmus 39: the later record wins, not the later marker.
func TestH6LaterRecordWins(t *testing.T) {
	a, b := producerOf(1, 0), producerOf(2, 0)
	tests := []struct {
		name string
		live func(cl *cluster)
		want string
	}{
		{"pending, plain, commit", func(cl *cluster) {
			cl.pending("G1", a, 8)
			cl.simple("G1", 10)
			cl.mark("G1", a, true)
		}, "orders-0=10"},
		{"plain, pending, commit", func(cl *cluster) {
			cl.simple("G1", 10)
			cl.pending("G1", a, 8)
			cl.mark("G1", a, true)
		}, "orders-0=8"},
		{"two pendings of one transaction", func(cl *cluster) {
			cl.pending("G1", a, 8)
			cl.pending("G1", a, 7)
			cl.mark("G1", a, true)
		}, "orders-0=7"},
		{"two transactions, the later record's first", func(cl *cluster) {
			cl.pending("G1", a, 8)
			cl.pending("G1", b, 9)
			cl.mark("G1", b, true)
			cl.mark("G1", a, true)
		}, "orders-0=9"},
		{"two transactions, one aborted", func(cl *cluster) {
			cl.pending("G1", a, 8)
			cl.pending("G1", b, 9)
			cl.mark("G1", b, false)
			cl.mark("G1", a, true)
		}, "orders-0=8"},
		{"the transaction after", func(cl *cluster) {
			cl.pending("G1", a, 8)
			cl.mark("G1", a, false)
			cl.pending("G1", a, 9)
			cl.mark("G1", a, true)
		}, "orders-0=9"},
		{"a marker without anything pending", func(cl *cluster) {
			cl.simple("G1", 5)
			cl.mark("G1", a, true)
		}, "orders-0=5"},
		{"a tombstone ends pendings", func(cl *cluster) {
			cl.simple("G1", 5)
			cl.pending("G1", a, 8)
			cl.deleteOffsets("G1", group.FetchTopic{Topic: "orders", Partitions: []int32{0}})
			cl.mark("G1", a, true)
		}, "orders-0=-1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			cl := newCluster(t)
			test.live(cl)
			cl.expectFetch("at the end", "G1", true, test.want, 0)
			memory := cl.String()
			cl.restart(cl.broker.Config)
			cl.expectFetch("after a load", "G1", true, test.want, 0)
			if loaded := cl.String(); loaded != memory {
				t.Errorf("loaded %s, was %s", loaded, memory)
			}
		})
	}
}

// A marker ends what lies before it in the log, also where its answer comes
// after the next transaction has begun.
func TestH6MarkerEndsWhatLiesBefore(t *testing.T) {
	cl := newCluster(t)
	cl.simple("G1", 5, 5)
	p := producerOf(1, 0)
	cl.pending("G1", p, 8)
	cl.stalled = true
	var done []error
	cl.loop.Do(func() {
		cl.CompleteTransaction(cl.PartitionFor("G1"), group.Marker{Producer: p, Commit: true, Timeout: 5 * time.Second},
			func(err error) { done = append(done, err) })
		cl.TxnCommit(group.TxnCommitRequest{GroupID: "G1", Producer: p, Generation: -1, Topics: offsetsOf(20, 20)}, func([]group.TopicResult, error) {})
	})
	cl.pass(latency)
	cl.resume()
	if len(done) != 1 || done[0] != nil {
		t.Errorf("marker: %v", done)
	}
	cl.expectFetch("the first transaction", "G1", false, "orders-0=8 orders-1=5")
	cl.expectFetch("the second goes on", "G1", true, "orders-0=-1(88) orders-1=-1(88)")
}

// A marker that was appended but not replicated in time counts; one that was
// not appended does not.
func TestMarkerThatFails(t *testing.T) {
	cl := newCluster(t)
	p := producerOf(1, 0)
	cl.pending("G1", p, 8)
	cl.appendErr = kafka.ErrInvalidProducerEpoch
	expectErr(t, "refused", cl.mark("G1", p, true), kafka.ErrInvalidProducerEpoch)
	cl.expectFetch("refused", "G1", true, "orders-0=-1(88)", 0)
	cl.appendErr = nil
	cl.stalled = true
	expectErr(t, "unreplicated", cl.mark("G1", p, true), kafka.ErrRequestTimedOut)
	cl.resume()
	cl.expectFetch("appended", "G1", true, "orders-0=8", 0)
}

// Rule G10: the transaction coordinator is asked first, and its answer is the
// client's.
func TestG10Verification(t *testing.T) {
	cl := newCluster(t)
	req := group.TxnCommitRequest{GroupID: "G1", TransactionalID: "X1", Producer: producerOf(7, 3), Generation: 5, MemberID: "m", Topics: offsetsOf(8), Mode: group.AddPartition}
	expectErr(t, "refused by the group", cl.txnCommit(req), kafka.ErrIllegalGeneration)
	want := group.Verification{TransactionalID: "X1", Producer: producerOf(7, 3), Mode: group.AddPartition,
		Partition: kafka.TopicPartition{Topic: kafka.ConsumerOffsetsTopic, Partition: cl.PartitionFor("G1")}}
	if len(cl.verified) != 1 || cl.verified[0] != want {
		t.Errorf("verified %+v, want %+v", cl.verified, want)
	}
	for verdict, want := range map[kafka.Error]kafka.Error{
		kafka.ErrInvalidTxnState:          kafka.ErrInvalidTxnState,
		kafka.ErrTransactionAbortable:     kafka.ErrTransactionAbortable,
		kafka.ErrConcurrentTransactions:   kafka.ErrConcurrentTransactions,
		kafka.ErrInvalidProducerEpoch:     kafka.ErrInvalidProducerEpoch,
		kafka.ErrInvalidProducerIDMapping: kafka.ErrInvalidProducerIDMapping,
		kafka.ErrNotEnoughReplicas:        kafka.ErrCoordinatorNotAvailable,
	} {
		cl.verifyErr = verdict
		expectErr(t, verdict.Error(), cl.txnCommit(group.TxnCommitRequest{GroupID: "G1", Generation: -1, Topics: offsetsOf(8)}), want)
	}
	if n := cl.leo(cl.PartitionFor("G1")); n != 0 {
		t.Errorf("%d records after refusals", n)
	}
	expectErr(t, "empty group", cl.txnCommit(group.TxnCommitRequest{Generation: -1, Topics: offsetsOf(8)}), kafka.ErrInvalidGroupID)
}

// The partition may have moved while the transaction coordinator was asked.
func TestG10VerificationOutlivesTheCoordinator(t *testing.T) {
	cl := newCluster(t)
	var err error
	cl.loop.Do(func() {
		cl.TxnCommit(group.TxnCommitRequest{GroupID: "G1", Generation: -1, Topics: offsetsOf(8)}, func(_ []group.TopicResult, e error) { err = e })
		cl.Unload(cl.PartitionFor("G1"))
	})
	cl.settle()
	expectErr(t, "TxnOffsetCommit", err, kafka.ErrNotCoordinator)
}
