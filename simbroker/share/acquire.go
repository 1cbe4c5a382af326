package share

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Run is a run of records that a member has now.
type Run struct {
	First, Last kafka.Offset
	Deliveries  int // of each, this one included
}

// acquisition is what a member wants of what was read.
type acquisition struct {
	member string
	from   kafka.Offset // where reading began
	max    int          // how many records, and the rest of the batch that holds the last one
	// exact asks for no more than max.
	exact bool
	// batchSize is how many records a run that was never delivered may have before
	// it is split where the log's batches begin; exact ones are not.
	batchSize int
	records   commitlog.Records
	aborted   []commitlog.AbortedTxn
}

// acquire gives a member what is available of what was read: batch by batch, and
// alone what failed often enough to be throttled. What belongs to aborted
// transactions is archived instead.
func (p *partition) acquire(a acquisition) (runs []Run, count int) {
	end, limit := p.reach(a)
	if limit <= 0 {
		return nil, 0
	}
	begin := a.records.Batches()[0].BaseOffset
	p.archiveHole(a.from, begin)
	l := new(lock)
	for o := max(begin, p.start); o <= end && count < limit; {
		b := p.batchAt(o)
		if b == nil {
			got, next := p.acquireFresh(a, l, o, p.untouched(o, end), limit-count)
			runs, o = append(runs, got...), next
			count += total(got)
			continue
		}
		last := min(end, b.last)
		throttled := p.throttled(o, last)
		if throttled && count > 0 {
			break
		}
		atMost := b.size()
		if a.exact {
			atMost = limit - count
		}
		got := p.acquireAgain(a.member, l, b, o, last, atMost)
		runs = append(runs, got...)
		if count += total(got); throttled && len(got) > 0 {
			break
		}
		o = last + 1
	}
	if count == 0 {
		return nil, 0
	}
	l.timer = p.clk.After(p.settings().LockDuration, func() { p.expire(l) })
	if runs = p.archiveAborted(runs, a); len(runs) == 0 {
		l.timer.Stop()
	}
	return runs, total(runs)
}

// reach is how far an acquisition may go: to which record, and to how many. When
// there is no room in flight, it is for those that are there.
func (p *partition) reach(a acquisition) (end kafka.Offset, limit int) {
	batches := a.records.Batches()
	if len(batches) == 0 {
		return kafka.NoOffset, 0
	}
	end = batches[len(batches)-1].LastOffset()
	if limit = min(a.max, p.settings().MaxLocks-len(p.inFlight)); limit > 0 {
		return end, limit
	}
	return min(end, p.next()-1), a.max
}

// archiveHole archives the records that the log does not have any more before
// those that were read. Where they were in no batch they are from now on, so that
// nobody takes them for records that were never delivered.
func (p *partition) archiveHole(from, begin kafka.Offset) {
	if len(p.inFlight) == 0 {
		p.start = max(p.start, begin)
	}
	var hole *batch
	for o := max(from, p.start); o < begin; o++ {
		if o >= p.next() {
			p.inFlight = append(p.inFlight, delivery{})
		}
		d := p.at(o)
		if d.State == Available {
			d.State = Archived
		}
		switch {
		case d.batch != nil:
			hole = nil
			continue
		case hole == nil:
			hole = &batch{first: o}
		}
		hole.last, d.batch = o, hole
	}
}

// batchAt is the batch in flight that a record is in, nil if it is in none.
func (p *partition) batchAt(o kafka.Offset) *batch {
	if o >= p.next() {
		return nil
	}
	return p.at(o).batch
}

// untouched is how far records go from one on that are in no batch in flight.
func (p *partition) untouched(o, end kafka.Offset) kafka.Offset {
	for o < end && p.batchAt(o+1) == nil {
		o++
	}
	return o
}

// throttleFrom is how often a record was delivered that is throttled from now
// on: half of the limit, rounded up.
func throttleFrom(limit int) int { return max(2, (limit+1)/2) }

// throttled says whether one of the records that are available in a range was
// delivered so often that it is not to come with others.
func (p *partition) throttled(first, last kafka.Offset) bool {
	from := throttleFrom(p.settings().DeliveryLimit)
	for o := first; o <= last; o++ {
		if d := p.at(o); d.State == Available && d.Deliveries >= from {
			return true
		}
	}
	return false
}

