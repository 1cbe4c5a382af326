// Package clock owns time in the simulator. A Loop runs every event of a
// cluster one after the other, ordered by time and then by the order in which
// they were asked for, on either of two clocks: the wall clock, or a simulated
// one that moves only when it is told to. Nothing else in the simulator may
// read the wall clock, start a goroutine for its own ends, or take a lock.
package clock

import (
	"container/heap"
	"sync"
	"time"
)

// Clock is what a room sees of time.
type Clock interface {
	// Now is the present moment.
	Now() time.Time
	// After runs f once, d from now, unless the timer is stopped before. A
	// duration of zero or less runs f as soon as the present event is over.
	After(d time.Duration, f func()) *Timer
}

// Timer is an event that has not happened yet.
type Timer struct {
	at      time.Time
	seq     uint64
	f       func()
	stopped bool
}

// Stop keeps the event from happening. Stopping a nil timer, or one that has
// run, does nothing.
func (t *Timer) Stop() {
	if t != nil {
		t.stopped = true
	}
}

// Loop runs the events of one cluster. Post may be called from any goroutine;
// all else belongs to events themselves, which never run at the same time.
type Loop struct {
	mu     sync.Mutex // held while an event runs
	events events
	seq    uint64

	wall  bool
	now   time.Time     // the simulated clock
	ahead time.Duration // how far the wall clock was advanced

	postMu sync.Mutex
	posted []func()
	wake   chan struct{}
	stop   chan struct{}
	done   chan struct{}
}

// NewWall returns a loop on the wall clock, with a goroutine that runs its
// events as they fall due. Close ends it.
func NewWall() *Loop {
	l := newLoop()
	l.wall = true
	go l.run()
	return l
}

// NewSimulated returns a loop whose time is start until Advance or RunUntil
// moves it. It has no goroutine: its events run on the caller's.
func NewSimulated(start time.Time) *Loop {
	l := newLoop()
	l.now = start
	close(l.done)
	return l
}

func newLoop() *Loop {
	return &Loop{wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
}

// Simulated says whether time moves only by Advance and RunUntil.
func (l *Loop) Simulated() bool { return !l.wall }

// Now implements Clock. It belongs to events.
func (l *Loop) Now() time.Time {
	if l.wall {
		return time.Now().Add(l.ahead)
	}
	return l.now
}

// After implements Clock. It belongs to events.
func (l *Loop) After(d time.Duration, f func()) *Timer {
	l.seq++
	t := &Timer{at: l.Now().Add(max(d, 0)), seq: l.seq, f: f}
	heap.Push(&l.events, t)
	return t
}

// Post runs f as an event of its own, as soon as possible. On a simulated
// clock it waits for the next Do, Advance or RunUntil.
func (l *Loop) Post(f func()) {
	l.postMu.Lock()
	l.posted = append(l.posted, f)
	l.postMu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Do runs f as an event and returns when it, and whatever fell due with it,
// has run. It must not be called from an event.
func (l *Loop) Do(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drain()
	f()
	l.runDue()
	l.poke()
}

// Advance moves time forward by d, running the events that fall due on the
// way, each at its own moment on a simulated clock.
func (l *Loop) Advance(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wall {
		l.ahead += d
		l.runDue()
		l.poke()
		return
	}
	l.advanceTo(l.now.Add(d), nil)
}

// RunUntil runs events, moving a simulated clock from one to the next, until
// done holds (it is asked after each event) or limit has passed. It reports
// whether done holds. It must not be called on a wall clock.
func (l *Loop) RunUntil(done func() bool, limit time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runDue()
	if done() {
		return true
	}
	return l.advanceTo(limit, done)
}

// Close ends a wall-clock loop; events that have not run never will.
func (l *Loop) Close() {
	if !l.wall {
		return
	}
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	<-l.done
}

func (l *Loop) advanceTo(limit time.Time, done func() bool) bool {
	for {
		t := l.next()
		if t == nil || t.at.After(limit) {
			if l.now.Before(limit) {
				l.now = limit
			}
			return false
		}
		heap.Pop(&l.events)
		if t.at.After(l.now) {
			l.now = t.at
		}
		t.f()
		l.drain()
		if done != nil && done() {
			return true
		}
	}
}

// next is the earliest event that still stands; stopped ones are dropped.
func (l *Loop) next() *Timer {
	for len(l.events) > 0 {
		if t := l.events[0]; !t.stopped {
			return t
		}
		heap.Pop(&l.events)
	}
	return nil
}

// runDue runs what was posted and what is due, until nothing is.
func (l *Loop) runDue() {
	for {
		l.drain()
		t := l.next()
		if t == nil || t.at.After(l.Now()) {
			return
		}
		heap.Pop(&l.events)
		t.f()
	}
}

func (l *Loop) drain() {
	for {
		l.postMu.Lock()
		posted := l.posted
		l.posted = nil
		l.postMu.Unlock()
		if len(posted) == 0 {
			return
		}
		for _, f := range posted {
			f()
		}
	}
}

func (l *Loop) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run is the goroutine of a wall-clock loop.
func (l *Loop) run() {
	defer close(l.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		l.mu.Lock()
		l.runDue()
		wait := time.Hour
		if t := l.next(); t != nil {
			wait = max(t.at.Sub(l.Now()), 0)
		}
		l.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-l.stop:
			return
		case <-l.wake:
		case <-timer.C:
		}
	}
}

// events is a heap by time, then by order of asking.
type events []*Timer

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if e[i].at.Equal(e[j].at) {
		return e[i].seq < e[j].seq
	}
	return e[i].at.Before(e[j].at)
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(*Timer)) }
func (e *events) Pop() any {
	old := *e
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*e = old[:len(old)-1]
	return t
}
