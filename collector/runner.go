package collector

import (
	"context"
	"sync/atomic"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Runner sweeps a cluster in the background and keeps the last view.
type Runner struct {
	sweeper *Sweeper
	tracker *lag.Tracker
	view    atomic.Pointer[lag.View]
}

// NewRunner returns a runner that has no view yet; see Run. It panics if the
// options are not valid.
func NewRunner(client Client, options Options) *Runner {
	sweeper := NewSweeper(client, options)
	return &Runner{sweeper: sweeper, tracker: lag.NewTracker(sweeper.options.Period)}
}

// Run sweeps at once and then once every period, one sweep at a time, until
// ctx is done; it returns when the last sweep has ended. A sweep that is due
// while the one before still runs is skipped and counted.
func (r *Runner) Run(ctx context.Context) {}

// View returns the view of the last sweep; nil before the first has ended. It
// may have expired. It is safe for concurrent use.
func (r *Runner) View() *lag.View { return r.view.Load() }

// Subscribe has f called with each new view, in order, after View returns it.
// f runs between two sweeps and must not block. Subscribe must not be called
// once Run was.
func (r *Runner) Subscribe(f func(*lag.View)) {}
