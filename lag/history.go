package lag

import (
	"math"
	"slices"
	"time"
)

// maxPoints bounds the points of one history. Points that no group needs any
// more are dropped in any case; what a group far behind needs beyond this many
// is thinned out, with gaps that grow with their age.
const maxPoints = 128

// clockTolerance is by how much the clock that dated a record may be ahead of
// the exporter's before it counts as skewed.
const clockTolerance = time.Second

// A history that may be asked about the same offset for ever, without success,
// spends a token for each question and gets one back a minute.
const (
	maxTokens   = 24
	tokenRefill = time.Minute
)

// history is what is known about when the offsets of one partition were
// appended. It is fed by what the exporter saw itself (the log's end at a time)
// and by what the broker's time index answered (the first offset whose record
// has at least a timestamp), and says between which moments an offset was
// appended.
//
// What it was told it keeps as points, in the order of their offsets:
//
//	                 before   after
//	offsets ────────────▶┃     ┃◀──────────── offsets
//	below the point:     ┃     ┃     at or above it:
//	appended by then     ┃     ┃     appended no earlier
//
// An idle log has one point whose two moments move apart; a busy one has one
// point a sweep, with both moments at the sweep.
//
// A log that loses its tail to a change of leader, and grows again, has other
// records at the same offsets. What was said of the offsets at or above a point
// stays true: what lies there now was appended later still. What was said of
// those below it stays true only as far as nothing was cut off: below the high
// watermark, which no leader that was in sync begins under (rule F5).
//
// A high watermark that is read alone tells nothing of what lies at or above it: the
// log may reach further. Of a log whose end was never told it is all there is, and
// counts as the end.
type history struct {
	points []point

	// told: the log's end was told at least once.
	told bool

	// durable is the high watermark as last read: what lies below it is not cut
	// off, but by an unclean election. epoch is that of the leader who was asked
	// last.
	durable Offset
	epoch   LeaderEpoch

	tokens   int
	refilled time.Time
}

// point is one piece of knowledge. Moments are Unix milliseconds.
type point struct {
	offset Offset

	// before: what lies below the offset had been appended by then.
	// after: what lies at or above it was appended then or later.
	before, after int64

	// exact: the record at offset is dated after, to the millisecond.
	exact bool

	// skewed: the record at offset is dated later than it was seen. All offsets
	// behind it look as young, as the time index finds this one first.
	skewed bool
}

// Dating is an answer of ListOffsets by timestamp: the first offset of a
// partition whose record is not older than the timestamp, and the timestamp of
// that record.
type Dating struct {
	Asked time.Time
	// Offset is the offset that was found; unknown if every record below the
	// high watermark is older.
	Offset Optional[Offset]
	Dated  time.Time // the record's timestamp; only where Offset is known
}

// see takes in that the log ended at an offset, no lower than the last point, at
// some moment of a window; or, where least says so, that it reached at least as far.
func (h *history) see(end Offset, within *Window, least bool) {
	sent, answered := within.Sent.UnixMilli(), within.Answered.UnixMilli()
	n := len(h.points)
	if n == 0 && least {
		return
	}
	if n > 0 {
		last := &h.points[n-1]
		if least {
			sent = last.after
		}
		if last.offset == end {
			last.after = max(last.after, sent)
			last.exact, last.skewed = false, false // of a record that may be gone
			return
		}
		answered = max(answered, last.after)
		sent = max(sent, last.after)
	}
	h.points = append(h.points, point{offset: end, before: answered, after: sent})
	for len(h.points) > maxPoints {
		h.thin()
	}
}

// truncate takes in that since the last look the log may have been cut off at from
// or above, and have grown again; by the moment now it reached as far as end.
func (h *history) truncate(from, end Offset, now int64) {
	i := h.at(from)
	for n := len(h.points); n > 0 && h.points[n-1].offset > end; n-- {
		h.points = h.points[:n-1]
	}
	if i >= 0 && i < len(h.points) && h.points[i].offset == from {
		h.points[i].exact, h.points[i].skewed = false, false // of a record that may be gone
	}
	for i++; i < len(h.points); i++ {
		p := &h.points[i]
		p.before = max(now, p.after)
		p.exact, p.skewed = false, false
	}
}

