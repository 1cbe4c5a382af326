package lag

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
	"time"
)

// open is a producer with an open transaction; its last record is dated by the
// client, none for no date.
func open(id ProducerID, epoch ProducerEpoch, start Offset, dated float64) Producer {
	p := Producer{ID: id, Epoch: epoch, CoordinatorEpoch: -1, Start: Known(start)}
	if dated != none {
		p.LastTimestamp = at(dated).Answered
	}
	return p
}

// finished is a producer without an open transaction.
func finished(id ProducerID, epoch ProducerEpoch) Producer {
	return Producer{ID: id, Epoch: epoch, LastTimestamp: at(1).Answered}
}

// transaction is what broker 2 says of a transactional id: state, start and
// timeout, and the partitions of topic t that it lists.
func transaction(id string, producer ProducerID, state TransactionState, start, timeout float64, partitions ...int32) Transaction {
	t := Transaction{
		ID: id, Producer: producer, Coordinator: 2, Undescribed: ReasonNone,
		State: state, Described: producer, Timeout: seconds(timeout),
	}
	if start != none {
		t.Start = Known(at(start).Answered)
	}
	if len(partitions) > 0 {
		t.Topics = []TopicPartitions{{Topic: "s", Partitions: []int32{0}}, {Topic: "t", Partitions: partitions}}
	}
	return t
}

// displaced is what a broker says that does not coordinate the id by Metadata.
func displaced(t Transaction) Transaction {
	t.Displaced = true
	return t
}

// lookedUp is one sweep's look at partition t-0.
type lookedUp struct {
	at              float64
	start, lso, hwm Offset
	again           Offset // the last stable offset again; 0 stands for lso

	producers []Producer
	found     []Transaction
	uncovered Reason // ReasonNone if empty, as the others
	unseen    Reason
	epochs    []LeaderEpoch // of the coordinators
	leader    Reason        // why the leader did not describe producers
	reread    Reason        // why the last stable offset was not read again
	confirmed Reason        // whether the brokers agree on who leads
	unasked   bool          // no coordinator was asked
	not       bool          // nothing was looked up
	brokers   []Broker      // of the cluster; nil for all
	unread    bool          // the partition was not read

	want string // see showBlocker
}

// unasked stands for no brokers that were asked who leads.
const unasked Reason = "unasked"

func orNone(r Reason) Reason {
	if r == "" {
		return ReasonNone
	}
	return r
}

// sample is the sweep's sample.
func (l lookedUp) sample() Sample {
	p := four(l.at, 0, l.start, l.lso, l.hwm, l.hwm)
	if l.unread {
		p = four(l.at, 0, none, none, none, none)
	}
	if !l.not && !l.unread {
		p.Lookup = &Lookup{ProducersFailed: orNone(l.leader), LastStableFailed: orNone(l.reread), Confirmed: orNone(l.confirmed)}
		if l.confirmed == unasked {
			p.Lookup.Confirmed = ""
		}
		if l.leader == "" {
			p.Lookup.Producers = l.producers
		}
		if l.reread == "" {
			p.Lookup.LastStable = Reading{Offset: l.lso, Within: at(l.at + 0.1)}
			if l.again != 0 {
				p.Lookup.LastStable.Offset = l.again
			}
		}
	}
	s := sampled(l.at, topic(1, p))
	if l.brokers != nil {
		s.Cluster = Known(Cluster{ID: "c", Brokers: l.brokers})
	}
	if !l.not && !l.unasked {
		s.Transactions = &Transactions{Found: l.found, Uncovered: orNone(l.uncovered), Unseen: orNone(l.unseen)}
		for _, epoch := range l.epochs {
			s.Transactions.Terms = append(s.Transactions.Terms, Term{Leader: 2, Epoch: epoch})
		}
	}
	return s
}

// showBlocker renders a blocker: verdict, reason unless none, transactional id,
// producer, coordinator, open transactions, age with its source, and what is
// left to the deadline; "-" for nothing that blocks.
func showBlocker(b *Blocker, now time.Time) string {
	if b == nil {
		return "-"
	}
	text := string(b.Verdict)
	if b.Reason != ReasonNone {
		text += " " + string(b.Reason)
	}
	if b.TransactionalID != "" {
		text += fmt.Sprintf(" %s at %d", b.TransactionalID, b.Coordinator)
	}
	if p, ok := b.Producer.Get(); ok {
		text += fmt.Sprintf(" (%d,%d)", p.ID, p.Epoch)
	}
	text += fmt.Sprintf(" of %s, %v %s", showOptional(b.OpenTransactions), b.Age, b.AgeSource)
	if deadline, ok := b.Deadline.Get(); ok {
		text += fmt.Sprintf(", %v left", deadline.Sub(now))
	}
	return text
}

