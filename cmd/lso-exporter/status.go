package main

import (
	"sync"
	"time"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/diagnose"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/web"
)

// reports makes the report of the last view, once it is asked for. It is safe for
// concurrent use.
type reports struct {
	mu    sync.Mutex
	watch *diagnose.Watch
	seen  bool
	last  *diagnose.Report // of the last view; nil until it is asked for
}

// newReports returns one that has seen nothing yet.
func newReports(c config.Config, kafka *collector.Kafka) *reports {
	o := diagnoseOptions(c, kafka)
	o.Unending = true
	return &reports{watch: diagnose.NewWatch(o)}
}

// see takes the view of the next sweep.
func (r *reports) see(view *lag.View) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch.See(view)
	r.seen, r.last = true, nil
}

// report is what there is to say of the last view; nil before the first.
func (r *reports) report() *diagnose.Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil && r.seen {
		r.last = r.watch.Report()
	}
	return r.last
}

// observer hands what the collector tells to the exporter's own metrics and to
// the status page, which do not know the collector's types.
type observer struct {
	*metrics.Self
	activity *web.Activity
}

// Collector implements collector.Observer.
func (o observer) Collector(name collector.Collector, success bool, took time.Duration) {
	o.Self.Collector(string(name), success, took)
	o.activity.Collector(string(name), success, took)
}

// Sweep implements collector.Observer.
func (o observer) Sweep(result collector.Result, took time.Duration) {
	o.Self.Sweep(string(result), took)
	o.activity.Sweep(string(result), took)
}

// Errors implements collector.Observer.
func (o observer) Errors(kind lag.MissKind, n int) {
	o.Self.Errors(kind, n)
	o.activity.Errors(kind, n)
}
