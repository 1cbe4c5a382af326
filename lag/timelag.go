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
	if !least && !h.told {
		h.points, h.told = nil, true // the high watermarks of before were no ends
	}
	back := !least && len(h.points) > 0 && h.points[len(h.points)-1].offset > end
	h.follow(p, end, back, within.Answered.UnixMilli())
	if n := len(h.points); n == 0 || h.points[n-1].offset <= end {
		h.see(end, within, least && h.told)
	}
	for _, d := range p.Datings {
		if !h.date(d) {
			skewed++
		}
	}
	return skewed
}

// follow takes in who leads the partition and how far its log is durable. What
// was seen above the high watermark may be gone with the leader, or is where the
// log's end went back. A high watermark that goes back says that an election was
// unclean: then nothing tells how much is gone.
func (h *history) follow(p *Partition, end Offset, back bool, now int64) {
	hwm := offsetOf(p.HighWatermark)
	switch {
	case end < h.durable || hwm.known && hwm.value < h.durable:
		h.truncate(0, end, now)
		h.durable = 0
	case back || p.LeaderEpoch != h.epoch:
		h.truncate(h.durable, end, now)
	}
	h.epoch = p.LeaderEpoch
	if hwm.known {
		h.durable = hwm.value
	}
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

// rowAge is one age of a row, and whether nothing is readable there.
type rowAge func(*GroupPartitionView) (age Optional[time.Duration], nothing bool)

// oldest is the greatest of the ages of rows. Rows on which nothing is readable
// have none. It is unknown if one is unknown, or if none has one.
type oldest struct {
	greatest Optional[time.Duration]
	unknown  bool
}

// add takes in rows.
func (o *oldest) add(rows []GroupPartitionView, age rowAge) {
	for i := range rows {
		a, nothing := age(&rows[i])
		if v, ok := a.Get(); ok {
			o.greatest = Known(max(o.greatest.value, v))
		} else if !nothing {
			o.unknown = true
		}
	}
}

// age is the greatest age.
func (o *oldest) age() Optional[time.Duration] {
	if o.unknown {
		return Optional[time.Duration]{}
	}
	return o.greatest
}

// maxAge is the greatest of the ages of a topic's partitions.
func maxAge(rows []GroupPartitionView, age rowAge) Optional[time.Duration] {
	var o oldest
	o.add(rows, age)
	return o.age()
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