func TestVerdicts(t *testing.T) {
	p1 := open(1, 0, 3, none)
	for _, c := range []struct {
		reason string
		sweeps []lookedUp
	}{
		// Nothing blocks.
		{"nothing is below", []lookedUp{{lso: 7, hwm: 7, want: "-"}}},
		{"nothing was looked up", []lookedUp{{lso: 3, hwm: 7, not: true, want: "-"}}},
		{"the offset has moved since", []lookedUp{
			{lso: 3, hwm: 7, again: 5, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "-"},
		}},
		{"it is at the high watermark by now", []lookedUp{{lso: 3, hwm: 7, again: 9, producers: []Producer{p1}, want: "-"}}},
		{"it has moved, which needs no producers", []lookedUp{{lso: 3, hwm: 7, again: 5, leader: ReasonNoReadOnTopic, want: "-"}}},
		{"F20 a: the marker is there, and the coordinator has not noticed", []lookedUp{
			{lso: 9, hwm: 9, producers: []Producer{finished(1, 1)}, found: []Transaction{transaction("x", 1, PrepareCommit, 0, 60, 0)}, want: "-"},
		}},

		// Ongoing and overdue.
		{"case 1: ongoing", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, 19)}, found: []Transaction{transaction("x", 1, Ongoing, 8, 60, 0)},
				want: "ongoing x at 2 (1,0) of 1, 12s coordinator, 48s left"},
		}},
		{"F21: long and legal is ongoing, not hanging", []lookedUp{
			{at: 1200, hwm: 10, producers: []Producer{open(1, 0, 0, 1)}, found: []Transaction{transaction("x", 1, Ongoing, 0, 3600, 0)},
				want: "ongoing x at 2 (1,0) of 1, 20m0s coordinator, 40m0s left"},
			{at: 1210, hwm: 10, producers: []Producer{open(1, 0, 0, 1)}, found: []Transaction{transaction("x", 1, Ongoing, 0, 3600, 0)},
				want: "ongoing x at 2 (1,0) of 1, 20m10s coordinator, 39m50s left"},
		}},
		{"F04: the smallest start holds it, then the next", []lookedUp{
			{at: 20, lso: 344, hwm: 2449, producers: []Producer{open(173101, 14, 1000, none), open(171100, 1, 344, none)},
				found: []Transaction{transaction("a", 171100, Ongoing, 0, 60, 0)}, want: "ongoing a at 2 (171100,1) of 2, 20s coordinator, 40s left"},
			{at: 30, lso: 1000, hwm: 2450, producers: []Producer{open(173101, 14, 1000, none), finished(171100, 2)},
				found: []Transaction{transaction("b", 173101, Ongoing, 5, 60, 0)}, want: "ongoing b at 2 (173101,14) of 1, 25s coordinator, 35s left"},
		}},
		{"case 3: overdue only past deadline, scan and grace", []lookedUp{
			{at: 64, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 0, 60, 0)}, want: "ongoing x at 2 (1,0) of 1, 1m4s coordinator, -4s left"},
			{at: 75, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 0, 60, 0)}, want: "ongoing x at 2 (1,0) of 1, 1m15s coordinator, -15s left"},
			{at: 75.5, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 0, 60, 0)}, want: "overdue x at 2 (1,0) of 1, 1m15.5s coordinator, -15.5s left"},
		}},
		{"overdue by the scan period of its coordinator, the same as if longer", []lookedUp{
			{at: 66.5, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{scanning(transaction("x", 1, Ongoing, 0, 60, 0), 1)}, want: "overdue x at 2 (1,0) of 1, 1m6.5s coordinator, -6.5s left"},
			{at: 99, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{scanning(transaction("x", 1, Ongoing, 0, 60, 0), 60)}, want: "ongoing x at 2 (1,0) of 1, 1m39s coordinator, -39s left"},
		}},
		{"case 7b: the id's next transaction in the partition takes it over, and is no younger than the stall", []lookedUp{
			{at: 0, lso: 3, hwm: 7, not: true, want: "-"},
			{at: 20, lso: 3, hwm: 8, producers: []Producer{open(1, 1, 3, none)}, found: []Transaction{transaction("x", 1, Ongoing, 19, 60, 0)},
				want: "ongoing x at 2 (1,1) of 1, 20s observed, 59s left"},
		}},
		{"a coordinator's clock that is ahead gives no negative age, and no more time than the timeout", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 50, 60, 0)},
				want: "ongoing x at 2 (1,0) of 1, 0s observed, 1m0s left"},
			{at: 60, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 50, 60, 0)},
				want: "ongoing x at 2 (1,0) of 1, 40s observed, 20s left"},
			{at: 96, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 50, 60, 0)},
				want: "overdue x at 2 (1,0) of 1, 1m16s observed, -16s left"},
		}},
		{"the next transaction, by a clock that is ahead, has its own time", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 50, 60, 0)},
				want: "ongoing x at 2 (1,0) of 1, 0s observed, 1m0s left"},
			{at: 60, lso: 3, hwm: 7, producers: []Producer{open(1, 1, 3, none)}, found: []Transaction{transaction("x", 1, Ongoing, 85, 60, 0)},
				want: "ongoing x at 2 (1,1) of 1, 40s observed, 1m0s left"},
		}},
		{"ongoing without a start has no deadline", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, none, 60, 0)}, want: "ongoing x at 2 (1,0) of 1, 0s observed"},
		}},
		{"case 12: retention under an open transaction, the same blocker all the time", []lookedUp{
			{at: 0, start: 0, lso: 0, hwm: 8, producers: []Producer{open(1, 0, 0, none)}, found: []Transaction{transaction("x", 1, Ongoing, -10, 60, 0)},
				want: "ongoing x at 2 (1,0) of 1, 10s coordinator, 50s left"},
			{at: 10, start: 3, lso: 3, hwm: 8, producers: []Producer{open(1, 0, 0, none)}, found: []Transaction{transaction("x", 1, Ongoing, -10, 60, 0)},
				want: "ongoing x at 2 (1,0) of 1, 20s coordinator, 40s left"},
			{at: 20, start: 5, lso: 5, hwm: 8, producers: []Producer{open(1, 0, 0, none)}, found: []Transaction{transaction("x", 1, Ongoing, -10, 60, 0)},
				want: "ongoing x at 2 (1,0) of 1, 30s coordinator, 30s left"},
		}},
		{"DeleteRecords inside the batch: the broker's offset is below the log start", []lookedUp{
			{at: 0, start: 4, lso: 2, hwm: 8, producers: []Producer{open(1, 0, 2, none)}, found: []Transaction{transaction("x", 1, Ongoing, -10, 60, 0)},
				want: "ongoing x at 2 (1,0) of 1, 10s coordinator, 50s left"},
		}},

		// Completing.
		{"case 2: between EndTxn and the marker, no epoch contradicts", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, none)}, found: []Transaction{transaction("x", 1, PrepareCommit, 18, 60, 0)},
				want: "completing x at 2 (1,0) of 1, 2s coordinator"},
			{at: 21, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, none)}, found: []Transaction{transaction("x", 1, PrepareCommit, 18, 60)},
				want: "completing x at 2 (1,0) of 1, 1s observed"},
		}},
		{"case 5: the marker is refused for long, by timeout or fencing", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, none)}, found: []Transaction{transaction("x", 1, PrepareAbort, 0, 60, 0)}, want: "completing x at 2 (1,0) of 1, 20s coordinator"},
			{at: 900, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, none)}, found: []Transaction{transaction("x", 1, PrepareAbort, 0, 60, 0)}, want: "completing x at 2 (1,0) of 1, 15m0s coordinator"},
		}},
		{"case 6: the marker above the high watermark is that of another than the first open", []lookedUp{
			{at: 20, lso: 0, hwm: 4, producers: []Producer{finished(1, 1), open(2, 0, 2, 3)},
				found: []Transaction{transaction("a", 1, PrepareCommit, 8, 60, 0)}, want: "completing a at 2 (1,1) of 1, 12s coordinator"},
		}},
		{"nobody is open and nobody is preparing", []lookedUp{
			{at: 20, lso: 3, hwm: 4, producers: []Producer{finished(1, 1)}, want: "completing of 0, 0s observed"},
			{at: 30, lso: 3, hwm: 4, unasked: true, want: "completing of 0, 10s observed"},
		}},
		{"a transaction that prepares elsewhere is not it, nor one that is complete", []lookedUp{
			{at: 20, lso: 3, hwm: 4, producers: []Producer{finished(1, 1), finished(2, 1)},
				found: []Transaction{transaction("a", 1, PrepareCommit, 8, 60, 1), transaction("b", 2, CompleteCommit, 8, 60)}, want: "completing of 0, 0s observed"},
		}},
		{"several finished transactions: the one that started first", []lookedUp{
			{at: 20, lso: 3, hwm: 4, producers: []Producer{finished(1, 1), finished(2, 5), finished(3, 1)},
				found: []Transaction{transaction("a", 1, PrepareCommit, 9, 60, 0), transaction("b", 2, PrepareAbort, 8, 60, 0), transaction("c", 3, PrepareCommit, 9, 60, 0)},
				want:  "completing ambiguous b at 2 (2,5) of 0, 12s coordinator"},
		}},
		{"one transaction that two coordinators list is not ambiguous", []lookedUp{
			{at: 20, lso: 3, hwm: 4, producers: []Producer{finished(1, 1)},
				found: []Transaction{transaction("a", 1, PrepareCommit, 8, 60, 0), transaction("a", 1, PrepareCommit, 8, 60, 0)}, want: "completing a at 2 (1,1) of 0, 12s coordinator"},
		}},
		{"a coordinator that is away may have it", []lookedUp{
			{at: 20, lso: 3, hwm: 4, producers: []Producer{finished(1, 1)}, uncovered: ReasonCoordinatorLoading, want: "completing coordinator_loading of 0, 0s observed"},
		}},

		// Answers from another moment.
		{"a coordinator that has lost its office proves nothing", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{displaced(transaction("x", 1, CompleteCommit, 0, 60))},
				want: "unknown coordinator_unavailable x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{displaced(transaction("x", 1, CompleteCommit, 0, 60))},
				want: "unknown coordinator_unavailable x at 2 (1,0) of 1, 10s observed"},
		}},
		{"nor is it believed where the one in office says otherwise", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{displaced(transaction("x", 1, CompleteCommit, 0, 60)), transaction("x", 1, Ongoing, 8, 60, 0)},
				want: "ongoing x at 2 (1,0) of 1, 12s coordinator, 48s left"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{displaced(transaction("x", 1, Ongoing, 8, 60, 0)), transaction("x", 1, CompleteCommit, 8, 60)},
				want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 8, 60), displaced(transaction("x", 1, Ongoing, 8, 60, 0))},
				want: "hanging x at 2 (1,0) of 1, 20s observed"},
		}},
		{"one that is about to be known as in office is believed that the transaction is open", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{displaced(transaction("x", 1, Ongoing, 8, 60, 0))},
				want: "ongoing x at 2 (1,0) of 1, 12s coordinator, 48s left"},
		}},
		{"a coordinator that has left the cluster is not named", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 8, 60, 0)},
				want: "ongoing x at 2 (1,0) of 1, 12s coordinator, 48s left"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, uncovered: ReasonCoordinatorUnreachable, want: "unknown coordinator_unreachable x at 2 (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, uncovered: ReasonCoordinatorUnavailable, brokers: []Broker{{ID: 1}, {ID: 3}},
				want: "unknown coordinator_unavailable x at -1 (1,0) of 1, 20s observed"},
		}},
		{"a lagging follower describes a transaction that is over", []lookedUp{
			{at: 20, lso: 5, hwm: 9, producers: []Producer{open(1, 0, 3, none), open(2, 0, 5, none)},
				found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown stale_answer of 2, 0s observed"},
			{at: 30, lso: 5, hwm: 9, producers: []Producer{open(1, 0, 3, none)}, want: "unknown stale_answer of 1, 10s observed"},
		}},
		{"without a log start nobody knows which of both it is", []lookedUp{
			{at: 20, start: none, lso: 5, hwm: 9, producers: []Producer{open(1, 0, 3, none)}, want: "unknown stale_answer of 1, 0s observed"},
		}},
		{"one look proves nothing", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 8, 60, 0)}, reread: ReasonLeaderChanged, want: "unknown leader_changed of 1, 0s observed"},
		}},

		// Hanging.
		{"case 7, F20 b: the coordinator has finished, on two sweeps", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, 8)}, found: []Transaction{transaction("x", 1, CompleteAbort, 0, 60)},
				want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 12s producer_timestamp"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, 8)}, found: []Transaction{transaction("x", 1, CompleteAbort, 0, 60)},
				want: "hanging x at 2 (1,0) of 1, 22s producer_timestamp"},
		}},
		{"two sweeps at the same time are two sweeps", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "hanging x at 2 (1,0) of 1, 0s observed"},
		}},
		{"case 7a: Ongoing elsewhere; its start is not this one's", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 19, 60, 1)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 29, 60, 1)}, want: "hanging x at 2 (1,0) of 1, 10s observed"},
		}},
		{"Ongoing with an empty list contradicts too", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 19, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 19, 60)}, want: "hanging x at 2 (1,0) of 1, 10s observed"},
		}},
		{"Prepare* with a list without the partition", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, PrepareCommit, 19, 60, 1)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, PrepareCommit, 19, 60, 1)}, want: "hanging x at 2 (1,0) of 1, 10s observed"},
		}},
		{"case 8: never registered", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Empty, none, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Empty, none, 60)}, want: "hanging x at 2 (1,0) of 1, 10s observed"},
		}},
		{"a busy topic: contradicted twice, by two transactions", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, none)}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 9, hwm: 12, producers: []Producer{open(1, 1, 9, none)}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,1) of 1, 0s observed"},
			{at: 40, lso: 9, hwm: 12, producers: []Producer{open(2, 0, 9, none)}, found: []Transaction{transaction("y", 2, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed y at 2 (2,0) of 1, 10s observed"},
		}},
		{"the two sweeps are consecutive", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, unread: true, want: "-"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 20s observed"},
			{at: 50, lso: 3, hwm: 7, producers: []Producer{p1}, uncovered: ReasonCoordinatorUnreachable, want: "unknown coordinator_unreachable x at 2 (1,0) of 1, 30s observed"},
			{at: 60, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 40s observed"},
			{at: 70, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "hanging x at 2 (1,0) of 1, 50s observed"},
		}},
		{"an epoch that was raised contradicts nothing, nor does it end a proof", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, none)}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{open(1, 2, 3, none)}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "hanging x at 2 (1,2) of 1, 10s observed"},
		}},
		{"proven, it stays while the coordinator is away, the id expires, the leader is silent", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "hanging x at 2 (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, uncovered: ReasonCoordinatorLoading, want: "hanging x at 2 (1,0) of 1, 20s observed"},
			{at: 50, lso: 3, hwm: 7, producers: []Producer{p1}, want: "hanging x at 2 (1,0) of 1, 30s observed"},
			{at: 60, lso: 3, hwm: 7, producers: []Producer{p1}, want: "hanging x at 2 (1,0) of 1, 40s observed"},
			{at: 70, lso: 3, hwm: 9, leader: ReasonLeaderUnreachable, reread: ReasonLeaderUnreachable, want: "hanging x at 2 (1,0) of -, 50s observed"},
			{at: 80, lso: 3, hwm: 9, producers: []Producer{open(9, 0, 1, none)}, want: "hanging x at 2 (1,0) of 1, 1m0s observed"},
			{at: 90, unread: true, want: "-"},
			{at: 100, lso: 3, hwm: 9, producers: []Producer{p1}, want: "hanging x at 2 (1,0) of 1, 1m20s observed"},
		}},
		{"it stays while retention moves the offset along", []lookedUp{
			{at: 20, start: 0, lso: 3, hwm: 9, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, start: 0, lso: 3, hwm: 9, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "hanging x at 2 (1,0) of 1, 10s observed"},
			{at: 40, start: 5, lso: 5, hwm: 9, leader: ReasonLeaderChanged, want: "unknown leader_changed of -, 20s observed"},
			{at: 50, start: 6, lso: 6, hwm: 9, producers: []Producer{p1}, want: "hanging x at 2 (1,0) of 1, 30s observed"},
		}},
		{"it yields to ongoing and completing, and then needs a proof again", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "hanging x at 2 (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 8, producers: []Producer{open(1, 1, 3, none)}, found: []Transaction{transaction("x", 1, Ongoing, 35, 60, 0)}, want: "ongoing x at 2 (1,1) of 1, 20s observed, 55s left"},
			{at: 50, lso: 3, hwm: 8, producers: []Producer{open(1, 1, 3, none)}, found: []Transaction{transaction("x", 1, PrepareAbort, 35, 60, 0)}, want: "completing x at 2 (1,1) of 1, 30s observed"},
			{at: 60, lso: 3, hwm: 8, producers: []Producer{open(1, 1, 3, none)}, found: []Transaction{transaction("x", 1, CompleteAbort, 35, 60)}, want: "unknown not_yet_confirmed x at 2 (1,1) of 1, 40s observed"},
		}},
		{"an abort by hand ends it", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "hanging x at 2 (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{finished(1, 0)}, want: "completing of 0, 20s observed"},
			{at: 50, lso: 8, hwm: 8, want: "-"},
			{at: 60, lso: 8, hwm: 9, producers: []Producer{open(1, 1, 8, none)}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,1) of 1, 0s observed"},
		}},
		{"the brokers know of a newer leader: it needs two more sweeps", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, confirmed: ReasonLeaderChanged, want: "unknown leader_changed x at 2 (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 20s observed"},
			{at: 50, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "hanging x at 2 (1,0) of 1, 30s observed"},
		}},
		{"too few brokers say who leads: it is asked again", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, confirmed: ReasonNotYetConfirmed, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "hanging x at 2 (1,0) of 1, 20s observed"},
		}},
		{"nobody was asked who leads", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, confirmed: unasked, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 10s observed"},
		}},

		// Ownerless.
		{"the brokers know of a newer coordinator, then nobody does", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, want: "unknown not_yet_confirmed (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, confirmed: ReasonCoordinatorUnavailable, want: "unknown coordinator_unavailable (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, want: "unknown not_yet_confirmed (1,0) of 1, 20s observed"},
			{at: 50, lso: 3, hwm: 7, producers: []Producer{p1}, want: "ownerless (1,0) of 1, 30s observed"},
			{at: 60, lso: 3, hwm: 7, producers: []Producer{p1}, confirmed: unasked, want: "ownerless (1,0) of 1, 40s observed"},
		}},
		{"case 10: nobody knows the producer, on two sweeps", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, want: "unknown not_yet_confirmed (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, want: "ownerless (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, unseen: ReasonNoDescribeOnTransactionalID, want: "ownerless (1,0) of 1, 20s observed"},
		}},
		{"F03: the age is the producer's from the first sweep on", []lookedUp{
			{at: 1969500, lso: 1193596434, hwm: 1193600000, producers: []Producer{open(4000, 15937, 1193596434, 0)}, want: "unknown not_yet_confirmed (4000,15937) of 1, 547h5m0s producer_timestamp"},
			{at: 1969510, lso: 1193596434, hwm: 1193600000, producers: []Producer{open(4000, 15937, 1193596434, 0)}, want: "ownerless (4000,15937) of 1, 547h5m10s producer_timestamp"},
		}},
		{"two sweeps at the same time are two sweeps, for whom nobody knows too", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, epochs: []LeaderEpoch{4, 7}, want: "unknown not_yet_confirmed (1,0) of 1, 0s observed"},
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, epochs: []LeaderEpoch{4, 7}, want: "ownerless (1,0) of 1, 0s observed"},
		}},
		{"a coordinator that was elected between two sweeps may have loaded after it was asked for its list", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, epochs: []LeaderEpoch{4, 7}, want: "unknown not_yet_confirmed (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, epochs: []LeaderEpoch{4, 8}, want: "unknown not_yet_confirmed (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, epochs: []LeaderEpoch{4, 8}, want: "ownerless (1,0) of 1, 20s observed"},
			{at: 50, lso: 3, hwm: 7, producers: []Producer{p1}, epochs: []LeaderEpoch{5, 8}, want: "ownerless (1,0) of 1, 30s observed"},
		}},
		{"ownerless yields while a coordinator does not speak for its part, and then needs a proof again", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, want: "unknown not_yet_confirmed (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, want: "ownerless (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, uncovered: ReasonCoordinatorLoading, want: "unknown coordinator_loading (1,0) of 1, 20s observed"},
			{at: 50, lso: 3, hwm: 7, producers: []Producer{p1}, want: "unknown not_yet_confirmed (1,0) of 1, 30s observed"},
			{at: 60, lso: 3, hwm: 7, producers: []Producer{p1}, want: "ownerless (1,0) of 1, 40s observed"},
			{at: 70, lso: 3, hwm: 7, producers: []Producer{open(9, 0, 1, none)}, uncovered: ReasonCoordinatorUnreachable, want: "unknown stale_answer (1,0) of 1, 50s observed"},
			{at: 80, lso: 3, hwm: 7, producers: []Producer{p1}, uncovered: ReasonCoordinatorUnavailable, unseen: ReasonBudget, want: "unknown budget (1,0) of 1, 1m0s observed"},
		}},
		{"ownerless stays while its leader or the budget says nothing", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, want: "unknown not_yet_confirmed (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, want: "ownerless (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, leader: ReasonLeaderUnreachable, reread: ReasonLeaderUnreachable, unasked: true, want: "ownerless (1,0) of -, 20s observed"},
			{at: 50, lso: 3, hwm: 7, producers: []Producer{p1}, unseen: ReasonBudget, want: "ownerless (1,0) of 1, 30s observed"},
		}},
		{"F16: ids that may be hidden, however long", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, unseen: ReasonNoDescribeOnTransactionalID, want: "unknown no_describe_on_transactional_id (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, unseen: ReasonNoDescribeOnTransactionalID, want: "unknown no_describe_on_transactional_id (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, unseen: ReasonNoDescribeOnTransactionalID, uncovered: ReasonCoordinatorLoading, want: "unknown no_describe_on_transactional_id (1,0) of 1, 20s observed"},
		}},
		{"a coordinator that loads, is away or hidden may know it", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, uncovered: ReasonCoordinatorLoading, want: "unknown coordinator_loading (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, uncovered: ReasonCoordinatorUnreachable, want: "unknown coordinator_unreachable (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, uncovered: ReasonCoordinatorUnavailable, want: "unknown coordinator_unavailable (1,0) of 1, 20s observed"},
			{at: 50, lso: 3, hwm: 7, producers: []Producer{p1}, uncovered: ReasonNoTransactionState, unseen: ReasonNoTransactionState, want: "unknown no_describe_on_transaction_state (1,0) of 1, 30s observed"},
			{at: 60, lso: 3, hwm: 7, producers: []Producer{p1}, uncovered: ReasonAPIMissing, want: "unknown api_missing (1,0) of 1, 40s observed"},
			{at: 70, lso: 3, hwm: 7, producers: []Producer{p1}, want: "unknown not_yet_confirmed (1,0) of 1, 50s observed"},
		}},
		{"a coordinator that knows nothing once, between two that say hanging", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, want: "unknown not_yet_confirmed (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Empty, none, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 20s observed"},
		}},
		{"ownerless yields to a coordinator that knows the id, and hanging not to ownerless", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, want: "unknown not_yet_confirmed (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, want: "ownerless (1,0) of 1, 10s observed"},
			{at: 40, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Empty, none, 60)}, want: "unknown not_yet_confirmed x at 2 (1,0) of 1, 20s observed"},
			{at: 50, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Empty, none, 60)}, want: "hanging x at 2 (1,0) of 1, 30s observed"},
			{at: 60, lso: 3, hwm: 7, producers: []Producer{p1}, want: "hanging x at 2 (1,0) of 1, 40s observed"},
			{at: 70, lso: 3, hwm: 7, producers: []Producer{p1}, want: "hanging x at 2 (1,0) of 1, 50s observed"},
		}},
		{"case 11: while its id gets a new producer id it is completing", []lookedUp{
			{at: 20, lso: 0, hwm: 1, producers: []Producer{open(1, 32766, 0, none)}, found: []Transaction{transaction("x", 1, PrepareCommit, 0, 60, 0)}, want: "completing x at 2 (1,32766) of 1, 20s coordinator"},
			{at: 30, lso: 0, hwm: 1, producers: []Producer{open(1, 32766, 0, none)}, found: []Transaction{rotated(transaction("x", 1, CompleteCommit, 0, 60), 2)}, want: "unknown not_yet_confirmed x at 2 (1,32766) of 1, 10s observed"},
			{at: 40, lso: 0, hwm: 1, producers: []Producer{open(1, 32766, 0, none)}, found: []Transaction{rotated(transaction("x", 1, CompleteCommit, 0, 60), 2)}, want: "unknown not_yet_confirmed x at 2 (1,32766) of 1, 20s observed"},
		}},

		// What was not told.
		{"F16: no right to read the topic", []lookedUp{
			{at: 20, lso: 10, hwm: 30, leader: ReasonNoReadOnTopic, unasked: true, want: "unknown no_read_on_topic of -, 0s observed"},
			{at: 32, lso: 10, hwm: 30, leader: ReasonNoReadOnTopic, unasked: true, want: "unknown no_read_on_topic of -, 12s observed"},
		}},
		{"no time to ask coordinators", []lookedUp{{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, unasked: true, want: "unknown budget (1,0) of 1, 0s observed"}}},
		{"the coordinator listed it and did not describe it", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{{ID: "x", Producer: 1, Coordinator: 2, Undescribed: ReasonCoordinatorUnreachable}},
				want: "unknown coordinator_unreachable x at 2 (1,0) of 1, 0s observed"},
		}},
		{"of two coordinators that list it, the one that describes it", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{
				{ID: "x", Producer: 1, Coordinator: 1, Undescribed: ReasonCoordinatorUnavailable}, transaction("x", 1, Ongoing, 8, 60, 0)},
				want: "ongoing x at 2 (1,0) of 1, 12s coordinator, 48s left"},
		}},
		{"a state that says neither", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, "PrepareEpochFence", 8, 60, 0)}, want: "unknown unexpected_state x at 2 (1,0) of 1, 0s observed"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, "Dead", 8, 60)}, want: "unknown unexpected_state x at 2 (1,0) of 1, 10s observed"},
		}},
		{"an unknown keeps the id of the same transaction, and of no other", []lookedUp{
			{at: 20, lso: 3, hwm: 7, producers: []Producer{p1}, found: []Transaction{transaction("x", 1, Ongoing, 8, 60, 0)}, want: "ongoing x at 2 (1,0) of 1, 12s coordinator, 48s left"},
			{at: 30, lso: 3, hwm: 7, producers: []Producer{p1}, uncovered: ReasonCoordinatorLoading, want: "unknown coordinator_loading x at 2 (1,0) of 1, 10s observed"},
			{at: 40, lso: 5, hwm: 7, producers: []Producer{open(1, 0, 5, none)}, uncovered: ReasonCoordinatorLoading, want: "unknown coordinator_loading (1,0) of 1, 0s observed"},
		}},

		// Ages by the producer's clock.
		{"a timestamp in the future is no age", []lookedUp{{at: 20, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, 21)}, want: "unknown not_yet_confirmed (1,0) of 1, 0s observed"}}},
		{"nor is one of this very moment", []lookedUp{{at: 20, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, 20)}, want: "unknown not_yet_confirmed (1,0) of 1, 0s observed"}}},
		{"nor one of ten years ago", []lookedUp{{at: 20, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, 20-10*365*24*3600)}, want: "unknown not_yet_confirmed (1,0) of 1, 0s observed"}}},
		{"a backfill of six years is shown as what it is", []lookedUp{{at: 20, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, 20-6*365*24*3600)}, want: "unknown not_yet_confirmed (1,0) of 1, 52560h0m0s producer_timestamp"}}},
		{"a young record is no younger than the stall", []lookedUp{
			{at: 0, lso: 3, hwm: 7, not: true, want: "-"},
			{at: 20, lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, 19)}, want: "unknown not_yet_confirmed (1,0) of 1, 20s observed"},
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			tracker := NewTracker(10 * time.Second)
			for i, l := range c.sweeps {
				view := tracker.Observe(l.sample())
				if got := showBlocker(view.Topics[0].Partitions[0].Blocker, at(l.at).Answered); got != l.want {
					t.Errorf("sweep %d:\ngot  %s\nwant %s", i+1, got, l.want)
				}
			}
		})
	}
}

