package group

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// whenReplicated answers when the high watermark has passed all that has been
// written, or with NOT_COORDINATOR after offsets.commit.timeout.ms.
func (s *shard) whenReplicated(answer func(error)) {
	if s.env.Log.HighWatermark(s.partition) >= s.end {
		answer(nil)
		return
	}
	r := &stableRead{until: s.end}
	r.answer = func(err error) {
		r.answer = func(error) {}
		answer(err)
	}
	s.waiting = append(s.waiting, r)
	s.clk.After(s.cfg.OffsetCommitTimeout, func() {
		s.wake()
		r.answer(kafka.ErrNotCoordinator)
	})
}

// wake answers the reads for which the high watermark is high enough.
func (s *shard) wake() {
	if len(s.waiting) == 0 || !s.owned() {
		return
	}
	hwm := s.env.Log.HighWatermark(s.partition)
	waiting := s.waiting
	s.waiting = nil
	for _, r := range waiting {
		if r.until > hwm {
			s.waiting = append(s.waiting, r)
		} else {
			r.answer(nil)
		}
	}
}
