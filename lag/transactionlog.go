package lag

import "time"

// TransactionRecord is one record of __transaction_state: a state in which its
// coordinator has put a transactional id (rule G2).
type TransactionRecord struct {
	ID          string
	Application string
	// State is empty for the record that removes an id that has expired.
	State TransactionState

	// Appended is when the record was appended, Start when the transaction began,
	// and LastUpdate when the last decision about it was persisted: in a record
	// of Complete* when that of Prepare* was, not when the end markers were
	// written. All by coordinators' clocks; zero where the record has none.
	Appended, Start, LastUpdate time.Time
	Timeout                     time.Duration

	// Partitions is how many partitions the record lists. Those of a transaction
	// that has ended are in its record of Prepare* only.
	Partitions int
}

// TransactionResult is how a transaction ended.
type TransactionResult string

// The results. A producer that was fenced cannot be told from one that aborted
// (measurements.md 6).
const (
	Committed TransactionResult = "committed"
	Aborted   TransactionResult = "aborted"
	TimedOut  TransactionResult = "timed_out"
)

// TransactionResults lists every result.
func TransactionResults() []TransactionResult {
	return []TransactionResult{Committed, Aborted, TimedOut}
}

// EndedTransaction is a transaction whose completion was found in the log.
type EndedTransaction struct {
	Application string
	Result      TransactionResult

	// Duration is from its start to its completion, Completion from the decision
	// to there: the part of it that its consumers wait for. Unknown where two
	// coordinators dated it and their clocks differ by more than that.
	Duration, Completion Optional[time.Duration]
	// Partitions is in how many partitions it wrote; unknown where its record of
	// Prepare* was not read.
	Partitions Optional[int]
}

// TransactionLog is what the records of one sweep say.
type TransactionLog struct {
	Ended []EndedTransaction
	// Initialized are the applications of the transactional ids that a producer
	// has initialized, once for each time.
	Initialized []string
}

// logMemory is what is remembered of records between sweeps: in how many
// partitions the transactions wrote that are decided and not completed.
type logMemory map[string]int

// observeLog fills in what the records of a sample say.
func (t *Tracker) observeLog(view *View, records []TransactionRecord) {
	if len(records) == 0 {
		return
	}
	view.TransactionLog = &TransactionLog{}
	for i := range records {
		t.log.take(&records[i], view.TransactionLog)
	}
}

// take goes on by one record.
func (m logMemory) take(r *TransactionRecord, log *TransactionLog) {
	partitions, prepared := m[r.ID]
	if r.State.preparing() {
		m[r.ID] = r.Partitions
		return
	}
	delete(m, r.ID)
	switch r.State {
	case Empty:
		log.Initialized = append(log.Initialized, r.Application)
	case CompleteCommit, CompleteAbort:
		if r.isEmptyAbort(partitions, prepared) {
			return
		}
		e := EndedTransaction{
			Application: r.Application, Result: r.result(),
			Duration: since(r.Start, r.Appended), Completion: since(r.LastUpdate, r.Appended),
		}
		if prepared {
			e.Partitions = Known(partitions)
		}
		log.Ended = append(log.Ended, e)
	}
}

// isEmptyAbort says whether a producer aborted without having begun, which with
// transaction protocol 2 leaves records as a transaction does: decided as soon
// as it began, without a partition.
func (r *TransactionRecord) isEmptyAbort(partitions int, prepared bool) bool {
	if r.State != CompleteAbort {
		return false
	}
	if prepared {
		return partitions == 0
	}
	return r.Start.Equal(r.LastUpdate)
}

// result is how the transaction of a record of Complete* ended.
func (r *TransactionRecord) result() TransactionResult {
	switch decided := since(r.Start, r.LastUpdate); {
	case r.State == CompleteCommit:
		return Committed
	case decided.known && r.Timeout > 0 && decided.value >= r.Timeout:
		return TimedOut
	}
	return Aborted
}

// since is the time from one moment to a later one; unknown if it is none.
func since(from, to time.Time) Optional[time.Duration] {
	if from.IsZero() || to.IsZero() || to.Before(from) {
		return Optional[time.Duration]{}
	}
	return Known(to.Sub(from))
}