// scanning gives a transaction's coordinator a scan period.
func scanning(t Transaction, period float64) Transaction {
	t.ScanPeriod = Known(seconds(period))
	return t
}

// rotated gives a transaction's description another producer id than it was
// listed for.
func rotated(t Transaction, producer ProducerID) Transaction {
	t.Described = producer
	return t
}

// Ages never fall below stalled seconds, whatever the verdict and the source.
func TestAgeIsNeverBelowStalled(t *testing.T) {
	tracker := NewTracker(10 * time.Second)
	tracker.Observe(lookedUp{lso: 3, hwm: 7, not: true}.sample())
	for i, l := range []lookedUp{
		{producers: []Producer{open(1, 0, 3, none)}, found: []Transaction{transaction("x", 1, Ongoing, 99, 60, 0)}},
		{producers: []Producer{open(1, 0, 3, 99)}, found: []Transaction{transaction("x", 1, PrepareAbort, 99, 60)}},
		{producers: []Producer{open(1, 0, 3, 99)}, found: []Transaction{transaction("x", 1, Empty, none, 60)}},
		{producers: []Producer{open(1, 0, 3, none)}},
		{producers: []Producer{finished(1, 0)}},
		{leader: ReasonError},
	} {
		l.at, l.lso, l.hwm = 100+float64(i), 3, 7
		p := tracker.Observe(l.sample()).Topics[0].Partitions[0]
		if want := seconds(l.at); p.StalledFor != want || p.Blocker.Age != want {
			t.Errorf("sweep at %v: age %v, stalled %v, want %v: %s", l.at, p.Blocker.Age, p.StalledFor, want, showBlocker(p.Blocker, at(l.at).Answered))
		}
	}
}

