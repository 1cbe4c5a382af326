package check

import (
	"fmt"
	"maps"
	"slices"
)

// Outcome is how a transaction ended, as its producer knows it.
type Outcome int

// The outcomes. Of an Unknown one it is only known that it is whole: all of it is
// seen, or nothing.
const (
	Open Outcome = iota
	Unknown
	Committed
	Aborted
)

// String names the outcome.
func (o Outcome) String() string {
	return [...]string{"open", "of unknown outcome", "committed", "aborted"}[o]
}

// Transaction is one transaction of a producer.
type Transaction struct {
	// Name is for complaints.
	Name string
	// Outcome is kept up to date by who runs it, before any reader can see what it
	// leads to: it is Unknown, not Open, from when the commit is sent.
	Outcome Outcome
	// Wild: Kafka promises nothing of it. It hangs, or its producer broke the
	// protocol.
	Wild bool
}

// entry is what is known of one record.
type entry struct {
	at     Partition
	txn    *Transaction // nil: plain
	acked  bool         // by all in-sync replicas
	once   bool         // its producer is idempotent: it is there at most once
	offset int64        // -1: not known
}

// Ledger follows records by their values, each of which is written by one call of
// Wrote only.
type Ledger struct {
	Complaints
	entries map[string]*entry
	order   []string // of values
	seen    map[Partition]map[int64]string
	// loose are the partitions that may lose records, or the outcome of
	// transactions.
	loose map[Partition]bool
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{entries: map[string]*entry{}, seen: map[Partition]map[int64]string{}, loose: map[Partition]bool{}}
}

// Wrote notes that a record is sent. once says that its producer is idempotent.
func (l *Ledger) Wrote(at Partition, txn *Transaction, once bool, values ...string) {
	for _, v := range values {
		if l.entries[v] != nil {
			panic(fmt.Sprintf("check: value %q is written twice", v))
		}
		l.entries[v] = &entry{at: at, txn: txn, once: once, offset: -1}
		l.order = append(l.order, v)
	}
}

// Acknowledged notes that records have their offsets, from base on, and with all
// that every in-sync replica has them.
func (l *Ledger) Acknowledged(base int64, all bool, values ...string) {
	for i, v := range values {
		e := l.entries[v]
		e.offset, e.acked = base+int64(i), e.acked || all
	}
}

// Loosen says that a partition may lose records, or mistake the outcome of
// transactions: it had no leader, or one that was not in sync.
func (l *Ledger) Loosen(at Partition) { l.loose[at] = true }

// Loose says whether Loosen was called for the partition.
func (l *Ledger) Loose(at Partition) bool { return l.loose[at] }

// Saw judges records as a consumer surfaces them, at once: in isolation
// read_committed none of a transaction that was aborted, or whose commit was not
// even asked for. Whoever reads the same offset gets the same record.
func (l *Ledger) Saw(reader string, at Partition, committed bool, records []Record) {
	for _, r := range records {
		e := l.entries[r.Value]
		switch {
		case e == nil:
			l.add("%s: %v offset %d: record %q, which nobody wrote", reader, at, r.Offset, r.Value)
			continue
		case e.at != at:
			l.add("%s: %v offset %d: record %q, which was written to %v", reader, at, r.Offset, r.Value, e.at)
			continue
		case l.loose[at]:
			continue
		case e.offset >= 0 && e.offset != r.Offset:
			l.add("%s: %v offset %d: record %q, which was acknowledged at %d", reader, at, r.Offset, r.Value, e.offset)
		}
		if t := e.txn; committed && t != nil && !t.Wild && (t.Outcome == Open || t.Outcome == Aborted) {
			l.add("%s: %v offset %d: record %q of %s, which is %v, was read in read_committed", reader, at, r.Offset, r.Value, t.Name, t.Outcome)
		}
		if l.seen[at] == nil {
			l.seen[at] = map[int64]string{}
		}
		if committed || e.acked {
			if before, again := l.seen[at][r.Offset]; again && before != r.Value {
				l.add("%s: %v offset %d: record %q, which was %q before", reader, at, r.Offset, r.Value, before)
			}
			l.seen[at][r.Offset] = r.Value
		}
	}
}

