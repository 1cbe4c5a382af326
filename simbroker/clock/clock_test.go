package clock

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

var start = time.UnixMilli(1_000_000)

// record notes what happens and when, in milliseconds from the start.
type record struct {
	loop *Loop
	got  []string
	at   []int64
}

func (r *record) note(name string) func() {
	return func() {
		r.got = append(r.got, name)
		r.at = append(r.at, r.loop.Now().Sub(start).Milliseconds())
	}
}

func (r *record) want(t *testing.T, names ...string) {
	t.Helper()
	if !slices.Equal(r.got, names) {
		t.Errorf("ran %v, want %v", r.got, names)
	}
}

func TestEventsRunByTimeThenInTheOrderOfAsking(t *testing.T) {
	l := NewSimulated(start)
	r := &record{loop: l}
	l.Do(func() {
		l.After(20*time.Millisecond, r.note("late"))
		l.After(10*time.Millisecond, r.note("first"))
		l.After(10*time.Millisecond, r.note("second"))
		l.After(0, r.note("now"))
	})
	r.want(t, "now")
	l.Advance(10 * time.Millisecond)
	r.want(t, "now", "first", "second")
	l.Advance(time.Second)
	r.want(t, "now", "first", "second", "late")
	if want := []int64{0, 10, 10, 20}; !slices.Equal(r.at, want) {
		t.Errorf("at %v, want %v", r.at, want)
	}
	if got := l.Now().Sub(start); got != 1010*time.Millisecond {
		t.Errorf("time stands at %v", got)
	}
}

func TestStoppedTimersDoNotRunAndLeaveNothingBehind(t *testing.T) {
	l := NewSimulated(start)
	r := &record{loop: l}
	var none *Timer
	none.Stop()
	var timers []*Timer
	for i := range 100 {
		timers = append(timers, l.After(time.Duration(i%7)*time.Millisecond, r.note("stopped")))
	}
	l.After(3*time.Millisecond, r.note("kept"))
	for _, timer := range timers {
		timer.Stop()
		timer.Stop()
	}
	if len(l.events) != 1 {
		t.Errorf("%d events are kept", len(l.events))
	}
	l.Advance(time.Second)
	r.want(t, "kept")
}

func TestRunUntilStopsAsSoonAsDone(t *testing.T) {
	l := NewSimulated(start)
	r := &record{loop: l}
	l.After(time.Second, r.note("answer"))
	l.After(2*time.Second, r.note("later"))
	answered := func() bool { return len(r.got) > 0 }
	if !l.RunUntil(answered, start.Add(time.Minute)) {
		t.Error("no answer")
	}
	if got := l.Now().Sub(start); got != time.Second {
		t.Errorf("time stands at %v, want 1s", got)
	}
	if l.RunUntil(func() bool { return false }, start.Add(time.Minute)) {
		t.Error("done though it is not")
	}
	if got := l.Now().Sub(start); got != time.Minute {
		t.Errorf("time stands at %v, want the limit", got)
	}
}

func TestPostedFunctionsRunInOrder(t *testing.T) {
	l := NewSimulated(start)
	r := &record{loop: l}
	l.Post(r.note("one"))
	l.Post(func() { l.Post(r.note("three")) })
	l.Post(r.note("two"))
	r.want(t)
	l.Do(func() {})
	r.want(t, "one", "two", "three")
}

func TestWallClockRunsByItself(t *testing.T) {
	l := NewWall()
	defer l.Close()
	ran := make(chan struct{})
	l.Do(func() { l.After(time.Millisecond, func() { close(ran) }) })
	<-ran
	posted := make(chan struct{})
	l.Post(func() { close(posted) })
	<-posted
}

// On the wall clock too, what falls due during an Advance happens at its own
// moment, so that heartbeats come before the sessions that they renew expire.
func TestAdvanceOnTheWallClockGoesThroughEveryMoment(t *testing.T) {
	l := NewWall()
	defer l.Close()
	expired, beats := false, 0
	var session *Timer
	var beat func()
	renew := func() {
		session.Stop()
		session = l.After(3*time.Hour, func() { expired = true })
	}
	beat = func() {
		beats++
		l.After(time.Minute, renew) // the heartbeat on its way
		l.After(time.Hour, beat)
	}
	var before time.Time
	l.Do(func() {
		before = l.Now()
		renew()
		beat()
	})
	l.Advance(24*time.Hour + 30*time.Minute)
	l.Do(func() {
		if expired || beats != 25 {
			t.Errorf("after a day and a half hour: session expired %v, %d heartbeats, want 25", expired, beats)
		}
		if d := l.Now().Sub(before); d < 24*time.Hour || d > 25*time.Hour {
			t.Errorf("the clock moved by %v", d)
		}
	})
}