// A topic that was created anew has another blocker, and another proof.
func TestBlockerMemoryFollowsTheTopic(t *testing.T) {
	tracker := NewTracker(10 * time.Second)
	l := lookedUp{lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, none)}, found: []Transaction{transaction("x", 1, Empty, none, 60)}}
	observe := func(seconds float64, id byte) string {
		l.at = seconds
		s := l.sample()
		s.Topics[0].ID[15] = id
		return string(tracker.Observe(s).Topics[0].Partitions[0].Blocker.Verdict)
	}
	got := []string{observe(0, 1), observe(10, 1), observe(20, 2), observe(30, 2)}
	if want := []string{"unknown", "hanging", "unknown", "hanging"}; !slices.Equal(got, want) {
		t.Errorf("verdicts %v, want %v", got, want)
	}
}

// What held a partition is forgotten once it has let go, also if nobody looked.
func TestBlockersAreForgotten(t *testing.T) {
	held := lookedUp{lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, none)}, found: []Transaction{transaction("x", 1, Empty, none, 60)}}
	for _, c := range []struct {
		reason string
		then   lookedUp
		kept   bool
	}{
		{"it is not below", lookedUp{at: 10, lso: 9, hwm: 9, not: true}, false},
		{"it has moved", lookedUp{at: 10, lso: 5, hwm: 9, not: true}, false},
		{"it has moved, to the log start", lookedUp{at: 10, start: 5, lso: 5, hwm: 9, not: true}, true},
		{"it stands", lookedUp{at: 10, lso: 3, hwm: 9, not: true}, true},
		{"it was not read", lookedUp{at: 10, unread: true}, true},
	} {
		t.Run(c.reason, func(t *testing.T) {
			tracker := NewTracker(10 * time.Second)
			tracker.Observe(held.sample())
			tracker.Observe(c.then.sample())
			if kept := tracker.topics["t"].partitions[0].blocker != nil; kept != c.kept {
				t.Errorf("remembered: %t, want %t", kept, c.kept)
			}
		})
	}
}

