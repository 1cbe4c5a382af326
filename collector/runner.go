package collector

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Runner sweeps a cluster in the background and keeps the last view. A view is
// replaced as a whole; who reads it never waits for a sweep.
type Runner struct {
	sweeper     *Sweeper
	tracker     *lag.Tracker
	auditor     *Auditor
	audit       atomic.Pointer[lag.Audit]
	auditSoon   chan struct{} // an audit is due before its time
	listed      int           // topics of coordinators that the last sweep listed
	hastened    int           // audits that were made for them before their time
	view        atomic.Pointer[lag.View]
	subscribers []func(*lag.View)
}

// NewRunner returns a runner that has no view yet; see Run. It panics if the
// options are not valid.
func NewRunner(client Client, options Options) *Runner {
	sweeper := NewSweeper(client, options)
	tracker := sweeper.options.tracking().NewTracker()
	sweeper.consult(tracker)
	return &Runner{sweeper: sweeper, tracker: tracker, auditor: NewAuditor(client, options), auditSoon: make(chan struct{}, 1)}
}

// Succeed returns a runner that asks client under options of its own, and goes
// on where r has ended: it remembers what r has seen, and has r's last view until
// its own first sweep has ended. r must not be used any more, but for its view.
// Succeed panics if the options are not valid; then nothing has changed.
func (r *Runner) Succeed(client Client, options Options) *Runner {
	next := NewRunner(client, options)
	r.tracker.Reconfigure(next.sweeper.options.tracking())
	next.tracker = r.tracker
	next.sweeper.consult(r.tracker)
	next.view.Store(r.view.Load())
	if next.sweeper.options.enabled(Audits) {
		next.audit.Store(r.audit.Load())
	}
	return next
}

// tracking are the settings of the tracker that goes with the options.
func (o *Options) tracking() lag.Settings {
	return lag.Settings{
		Period: o.Period, StillAfter: o.StillAfter, StalledAfter: o.LookUpAfter, ReadUncommitted: o.ReadUncommitted, TellsTransaction: o.tells,
	}
}

// Run sweeps at once and then once every period, one sweep at a time, until
// ctx is done; it returns when no request is on its way any more. A sweep that
// is due while the one before still runs is skipped and counted. Audits are
// made beside the sweeps, and hold none up.
func (r *Runner) Run(ctx context.Context) {
	defer r.sweeper.wait()
	var audits sync.WaitGroup
	defer audits.Wait()
	if o := &r.sweeper.options; o.AuditPeriod > 0 && o.enabled(Audits) {
		audits.Go(func() { r.runAudits(ctx) })
	}
	begun := time.Now()
	for n := 0; ; n++ {
		r.Sweep(ctx)
		for r.due(begun, n+1, 0).Before(time.Now()) {
			n++
			r.sweeper.options.Observer.Sweep(Skipped, 0)
		}
		timer := time.NewTimer(time.Until(r.due(begun, n+1, r.jitter())))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// maxHastened bounds the audits that are made before their time for one topic.
const maxHastened = 5

// runAudits audits at once, then once every AuditPeriod, and when a sweep sees
// a topic of coordinators that it has not. Where nothing could be read, the next try
// is a sweep's period away.
func (r *Runner) runAudits(ctx context.Context) {
	for {
		wait := r.sweeper.options.AuditPeriod
		if r.Audit(ctx); r.failedAudit() {
			wait = min(wait, r.sweeper.options.Period)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-r.auditSoon:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// failedAudit says whether the last audit could read nothing.
func (r *Runner) failedAudit() bool {
	a := r.audit.Load()
	return a != nil && a.Failure != ""
}

// Audit audits the cluster once; views from the next sweep on have the result.
// It is for who audits by a clock of their own; it must not be called beside
// itself, or beside Run where that makes audits.
func (r *Runner) Audit(ctx context.Context) {
	sample := r.auditor.Audit(ctx)
	if ctx.Err() == nil {
		r.audit.Store(sample.Judge())
	}
}

// hastenAudit has an audit made at once where the sweep that has just ended saw
// a topic of coordinators that the last audit did not: they are created when
// somebody first uses a group, or a transaction. The broker that an audit asks may
// hear of the topic later than the one that the sweep asked: then the next sweep has
// another one made, a few times.
func (r *Runner) hastenAudit() {
	a, l := r.audit.Load(), r.sweeper.last
	if a == nil || a.Failure != "" || l == nil {
		return
	}
	n := l.coordinating()
	if n > r.listed {
		r.hastened = 0
	}
	if n > a.Coordinating() && r.hastened < maxHastened {
		select {
		case r.auditSoon <- struct{}{}:
			r.hastened++
		default: // is asked for already
		}
	}
	r.listed = n
}

// due returns when the n-th sweep after the first is to begin. Sweeps keep to
// a grid of periods: what one of them comes early or late, by a fraction of
// the period, does not move the ones after it.
func (r *Runner) due(begun time.Time, n int, early float64) time.Time {
	period := r.sweeper.options.Period
	return begun.Add(time.Duration(n)*period + time.Duration(early*float64(period)))
}

// jitter returns by what fraction of the period the next sweep is early or
// late.
func (r *Runner) jitter() float64 {
	o := &r.sweeper.options
	return (2*o.Random() - 1) * o.Jitter
}

// Sweep sweeps once and publishes the view, unless ctx ended under it: what is
// missing then is missing because we leave. It is for who sweeps by a clock of
// their own; it must not be called beside Run.
func (r *Runner) Sweep(ctx context.Context) {
	sample := r.sweeper.Sweep(ctx)
	if ctx.Err() != nil {
		return
	}
	if sample.Cluster.IsKnown() { // else nobody knows whether it is still so
		sample.Audit = r.audit.Load()
	}
	r.hastenAudit()
	view := r.tracker.Observe(sample)
	r.view.Store(view)
	r.report(view)
	for _, f := range r.subscribers {
		f(view)
	}
}

// report tells the observer about a sweep.
func (r *Runner) report(view *lag.View) {
	observer := r.sweeper.options.Observer
	errors := make(map[lag.MissKind]int)
	for i := range view.Missed {
		errors[view.Missed[i].Kind] += view.Missed[i].Count
	}
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		observer.Errors(kind, errors[kind])
	}
	if view.Skewed > 0 {
		observer.Skew(view.Skewed)
	}
	result := Partial
	switch {
	case view.Failure != "":
		result = Failed
	case view.Complete():
		result = Complete
	}
	observer.Sweep(result, view.Ended.Sub(view.Started))
}

// View returns the view of the last sweep; nil before the first has ended. It
// may have expired. It is safe for concurrent use.
func (r *Runner) View() *lag.View { return r.view.Load() }

// Subscribe has f called with each new view, in order, after View returns it.
// f runs between two sweeps and must not block. Subscribe must not be called
// once Run was.
func (r *Runner) Subscribe(f func(*lag.View)) { r.subscribers = append(r.subscribers, f) }
