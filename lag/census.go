package lag

import (
	"cmp"
	"slices"
	"time"
)

// Census is what all coordinators listed at one moment: every transactional id
// that they know. It is taken far more seldom than sweeps are made.
type Census struct {
	Taken time.Time

	// IDs counts the transactional ids by state and application, in this order.
	// It is known only when each partition of __transaction_state had a leader
	// that told all it keeps, and no id is hidden from this principal.
	IDs Optional[[]IDCount]

	// Deciding are the transactions whose outcome was decided and whose end
	// markers were not all written, of the coordinators that answered.
	Deciding []DecidingTransaction
}

// IDCount is how many transactional ids of an application are in a state.
type IDCount struct {
	State       TransactionState
	Application string
	Count       Count
}

// DecidingTransaction is a transaction in PrepareCommit or PrepareAbort. What
// tells it from the next one of its transactional id is its start.
type DecidingTransaction struct {
	ID          string
	Start       time.Time // by the coordinator's clock
	Coordinator BrokerID
}

// Completion is for how long the oldest of the transactions that complete at a
// coordinator has been seen to do so.
type Completion struct {
	Broker  BrokerID
	Longest time.Duration
}

// censusMemory is since when transactions were seen to complete.
type censusMemory struct {
	taken time.Time // the last census
	since map[decidingKey]decidingMemory
	found []Completion
}

// decidingKey names a transaction; its start in milliseconds.
type decidingKey struct {
	id    string
	start int64
}

// decidingMemory is since when a transaction was seen to complete, and how many
// censuses in a row that were not whole have not seen it.
type decidingMemory struct {
	began  time.Time
	missed int
}

// maxMissedCensuses is how many censuses that were not whole a transaction may
// be missing from for the next to take it for the same.
const maxMissedCensuses = 3

// observeCensus fills in what the last census of a sample says. How long a
// transaction has been completing is in no API, so it is told from the first
// census that saw it, as of the last.
func (t *Tracker) observeCensus(view *View, census *Census) {
	if census == nil {
		return
	}
	view.TransactionalIDs = census.IDs
	if m := &t.census; !census.Taken.Equal(m.taken) {
		m.taken = census.Taken
		m.take(census)
	}
	view.Completing = t.census.found
}

// take goes through a census.
func (m *censusMemory) take(census *Census) {
	since := make(map[decidingKey]decidingMemory, len(census.Deciding))
	longest := make(map[BrokerID]time.Duration)
	for _, d := range census.Deciding {
		key := decidingKey{d.ID, d.Start.UnixMilli()}
		memory, before := m.since[key]
		if !before {
			memory.began = census.Taken
		}
		since[key] = decidingMemory{began: memory.began}
		longest[d.Coordinator] = max(longest[d.Coordinator], census.Taken.Sub(memory.began))
	}
	if !census.IDs.known {
		for key, memory := range m.since {
			if _, seen := since[key]; !seen && memory.missed < maxMissedCensuses {
				since[key] = decidingMemory{memory.began, memory.missed + 1}
			}
		}
	}
	m.since, m.found = since, nil
	for broker, lasted := range longest {
		m.found = append(m.found, Completion{broker, lasted})
	}
	slices.SortFunc(m.found, func(a, b Completion) int { return cmp.Compare(a.Broker, b.Broker) })
}
