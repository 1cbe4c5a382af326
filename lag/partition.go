package lag

import "time"

// partitionMemory is what is remembered of one partition.
type partitionMemory struct {
	number int32

	// The offsets as last published, for regressions.
	logStart, lastStable, highWatermark, logEnd Optional[Offset]
	regressions                                 Regressions

	// read is when the last sweep read the last stable offset, zero if it did
	// not: the interval that begins there is judged by below.
	read        time.Time
	below       bool
	belowFor    time.Duration
	observedFor time.Duration

	stall Stall

	// blocker is nil while no transaction was found to hold the partition.
	blocker *blockerMemory

	// history is nil until a group has a commit here. readAt is the moment of
	// which ages are told: when the sweep under way read the last stable offset.
	// needed is the lowest position of a group in the sweep neededIn.
	history  *history
	readAt   time.Time
	needed   Offset
	neededIn uint64
}

// observe takes a partition of a sample that ended at a time and returns its
// view. It returns false, and a view without offsets, when the offsets
// contradict each other.
func (m *partitionMemory) observe(p *Partition, ended time.Time, period time.Duration) (PartitionView, bool) {
	view := PartitionView{Number: p.Number, Leader: p.Leader, Replicas: p.Replicas, InSync: p.InSync, Preferred: p.Preferred}
	consistent := view.setOffsets(p)
	m.regress(&view)

	lso, read := view.LastStable.Get()
	if !read {
		m.closeInterval(ended, period)
		return view, consistent
	}
	at := p.LastStable.Within.Answered
	m.readAt = at
	m.closeInterval(at, period)
	hwm, _ := view.HighWatermark.Get()
	m.read, m.below = at, lso < hwm
	m.stall.Observe(lso, view.LogStart, m.below, at)

	view.Below, view.BelowFor, view.ObservedFor = m.below, m.belowFor, m.observedFor
	view.StalledFor = m.stall.Lasted(at)
	return view, consistent
}

// setOffsets fills in the offsets as they are reported (measurements.md 2):
// log start and high watermark as read, the last stable offset between them,
// the log end not below the high watermark. A DeleteRecords inside a batch can
// leave the broker's last stable offset below the log start; one that was read
// after the high watermark may lie above it. It returns false, and sets
// nothing, if the log starts above the high watermark or the log end: then
// the log was truncated or replaced between the reads.
func (p *PartitionView) setOffsets(read *Partition) bool {
	start := offsetOf(read.LogStart)
	hwm := offsetOf(read.HighWatermark)
	lso := offsetOf(read.LastStable)
	end := offsetOf(read.LogEnd)

	if hwm.known && end.known {
		end.value = max(end.value, hwm.value)
	}
	if start.known && (hwm.known && hwm.value < start.value || end.known && end.value < start.value) {
		return false
	}
	if start.known && lso.known {
		lso.value = max(lso.value, start.value)
	}
	if hwm.known {
		lso.value = min(lso.value, hwm.value)
	} else {
		lso = Optional[Offset]{} // nothing says that it is not above
	}
	p.LogStart, p.LastStable, p.HighWatermark, p.LogEnd = start, lso, hwm, end
	return true
}

// offsetOf returns a reading's offset. Negative answers are no offsets.
func offsetOf(r Reading) Optional[Offset] {
	if !r.OK() || r.Offset < 0 {
		return Optional[Offset]{}
	}
	return Known(r.Offset)
}

// regress counts the offsets that went back and remembers them all.
func (m *partitionMemory) regress(v *PartitionView) {
	for _, o := range []struct {
		last  *Optional[Offset]
		now   Optional[Offset]
		count *uint64
	}{
		{&m.logStart, v.LogStart, &m.regressions.LogStart},
		{&m.lastStable, v.LastStable, &m.regressions.LastStable},
		{&m.highWatermark, v.HighWatermark, &m.regressions.HighWatermark},
		{&m.logEnd, v.LogEnd, &m.regressions.LogEnd},
	} {
		if !o.now.known {
			continue
		}
		if o.last.known && o.now.value < o.last.value {
			*o.count++
		}
		*o.last = o.now
	}
	v.Regressions = m.regressions
}

// closeInterval ends the interval that the last sweep began, if it read the
// partition. One that is longer than three periods is not judged: nobody
// watched what happened in it.
func (m *partitionMemory) closeInterval(at time.Time, period time.Duration) {
	if !m.read.IsZero() {
		if d := at.Sub(m.read); d > 0 && d <= intervalPeriods*period {
			m.observedFor += d
			if m.below {
				m.belowFor += d
			}
		}
	}
	m.read = time.Time{}
}
