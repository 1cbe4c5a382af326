// Package clock owns time in the simulator. A Loop runs every event of a
// cluster one after the other, ordered by time and then by the order in which
// they were asked for, on either of two clocks: the wall clock, or a simulated
// one that moves only when it is told to. Nothing else in the simulator may
// read the wall clock, start a goroutine for its own ends, or take a lock.
package clock

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
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
	loop    *Loop
	at      time.Duration // since the loop began
	seq     uint64
	life    Life // on which f runs; the zero Life for the loop itself
	f       func()
	index   int // among the loop's events; -1 when it is not one of them
	stopped bool
}

// Stop keeps the event from happening. Stopping a nil timer, or one that has
// run, does nothing. It belongs to events.
func (t *Timer) Stop() {
	if t == nil {
		return
	}
	t.stopped = true
	if t.index >= 0 {
		t.loop.events.remove(t.index)
	}
}

// Reset has the event happen d from now instead of when it was to happen, or
// once more. It belongs to events.
func (t *Timer) Reset(d time.Duration) {
	if t.index >= 0 {
		t.loop.events.remove(t.index)
	}
	t.stopped = false
	t.loop.ask(t, d)
}

// run is the event's moment.
func (t *Timer) run() {
	switch h := t.life.host; {
	case h == nil:
		t.f()
	case t.life.ended():
	case h.paused:
		asked := t.seq
		h.Run(func() {
			if !t.stopped && t.seq == asked {
				t.f()
			}
		})
	default:
		t.f()
	}
}

// Loop runs the events of one cluster. Post may be called from any goroutine;
// all else belongs to events themselves, which never run at the same time.
type Loop struct {
	mu     sync.Mutex // held while an event runs
	events events
	seq    uint64

	wall  bool
	begun time.Time
	moved time.Duration // how far time was moved: ahead of the wall clock, or all of it

	postMu sync.Mutex
	posted []func()
	mail   atomic.Bool // something is posted
	wake   chan struct{}
	stop   chan struct{}
	done   chan struct{}
}

// NewWall returns a loop on the wall clock, with a goroutine that runs its
// events as they fall due. Close ends it.
func NewWall() *Loop {
	l := newLoop(time.Now())
	l.wall = true
	go l.run()
	return l
}

// NewSimulated returns a loop whose time is start until Advance or RunUntil
// moves it. It has no goroutine: its events run on the caller's.
func NewSimulated(start time.Time) *Loop {
	l := newLoop(start)
	close(l.done)
	return l
}

func newLoop(begun time.Time) *Loop {
	return &Loop{begun: begun, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
}

// Simulated says whether time moves only by Advance and RunUntil.
func (l *Loop) Simulated() bool { return !l.wall }

// Now implements Clock. It belongs to events.
func (l *Loop) Now() time.Time {
	if l.wall {
		return time.Now().Add(l.moved)
	}
	return l.begun.Add(l.moved)
}

// elapsed is the time since the loop began.
func (l *Loop) elapsed() time.Duration {
	if l.wall {
		return time.Since(l.begun) + l.moved
	}
	return l.moved
}

// After implements Clock. It belongs to events.
func (l *Loop) After(d time.Duration, f func()) *Timer { return l.after(d, Life{}, f) }

func (l *Loop) after(d time.Duration, on Life, f func()) *Timer {
	t := &Timer{loop: l, life: on, f: f}
	l.ask(t, d)
	return t
}

func (l *Loop) ask(t *Timer, d time.Duration) {
	l.seq++
	t.at, t.seq = l.elapsed()+max(d, 0), l.seq
	l.events.add(t)
}

// Post runs f as an event of its own, as soon as possible. On a simulated
// clock it waits for the next Do, Advance or RunUntil.
func (l *Loop) Post(f func()) {
	l.postMu.Lock()
	l.posted = append(l.posted, f)
	l.mail.Store(true)
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
// way, each at its own moment, in the same way on both clocks: the wall clock
// is ahead by d afterwards.
func (l *Loop) Advance(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advanceTo(l.elapsed()+max(d, 0), nil)
	l.poke()
}

// RunUntil runs events, moving a simulated clock from one to the next, until
// done holds (it is asked after each event) or limit has passed. It reports
// whether done holds. It must not be called on a wall clock.
func (l *Loop) RunUntil(done func() bool, limit time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.Simulated() {
		panic("clock: RunUntil on a wall clock")
	}
	l.runDue()
	if done() {
		return true
	}
	return l.advanceTo(limit.Sub(l.begun), done)
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

// advanceTo runs events at their moments until done holds or limit is reached.
func (l *Loop) advanceTo(limit time.Duration, done func() bool) bool {
	l.drain()
	for {
		t := l.next()
		if t == nil || t.at > limit {
			l.moveTo(limit)
			return false
		}
		l.events.remove(0)
		l.moveTo(t.at)
		t.run()
		l.drain()
		if done != nil && done() {
			return true
		}
	}
}

// moveTo moves time forward to a moment, if it is not there yet.
func (l *Loop) moveTo(at time.Duration) { l.moved += max(0, at-l.elapsed()) }

// next is the earliest event, nil if there is none.
func (l *Loop) next() *Timer {
	if len(l.events) == 0 {
		return nil
	}
	return l.events[0]
}

// runDue runs what was posted and what is due, until nothing is.
func (l *Loop) runDue() {
	for l.step() {
	}
}

// step runs what was posted, and one event if one is due. It reports whether
// there was anything to do.
func (l *Loop) step() bool {
	posted := l.drain()
	t := l.next()
	if t == nil || t.at > l.elapsed() {
		return posted
	}
	l.events.remove(0)
	t.run()
	return true
}

// drain runs what was posted, and reports whether there was anything.
func (l *Loop) drain() bool {
	ran := false
	for l.mail.Load() {
		l.postMu.Lock()
		posted := l.posted
		l.posted = nil
		l.mail.Store(false)
		l.postMu.Unlock()
		ran = true
		for _, f := range posted {
			f()
		}
	}
	return ran
}

func (l *Loop) poke() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run is the goroutine of a wall-clock loop. It lets go of the lock between
// events, so that Do gets its turn on a busy loop.
func (l *Loop) run() {
	defer close(l.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		wait, busy := l.turn()
		select {
		case <-l.stop:
			return
		default:
		}
		if busy {
			continue
		}
		if wait < finest {
			l.spin(wait)
			continue
		}
		timer.Reset(wait)
		select {
		case <-l.stop:
			return
		case <-l.wake:
		case <-timer.C:
		}
	}
}

// finest is the shortest wait that is left to a timer. Those of an idle process
// are about a millisecond late, several times what a message between two nodes
// takes.
const finest = 300 * time.Microsecond

// spin waits without sleeping, until something is posted.
func (l *Loop) spin(wait time.Duration) {
	for until := time.Now().Add(wait); time.Now().Before(until); runtime.Gosched() {
		select {
		case <-l.wake:
			return
		default:
		}
	}
}

// turn takes one step, and says how long there will be nothing to do unless
// something is posted.
func (l *Loop) turn() (wait time.Duration, busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.step() {
		return 0, true
	}
	if t := l.next(); t != nil {
		return max(t.at-l.elapsed(), 0), false
	}
	return time.Hour, false
}

// Left is how much time a context has before its deadline, if it has one.
func Left(ctx context.Context) (time.Duration, bool) {
	deadline, ok := ctx.Deadline()
	return time.Until(deadline), ok
}
