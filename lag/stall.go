package lag

import "time"

// Stall is since when a last stable offset has been seen to stand still below
// the high watermark (measurements.md 4). The zero value is one that does not.
type Stall struct {
	since time.Time // zero while there is none
	at    Offset
}

// Observe takes what a sweep read: the last stable offset as it is reported,
// the log start if that was read, whether the offset is proven to be below the
// high watermark, and when it was answered. A move to the log start is none:
// retention and DeleteRecords push the offset along under the same open
// transaction. Observe returns whether a stall begins here.
func (s *Stall) Observe(lso Offset, logStart Optional[Offset], below bool, at time.Time) (begins bool) {
	switch start, known := logStart.Get(); {
	case !below:
		s.since = time.Time{}
	case !s.since.IsZero() && (lso == s.at || known && lso == start && lso > s.at):
	default:
		s.since, begins = at, true
	}
	s.at = lso
	return begins
}

// Lasted is how long the stall has lasted at a time; 0 if there is none.
func (s *Stall) Lasted(at time.Time) time.Duration {
	if s.since.IsZero() {
		return 0
	}
	return at.Sub(s.since)
}