// F01: one partition of many, and F22: an internal one like any other.
func TestOnlyTheHeldPartitionHasABlocker(t *testing.T) {
	var partitions []Partition
	for i := range int32(15) {
		partitions = append(partitions, four(20, i, 0, 200, 200, 200))
	}
	held := func(number int32, lso, hwm Offset, p Producer) Partition {
		part := four(20, number, 0, lso, hwm, hwm)
		part.Lookup = &Lookup{
			Producers: []Producer{p}, ProducersFailed: ReasonNone,
			LastStable: Reading{Offset: lso, Within: at(20.1)}, LastStableFailed: ReasonNone,
		}
		return part
	}
	partitions[7] = held(7, 144, 200, open(2000, 0, 144, none))
	s := sampled(20, []Topic{
		named("__consumer_offsets", 2, held(12, 700, 900, open(3000, 1, 700, none))), named("t", 1, partitions...),
	})
	stream := transaction("stream", 3000, Ongoing, 5, 60)
	stream.Topics = []TopicPartitions{{Topic: "__consumer_offsets", Partitions: []int32{12}}}
	s.Transactions = &Transactions{
		Found:     []Transaction{stream, transaction("x", 2000, Ongoing, 8, 60, 7)},
		Uncovered: ReasonNone, Unseen: ReasonNone,
	}
	view := NewTracker(10 * time.Second).Observe(s)
	for _, topic := range view.Topics {
		for _, p := range topic.Partitions {
			want := "-"
			switch {
			case topic.Name == "__consumer_offsets":
				want = "ongoing stream at 2 (3000,1) of 1, 15s coordinator, 45s left"
			case p.Number == 7:
				want = "ongoing x at 2 (2000,0) of 1, 12s coordinator, 48s left"
			}
			if got := showBlocker(p.Blocker, at(20).Answered); got != want {
				t.Errorf("%s-%d: %s, want %s", topic.Name, p.Number, got, want)
			}
		}
	}
}

