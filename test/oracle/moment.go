package oracle

import (
	"math"
	"sort"
	"time"
)

// moment is nanoseconds since the Unix epoch.
type moment int64

// The two ends of time. What never happened for certain has the latest moment
// never.
const (
	always moment = math.MinInt64
	never  moment = math.MaxInt64
)

func momentOf(t time.Time) moment {
	if t.IsZero() {
		return never
	}
	return moment(t.UnixNano())
}

// add moves a moment; the ends of time stay where they are.
func (m moment) add(d time.Duration) moment {
	if m == never || m == always {
		return m
	}
	return m + moment(d)
}

// window is an event that happened once, at an unknown moment from early to
// late; late is never where it may not have happened at all.
type window struct{ early, late moment }

func (a Act) window() window { return window{momentOf(a.Sent), momentOf(a.Answered)} }

// possibleIn says whether the event may have happened by the end of [s, e].
func (w window) possibleBy(e moment) bool { return w.early <= e }

// certainBy says whether the event has happened before s.
func (w window) certainBy(s moment) bool { return w.late < s }

// order makes windows agree with the order of their events: none happened
// before the one in front of it, nor after the one behind it.
func order(ws []window) {
	for i := 1; i < len(ws); i++ {
		ws[i].early = max(ws[i].early, ws[i-1].early)
	}
	for i := len(ws) - 2; i >= 0; i-- {
		ws[i].late = min(ws[i].late, ws[i+1].late)
	}
	for i := range ws {
		ws[i].late = max(ws[i].late, ws[i].early)
	}
}

// steps is a quantity that only grows: before the first event it is first, and
// event i makes it values[i]. Its windows are in order.
type steps struct {
	first   int64
	values  []int64
	windows []window
	// reverts is a moment from which on it may stand at any earlier value again;
	// never if it is not set. See fleet.killedAfter.
	reverts moment
	// amid says of a value between two of values whether it may have stood there, at
	// any moment, on its way from one to the other; nil: at none.
	amid func(int64) bool
}

// most is the greatest value of [s, e], those amid included.
func (q *steps) most(s, e moment) int64 {
	_, hi := q.between(s, e)
	switch {
	case q.amid == nil:
		return q.value(hi)
	case hi+1 < len(q.values):
		return q.value(hi + 1)
	}
	return math.MaxInt64
}

// between is the range of events [lo, hi] after which the quantity may have
// stood at some moment of [s, e]; -1 stands for "before the first event".
func (q *steps) between(s, e moment) (lo, hi int) {
	// The quantity may still stand after event i unless event i+1 is certain.
	lo = sort.Search(len(q.windows), func(i int) bool { return !q.windows[i].certainBy(s) }) - 1
	if q.reverts <= e {
		lo = -1
	}
	hi = sort.Search(len(q.windows), func(i int) bool { return !q.windows[i].possibleBy(e) }) - 1
	return lo, max(lo, hi)
}

func (q *steps) value(i int) int64 {
	if i < 0 {
		return q.first
	}
	return q.values[i]
}

// holds says whether v is among the values of some moment of [s, e].
func (q *steps) holds(v int64, s, e moment) bool {
	lo, hi := q.between(s, e)
	for i := lo; i <= hi; i++ {
		if q.value(i) == v {
			return true
		}
	}
	return q.amid != nil && q.value(lo) < v && v < q.most(s, e) && q.amid(v)
}

// earliest is the first moment from s on at which the quantity may be at least v.
func (q *steps) earliest(v int64, s moment) moment {
	if q.first >= v {
		return s
	}
	i := sort.Search(len(q.values), func(i int) bool { return q.values[i] >= v })
	if i == len(q.values) {
		return never
	}
	return max(s, q.windows[i].early)
}

// bounds are the least and greatest value of [s, e].
func (q *steps) bounds(s, e moment) (least, most int64) {
	lo, hi := q.between(s, e)
	return q.value(lo), q.value(hi)
}
