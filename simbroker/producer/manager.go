// Package producer keeps what one replica of a partition knows of its
// producers: epochs, sequences, the last five batches for deduplication, open
// transactions and those whose end marker is not yet replicated (KIP-98,
// KIP-360, KIP-890, KIP-1228; section C of the semantics). Kafka calls it
// ProducerStateManager.
//
// It guarantees that a refused batch changes nothing, and that replaying a log
// gives the state that appending it gave. It knows neither logs nor batches'
// bytes; package commitlog drives it.
package producer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Origin says who appends, and so which checks apply.
type Origin int

const (
	// Client batches meet every check.
	Client Origin = iota
	// Coordinator batches (transactional offsets, markers) have no sequences
	// to check, but epochs and a guard.
	Coordinator
	// Replication replays what a leader has accepted: no check applies.
	Replication
)

// Batch is what the manager needs to know of a data batch that has a producer
// id.
type Batch struct {
	Producer        kafka.Producer
	Transactional   bool
	FirstSequence   int32
	LastSequence    int32
	FirstOffset     kafka.Offset
	LastOffset      kafka.Offset
	LastTimestampMs int64 // the batch's greatest timestamp
}

// Marker is the end of a transaction, as it stands in the log.
type Marker struct {
	Producer         kafka.Producer
	Commit           bool
	CoordinatorEpoch kafka.CoordinatorEpoch
	Offset           kafka.Offset
	TimestampMs      int64
	// TransactionVersion is that of the request: 2 and above demand a higher
	// epoch than the data's (rule C7).
	TransactionVersion int8
}

// CompletedTxn is a transaction that a marker has ended.
type CompletedTxn struct {
	ProducerID  kafka.ProducerID
	FirstOffset kafka.Offset
	LastOffset  kafka.Offset // of the marker
	Commit      bool
	// LastStableOffset is the first offset of the earliest transaction still
	// open of another producer, else the offset after the marker; the high
	// watermark plays no part (rule B4).
	LastStableOffset kafka.Offset
}

// State is one producer as DescribeProducers shows it (rule G23).
type State struct {
	Producer              kafka.Producer
	LastSequence          int32 // -1 if the epoch has no batch yet
	LastTimestampMs       int64 // the last record's (client's) or marker's
	CoordinatorEpoch      kafka.CoordinatorEpoch
	CurrentTxnStartOffset kafka.Offset // -1 without an open transaction
}

// Guard is the right to begin a transaction in a partition, given by a
// verification and lost when a marker or a transactional batch lands meanwhile
// (rule G11, KIP-890). The zero Guard gives no right; an open transaction
// needs none.
type Guard struct{ id uint64 }

// Needed says whether a verification has to be asked for: the zero Guard
// stands for a transaction that is already open in the partition.
func (g Guard) Needed() bool { return g.id != 0 }

// txn is a transaction with data in the partition. lastOffset is that of its
// marker, NoOffset while it is open.
type txn struct {
	producerID  kafka.ProducerID
	firstOffset kafka.Offset
	lastOffset  kafka.Offset
}

// Manager is the producer state of one replica. Its maps are nil until there is
// something to put in: most partitions of a large cluster have no producer.
type Manager struct {
	entries map[kafka.ProducerID]*entry
	// ongoing and unreplicated are sorted by first offset.
	ongoing      []txn
	unreplicated []txn

	verifications map[kafka.ProducerID]*verification
	guards        uint64 // given so far

	snapshots []snapshot // sorted by offset
	mapEnd    kafka.Offset
	lastSnap  kafka.Offset
}

// NewManager returns the state of an empty log that starts at the offset.
func NewManager(logStart kafka.Offset) *Manager {
	return &Manager{mapEnd: logStart, lastSnap: logStart}
}

// enter gives a producer its first entry.
func (m *Manager) enter(id kafka.ProducerID, e *entry) {
	if m.entries == nil {
		m.entries = make(map[kafka.ProducerID]*entry)
	}
	m.entries[id] = e
}

// Duplicate looks for the batch among the producer's last five: the same
// epoch, first and last sequence (rule C2). It returns the offsets and the
// timestamp that the original got.
func (m *Manager) Duplicate(b Batch) (original Batch, found bool) {
	e, ok := m.entries[b.Producer.ID]
	if !ok || e.epoch != b.Producer.Epoch {
		return Batch{}, false
	}
	for _, c := range e.batches {
		if c.firstSequence() == b.FirstSequence && c.lastSequence == b.LastSequence {
			b.FirstOffset, b.LastOffset, b.LastTimestampMs = c.firstOffset(), c.lastOffset, c.timestampMs
			return b, true
		}
	}
	return Batch{}, false
}

