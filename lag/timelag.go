package lag

import "time"

// end returns the log's end as the history counts it, and when it was read: the
// log end, or the high watermark where the broker does not tell that; least says
// that the log may reach further. Without either, within is nil.
func (p *Partition) end() (end Offset, within *Window, least bool) {
	hwm, leo := offsetOf(p.HighWatermark), offsetOf(p.LogEnd)
	switch {
	case leo.known:
		return max(leo.value, hwm.value), p.LogEnd.Within, false
	case hwm.known:
		return hwm.value, p.HighWatermark.Within, true
	default:
		return 0, nil, false
	}
}

// take takes in what a sweep read of a partition, and returns how many of the
// answers dated a record later than it was seen.
func (h *history) take(p *Partition) (skewed int) {
	end, within, least := p.end()
	if within == nil {
		return 0
	}
	h.refill(within.Answered)
	if n := len(h.points); !least || n == 0 || h.points[n-1].offset <= end {
		h.see(end, within)
	}
	for _, d := range p.Datings {
		if !h.date(d) {
			skewed++
		}
	}
	return skewed
}

// setAges fills in how long ago the next unread record was appended.
func (r *GroupPartitionView) setAges(s *standing, h *history, at time.Time, period time.Duration) {
	position := s.position()
	switch {
	case s.committed >= s.highWatermark:
		r.HWMLagFor, r.LSOLagFor = Known(time.Duration(0)), Known(time.Duration(0))
		return
	case position >= s.highWatermark || h == nil:
		return
	}
	age, known := h.age(position, at, period)
	if !known {
		return
	}
	if !r.recordless {
		r.HWMLagFor = Known(age)
	}
	if position < s.lastStable && r.Readable != Known(Count(0)) {
		r.LSOLagFor = Known(age)
	}
}

// maxAge is the greatest of the ages of a topic's partitions. Partitions on
// which nothing is readable have none. It is unknown if one is unknown, or if
// none has one.
func maxAge(rows []GroupPartitionView, age func(*GroupPartitionView) (age Optional[time.Duration], nothing bool)) Optional[time.Duration] {
	var greatest Optional[time.Duration]
	for i := range rows {
		a, nothing := age(&rows[i])
		if v, ok := a.Get(); ok {
			greatest = Known(max(greatest.value, v))
		} else if !nothing {
			return Optional[time.Duration]{}
		}
	}
	return greatest
}

// lsoAge is the row's age up to the last stable offset, and whether nothing is
// readable up to there.
func lsoAge(r *GroupPartitionView) (age Optional[time.Duration], nothing bool) {
	return r.LSOLagFor, r.LSOLag == Known(Count(0)) || r.Readable == Known(Count(0))
}

// hwmAge is the row's age up to the high watermark, and whether nothing is
// readable up to there.
func hwmAge(r *GroupPartitionView) (age Optional[time.Duration], nothing bool) {
	return r.HWMLagFor, r.HWMLag == Known(Count(0)) || r.recordless
}
