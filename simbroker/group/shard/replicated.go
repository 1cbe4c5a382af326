package shard

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// WhenReplicated answers when the high watermark has passed all that has been
// written, or with NOT_COORDINATOR after offsets.commit.timeout.ms.
func (s *Shard) WhenReplicated(answer func(error)) {
	if s.Env.Log.HighWatermark(s.Partition) >= s.end {
		answer(nil)
		return
	}
	r := &stableRead{until: s.end, answer: answer}
	r.timer = s.Clock.After(s.Config.OffsetCommitTimeout, func() {
		s.wake()
		if i := slices.Index(s.waiting, r); i >= 0 {
			s.waiting = slices.Delete(s.waiting, i, i+1)
			answer(kafka.ErrNotCoordinator)
		}
	})
	s.waiting = append(s.waiting, r)
}

// wake answers the reads for which the high watermark is high enough.
func (s *Shard) wake() {
	if len(s.waiting) == 0 || !s.Owned() {
		return
	}
	hwm := s.Env.Log.HighWatermark(s.Partition)
	waiting := s.waiting
	s.waiting = nil
	for _, r := range waiting {
		if r.until > hwm {
			s.waiting = append(s.waiting, r)
		} else {
			r.timer.Stop()
			r.answer(nil)
		}
	}
}
