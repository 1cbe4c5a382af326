package txn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// lastUsableEpoch is the last epoch that a client may have: the one above it
// is kept for fencing (rules G6, G15).
const lastUsableEpoch kafka.ProducerEpoch = math.MaxInt16 - 1

// noProducer stands for no producer at all.
var noProducer = kafka.Producer{ID: kafka.NoProducerID, Epoch: kafka.NoProducerEpoch}

// noTime stands for a transaction that has not started, in milliseconds.
const noTime int64 = -1

// entry is what a record of __transaction_state holds, and lastEpoch, which
// Kafka keeps in memory alone. Times are milliseconds since 1970.
type entry struct {
	producer      kafka.Producer
	previousID    kafka.ProducerID // of the step before; equal to the id unless it rotated
	nextID        kafka.ProducerID // the id that replaces an exhausted one at completion
	lastEpoch     kafka.ProducerEpoch
	timeout       time.Duration
	state         State
	partitions    []kafka.TopicPartition // sorted
	start         int64
	lastUpdate    int64
	clientVersion ClientVersion
}

// transaction is the life of one transactional id: the entry that is
// replicated, and the state it is about to enter. While a step is pending,
// nothing else may move it (rule G4).
type transaction struct {
	id string
	entry
	pending State
	// failedFence remembers, for protocol 1, that a fence bumped the epoch in
	// memory but failed to persist it: the next fence does not bump again.
	failedFence bool
}

// newTransaction is the entry that an unknown transactional id gets in memory
// before its first record: epoch -1, bumped to 0 by that record (rule G5).
func newTransaction(id string, producerID kafka.ProducerID, timeout time.Duration, now int64) *transaction {
	return &transaction{
		id: id,
		entry: entry{
			producer:   kafka.Producer{ID: producerID, Epoch: kafka.NoProducerEpoch},
			previousID: kafka.NoProducerID,
			nextID:     kafka.NoProducerID,
			lastEpoch:  kafka.NoProducerEpoch,
			timeout:    timeout,
			state:      Empty,
			start:      noTime,
			lastUpdate: now,
		},
		pending: notPending,
	}
}

// moving says whether a step is pending.
func (t *transaction) moving() bool { return t.pending != notPending }

// exhausted says whether the epoch may not be bumped for a client any more.
func (t *transaction) exhausted() bool { return t.producer.Epoch >= lastUsableEpoch }

// begin makes a step pending and returns the entry to persist. It is the only
// way into a step, as complete is the only way out of one that succeeds.
func (t *transaction) begin(next entry) entry {
	if t.moving() || !next.state.mayFollow(t.state) {
		panic(fmt.Sprintf("txn: %s: step to %s from %s with %d pending", t.id, next.state, t.state, t.pending))
	}
	next.previousID = t.producer.ID
	t.pending = next.state
	return next
}

// complete makes the pending step real, after its record is replicated.
func (t *transaction) complete(next entry) {
	if t.pending != next.state {
		panic(fmt.Sprintf("txn: %s: completing the step to %s while %d is pending", t.id, next.state, t.pending))
	}
	t.entry = next
	t.pending = notPending
}

// giveUp forgets the pending step: its record was not written.
func (t *transaction) giveUp() { t.pending = notPending }

// bump prepares the epoch that InitProducerId returns (rules G5, G6). expected
// is what the client says it has, or noProducer.
func (t *transaction) bump(expected kafka.Producer, timeout time.Duration, now int64) (entry, error) {
	next := t.idle(timeout, now)
	switch {
	case t.exhausted():
		return entry{}, kafka.ErrUnknownServerError
	case expected == noProducer:
		next.producer.Epoch++
		next.lastEpoch = kafka.NoProducerEpoch
	case t.producer.Epoch == kafka.NoProducerEpoch || expected.Epoch == t.producer.Epoch:
		next.producer.Epoch++
		next.lastEpoch = t.producer.Epoch
	case expected.Epoch == t.lastEpoch:
		// A retry whose first answer was lost: the same answer again.
	default:
		return entry{}, kafka.ErrProducerFenced
	}
	return t.begin(next), nil
}

// rotate prepares a new producer id for an exhausted epoch. expected says
// whether the client brought its own, so that a retry can be recognised.
func (t *transaction) rotate(id kafka.ProducerID, expected bool, timeout time.Duration, now int64) entry {
	next := t.idle(timeout, now)
	next.producer = kafka.Producer{ID: id}
	next.lastEpoch = kafka.NoProducerEpoch
	if expected {
		next.lastEpoch = t.producer.Epoch
	}
	return t.begin(next)
}

