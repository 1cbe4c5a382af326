package producer

import (
	"fmt"
	"math"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// history applies batches and markers one after the other, as a log does.
type history struct {
	*Manager
	t    *testing.T
	next kafka.Offset
}

func newHistory(t *testing.T) *history { return &history{Manager: NewManager(0), t: t} }

func (h *history) batch(p kafka.ProducerID, e kafka.ProducerEpoch, seq int32, n int, transactional bool) Batch {
	last := int64(seq) + int64(n) - 1
	if last > math.MaxInt32 {
		last -= 1 << 31
	}
	return Batch{
		Producer: kafka.Producer{ID: p, Epoch: e}, Transactional: transactional,
		FirstSequence: seq, LastSequence: int32(last),
		FirstOffset: h.next, LastOffset: h.next + kafka.Offset(n) - 1, LastTimestampMs: int64(h.next),
	}
}

func (h *history) append(b Batch) error {
	err := h.Append(b, Client, Guard{}, false)
	if err == nil {
		h.next = b.LastOffset + 1
	}
	return err
}

func (h *history) must(b Batch) {
	h.t.Helper()
	if err := h.append(b); err != nil {
		h.t.Fatalf("append %+v: %v", b, err)
	}
}

func (h *history) end(p kafka.ProducerID, e kafka.ProducerEpoch, ce kafka.CoordinatorEpoch, version int8) (CompletedTxn, bool, error) {
	c, ok, err := h.End(Marker{Producer: kafka.Producer{ID: p, Epoch: e}, CoordinatorEpoch: ce, Offset: h.next, TransactionVersion: version}, Coordinator)
	if err == nil {
		h.next++
	}
	return c, ok, err
}

func (h *history) expect(want string) {
	h.t.Helper()
	if got := h.String(); got != want {
		h.t.Fatalf("got  %s\nwant %s", got, want)
	}
}

func TestC3SequencesAndEpochs(t *testing.T) {
	for _, test := range []struct {
		name  string
		epoch kafka.ProducerEpoch
		seq   int32
		want  error
	}{
		{"next", 3, 5, nil},
		{"gap", 3, 6, kafka.ErrOutOfOrderSequenceNumber},
		{"overlap", 3, 4, kafka.ErrOutOfOrderSequenceNumber},
		{"start again in the same epoch", 3, 0, kafka.ErrOutOfOrderSequenceNumber},
		{"new epoch from 0", 4, 0, nil},
		{"new epoch not from 0", 4, 5, kafka.ErrOutOfOrderSequenceNumber},
		{"old epoch", 2, 5, kafka.ErrInvalidProducerEpoch},
	} {
		h := newHistory(t)
		h.must(h.batch(1, 3, 0, 5, false))
		before := h.String()
		if err := h.append(h.batch(1, test.epoch, test.seq, 1, false)); err != test.want {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		} else if err != nil && h.String() != before {
			t.Errorf("%s: a refused batch changed %s to %s", test.name, before, h)
		}
	}
}

func TestC3SequenceWraps(t *testing.T) {
	h := newHistory(t)
	h.must(h.batch(1, 0, math.MaxInt32, 1, false))
	if err := h.append(h.batch(1, 0, 1, 1, false)); err != kafka.ErrOutOfOrderSequenceNumber {
		t.Fatalf("1 after 2147483647: %v", err)
	}
	h.must(h.batch(1, 0, 0, 1, false))
}

func TestC2Duplicates(t *testing.T) {
	h := newHistory(t)
	h.must(h.batch(1, 0, math.MaxInt32-1, 4, false)) // offsets 0 to 3, sequences to 1
	for seq := range int32(4) {
		h.must(h.batch(1, 0, seq+2, 1, false))
	}
	for _, test := range []struct {
		name string
		b    Batch
		want string
	}{
		{"over the wrap", h.batch(1, 0, math.MaxInt32-1, 4, false), "true 0-3"},
		{"last", h.batch(1, 0, 5, 1, false), "true 7-7"},
		{"same first, another last", h.batch(1, 0, 5, 2, false), "false 0-0"},
		{"another epoch", h.batch(1, 1, 5, 1, false), "false 0-0"},
		{"another producer", h.batch(2, 0, 5, 1, false), "false 0-0"},
	} {
		d, found := h.Duplicate(test.b)
		if got := fmt.Sprintf("%v %d-%d", found, d.FirstOffset, d.LastOffset); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
	h.must(h.batch(1, 0, 6, 1, false))
	if _, found := h.Duplicate(h.batch(1, 0, math.MaxInt32-1, 4, false)); found {
		t.Error("the sixth batch back is still known")
	}
}

// The order of checks on a transactional batch (rule C1): stale epoch, guard,
// sequence.
func TestC1OrderOfChecks(t *testing.T) {
	h := newHistory(t)
	h.must(h.batch(1, 3, 0, 1, false))
	try := func(e kafka.ProducerEpoch, seq int32, g Guard) error {
		return h.Append(h.batch(1, e, seq, 1, true), Client, g, true)
	}
	if err := try(2, 9, Guard{}); err != kafka.ErrInvalidProducerEpoch {
		t.Errorf("stale epoch, no guard, bad sequence: %v", err)
	}
	if err := try(3, 9, Guard{}); err != kafka.ErrInvalidTxnState {
		t.Errorf("no guard, bad sequence: %v", err)
	}
	g := h.StartVerification(kafka.Producer{ID: 1, Epoch: 3}, 9, false, 0)
	if err := try(3, 9, g); err != kafka.ErrOutOfOrderSequenceNumber {
		t.Errorf("bad sequence: %v", err)
	}
	if err := try(3, 1, g); err != nil {
		t.Errorf("the next sequence, lower than the lowest seen: %v", err)
	}
}

// A pending verification keeps the lowest sequence, per epoch; its guard is
// shared, and dies with the first transactional batch or a marker (rules C4,
// G11).
func TestC4LowestSequence(t *testing.T) {
	p := kafka.Producer{ID: 1}
	h := newHistory(t)
	g := h.StartVerification(p, 3, false, 0)
	if again := h.StartVerification(p, 0, false, 0); again != g {
		t.Fatalf("two guards for one verification: %v, %v", g, again)
	}
	if err := h.Append(h.batch(1, 0, 3, 1, true), Client, g, true); err != kafka.ErrOutOfOrderSequenceNumber {
		t.Fatalf("sequence 3 before 0: %v", err)
	}
	if err := h.Append(h.batch(1, 0, 0, 3, true), Client, g, true); err != nil {
		t.Fatal(err)
	}
	if h.StartVerification(p, 3, false, 0).Needed() {
		t.Fatal("an open transaction is to be verified")
	}
	h.next = 3
	if _, _, err := h.end(1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := h.Append(h.batch(1, 0, 3, 1, true), Client, g, true); err != kafka.ErrInvalidTxnState {
		t.Fatalf("a guard of the transaction before: %v", err)
	}
	higher := kafka.Producer{ID: 1, Epoch: 1}
	h.StartVerification(p, 3, false, 0)
	g = h.StartVerification(higher, 5, false, 0)
	if err := h.Append(h.batch(1, 1, 5, 1, true), Client, g, true); err != kafka.ErrOutOfOrderSequenceNumber {
		t.Fatalf("a new epoch from 5: %v", err)
	}
}

func TestC7MarkerChecks(t *testing.T) {
	for _, test := range []struct {
		name    string
		open    bool
		epoch   kafka.ProducerEpoch
		ce      kafka.CoordinatorEpoch
		version int8
		want    error
	}{
		{"lower epoch", true, 2, 5, 0, kafka.ErrInvalidProducerEpoch},
		{"equal epoch", true, 3, 5, 0, nil},
		{"equal epoch, version 1", true, 3, 5, 1, nil},
		{"equal epoch, version 2", true, 3, 5, 2, kafka.ErrInvalidProducerEpoch},
		{"equal epoch, version 2, nothing open", false, 3, 5, 2, nil},
		{"higher epoch, version 2", true, 4, 5, 2, nil},
		{"older coordinator", true, 4, 4, 0, kafka.ErrTransactionCoordinatorFenced},
	} {
		h := newHistory(t)
		if _, _, err := h.end(1, 3, 5, 0); err != nil {
			t.Fatal(err)
		}
		if test.open {
			h.must(h.batch(1, 3, 0, 1, true))
		}
		before := h.String()
		if _, _, err := h.end(1, test.epoch, test.ce, test.version); err != test.want {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		} else if err != nil && h.String() != before {
			t.Errorf("%s: a refused marker changed %s to %s", test.name, before, h)
		}
	}
}

// First unstable offset and stored last stable offset (rules B4, C8, C9).
func TestC9FirstUnstableOffset(t *testing.T) {
	h := newHistory(t)
	h.must(h.batch(1, 0, 0, 2, true))
	h.must(h.batch(2, 0, 0, 2, true))
	unstable := func(want string) {
		t.Helper()
		if o, ok := h.FirstUnstableOffset(); fmt.Sprint(o, ok) != want {
			t.Fatalf("first unstable offset %d %v, want %s", o, ok, want)
		}
	}
	unstable("0 true")
	c, ok, err := h.end(2, 1, 0, 2)
	if want := (CompletedTxn{ProducerID: 2, FirstOffset: 2, LastOffset: 4, LastStableOffset: 0}); !ok || err != nil || c != want {
		t.Fatalf("completed %+v, %v, %v", c, ok, err)
	}
	c, _, _ = h.end(1, 1, 0, 2)
	if c.LastStableOffset != 6 {
		t.Fatalf("stored last stable offset %d", c.LastStableOffset)
	}
	h.expect("[(1,1) seq -1 ce 0 start -1; (2,1) seq -1 ce 0 start -1] ongoing [] unreplicated [1:0-5 2:2-4]")
	h.Replicated(5)
	unstable("0 true")
	h.Replicated(6)
	unstable("0 false")
}

func TestC8SequencesSurviveAMarkerOfTheSameEpochOnly(t *testing.T) {
	h := newHistory(t)
	h.must(h.batch(1, 0, 0, 3, true))
	h.must(h.batch(2, 0, 0, 3, true))
	for _, p := range []kafka.Producer{{ID: 1, Epoch: 0}, {ID: 2, Epoch: 1}} {
		if _, _, err := h.end(p.ID, p.Epoch, 0, 0); err != nil {
			t.Fatal(err)
		}
	}
	h.must(h.batch(1, 0, 3, 1, true))
	h.must(h.batch(2, 1, 0, 1, true))
}

func TestC5PlainBatchInsideATransaction(t *testing.T) {
	h := newHistory(t)
	h.must(h.batch(1, 0, 0, 1, true))
	if err := h.append(h.batch(1, 0, 1, 1, false)); err != kafka.ErrInvalidTxnState {
		t.Fatal(err)
	}
	h.must(h.batch(2, 0, 0, 1, false))
}

func TestC11Expiry(t *testing.T) {
	h := newHistory(t)
	h.must(h.batch(1, 0, 0, 1, false))
	h.must(h.batch(2, 0, 0, 1, true))
	h.StartVerification(kafka.Producer{ID: 3}, 0, false, 0)
	h.Expire(99, 100)
	h.expect("[(1,0) seq 0 ce -1 start -1; (2,0) seq 0 ce -1 start 1] ongoing [2:1--1] unreplicated []")
	h.Expire(101, 100)
	h.expect("[(2,0) seq 0 ce -1 start 1] ongoing [2:1--1] unreplicated []")
	if len(h.verifications) != 0 {
		t.Fatal("an old verification stays")
	}
}

// Snapshots keep the last batch only and nothing of unreplicated transactions;
// a truncation loads the newest that fits (rules B5, C12, C13).
func TestC13TruncationLoadsASnapshot(t *testing.T) {
	h := newHistory(t)
	h.must(h.batch(1, 0, 0, 2, true))
	h.must(h.batch(1, 0, 2, 1, true))
	h.TakeSnapshot()
	if _, _, err := h.end(1, 1, 0, 2); err != nil {
		t.Fatal(err)
	}
	h.TakeSnapshot()
	from, replay := h.Truncate(0, 3, 0, 1<<40)
	if from != 3 || replay {
		t.Fatalf("replay from %d: %v", from, replay)
	}
	h.expect("[(1,0) seq 2 ce -1 start 0] ongoing [1:0--1] unreplicated []")
	h.next = 3
	if d, found := h.Duplicate(h.batch(1, 0, 2, 1, true)); !found || d.FirstOffset != 2 {
		t.Fatal("the last batch of the snapshot is forgotten")
	}
	if _, found := h.Duplicate(h.batch(1, 0, 0, 2, true)); found {
		t.Fatal("a snapshot keeps more than the last batch")
	}
	from, replay = h.Recover(3, 3, 0, 1<<40)
	if from != 3 || replay {
		t.Fatalf("replay from %d: %v", from, replay)
	}
	h.expect("[] ongoing [] unreplicated []")
}

// Without a snapshot the caller replays from the log start.
func TestC12ReplayWithoutASnapshot(t *testing.T) {
	h := newHistory(t)
	h.must(h.batch(1, 0, 0, 2, true))
	h.must(h.batch(1, 0, 2, 2, true))
	if from, replay := h.Truncate(0, 2, 0, 1<<40); from != 0 || !replay {
		t.Fatalf("replay from %d: %v", from, replay)
	}
	h.expect("[] ongoing [] unreplicated []")
}