// Append takes a data batch into account, or refuses it in the order of rule
// C1 (after the look for duplicates, which is the caller's). With verify set,
// a transactional batch that opens a transaction must bring the guard of its
// verification. Errors: INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE,
// OUT_OF_ORDER_SEQUENCE_NUMBER.
func (m *Manager) Append(b Batch, origin Origin, guard Guard, verify bool) error {
	e := m.entries[b.Producer.ID]
	if origin != Replication {
		if err := m.check(e, b, origin, guard, verify); err != nil {
			return err
		}
	}
	if e == nil {
		e = newEntry(b.Producer)
		m.enter(b.Producer.ID, e)
	}
	e.add(b)
	if b.Transactional {
		delete(m.verifications, b.Producer.ID)
		if e.txnStart == kafka.NoOffset {
			e.txnStart = b.FirstOffset
			m.ongoing = insert(m.ongoing, txn{b.Producer.ID, b.FirstOffset, kafka.NoOffset})
		}
	}
	m.mapEnd = b.LastOffset + 1
	return nil
}

func (m *Manager) check(e *entry, b Batch, origin Origin, guard Guard, verify bool) error {
	if b.Transactional {
		if e != nil && b.Producer.Epoch < e.epoch {
			return kafka.ErrInvalidProducerEpoch
		}
		if verify && !m.HasOngoing(b.Producer) && !m.holds(b.Producer.ID, guard) {
			return kafka.ErrInvalidTxnState
		}
	}
	if e != nil && b.Producer.Epoch < e.epoch {
		return kafka.ErrInvalidProducerEpoch
	}
	if origin == Client {
		if err := m.checkSequence(e, b); err != nil {
			return err
		}
	}
	if e != nil && e.txnStart != kafka.NoOffset && !b.Transactional {
		return kafka.ErrInvalidTxnState
	}
	return nil
}

// checkSequence is rules C3 and C4.
func (m *Manager) checkSequence(e *entry, b Batch) error {
	if v := m.verifications[b.Producer.ID]; v != nil {
		if v.epochBump && b.FirstSequence != 0 && e == nil {
			return kafka.ErrOutOfOrderSequenceNumber
		}
		if b.FirstSequence > v.lowestSequence {
			return kafka.ErrOutOfOrderSequenceNumber
		}
	}
	switch {
	case e == nil:
		return nil
	case b.Producer.Epoch != e.epoch:
		if b.FirstSequence != 0 {
			return kafka.ErrOutOfOrderSequenceNumber
		}
	case !follows(e.lastSequence(), b.FirstSequence):
		return kafka.ErrOutOfOrderSequenceNumber
	}
	return nil
}

func follows(last, next int32) bool {
	return int64(next) == int64(last)+1 || next == 0 && last == math.MaxInt32
}

// End takes a marker into account (rules C7 and C8). If it ends a transaction
// that has data here, that transaction is returned, and it pins the first
// unstable offset until the marker is replicated. Errors:
// INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.
func (m *Manager) End(mk Marker, origin Origin) (completed CompletedTxn, ok bool, err error) {
	e := m.entries[mk.Producer.ID]
	if e != nil && origin != Replication {
		if err := e.checkMarker(mk); err != nil {
			return CompletedTxn{}, false, err
		}
	}
	if e == nil {
		e = newEntry(mk.Producer)
		m.enter(mk.Producer.ID, e)
	}
	if e.txnStart != kafka.NoOffset {
		completed, ok = m.complete(e, mk), true
	}
	e.end(mk)
	delete(m.verifications, mk.Producer.ID)
	m.mapEnd = mk.Offset + 1
	return completed, ok, nil
}

