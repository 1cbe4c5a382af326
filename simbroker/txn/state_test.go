package txn

import (
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Rule G3: the legal transitions, drawn. A row is the state left, a column the
// state entered.
func TestG3Transitions(t *testing.T) {
	const table = `
                  Empty Ongoing PrepareCommit PrepareAbort CompleteCommit CompleteAbort Dead PrepareEpochFence
Empty             x     x       .             x            .              .             x    .
Ongoing           .     x       x             x            .              .             .    .
PrepareCommit     .     .       .             .            x              .             .    .
PrepareAbort      .     .       .             .            .              x             .    .
CompleteCommit    x     x       .             x            .              .             x    .
CompleteAbort     x     x       .             x            .              .             x    .
Dead              .     .       .             .            .              .             .    .
PrepareEpochFence .     .       .             .            .              .             .    .`
	lines := strings.Split(strings.TrimSpace(table), "\n")
	to := strings.Fields(lines[0])
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		from, ok := ParseState(cells[0])
		if !ok {
			t.Fatalf("no state %q", cells[0])
		}
		for i, cell := range cells[1:] {
			next, _ := ParseState(to[i])
			legal := cell == "x"
			if next.mayFollow(from) != legal {
				t.Errorf("%s to %s: %t, want %t", from, next, !legal, legal)
			}
			if panics(func() {
				tx := newTransaction("X1", 1, time.Minute, 0)
				tx.state = from
				tx.begin(entry{state: next})
			}) == legal {
				t.Errorf("%s to %s: beginning the step panics: %t", from, next, legal)
			}
		}
	}
}

// Whatever moves a transaction moves it once: a second step over a pending one,
// or completing another step than the pending one, is a broken invariant.
func TestG3OneStepAtATime(t *testing.T) {
	tx := newTransaction("X1", 1, time.Minute, 0)
	next, err := tx.bump(noProducer, time.Minute, 5)
	if err != nil || next.producer != producer(1, 0) {
		t.Fatalf("%s, %v", next.producer, err)
	}
	if !panics(func() { tx.add([]kafka.TopicPartition{orders0}, TV2, 6) }) {
		t.Error("a second step began while the first was pending")
	}
	if !panics(func() { tx.complete(entry{state: Ongoing}) }) {
		t.Error("a step ended that was not pending")
	}
	if !panics(func() { tx.marked(orders0) }) {
		t.Error("a marker was written outside of a Prepare state")
	}
	tx.complete(next)
	if tx.state != Empty || tx.moving() {
		t.Errorf("after the step: %s", tx)
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

// Names are those of Kafka, case-sensitive (rule G21).
func TestParseState(t *testing.T) {
	for s := Empty; s <= PrepareEpochFence; s++ {
		if got, ok := ParseState(s.String()); !ok || got != s {
			t.Errorf("%s: %d, %t", s, got, ok)
		}
	}
	if _, ok := ParseState("ongoing"); ok {
		t.Error("ongoing is no state")
	}
}