// acquireAgain takes available records of a batch in flight. Once there is one
// that is throttled, at most half of the batch is taken, and a half less for
// each delivery more; a record that comes for the last time comes alone.
func (p *partition) acquireAgain(member string, l *lock, b *batch, first, last kafka.Offset, atMost int) (runs []Run) {
	limit := p.settings().DeliveryLimit
	from, taken, halved := throttleFrom(limit), 0, false
	for o := first; o <= last && taken < atMost; o++ {
		d := p.at(o)
		if d.State != Available {
			continue
		}
		alone := limit > 2 && d.Deliveries+1 == limit
		if alone && taken > 0 {
			break
		}
		if d.Deliveries >= from && !halved {
			halved = true
			if part := max(1, b.size()>>(d.Deliveries-from+1)); part > taken {
				atMost = min(atMost, part)
			}
		}
		*d = delivery{Record{Acquired, d.Deliveries + 1}, b, member, l}
		runs = appendRun(runs, o, d.Deliveries)
		if taken++; alone {
			break
		}
	}
	return runs
}

// acquireFresh takes records that were never delivered, in batches that are in
// flight from now on. If an exact number is wanted, the rest of what the log has
// in a batch comes to be in flight, too, and is available. next is where those
// records end.
func (p *partition) acquireFresh(a acquisition, l *lock, first, last kafka.Offset, atMost int) (runs []Run, next kafka.Offset) {
	logged := a.records.Batches()
	if wanted := first + kafka.Offset(atMost) - 1; wanted < last {
		last = min(last, endOfBatch(logged, wanted))
	}
	begin := first
	if !a.exact && int(last-first)+1 > a.batchSize {
		for _, b := range logged {
			if b.BaseOffset <= last && int(b.BaseOffset-begin) >= a.batchSize {
				p.fly(begin, b.BaseOffset-1)
				runs, begin = append(runs, Run{begin, b.BaseOffset - 1, 1}), b.BaseOffset
			}
		}
	}
	p.fly(begin, last)
	taken := last
	if a.exact {
		taken = min(last, first+kafka.Offset(atMost)-1)
	}
	runs = append(runs, Run{begin, taken, 1})
	for o := first; o <= taken; o++ {
		*p.at(o) = delivery{Record{Acquired, 1}, p.at(o).batch, a.member, l}
	}
	return runs, last + 1
}

// fly brings a run of records into flight as one batch.
func (p *partition) fly(first, last kafka.Offset) {
	b := &batch{first, last}
	for o := first; o <= last; o++ {
		for p.next() <= o {
			p.inFlight = append(p.inFlight, delivery{})
		}
		p.at(o).batch = b
	}
}

// endOfBatch is the last record of the log's batch that holds a record, or the
// record itself where none does.
func endOfBatch(logged []commitlog.Batch, o kafka.Offset) kafka.Offset {
	for _, b := range logged {
		if b.BaseOffset <= o && o <= b.LastOffset() {
			return b.LastOffset()
		}
	}
	return o
}

// archiveAborted archives what was acquired of aborted transactions, and leaves
// the rest.
func (p *partition) archiveAborted(runs []Run, a acquisition) (left []Run) {
	if len(a.aborted) == 0 {
		return runs
	}
	logged := a.records.Batches()
	for _, r := range runs {
		var part []Run
		for o := r.First; o <= r.Last; o++ {
			if slices.ContainsFunc(logged, func(b commitlog.Batch) bool {
				return b.BaseOffset <= o && o <= b.LastOffset() && isAborted(b, a.aborted)
			}) {
				d := p.at(o)
				*d = delivery{Record: Record{Archived, d.Deliveries}, batch: d.batch}
				continue
			}
			part = appendRun(part, o, r.Deliveries)
		}
		left = append(left, part...)
	}
	return left
}

// isAborted says whether a batch belongs to one of the aborted transactions that
// came with it.
func isAborted(b commitlog.Batch, aborted []commitlog.AbortedTxn) bool {
	return b.Attributes.IsTransactional() && !b.Attributes.IsControl() && slices.ContainsFunc(aborted, func(t commitlog.AbortedTxn) bool {
		return t.ProducerID == b.Producer.ID && t.FirstOffset <= b.BaseOffset && b.BaseOffset <= t.LastOffset
	})
}

// appendRun adds a record to runs of records with as many deliveries each.
func appendRun(runs []Run, o kafka.Offset, deliveries int) []Run {
	if n := len(runs); n > 0 && runs[n-1].Last == o-1 && runs[n-1].Deliveries == deliveries {
		runs[n-1].Last = o
		return runs
	}
	return append(runs, Run{o, o, deliveries})
}

// total is how many records runs have.
func total(runs []Run) int {
	n := 0
	for _, r := range runs {
		n += int(r.Last-r.First) + 1
	}
	return n
}