// F02: group A waits for the transaction, B has read on without regard to it, C
// has something to read before it.
func TestBlockerHoldsTheGroupsThatWaitForIt(t *testing.T) {
	l := lookedUp{at: 20, lso: 200, hwm: 1663, producers: []Producer{open(1, 0, 200, none)}, found: []Transaction{transaction("x", 1, Ongoing, 8, 60, 0)}}
	group := func(name string, offset Offset) Group {
		g := committed(offset)
		g.Name = name
		return g
	}
	for _, c := range []struct {
		reason string
		groups []Group
		want   []string
	}{
		{"at the offset, beyond it, before it, without a commit",
			[]Group{group("a", 200), group("b", 1500), group("c", 199), group("d", none), group("e", 200)}, []string{"a", "e"}},
		{"nobody", []Group{group("b", 1500)}, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := l.sample()
			s.Groups = c.groups
			b := NewTracker(10 * time.Second).Observe(s).Topics[0].Partitions[0].Blocker
			if !slices.Equal(b.Groups, c.want) {
				t.Errorf("holds %v, want %v", b.Groups, c.want)
			}
		})
	}
}

// A group with nothing but end markers before the last stable offset is held; one
// that reads uncommitted records is not, wherever it stands.
func TestBlockerHoldsByState(t *testing.T) {
	row := func(committed Offset, lag Count, state GroupState) []GroupPartitionView {
		return []GroupPartitionView{{Committed: Known(committed), LSOLag: Known(lag), State: state}}
	}
	v := View{
		Topics: []TopicView{{Name: "t", Partitions: []PartitionView{{LastStable: Known(Offset(5)), HighWatermark: Known(Offset(9)), Blocker: &Blocker{}}}}},
		Groups: []GroupView{
			{Name: "markers", Topics: []GroupTopicView{{Topic: "t", Partitions: row(4, 1, StateBlocked)}}},
			{Name: "slow", Topics: []GroupTopicView{{Topic: "t", Partitions: row(4, 1, StateConsuming)}}},
			{Name: "uncommitted", Topics: []GroupTopicView{{Topic: "t", Partitions: row(5, 0, StateConsuming), ReadUncommitted: true}}},
			{Name: "waits", Topics: []GroupTopicView{{Topic: "t", Partitions: row(5, 0, StateCaughtUp)}}},
		},
	}
	v.holdGroups()
	if got, want := v.Topics[0].Partitions[0].Blocker.Groups, []string{"markers", "waits"}; !slices.Equal(got, want) {
		t.Errorf("holds %v, want %v", got, want)
	}
}