// Log is the content of a partition in the end, in both isolation levels, from its
// log start offset on.
type Log struct {
	Start          int64
	All, Committed []Record
}

// Judge judges the logs as they are in the end, when no transaction is open.
func (l *Ledger) Judge(logs map[Partition]Log) {
	for _, at := range slices.SortedFunc(maps.Keys(logs), comparePartitions) {
		if l.loose[at] {
			continue
		}
		l.judgeLog(at, logs[at])
	}
	l.judgeWhole(logs)
}

func comparePartitions(a, b Partition) int {
	if a.Topic != b.Topic {
		if a.Topic < b.Topic {
			return -1
		}
		return 1
	}
	return int(a.Index - b.Index)
}

// judgeLog judges one log record by record.
func (l *Ledger) judgeLog(at Partition, log Log) {
	all, committed := offsetsOf(log.All), offsetsOf(log.Committed)
	for _, v := range l.order {
		e := l.entries[v]
		if e.at != at {
			continue
		}
		if n := len(all[v]); e.once && n > 1 {
			l.add("%v: record %q of an idempotent producer is there %d times, at %v", at, v, n, all[v])
		}
		if e.acked && e.offset >= log.Start && !slices.Contains(all[v], e.offset) {
			l.add("%v: record %q was acknowledged by all in-sync replicas at %d and is lost", at, v, e.offset)
		}
		t, shown := e.txn, len(committed[v]) > 0
		switch {
		case t != nil && t.Wild:
		case shown && t != nil && t.Outcome == Aborted:
			l.add("%v: record %q of %s, which is aborted, is read in read_committed", at, v, t.Name)
		case !shown && e.acked && e.offset >= log.Start && (t == nil || t.Outcome == Committed):
			l.add("%v: record %q was acknowledged and committed, and is not read in read_committed", at, v)
		}
	}
	now := map[int64]string{}
	for _, r := range log.All {
		now[r.Offset] = r.Value
	}
	for _, offset := range slices.Sorted(maps.Keys(l.seen[at])) {
		if before := l.seen[at][offset]; offset >= log.Start && now[offset] != before {
			l.add("%v offset %d: record %q was read there and is not there any more, but %q", at, offset, before, now[offset])
		}
	}
}

func offsetsOf(records []Record) map[string][]int64 {
	out := map[string][]int64{}
	for _, r := range records {
		out[r.Value] = append(out[r.Value], r.Offset)
	}
	return out
}

// judgeWhole judges that of each transaction everything acknowledged is read, or
// nothing.
func (l *Ledger) judgeWhole(logs map[Partition]Log) {
	shown := map[Partition]map[string][]int64{}
	for at, log := range logs {
		shown[at] = offsetsOf(log.Committed)
	}
	type half struct{ seen, unseen string }
	halves := map[*Transaction]*half{}
	for _, v := range l.order {
		e := l.entries[v]
		log, known := logs[e.at]
		if e.txn == nil || e.txn.Wild || !e.acked || !known || l.loose[e.at] || e.offset < log.Start {
			continue
		}
		h := halves[e.txn]
		if h == nil {
			h = &half{}
			halves[e.txn] = h
		}
		side := &h.unseen
		if len(shown[e.at][v]) > 0 {
			side = &h.seen
		}
		if *side == "" {
			*side = fmt.Sprintf("%q in %v", v, e.at)
		}
		if h.seen != "" && h.unseen != "" {
			l.add("%s, %v: record %s is read in read_committed, and record %s is not", e.txn.Name, e.txn.Outcome, h.seen, h.unseen)
			h.seen, h.unseen = "", ""
			e.txn.Wild = true // one complaint is enough
		}
	}
}