// idle is the present entry as an Empty one.
func (t *transaction) idle(timeout time.Duration, now int64) entry {
	next := t.entry
	next.state = Empty
	next.timeout = timeout
	next.partitions = nil
	next.start = noTime
	next.lastUpdate = now
	return next
}

// add prepares partitions, and the beginning of a transaction if there is none;
// only the beginning sets its start (rule G8).
func (t *transaction) add(partitions []kafka.TopicPartition, v ClientVersion, now int64) entry {
	next := t.entry
	if t.state != Ongoing {
		next.start = now
	}
	next.state = Ongoing
	next.partitions = union(t.partitions, partitions)
	next.lastUpdate = now
	next.clientVersion = v
	return t.begin(next)
}

// end prepares PrepareCommit or PrepareAbort (rules G12 to G15). Protocol 2
// bumps the epoch here, so that the markers carry it, and names the producer id
// that takes over from an exhausted one.
func (t *transaction) end(commit bool, v ClientVersion, nextID kafka.ProducerID, now int64) entry {
	next := t.entry
	if t.state != Ongoing {
		next.start = now // an abort of nothing needs some start
	}
	next.state = PrepareAbort
	if commit {
		next.state = PrepareCommit
	}
	if v == TV2 {
		next.lastEpoch = t.producer.Epoch
		if t.producer.Epoch < math.MaxInt16 {
			next.producer.Epoch++
		}
	}
	next.nextID = nextID
	next.lastUpdate = now
	next.clientVersion = v
	return t.begin(next)
}

// fenceInMemory bumps the epoch as protocol 1 does before it persists the
// abort of a fenced producer: the client's own epoch is then forgotten, so that
// its InitProducerId is no retry (rule G16).
func (t *transaction) fenceInMemory() {
	if !t.failedFence && t.producer.Epoch < math.MaxInt16 {
		t.producer.Epoch++
	}
	t.lastEpoch = kafka.NoProducerEpoch
}

// finish prepares CompleteCommit or CompleteAbort. It is pending from the
// moment that Prepare is persisted, and carries that moment as its last update.
func (t *transaction) finish(now int64) entry {
	t.failedFence = false
	next := t.entry
	next.state = CompleteAbort
	if t.state == PrepareCommit {
		next.state = CompleteCommit
	}
	if t.clientVersion == TV2 && t.nextID != kafka.NoProducerID {
		next.producer = kafka.Producer{ID: t.nextID}
	}
	next.nextID = kafka.NoProducerID
	next.partitions = nil
	next.lastUpdate = now
	return t.begin(next)
}

// expire makes the removal of the id pending (rule G19).
func (t *transaction) expire() {
	next := t.entry
	next.state = Dead
	t.begin(next)
}

// marked takes a partition off the list of those without an end marker. The
// list in the log stays whole (rule G18).
func (t *transaction) marked(tp kafka.TopicPartition) {
	if !t.state.preparing() {
		panic(fmt.Sprintf("txn: %s: marker for %s written while the state is %s", t.id, tp, t.state))
	}
	if i, ok := slices.BinarySearchFunc(t.partitions, tp, kafka.TopicPartition.Compare); ok {
		t.partitions = slices.Concat(t.partitions[:i], t.partitions[i+1:])
	}
}

// has says whether a partition is in the transaction.
func (t *transaction) has(tp kafka.TopicPartition) bool {
	_, ok := slices.BinarySearchFunc(t.partitions, tp, kafka.TopicPartition.Compare)
	return ok
}

// hasAll says whether all of the partitions are.
func (t *transaction) hasAll(tps []kafka.TopicPartition) bool {
	return !slices.ContainsFunc(tps, func(tp kafka.TopicPartition) bool { return !t.has(tp) })
}

// String is the transaction in one line: X1 Ongoing (1,0) [orders-0].
func (t *transaction) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", t.id, t.state)
	if t.moving() {
		fmt.Fprintf(&b, "→%s", t.pending)
	}
	fmt.Fprintf(&b, " %s %v", t.producer, t.partitions)
	return b.String()
}

// union is the sorted union of two sets of partitions, in new memory.
func union(a, b []kafka.TopicPartition) []kafka.TopicPartition {
	all := slices.Concat(a, b)
	slices.SortFunc(all, kafka.TopicPartition.Compare)
	return slices.Compact(all)
}