// A partition of __consumer_offsets holds the groups that it keeps, whatever
// they read.
func TestBlockerHoldsTheGroupsThatItKeeps(t *testing.T) {
	partitions := make([]PartitionView, 50)
	for i := range partitions {
		partitions[i] = PartitionView{Number: int32(i)}
	}
	partitions[9].Blocker, partitions[14].Blocker = &Blocker{}, &Blocker{}
	v := View{
		Topics: []TopicView{{Name: "__consumer_offsets", Partitions: partitions}},
		Groups: []GroupView{{Name: "a"}, {Name: "billing"}, {Name: "zzzzzz", Type: ShareGroup}},
	}
	v.holdGroups()
	if got, want := partitions[9].Blocker.Groups, []string{"billing"}; !slices.Equal(got, want) {
		t.Errorf("9 holds %v, want %v", got, want)
	}
	if got, want := partitions[14].Blocker.Groups, []string{"zzzzzz"}; !slices.Equal(got, want) {
		t.Errorf("14 holds %v, want %v", got, want)
	}
}

// Where the log starts at the last stable offset, a commit below it waits too.
func TestBlockerHoldsGroupsBelowTheLogStart(t *testing.T) {
	l := lookedUp{at: 20, start: 5, lso: 5, hwm: 8, producers: []Producer{open(1, 0, 0, none)}, found: []Transaction{transaction("x", 1, Ongoing, 8, 60, 0)}}
	s := l.sample()
	s.Groups = []Group{committed(2)}
	if b := NewTracker(10 * time.Second).Observe(s).Topics[0].Partitions[0].Blocker; !slices.Equal(b.Groups, []string{"g"}) {
		t.Errorf("holds %v, want g", b.Groups)
	}
}