func (m *Manager) complete(e *entry, mk Marker) CompletedTxn {
	i := slices.IndexFunc(m.ongoing, func(t txn) bool { return t.firstOffset == e.txnStart })
	if i < 0 {
		panic(fmt.Sprintf("producer %v has an open transaction from %d, which is not among the ongoing %v", mk.Producer, e.txnStart, m.ongoing))
	}
	c := CompletedTxn{
		ProducerID: mk.Producer.ID, FirstOffset: e.txnStart, LastOffset: mk.Offset, Commit: mk.Commit,
		LastStableOffset: mk.Offset + 1,
	}
	for _, t := range m.ongoing {
		if t.producerID != mk.Producer.ID {
			c.LastStableOffset = t.firstOffset
			break
		}
	}
	t := m.ongoing[i]
	t.lastOffset = mk.Offset
	m.ongoing = slices.Delete(m.ongoing, i, i+1)
	m.unreplicated = insert(m.unreplicated, t)
	return c
}

func insert(ts []txn, t txn) []txn {
	i, _ := slices.BinarySearchFunc(ts, t, func(a, b txn) int { return cmp.Compare(a.firstOffset, b.firstOffset) })
	return slices.Insert(ts, i, t)
}

// HasOngoing says whether the producer has a transaction open here in this
// very epoch.
func (m *Manager) HasOngoing(p kafka.Producer) bool {
	e := m.entries[p.ID]
	return e != nil && e.epoch == p.Epoch && e.txnStart != kafka.NoOffset
}

// FirstUnstableOffset is the first offset of the earliest transaction that is
// open or whose marker is not replicated (rule C9).
func (m *Manager) FirstUnstableOffset() (kafka.Offset, bool) {
	switch {
	case len(m.ongoing) == 0 && len(m.unreplicated) == 0:
		return 0, false
	case len(m.ongoing) == 0:
		return m.unreplicated[0].firstOffset, true
	case len(m.unreplicated) == 0:
		return m.ongoing[0].firstOffset, true
	}
	return min(m.ongoing[0].firstOffset, m.unreplicated[0].firstOffset), true
}

// Replicated forgets completed transactions whose marker lies below the
// offset, the high watermark or the log start offset (rule C9).
func (m *Manager) Replicated(below kafka.Offset) {
	if len(m.unreplicated) == 0 {
		return
	}
	m.unreplicated = slices.DeleteFunc(m.unreplicated, func(t txn) bool { return t.lastOffset < below })
}

// Expire forgets producers without an open transaction, and verifications,
// that are idle for the expiration or longer by their timestamps (rule C11).
func (m *Manager) Expire(nowMs, expirationMs int64) {
	for id, e := range m.entries {
		if e.expired(nowMs, expirationMs) {
			delete(m.entries, id)
		}
	}
	for id, v := range m.verifications {
		if nowMs-v.timestampMs >= expirationMs {
			delete(m.verifications, id)
		}
	}
}

// States lists the producers by id.
func (m *Manager) States() []State {
	states := make([]State, 0, len(m.entries))
	for id, e := range m.entries {
		states = append(states, State{
			Producer:              kafka.Producer{ID: id, Epoch: e.epoch},
			LastSequence:          e.lastSequence(),
			LastTimestampMs:       e.lastTimestampMs,
			CoordinatorEpoch:      e.coordinatorEpoch,
			CurrentTxnStartOffset: e.txnStart,
		})
	}
	slices.SortFunc(states, func(a, b State) int { return cmp.Compare(a.Producer.ID, b.Producer.ID) })
	return states
}

// String shows every producer by id, then the transactions, in one line.
func (m *Manager) String() string {
	var s []string
	for _, st := range m.States() {
		s = append(s, fmt.Sprintf("%v seq %d ce %d start %d", st.Producer, st.LastSequence, st.CoordinatorEpoch, st.CurrentTxnStartOffset))
	}
	return fmt.Sprintf("[%s] ongoing %s unreplicated %s", strings.Join(s, "; "), describe(m.ongoing), describe(m.unreplicated))
}

func describe(ts []txn) string {
	var s []string
	for _, t := range ts {
		s = append(s, fmt.Sprintf("%d:%d-%d", t.producerID, t.firstOffset, t.lastOffset))
	}
	return "[" + strings.Join(s, " ") + "]"
}

// Last is the last of a producer that a log has: where its last data is, of those
// batches of which sequences are known, or NoOffset if a marker came since; and
// its epoch.
type Last struct {
	DataOffset kafka.Offset
	Epoch      kafka.ProducerEpoch
}

// Last tells what must stay in a log for the sake of a known producer.
func (m *Manager) Last(id kafka.ProducerID) (Last, bool) {
	e := m.entries[id]
	if e == nil {
		return Last{}, false
	}
	return Last{e.lastDataOffset(), e.epoch}, true
}