// at returns the place of the last point at or below an offset; −1 if there is
// none. Between two points it adds one at the offset, which says what they say.
func (h *history) at(offset Offset) int {
	i := h.floor(offset)
	if i < 0 || i+1 == len(h.points) || h.points[i].offset == offset {
		return i
	}
	low, high := &h.points[i], &h.points[i+1]
	h.points = slices.Insert(h.points, i+1, point{offset: offset, before: high.before, after: low.after, skewed: low.skewed})
	return i + 1
}

// date takes in an answer of the broker's time index. It returns false if the
// answer dates a record later than it was seen here: then the clock of who
// dated it is ahead of ours.
func (h *history) date(d Dating) bool {
	if len(h.points) == 0 {
		return true
	}
	h.tokens--
	asked := d.Asked.UnixMilli()
	offset, found := d.Offset.Get()
	switch end := h.points[len(h.points)-1].offset; {
	case !found: // below the high watermark: the index tells of nothing above it
		if i := h.at(h.durable); i >= 0 {
			h.narrow(i, asked)
		}
		return true
	case offset >= end:
		h.narrow(len(h.points)-1, asked)
		return true
	}
	i, at := slices.BinarySearchFunc(h.points, offset, func(p point, o Offset) int { return int(min(max(p.offset-o, -1), 1)) })
	upper := i
	if at {
		upper++
	}
	known := point{offset: offset, before: asked, after: d.Dated.UnixMilli(), exact: true}
	if latest := h.points[upper].before; known.after > latest {
		known.skewed = known.after-latest > clockTolerance.Milliseconds()
		known.after = latest
	}
	earliest := int64(math.MinInt64)
	if upper > 0 {
		earliest = h.points[upper-1].after
	}
	known.after = max(known.after, earliest)
	if at {
		p := &h.points[i]
		p.after, p.exact, p.skewed = known.after, true, known.skewed
		h.narrow(i, known.before)
	} else {
		h.points = slices.Insert(h.points, i, known)
		h.narrow(i, known.before)
		if len(h.points) > maxPoints {
			h.thin()
		}
	}
	return !known.skewed
}

// narrow takes in that what lies below a point had been appended by a moment.
// The moment before which the points below it say that nothing was appended
// stands.
func (h *history) narrow(i int, before int64) {
	p := &h.points[i]
	if i > 0 {
		before = max(before, h.points[i-1].after)
	}
	p.before = min(p.before, before)
}

// forgetBelow drops what nobody needs who asks about offset and above.
func (h *history) forgetBelow(offset Offset) {
	drop := 0
	for drop+1 < len(h.points) && h.points[drop+1].offset <= offset {
		drop++
	}
	if drop > 0 {
		h.points = slices.Delete(h.points, 0, drop)
	}
}

// thin drops the point whose loss leaves the shortest gap in relation to its
// age. The first and the last stay.
func (h *history) thin() {
	now := h.points[len(h.points)-1].after
	drop, least := 1, math.Inf(1)
	for i := 1; i < len(h.points)-1; i++ {
		gap := h.points[i+1].before - h.points[i-1].after
		if loss := float64(gap) / float64(max(1, now-h.points[i].after)); loss < least {
			drop, least = i, loss
		}
	}
	h.points = slices.Delete(h.points, drop, drop+1)
}

// span is a stretch of time in which something happened, and the moment in it
// that is the best guess.
type span struct{ from, to, best int64 }

// width is by how much the best guess may be wrong.
func (s span) width() time.Duration { return time.Duration(s.to-s.from) * time.Millisecond }

