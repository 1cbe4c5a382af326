package lag

// Fetch is what one bounded read_committed Fetch found, from a position on.
type Fetch struct {
	From Offset
	// Until is where the answer ends: it holds every record from From up to
	// there. It is From where the answer holds nothing that can be read.
	Until Offset
	// Committed and All count the records of the answer at or above From and
	// below the last stable offset of the sample: those that a read_committed
	// consumer gets, and those of aborted transactions too. Control records
	// are none.
	Committed, All Count
	// Large says that the answer was too short for the batch at From.
	Large bool
	// Failed is why there is no answer; empty if there is.
	Failed MissKind
}

// fetchRetry is after how many sweeps a commit is asked about again when its
// records may not be read, or cannot be.
const fetchRetry = 60

// fetchMemory is what the last Fetch for a commit found.
type fetchMemory struct {
	from, until    Offset
	lastStable     Offset // of the sample that had it
	committed, all Count
	asked          uint64 // the sweep that asked; 0: never
	retry          uint64 // not asked before this sweep
	large          bool
}

// take keeps what a Fetch found.
func (m *fetchMemory) take(f *Fetch, lastStable Offset, sweep uint64) {
	switch f.Failed {
	case "":
		*m = fetchMemory{
			from: f.From, until: f.Until, lastStable: lastStable, committed: f.Committed, all: f.All, asked: sweep, large: f.Large,
		}
	case MissUnauthorized, MissOther:
		*m = fetchMemory{asked: sweep, retry: sweep + fetchRetry}
	default:
		m.asked = sweep
	}
}

// found is what is known from it for a position and a last stable offset. A
// record that was seen stays seen while the position stays.
func (m *fetchMemory) found(position, lastStable Offset) found {
	if m.asked == 0 || m.from != position || m.until <= position {
		return found{}
	}
	return found{committed: m.committed, all: m.all, whole: m.lastStable == lastStable && m.until >= lastStable}
}

// wanted says whether a Fetch may tell more: not when everything up to the last
// stable offset is known, nor when there is more than one Fetch can tell and a
// record was seen.
func (m *fetchMemory) wanted(position, lastStable Offset, readUncommitted bool, sweep uint64) bool {
	f := m.found(position, lastStable)
	seen := f.committed > 0 || readUncommitted && f.all > 0
	short := m.from == position && m.until < m.lastStable
	return !f.whole && !(seen && short) && sweep >= m.retry
}
