package web

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Activity counts what an exporter has done since its start, for people: what a
// view does not hold. It is safe for concurrent use.
type Activity struct {
	mu         sync.Mutex
	sweeps     map[string]int
	took       time.Duration
	collectors map[string]collectorRun
	errors     map[lag.MissKind]int
}

// collectorRun is how a collector fared in the last sweep.
type collectorRun struct {
	success bool
	took    time.Duration
}

// NewActivity returns one of an exporter that has done nothing yet.
func NewActivity() *Activity {
	return &Activity{sweeps: make(map[string]int), collectors: make(map[string]collectorRun), errors: make(map[lag.MissKind]int)}
}

// Sweep counts a sweep with its result. One that was skipped took no time.
func (a *Activity) Sweep(result string, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweeps[result]++
	if took > 0 {
		a.took = took
	}
}

// Collector takes down how a collector fared in the sweep.
func (a *Activity) Collector(name string, success bool, took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.collectors[name] = collectorRun{success, took}
}

// Errors counts n errors of one kind.
func (a *Activity) Errors(kind lag.MissKind, n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.errors[kind] += n
}

// counted is a number of things of one kind.
type counted struct {
	What string
	N    int
}

// sorted are the counts that are not 0, by what they count.
func sorted[K ~string](counts map[K]int) []counted {
	var list []counted
	for _, key := range slices.Sorted(maps.Keys(counts)) {
		if counts[key] > 0 {
			list = append(list, counted{string(key), counts[key]})
		}
	}
	return list
}
