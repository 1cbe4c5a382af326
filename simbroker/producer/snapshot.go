package producer

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// snapshot is the state before an offset, as a .snapshot file keeps it: of the
// cached batches only the last, and nothing of unreplicated transactions
// (rules B5 and C12).
type snapshot struct {
	offset  kafka.Offset
	entries map[kafka.ProducerID]entry
}

// TakeSnapshot keeps the state at its end, unless the last snapshot stands
// there already. Logs take one at the end offset when they roll or close, and
// say with AdvanceTo how far they are.
func (m *Manager) TakeSnapshot() {
	if m.mapEnd <= m.lastSnap {
		return
	}
	s := snapshot{offset: m.mapEnd, entries: make(map[kafka.ProducerID]entry, len(m.entries))}
	for id, e := range m.entries {
		kept := *e
		kept.batches = nil
		if n := len(e.batches); n > 0 {
			kept.batches = []cachedBatch{e.batches[n-1]}
		}
		s.entries[id] = kept
	}
	m.snapshots = append(m.snapshots, s)
	m.lastSnap = m.mapEnd
}

// AdvanceTo says that the state covers the log up to the offset, whose records
// have no producer.
func (m *Manager) AdvanceTo(offset kafka.Offset) { m.mapEnd = offset }

// DropSnapshot forgets the snapshot at the offset, as when the segment that
// starts there is deleted.
func (m *Manager) DropSnapshot(offset kafka.Offset) {
	m.snapshots = slices.DeleteFunc(m.snapshots, func(s snapshot) bool { return s.offset == offset })
}

// HasSnapshots says whether any snapshot is kept.
func (m *Manager) HasSnapshots() bool { return len(m.snapshots) > 0 }

// LogStartAdvanced forgets completed transactions below the log start offset;
// the producers stay (rule B8).
func (m *Manager) LogStartAdvanced(logStart kafka.Offset) {
	m.Replicated(logStart)
	m.mapEnd = max(m.mapEnd, logStart)
	m.lastSnap = logStart
	if n := len(m.snapshots); n > 0 {
		m.lastSnap = m.snapshots[n-1].offset
	}
}

// Truncate prepares the replay of a log that now ends at logEnd: it loads the
// newest snapshot with logStart < offset ≤ logEnd, without expired producers,
// and returns the offset from which the caller must replay. There is nothing
// to replay when the state ends at logEnd already, or was empty (rules C12 and
// C13).
func (m *Manager) Truncate(logStart, logEnd kafka.Offset, nowMs, expirationMs int64) (replayFrom kafka.Offset, replay bool) {
	empty := len(m.entries) == 0 && m.mapEnd >= logEnd
	m.snapshots = slices.DeleteFunc(m.snapshots, func(s snapshot) bool {
		return s.offset > logEnd || s.offset <= logStart
	})
	if logEnd == m.mapEnd {
		m.LogStartAdvanced(logStart)
		return logEnd, false
	}
	m.load(logStart, nowMs, expirationMs)
	return m.mapEnd, m.mapEnd < logEnd && !empty
}

// Recover is Truncate after a restart: memory is gone, so that even a state
// that was complete is loaded and replayed.
func (m *Manager) Recover(logStart, logEnd kafka.Offset, nowMs, expirationMs int64) (replayFrom kafka.Offset, replay bool) {
	m.snapshots = slices.DeleteFunc(m.snapshots, func(s snapshot) bool {
		return s.offset > logEnd || s.offset <= logStart
	})
	m.verifications = nil
	m.load(logStart, nowMs, expirationMs)
	return m.mapEnd, m.mapEnd < logEnd
}

func (m *Manager) load(logStart kafka.Offset, nowMs, expirationMs int64) {
	m.entries = nil
	m.ongoing, m.unreplicated = nil, nil
	m.mapEnd, m.lastSnap = logStart, logStart
	if len(m.snapshots) == 0 {
		return
	}
	s := m.snapshots[len(m.snapshots)-1]
	for id, kept := range s.entries {
		if kept.expired(nowMs, expirationMs) {
			continue
		}
		e := kept
		e.batches = slices.Clone(kept.batches)
		m.enter(id, &e)
		if e.txnStart != kafka.NoOffset {
			m.ongoing = insert(m.ongoing, txn{id, e.txnStart, kafka.NoOffset})
		}
	}
	m.mapEnd, m.lastSnap = s.offset, s.offset
}

// Reset makes the state that of an empty log that starts at the offset.
func (m *Manager) Reset(logStart kafka.Offset) {
	guards := m.guards // guards given before must not match those to come
	*m = *NewManager(logStart)
	m.guards = guards
}