// appended returns when an offset was appended; ok is false if that is not
// bounded on both sides.
func (h *history) appended(offset Offset) (s span, ok bool) {
	i := h.floor(offset)
	if i < 0 || i+1 == len(h.points) {
		return span{}, false
	}
	low, high := &h.points[i], &h.points[i+1]
	if low.exact && low.offset == offset {
		return span{low.after, low.after, low.after}, true
	}
	if low.skewed {
		return span{low.after, low.after, low.after}, true
	}
	s = span{from: low.after, to: max(low.after, high.before)}
	part := float64(offset - low.offset)
	if !low.exact {
		part += 0.5 // as likely at the beginning of the stretch as at its end
	}
	s.best = s.from + int64(part/float64(high.offset-low.offset)*float64(s.to-s.from))
	return s, true
}

// floor returns the place of the last point at or below an offset; −1 if there
// is none.
func (h *history) floor(offset Offset) int {
	i, _ := slices.BinarySearchFunc(h.points, offset, func(p point, o Offset) int {
		if p.offset <= o {
			return -1
		}
		return 1
	})
	return i - 1
}

// age returns how long ago an offset was appended, as of a moment. ok is false
// while it is not known well enough: to two periods, or to an eighth of itself; and
// where it is not plausible: clients date records as they like, and one that they
// date so long ago was not appended then.
func (h *history) age(offset Offset, at time.Time, period time.Duration) (age time.Duration, ok bool) {
	s, bounded := h.appended(offset)
	if !bounded {
		return 0, false
	}
	age = s.age(at)
	return age, s.width() <= max(2*period, age/8) && age < plausibleAge
}

// age is how long ago the best guess was; never negative.
func (s span) age(at time.Time) time.Duration { return max(0, at.Sub(time.UnixMilli(s.best))) }

// settled says whether there is nothing to ask about an offset: this exporter
// saw it being appended, and knows when well enough, or the answers of the time
// index about it are as fine as is worth a request.
func (h *history) settled(offset Offset, at time.Time, period time.Duration) bool {
	age, ok := h.age(offset, at, period)
	if !ok || !h.points[h.floor(offset)].exact {
		return ok
	}
	s, _ := h.appended(offset)
	return s.width() <= max(time.Second, age/16)
}

// probe returns the timestamp to ask the broker's time index for, so that the
// answer tells most about when an offset was appended; ok is false if nothing
// can be learnt, or too much was asked in vain.
//
// The first question is for the oldest record. From then on a question is where
// the offset would be if the log had grown evenly, or where the age is halved:
// in turn, as the first finds its way fast on an even log, the second on any.
func (h *history) probe(offset Offset, at time.Time) (timestamp time.Time, ok bool) {
	i := h.floor(offset)
	if h.tokens <= 0 || i+1 == len(h.points) || i >= 0 && h.points[i].skewed {
		return time.Time{}, false
	}
	if i < 0 {
		return time.UnixMilli(0), true
	}
	low, high := &h.points[i], &h.points[i+1]
	from, to := low.after, high.before
	if low.exact && low.offset == offset || to-from <= 1 {
		return time.Time{}, false
	}
	guess := from + int64(float64(offset-low.offset+1)/float64(high.offset-low.offset+1)*float64(to-from))
	if h.tokens%2 == 0 {
		now := at.UnixMilli()
		guess = now - int64(math.Sqrt(float64(max(1, now-from))*float64(max(1, now-to))))
	}
	return time.UnixMilli(min(max(guess, from+1), to)), true
}

// refill gives back tokens for the time that has passed.
func (h *history) refill(at time.Time) {
	if h.refilled.IsZero() {
		h.tokens, h.refilled = maxTokens, at
		return
	}
	n := int(at.Sub(h.refilled) / tokenRefill)
	if n > 0 {
		h.tokens = min(maxTokens, h.tokens+n)
		h.refilled = h.refilled.Add(time.Duration(n) * tokenRefill)
	}
}
