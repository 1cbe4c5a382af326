package lag

import (
	"fmt"
	"strings"
	"testing"
)

// logged is a record of transactional id x, of application a, with a timeout of
// 60 s.
func logged(state TransactionState, appended, start, lastUpdate float64, partitions int) TransactionRecord {
	r := TransactionRecord{ID: "x", Application: "a", State: state, Timeout: seconds(60), Partitions: partitions}
	r.Appended = at(appended).Answered
	if start != none {
		r.Start = at(start).Answered
	}
	if lastUpdate != none {
		r.LastUpdate = at(lastUpdate).Answered
	}
	return r
}

// showLog renders what a view says of the log.
func showLog(log *TransactionLog) string {
	if log == nil {
		return "-"
	}
	var list []string
	for _, e := range log.Ended {
		list = append(list, fmt.Sprintf("%s %s after %s, completed in %s, partitions %s",
			e.Application, e.Result, showOptional(e.Duration), showOptional(e.Completion), showOptional(e.Partitions)))
	}
	for _, a := range log.Initialized {
		list = append(list, a+" initialized")
	}
	return strings.Join(list, "; ")
}

func TestTransactionLog(t *testing.T) {
	for _, c := range []struct {
		reason  string
		records []TransactionRecord
		want    string
	}{
		{"a commit: partitions are those of Prepare, and LastUpdate is the time of that", []TransactionRecord{
			logged(Empty, 1, none, 1, 0), logged(Ongoing, 2, 2, 2, 1), logged(Ongoing, 3, 2, 3, 2),
			logged(PrepareCommit, 7, 2, 7, 2), logged(CompleteCommit, 7.5, 2, 7, 0),
		}, "a committed after 5.5s, completed in 500ms, partitions 2; a initialized"},
		{"the marker was refused for eight seconds", []TransactionRecord{
			logged(PrepareCommit, 10, 2, 10, 3), logged(CompleteCommit, 18, 2, 10, 0),
		}, "a committed after 16s, completed in 8s, partitions 3"},
		{"an abort by the client", []TransactionRecord{
			logged(PrepareAbort, 61.9, 2, 61.9, 1), logged(CompleteAbort, 62.1, 2, 61.9, 0),
		}, "a aborted after 1m0.1s, completed in 200ms, partitions 1"},
		{"an abort at the timeout, by its decision", []TransactionRecord{
			logged(PrepareAbort, 62, 2, 62, 1), logged(CompleteAbort, 62.1, 2, 62, 0),
		}, "a timed_out after 1m0.1s, completed in 100ms, partitions 1"},
		{"a commit later than the timeout is a commit", []TransactionRecord{
			logged(PrepareCommit, 70, 2, 70, 1), logged(CompleteCommit, 71, 2, 70, 0),
		}, "a committed after 1m9s, completed in 1s, partitions 1"},
		{"an empty abort of protocol 2 is no transaction", []TransactionRecord{
			logged(PrepareAbort, 3, 3, 3, 0), logged(CompleteAbort, 3.1, 3, 3, 0),
		}, ""},
		{"nor if its Prepare was not read", []TransactionRecord{logged(CompleteAbort, 3.1, 3, 3, 0)}, ""},
		{"an abort in the millisecond of its beginning is one, if it wrote", []TransactionRecord{
			logged(PrepareAbort, 3, 3, 3, 1), logged(CompleteAbort, 3.1, 3, 3, 0),
		}, "a aborted after 100ms, completed in 100ms, partitions 1"},
		{"Complete alone tells all but the partitions", []TransactionRecord{logged(CompleteAbort, 72, 2, 70, 0)},
			"a timed_out after 1m10s, completed in 2s, partitions -"},
		{"fencing: an abort, and the initialization of who fenced", []TransactionRecord{
			logged(PrepareAbort, 8, 2, 8, 1), logged(CompleteAbort, 8.1, 2, 8, 0), logged(Empty, 8.3, none, 8.3, 0),
		}, "a aborted after 6.1s, completed in 100ms, partitions 1; a initialized"},
		{"the clock of a new coordinator is behind", []TransactionRecord{
			logged(PrepareCommit, 10, 9, 10, 1), logged(CompleteCommit, 9.5, 9, 10, 0),
		}, "a committed after 500ms, completed in -, partitions 1"},
		{"an id that expires", []TransactionRecord{logged(PrepareCommit, 10, 9, 10, 1), logged("", 20, none, none, 0), logged(CompleteCommit, 30, 9, 10, 0)},
			"a committed after 21s, completed in 20s, partitions -"},
		{"nothing that ends", []TransactionRecord{logged(Ongoing, 2, 2, 2, 1), logged("Dead", 3, 2, 3, 0)}, ""},
		{"nothing", nil, "-"},
	} {
		// In one sweep, and with each record in one of its own.
		tracker := NewTracker(seconds(10))
		s := sampled(1, nil)
		s.TransactionRecords = c.records
		if got := showLog(tracker.Observe(s).TransactionLog); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.reason, got, c.want)
		}
		if n := len(tracker.log); n > 0 {
			t.Errorf("%s: %d transactions are remembered that are over", c.reason, n)
		}
		var parts TransactionLog
		for i := range c.records {
			s.TransactionRecords = c.records[i : i+1]
			log := tracker.Observe(s).TransactionLog
			parts.Ended = append(parts.Ended, log.Ended...)
			parts.Initialized = append(parts.Initialized, log.Initialized...)
		}
		if got := showLog(&parts); c.records != nil && got != c.want {
			t.Errorf("%s, one by one:\ngot  %s\nwant %s", c.reason, got, c.want)
		}
	}
}
