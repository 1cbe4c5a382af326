package replica

import (
	"math"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// waits are those who wait until something has reached an offset: the high
// watermark that of an append (rule F8), or the low watermark that of a deletion
// (rule B8).
type waits []*wait

type wait struct {
	required kafka.Offset
	timer    *clock.Timer
	done     func(reached kafka.Offset, err error)
}

// add has done called when the required offset is reached, or after the timeout,
// which may be forever, with REQUEST_TIMED_OUT and what was reached at first.
func (ws *waits) add(on *process, required, reached kafka.Offset, timeout time.Duration, done func(reached kafka.Offset, err error)) {
	w := &wait{required: required, done: done}
	if timeout != forever {
		w.timer = on.deps.Clock.After(timeout, func() {
			if i := slices.Index(*ws, w); i >= 0 {
				*ws = slices.Delete(*ws, i, i+1)
				done(reached, kafka.ErrRequestTimedOut)
			}
		})
	}
	*ws = append(*ws, w)
}

// wake answers those whose offset is reached, in the next event, with err; all of
// them if everybody is to be told.
func (ws *waits) wake(on *process, reached kafka.Offset, everybody bool, err error) {
	waiting := (*ws)[:0]
	for _, w := range *ws {
		if w.required > reached && !everybody {
			waiting = append(waiting, w)
			continue
		}
		w.timer.Stop()
		on.later(func() { w.done(reached, err) })
	}
	clear((*ws)[len(waiting):])
	*ws = waiting
}

// forever is the timeout of waits that only a change of role ends.
const forever time.Duration = math.MaxInt64

// orForever reads a timeout of which zero means none.
func orForever(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return forever
	}
	return timeout
}
