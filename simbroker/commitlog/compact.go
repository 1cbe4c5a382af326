package commitlog

import (
	"cmp"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Compact applies rule B10, if there is enough to do: of all records with one
// key below the point up to which the log can be cleaned, the last one stays.
// It says whether the log was cleaned.
//
//	log start        cleaned          cleanable       last stable
//	    │ clean segments │ dirty segments │ segments that stay │
//
// A tombstone goes delete.retention.ms after the first time that the cleaner
// has met it: that time is kept in its batch as the delete horizon (KIP-534).
// So does an end-of-transaction marker, from when its transaction has no data
// any more. The data of aborted transactions goes at once. Offsets stay what
// they were.
func (l *Log) Compact(nowMs int64) bool {
	from, to := max(l.cleaned, l.logStart), l.cleanable(nowMs)
	if to <= from || !l.dirtyEnough(from, to, nowMs) {
		return false
	}
	c := &cleaning{log: l, nowMs: nowMs, latest: l.latestOffsets(from, to), end: to}
	l.clean(c, to)
	l.cleaned = to
	return true
}

// cleanable is where the segments begin that the cleaner leaves alone: the last
// one, that in which the last stable offset lies, and those with a record that
// is younger than min.compaction.lag.ms, each with all that follow.
func (l *Log) cleanable(nowMs int64) kafka.Offset {
	for i, s := range l.segments {
		last := i == len(l.segments)-1
		young := l.config.MinCompactionLag > 0 && s.largestTimestampMs() > nowMs-l.config.MinCompactionLag.Milliseconds()
		if last || young || l.segments[i+1].base > l.LastStableOffset() {
			return s.base
		}
	}
	return l.logStart
}

// dirtyEnough says whether the share of dirty bytes exceeds
// min.cleanable.dirty.ratio, or the oldest of them max.compaction.lag.ms.
func (l *Log) dirtyEnough(from, to kafka.Offset, nowMs int64) bool {
	var clean, dirty int64
	oldest := int64(-1)
	for i, s := range l.segments {
		switch {
		case s.base >= to:
		case l.segments[i+1].base <= from:
			clean += s.size
		default:
			if dirty == 0 && len(s.batches) > 0 {
				oldest = s.batches[0].MaxTimestampMs
			}
			dirty += s.size
		}
	}
	overdue := oldest >= 0 && nowMs-oldest > milliseconds(l.config.MaxCompactionLag)
	return dirty > 0 && (overdue || float64(dirty) > l.config.MinCleanableDirtyRatio*float64(clean+dirty))
}

// latestOffsets is where each key of the dirty segments stands last. Aborted
// records do not count.
func (l *Log) latestOffsets(from, to kafka.Offset) map[string]kafka.Offset {
	latest := make(map[string]kafka.Offset)
	transactions := newCleanedTransactions(l)
	for b := range l.Batches(from) {
		if b.BaseOffset >= to {
			break
		}
		if discard := transactions.observe(b); discard || b.Attributes.IsControl() {
			continue
		}
		records, err := b.Records()
		if err != nil {
			continue // stays
		}
		for _, r := range records {
			if r.Key != nil && r.Offset >= from {
				latest[string(r.Key)] = r.Offset
			}
		}
	}
	return latest
}

// clean replaces the segments before an offset by what is left of them, as many
// in one as fit into segment.bytes.
func (l *Log) clean(c *cleaning, to kafka.Offset) {
	c.transactions = newCleanedTransactions(l)
	n := l.segmentOf(to)
	var cleaned []*segment
	for rest := l.segments[:n]; len(rest) > 0; {
		group := l.groupOf(rest)
		cleaned = append(cleaned, c.segment(rest[:group]))
		for _, s := range rest[1:group] {
			l.producers.DropSnapshot(s.base)
		}
		rest = rest[group:]
	}
	l.segments = append(cleaned, l.segments[n:]...)
	l.findUnstable()
}

// groupOf is how many segments, at least one, go into one.
func (l *Log) groupOf(segments []*segment) int {
	n, size := 1, segments[0].size
	for ; n < len(segments); n++ {
		if size += segments[n].size; size > l.config.SegmentBytes {
			break
		}
	}
	return n
}

// cleaning is one run of the cleaner over a log.
type cleaning struct {
	log          *Log
	nowMs        int64
	latest       map[string]kafka.Offset
	end          kafka.Offset
	transactions *cleanedTransactions
}

// segment is what is left of several, with the index of those aborted
// transactions whose marker is.
func (c *cleaning) segment(of []*segment) *segment {
	into := newSegment(of[0].base, c.nowMs)
	into.createdMs = of[0].createdMs
	for _, s := range of {
		for _, b := range s.batches {
			if left, ok := c.retain(b); ok {
				into.append(left, c.log.config.IndexIntervalBytes, c.nowMs)
			}
		}
		into.aborted = append(into.aborted, c.transactions.takeKept()...)
		into.modifiedMs = s.modifiedMs
	}
	return into
}

// retain is what is left of a batch, the batch itself if nothing goes.
func (c *cleaning) retain(b Batch) (Batch, bool) {
	discardable := c.transactions.observe(b)
	horizonMs, met := b.deleteHorizon()
	discard := discardable && (!b.Attributes.IsControl() || met && horizonMs <= c.nowMs)
	records, err := b.Records()
	if err != nil {
		return b, true
	}
	kept := records[:0:0]
	tombstones := false
	for _, r := range records {
		if discard || !b.Attributes.IsControl() && !c.wanted(r, met && c.nowMs >= horizonMs) {
			continue
		}
		tombstones = tombstones || r.Value == nil && !b.Attributes.IsControl()
		kept = append(kept, r)
	}
	meets := !met && (tombstones || discardable && b.Attributes.IsControl())
	if meets {
		horizonMs = c.nowMs + c.log.config.DeleteRetention.Milliseconds()
	}
	switch {
	case len(kept) > 0 && len(kept) == len(records) && !meets:
		return b, true
	case len(kept) > 0:
		left, err := b.reduced(kept, meets || met, horizonMs)
		return left, err == nil
	}
	return b.emptied(), c.lastOfProducer(b) || b.LastOffset()+1 == c.end
}

// wanted says whether a record is the last one with its key, and no tombstone
// that is past its horizon. A record without a key is not.
func (c *cleaning) wanted(r Record, pastHorizon bool) bool {
	if r.Offset >= c.end {
		return true
	}
	last, dirty := c.latest[string(r.Key)]
	return r.Key != nil && (!dirty || r.Offset >= last) && (r.Value != nil || !pastHorizon)
}

// lastOfProducer says whether the producer state hangs on a batch: it has the
// last sequence of a producer that is known or, if that is a marker, its epoch.
func (c *cleaning) lastOfProducer(b Batch) bool {
	if !b.HasProducer() {
		return false
	}
	last, known := c.log.producers.Last(b.Producer.ID)
	switch {
	case !known:
		return false
	case last.DataOffset != kafka.NoOffset:
		return last.DataOffset == b.LastOffset()
	}
	return b.Attributes.IsControl() && b.Producer.Epoch == last.Epoch
}

// cleanedTransactions follows the transactions of the batches that the cleaner
// reads, one after the other.
type cleanedTransactions struct {
	aborted   []AbortedTxn // to come, by first offset
	aborting  map[kafka.ProducerID]*abortedData
	committed map[kafka.ProducerID]bool // those with data
	kept      []AbortedTxn              // whose markers stay
}

// abortedData is an aborted transaction of which the marker is to come.
type abortedData struct {
	txn  AbortedTxn
	seen bool // some of its data is still there
}

func newCleanedTransactions(l *Log) *cleanedTransactions {
	t := &cleanedTransactions{aborting: map[kafka.ProducerID]*abortedData{}, committed: map[kafka.ProducerID]bool{}}
	for _, s := range l.segments {
		t.aborted = append(t.aborted, s.aborted...)
	}
	slices.SortStableFunc(t.aborted, func(a, b AbortedTxn) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	return t
}

// observe takes the next batch and says whether it may go: it has the data of an
// aborted transaction, or is the marker of one without data.
func (t *cleanedTransactions) observe(b Batch) (discard bool) {
	t.begin(b.LastOffset())
	switch {
	case !b.Attributes.IsTransactional():
		return false
	case b.Attributes.IsControl():
		return t.end(b)
	}
	if a := t.aborting[b.Producer.ID]; a != nil {
		a.seen = true
		return true
	}
	t.committed[b.Producer.ID] = true
	return false
}

// begin notes the aborted transactions that begin up to an offset.
func (t *cleanedTransactions) begin(upTo kafka.Offset) {
	for len(t.aborted) > 0 && t.aborted[0].FirstOffset <= upTo {
		if txn := t.aborted[0]; t.aborting[txn.ProducerID] == nil {
			t.aborting[txn.ProducerID] = &abortedData{txn: txn}
		}
		t.aborted = t.aborted[1:]
	}
}

func (t *cleanedTransactions) end(b Batch) (discard bool) {
	m, ok := b.Marker()
	switch {
	case !ok: // was emptied before
		return true
	case m.Commit:
		data := t.committed[b.Producer.ID]
		delete(t.committed, b.Producer.ID)
		return !data
	}
	a := t.aborting[b.Producer.ID]
	delete(t.aborting, b.Producer.ID)
	if a == nil || !a.seen {
		return true
	}
	t.kept = append(t.kept, a.txn)
	return false
}

// takeKept returns what has come to kept since the last call.
func (t *cleanedTransactions) takeKept() []AbortedTxn {
	kept := t.kept
	t.kept = nil
	return kept
}