func TestWantedProducers(t *testing.T) {
	for _, c := range []struct {
		reason    string
		partition Partition
		producers []Producer
		failed    Reason
		want      []ProducerID
		holder    bool
	}{
		{"the first open", four(0, 0, 0, 3, 7, 7), []Producer{open(2, 0, 5, none), open(1, 0, 3, none), finished(4, 0)}, ReasonNone, []ProducerID{1}, true},
		{"the finished, if all open start above", four(0, 0, 0, 3, 7, 7), []Producer{open(2, 0, 5, none), finished(4, 0), finished(5, 0)}, ReasonNone, []ProducerID{4, 5}, false},
		{"the finished, if none is open", four(0, 0, 0, 3, 7, 7), []Producer{finished(4, 0)}, ReasonNone, []ProducerID{4}, false},
		{"nobody, if the answer is stale", four(0, 0, 0, 3, 7, 7), []Producer{open(2, 0, 1, none), finished(4, 0)}, ReasonNone, nil, false},
		{"one that starts below, at the log start", four(0, 0, 3, 3, 7, 7), []Producer{open(2, 0, 1, none)}, ReasonNone, []ProducerID{2}, true},
		{"nobody, if there was no answer", four(0, 0, 0, 3, 7, 7), nil, ReasonNoReadOnTopic, nil, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			c.partition.Lookup = &Lookup{Producers: c.producers, ProducersFailed: c.failed}
			got, holder := c.partition.WantedProducers()
			if !slices.Equal(got, c.want) || holder != c.holder {
				t.Errorf("got %v, %t, want %v, %t", got, holder, c.want, c.holder)
			}
		})
	}
}

// A sweep asks who leads where a verdict would be given that was not before, and not
// where it stands or is not near.
func TestWantConfirmations(t *testing.T) {
	hangs := lookedUp{lso: 3, hwm: 7, producers: []Producer{open(1, 0, 3, none)}, found: []Transaction{transaction("x", 1, CompleteCommit, 0, 60)}, confirmed: unasked}
	unowned, ongoing, another := hangs, hangs, hangs
	unowned.found = nil
	ongoing.found = []Transaction{transaction("x", 1, Ongoing, 0, 60, 0)}
	another.producers = []Producer{open(2, 0, 3, none)}
	another.found = []Transaction{transaction("x", 2, CompleteCommit, 0, 60)}
	proven := hangs
	proven.confirmed = ""
	for _, c := range []struct {
		reason string
		sweeps []lookedUp
		want   []WantedConfirmation
	}{
		{"the first sweep", []lookedUp{hangs}, nil},
		{"the second", []lookedUp{hangs, hangs}, []WantedConfirmation{{"t", 0, "x"}}},
		{"the second, of a producer that nobody knows", []lookedUp{unowned, unowned}, []WantedConfirmation{{"t", 0, ""}}},
		{"the third, as the second was not confirmed", []lookedUp{hangs, hangs, hangs}, []WantedConfirmation{{"t", 0, "x"}}},
		{"it is proven", []lookedUp{hangs, proven, hangs}, nil},
		{"it was proven before it was ongoing", []lookedUp{hangs, proven, ongoing, hangs, hangs}, []WantedConfirmation{{"t", 0, "x"}}},
		{"it was ongoing between", []lookedUp{hangs, ongoing, hangs}, nil},
		{"first nobody knew it", []lookedUp{unowned, hangs}, nil},
		{"it is another transaction", []lookedUp{hangs, another}, nil},
		{"nothing was looked up between", []lookedUp{hangs, {lso: 3, hwm: 7, not: true}, hangs}, nil},
	} {
		t.Run(c.reason, func(t *testing.T) {
			tracker := NewTracker(10 * time.Second)
			last := len(c.sweeps) - 1
			for i, l := range c.sweeps[:last] {
				l.at = float64(10 * i)
				tracker.Observe(l.sample())
			}
			c.sweeps[last].at = float64(10 * last)
			s := c.sweeps[last].sample()
			if got := tracker.WantConfirmations(&s); !slices.Equal(got, c.want) {
				t.Errorf("wants %v, want %v", got, c.want)
			}
		})
	}
}

// Reasons and Verdicts list every constant of their type, once.
func TestListsOfReasonsAndVerdictsAreWhole(t *testing.T) {
	declared := map[string][]string{}
	file, err := parser.ParseFile(token.NewFileSet(), "blocker.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if kind, ok := spec.Type.(*ast.Ident); ok {
				if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
					value, err := strconv.Unquote(literal.Value)
					if err != nil {
						t.Fatal(err)
					}
					declared[kind.Name] = append(declared[kind.Name], value)
				}
			}
		}
		return true
	})
	var reasons, verdicts []string
	for _, r := range Reasons() {
		reasons = append(reasons, string(r))
	}
	for _, v := range Verdicts() {
		verdicts = append(verdicts, string(v))
	}
	for kind, listed := range map[string][]string{"Reason": reasons, "Verdict": verdicts} {
		slices.Sort(listed)
		slices.Sort(declared[kind])
		if len(listed) == 0 || !slices.Equal(listed, declared[kind]) {
			t.Errorf("%s: listed %v, declared %v", kind, listed, declared[kind])
		}
	}
}