// Do gets its turn on a loop that never runs out of events.
func TestDoOnABusyLoop(t *testing.T) {
	l := NewWall()
	defer l.Close()
	var spin func()
	stop := false
	spin = func() {
		if !stop {
			l.After(0, spin)
		}
	}
	l.Do(func() { l.After(time.Millisecond, spin) })
	for range 10 {
		l.Do(func() {})
	}
	l.Do(func() { stop = true })
}

func TestConcurrentPostAndDo(t *testing.T) {
	l := NewWall()
	n := 0
	var all sync.WaitGroup
	for range 8 {
		all.Add(1)
		go func() {
			defer all.Done()
			for range 100 {
				l.Post(func() { n++ })
				l.Do(func() { n++ })
			}
		}()
	}
	all.Wait()
	l.Do(func() {
		if n != 1600 {
			t.Errorf("%d events ran, want 1600", n)
		}
	})
	l.Close()
	l.Close()
}

func TestPausedHostHoldsItsEventsBack(t *testing.T) {
	l := NewSimulated(start)
	r := &record{loop: l}
	h := NewHost(l)
	h.After(time.Second, r.note("timer"))
	stopped := h.After(time.Second, r.note("stopped while held"))
	l.After(2*time.Second, h.Bind(r.note("message")))
	h.Pause()
	h.Run(r.note("request"))
	l.Advance(time.Minute)
	r.want(t)
	stopped.Stop()
	l.Do(h.Resume)
	r.want(t, "request", "timer", "message")
	if r.at[0] != 60_000 {
		t.Errorf("ran at %v, want when it was resumed", r.at)
	}
	h.Run(r.note("at once"))
	r.want(t, "request", "timer", "message", "at once")
}

func TestPausedAgainWhileResuming(t *testing.T) {
	l := NewSimulated(start)
	r := &record{loop: l}
	h := NewHost(l)
	h.Pause()
	h.Run(h.Pause)
	h.Run(r.note("left"))
	h.Resume()
	r.want(t)
	h.Resume()
	r.want(t, "left")
}

func TestKilledHostForgets(t *testing.T) {
	l := NewSimulated(start)
	r := &record{loop: l}
	h := NewHost(l)
	h.After(time.Second, r.note("timer of an earlier life"))
	l.After(time.Second, h.Bind(r.note("message to an earlier life")))
	h.Pause()
	h.Run(r.note("held back"))
	h.Kill()
	if h.Paused() {
		t.Error("a new life starts paused")
	}
	h.After(2*time.Second, r.note("timer of the new life"))
	l.Advance(time.Minute)
	r.want(t, "timer of the new life")
}

func TestResetMovesAnEventOrHasItHappenOnceMore(t *testing.T) {
	l := NewSimulated(start)
	r := &record{loop: l}
	h := NewHost(l)
	timer := h.After(10*time.Millisecond, r.note("timer"))
	h.After(15*time.Millisecond, r.note("other"))
	timer.Reset(20 * time.Millisecond)
	l.Advance(time.Second)
	r.want(t, "other", "timer")
	timer.Reset(time.Millisecond)
	timer.Stop()
	l.Advance(time.Second)
	r.want(t, "other", "timer")
	timer.Reset(time.Millisecond)
	l.Advance(time.Second)
	r.want(t, "other", "timer", "timer")
	if want := []int64{15, 20, 2001}; !slices.Equal(r.at, want) {
		t.Errorf("at %v, want %v", r.at, want)
	}

	// What a paused host holds back is over with a Reset, too.
	h.Pause()
	l.Do(func() {
		h.Run(func() { timer.Reset(time.Millisecond) })
		timer.Reset(0)
	})
	h.Resume()
	r.want(t, "other", "timer", "timer")
	l.Advance(time.Second)
	r.want(t, "other", "timer", "timer", "timer")
}

// However many events come and go, they happen in order.
func TestManyEventsInOrder(t *testing.T) {
	l := NewSimulated(start)
	random := rand.New(rand.NewPCG(1, 2))
	var timers []*Timer
	var last time.Time
	ran := 0
	for range 5000 {
		timers = append(timers, l.After(time.Duration(random.IntN(1000))*time.Millisecond, func() {
			if l.Now().Before(last) {
				t.Fatalf("at %v after %v", l.Now(), last)
			}
			last = l.Now()
			ran++
		}))
	}
	for i, timer := range timers {
		switch i % 5 {
		case 0:
			timer.Stop()
		case 1:
			timer.Reset(time.Duration(random.IntN(1000)) * time.Millisecond)
		}
	}
	l.Advance(time.Second)
	if ran != 4000 {
		t.Errorf("%d events ran, want 4000", ran)
	}
}
