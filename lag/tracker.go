// Package lag turns samples of a cluster into views: offsets, lags, sums and
// the history that they need. It is the arithmetic of measurements.md and
// nothing else: no clock, goroutine, I/O, Kafka client or Prometheus.
//
// It promises: log start ≤ last stable ≤ high watermark ≤ log end in every
// view; no lag is ever negative; a sum that lacks a part is absent; what a
// sample does not hold is unknown, never 0, −1 or the value before. It leaves
// out how a sample is read (package collector) and how a view looks (packages
// metrics and web).
package lag

import "time"

// Tracker turns the samples of one cluster into views, one after the other,
// and keeps what the next view needs from the ones before. The zero value is
// not usable; see NewTracker. It is not safe for concurrent use.
type Tracker struct {
	period time.Duration
}

// NewTracker returns a tracker without history for sweeps that begin one
// period after another. It panics if period is not positive.
func NewTracker(period time.Duration) *Tracker {
	if period <= 0 {
		panic("lag: period " + period.String() + " is not positive")
	}
	return &Tracker{period: period}
}

// Observe takes the next sample, whose times must not lie before those of the
// sample before, and returns the view after it.
func (t *Tracker) Observe(s Sample) *View {
	return &View{
		Started: s.Started, Ended: s.Ended, Period: t.period,
		Cluster: s.Cluster, Missed: s.Missed, Failure: s.Failure,
	}
}
