package lag

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// logbook is the truth about one partition: when each offset was appended, and
// the timestamp of its record.
type logbook struct {
	first    Offset // the log start
	appended []time.Time
	dated    []time.Time
}

// append appends n records at a moment, dated by a clock that is ahead.
func (l *logbook) append(at time.Time, n int, ahead time.Duration) {
	for range n {
		l.appended = append(l.appended, at)
		l.dated = append(l.dated, at.Add(ahead).Truncate(time.Millisecond))
	}
}

// end is the log end offset.
func (l *logbook) end() Offset { return Offset(len(l.appended)) }

// find answers as ListOffsets by timestamp does (rule E8): the first position
// in the log whose record is not older.
func (l *logbook) find(timestamp time.Time) Dating {
	d := Dating{Asked: timestamp}
	for o := l.first; o < l.end(); o++ {
		if !l.dated[o].Before(timestamp) {
			d.Offset, d.Dated = Known(o), l.dated[o]
			break
		}
	}
	return d
}

// learn asks the log about an offset as often as the history wants to, and
// returns how often that was.
func (h *history) learn(l *logbook, offset Offset, at time.Time, period time.Duration) (asked, skewed int) {
	h.refill(at)
	for {
		if h.settled(offset, at, period) {
			return asked, skewed
		}
		timestamp, ok := h.probe(offset, at)
		if !ok {
			return asked, skewed
		}
		asked++
		if !h.date(l.find(timestamp)) {
			skewed++
		}
	}
}

const tick = 10 * time.Second

// look takes in a look at a log whose records are all replicated.
func (h *history) look(end Offset, at time.Time) { h.take(looked(0, end, end, at)) }

// looked is a partition as a sweep reads it, at one moment.
func looked(epoch LeaderEpoch, highWatermark, end Offset, at time.Time) *Partition {
	return &Partition{LeaderEpoch: epoch, HighWatermark: Reading{highWatermark, instant(at)}, LogEnd: Reading{end, instant(at)}}
}

// instant is the window of an answer that took no time.
func instant(t time.Time) *Window { return &Window{Sent: t, Answered: t} }

// TestHistoryFindsTheAgeAtStart: an exporter that has just started asks the
// broker's time index a bounded number of times, whatever the log looks like,
// and is right to an eighth.
func TestHistoryFindsTheAgeAtStart(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 1))
	logs := map[string]func(l *logbook, from, to time.Time){
		"even": func(l *logbook, from, to time.Time) {
			for at := from; at.Before(to); at = at.Add(to.Sub(from) / 5000) {
				l.append(at, 1, 0)
			}
		},
		"bursts": func(l *logbook, from, to time.Time) {
			for at := from; at.Before(to); at = at.Add(time.Duration(1 + rnd.Int64N(int64(to.Sub(from)/20)))) {
				l.append(at, 1+rnd.IntN(400), 0)
			}
		},
		"a pause in the middle": func(l *logbook, from, to time.Time) {
			for i := range 1000 {
				l.append(from.Add(time.Duration(i)*time.Millisecond), 1, 0)
			}
			for i := range 1000 {
				l.append(to.Add(time.Duration(i-1000)*time.Millisecond), 1, 0)
			}
		},
		"ever busier": func(l *logbook, from, to time.Time) {
			for age := to.Sub(from); age > 0; age = age * 999 / 1000 {
				l.append(to.Add(-age), 1, 0)
			}
		},
		"one record": func(l *logbook, from, to time.Time) { l.append(from, 1, 0) },
	}
	for name, fill := range logs {
		for _, span := range []time.Duration{time.Minute, 24 * time.Hour, 365 * 24 * time.Hour} {
			t.Run(fmt.Sprint(name, " over ", span), func(t *testing.T) {
				l := &logbook{}
				fill(l, start, start.Add(span))
				now := start.Add(span + time.Second)
				worst := 0
				for range 100 {
					offset := Offset(rnd.Int64N(int64(l.end())))
					var h history
					h.look(l.end(), now)
					asked, _ := h.learn(l, offset, now, tick)
					worst = max(worst, asked)
					age, ok := h.age(offset, now, tick)
					truth := now.Sub(l.appended[offset])
					if !ok {
						t.Fatalf("offset %d of %d: not known after %d questions: %+v", offset, l.end(), asked, h.points)
					}
					if off := (age - truth).Abs(); off > max(2*tick, truth/7) {
						t.Errorf("offset %d: age %v, in truth %v", offset, age, truth)
					}
				}
				if worst > 16 {
					t.Errorf("%d questions", worst)
				}
				t.Logf("at most %d questions", worst)
			})
		}
	}
}

// TestHistoryOfItsOwn: without a single question, the age of whatever was
// appended while the exporter watched is known to two periods or an eighth of
// itself, over bursts and pauses, in bounded memory.
func TestHistoryOfItsOwn(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 2))
	for name, step := range map[string]func(sweep int) int{
		"even":        func(int) int { return 10 },
		"bursts":      func(int) int { return max(0, rnd.IntN(400)-380) * 1000 },
		"a long rest": func(i int) int { return map[bool]int{true: 0, false: 5}[i > 3000 && i < 6000] },
	} {
		t.Run(name, func(t *testing.T) {
			l := &logbook{}
			var h history
			const sweeps = 10_000 // more than a day
			now := start
			for i := range sweeps {
				if n := step(i); n > 0 {
					l.append(now.Add(time.Duration(rnd.Int64N(int64(tick)))), n, 0)
				}
				now = now.Add(tick)
				h.look(l.end(), now)
				if len(h.points) > maxPoints {
					t.Fatalf("%d points", len(h.points))
				}
			}
			unknown, worst := 0, 0.0
			first := h.points[0].offset
			for range 2000 {
				offset := first + Offset(rnd.Int64N(int64(l.end()-first)))
				age, ok := h.age(offset, now, tick)
				truth := now.Sub(l.appended[offset])
				if !ok {
					unknown++
					continue
				}
				off := (age - truth).Abs()
				if off > max(2*tick, truth/7) {
					t.Errorf("offset %d: age %v, in truth %v", offset, age, truth)
				}
				if truth > 16*tick {
					worst = max(worst, off.Seconds()/truth.Seconds())
				}
			}
			t.Logf("unknown %d of 2000, at most %.3f of the age wrong", unknown, worst)
			if unknown > 0 {
				t.Errorf("the age of %d of 2000 offsets is not known", unknown)
			}
		})
	}
}

func TestHistory(t *testing.T) {
	second := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
	for _, c := range []struct {
		reason string
		do     func(h *history, l *logbook) time.Time // returns now
		offset Offset
		want   string
	}{
		{"nothing is known of what was there at the first look", func(h *history, l *logbook) time.Time {
			l.append(start, 10, 0)
			h.look(10, second(100))
			return second(100)
		}, 5, "unknown"},
		{"one record between two looks: the middle", func(h *history, l *logbook) time.Time {
			h.look(10, second(0))
			h.look(11, second(10))
			return second(20)
		}, 10, "15s"},
		{"four records between two looks: the last of them", func(h *history, l *logbook) time.Time {
			h.look(10, second(0))
			h.look(14, second(8))
			return second(8)
		}, 13, "1s"},
		{"a rest before a record says that it is young", func(h *history, l *logbook) time.Time {
			h.look(10, second(0))
			h.look(10, second(1000))
			h.look(11, second(1010))
			return second(1010)
		}, 10, "5s"},
		{"a log that was not looked at for long is not known well enough", func(h *history, l *logbook) time.Time {
			h.look(10, second(0))
			h.look(11, second(1000))
			return second(1010)
		}, 10, "unknown"},
		{"what is not appended yet has no age", func(h *history, l *logbook) time.Time {
			h.look(10, second(0))
			h.look(11, second(10))
			return second(20)
		}, 11, "unknown"},
		{"a truncated log forgets what was cut off", func(h *history, l *logbook) time.Time {
			h.look(10, second(0))
			h.look(20, second(10))
			h.look(15, second(20))
			h.look(16, second(30))
			return second(30)
		}, 15, "5s"},
		{"asked: dated to the millisecond", func(h *history, l *logbook) time.Time {
			l.append(second(7), 1, 0)
			l.append(second(400), 9, 0)
			h.look(10, second(1000))
			h.learn(l, 0, second(1000), tick)
			return second(1000)
		}, 0, "16m33s"},
		{"an unclean election of a log that begins at 0 replaces a record that was dated", func(h *history, l *logbook) time.Time {
			l.append(second(995), 1, 0)
			l.append(second(1000), 9, 0)
			h.look(10, second(1000))
			h.learn(l, 0, second(1000), tick)
			h.look(4, second(1010))
			return second(1010)
		}, 0, "13.125s"}, // the middle of the first of four records from second 995 to 1010
		{"so does another leader where the record lies at the high watermark", func(h *history, l *logbook) time.Time {
			h.take(looked(1, 5, 5, second(990)))
			h.take(looked(1, 5, 9, second(1000)))
			h.date(Dating{Asked: second(994), Offset: Known(Offset(5)), Dated: second(995)})
			h.take(looked(2, 9, 9, second(1010)))
			return second(1010)
		}, 5, "13.125s"},
		{"F23: dated 90 s ahead of now: 0, never less", func(h *history, l *logbook) time.Time {
			l.append(second(-10), 5, 0)
			l.append(second(0), 5, 90*time.Second)
			h.look(10, second(0))
			h.learn(l, 5, second(0), tick)
			return second(0)
		}, 5, "0s"},
		{"F23: so are those before it", func(h *history, l *logbook) time.Time {
			l.append(second(0), 10, 90*time.Second)
			h.look(10, second(0))
			h.learn(l, 5, second(0), tick)
			return second(0)
		}, 5, "0s"},
		{"one record from the future makes all behind it as young as the exporter", func(h *history, l *logbook) time.Time {
			l.append(second(-5000), 1, 2*time.Hour)
			l.append(second(-400), 9, 0)
			h.look(10, second(0))
			h.learn(l, 8, second(0), tick)
			return second(30)
		}, 8, "30s"},
		{"a record that was backdated by years is no older than this exporter saw", func(h *history, l *logbook) time.Time {
			h.look(0, second(0))
			l.append(second(5), 9, -20*365*24*time.Hour)
			h.look(9, second(10))
			return second(100)
		}, 4, "1m35s"},
		{"the clock of the exporter is set back", func(h *history, l *logbook) time.Time {
			h.look(10, second(100))
			h.look(12, second(50))
			h.look(14, second(110))
			return second(110)
		}, 11, "10s"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			h, l := &history{}, &logbook{}
			now := c.do(h, l)
			got := "unknown"
			if age, ok := h.age(c.offset, now, tick); ok {
				got = age.String()
			}
			if got != c.want {
				t.Errorf("age %s, want %s: %+v", got, c.want, h.points)
			}
			if !slices.IsSortedFunc(h.points, func(a, b point) int { return int(a.offset - b.offset) }) {
				t.Errorf("points out of order: %+v", h.points)
			}
		})
	}
}

// TestHistoryOfATruncatedLog: what a leader took with it, and what its successor
// appended at the same offsets, does not date each other.
func TestHistoryOfATruncatedLog(t *testing.T) {
	type view struct {
		second   int
		epoch    LeaderEpoch
		hwm, end Offset // end −1: the broker does not tell
	}
	for _, c := range []struct {
		reason string
		looks  []view
		dating int // the second for which the index is asked at the last look, in vain; 0: it is not
		offset Offset
		want   string
	}{
		{"no change: the first look that saw it bounds it", []view{{0, 1, 5, 5}, {10, 1, 5, 9}, {20, 1, 9, 9}}, 0, 7, "0 to 10"},
		{"above the high watermark, and another leader: it may be as young as the next look",
			[]view{{0, 1, 5, 5}, {10, 1, 5, 9}, {20, 2, 9, 9}}, 0, 7, "0 to 20"},
		{"behind what may have been cut off it is no older than the look before",
			[]view{{0, 1, 5, 5}, {10, 1, 5, 9}, {20, 2, 14, 14}}, 0, 9, "10 to 20"},
		{"below the high watermark the looks before hold",
			[]view{{0, 1, 2, 2}, {10, 1, 5, 9}, {20, 1, 5, 9}, {30, 2, 9, 9}}, 0, 4, "0 to 10"},
		{"below it though it was seen to be durable only later",
			[]view{{0, 1, 2, 2}, {10, 1, 5, 9}, {20, 1, 9, 9}, {30, 2, 12, 12}}, 0, 7, "0 to 10"},
		{"the log end goes back under a leader of whom no epoch is told",
			[]view{{0, -1, 5, 5}, {10, -1, 5, 12}, {20, -1, 5, 9}, {30, -1, 9, 12}}, 0, 10, "20 to 30"},
		{"and what is there above the high watermark may be as young as that",
			[]view{{0, -1, 5, 5}, {4, -1, 5, 8}, {8, -1, 5, 12}, {12, -1, 5, 9}, {16, -1, 9, 9}}, 0, 6, "0 to 12"},
		{"an election that was unclean may have dated everything anew",
			[]view{{0, 1, 5, 5}, {10, 1, 10, 10}, {20, 2, 8, 8}, {30, 2, 12, 12}}, 0, 6, "0 to 20"},
		{"another leader, whose log end is not told: what lies above the high watermark is not counted on",
			[]view{{0, 1, 5, 5}, {10, 1, 5, 9}, {20, 2, 6, -1}, {30, 2, 9, -1}}, 0, 7, "0 to 30"},
		{"a log end that is not told is none that went back",
			[]view{{0, 1, 5, 5}, {10, 1, 5, 9}, {20, 1, 6, -1}, {30, 1, 9, -1}}, 0, 7, "0 to 10"},
		{"the high watermark trails, and is read alone: what lies above it may have been there before",
			[]view{{0, 1, 5, 5}, {10, 1, 5, -1}, {20, 1, 9, 9}}, 0, 7, "0 to 20"},
		{"so may what lies above one that has moved on", []view{{0, 1, 5, 5}, {10, 1, 7, -1}, {20, 1, 9, 9}}, 0, 8, "0 to 20"},
		{"and what lies below that was there by then", []view{{0, 1, 5, 5}, {10, 1, 7, -1}, {20, 1, 9, 9}}, 0, 6, "0 to 10"},
		{"a log end that is never told: the high watermark counts in its place", []view{{0, 1, 5, -1}, {10, 1, 5, -1}, {20, 1, 9, -1}}, 0, 7, "10 to 20"},
		{"but no more once it is told", []view{{0, 1, 5, -1}, {10, 1, 5, 9}, {20, 1, 9, 9}}, 0, 7, "unknown"},
		{"nothing is left of it, and the high watermark is read alone",
			[]view{{0, 1, 8, 8}, {10, 2, 4, -1}, {20, 2, 9, 9}}, 0, 5, "unknown"},
		{"the time index tells nothing of what lies above the high watermark",
			[]view{{0, 1, 2, 2}, {20, 1, 5, 9}}, 4, 7, "0 to 20"},
		{"and of what lies below it all that it says", []view{{0, 1, 2, 2}, {20, 1, 5, 9}}, 4, 4, "0 to 4"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var h history
			for i, v := range c.looks {
				p := looked(v.epoch, v.hwm, v.end, start.Add(time.Duration(v.second)*time.Second))
				if v.end < 0 {
					p.LogEnd = Reading{}
				}
				if c.dating > 0 && i == len(c.looks)-1 {
					p.Datings = []Dating{{Asked: start.Add(time.Duration(c.dating) * time.Second)}}
				}
				h.take(p)
			}
			got := "unknown"
			if s, ok := h.appended(c.offset); ok {
				got = fmt.Sprintf("%d to %d", (s.from-start.UnixMilli())/1000, (s.to-start.UnixMilli())/1000)
			}
			if got != c.want {
				t.Errorf("offset %d was appended at second %s, want %s: %+v", c.offset, got, c.want, h.points)
			}
		})
	}
}

// TestHistoryOfALogWhoseLeadersFail: whatever leaders take with them above the high
// watermark, what is told of an offset below it encloses the truth.
func TestHistoryOfALogWhoseLeadersFail(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(7, seed))
		var h history
		l := &logbook{}
		var hwm Offset
		var epoch LeaderEpoch
		for step := range 120 {
			now := start.Add(time.Duration(step) * time.Second)
			switch rnd.IntN(6) {
			case 0, 1:
				l.append(now, 1+rnd.IntN(5), 0)
			case 2:
				hwm += Offset(rnd.Int64N(int64(l.end()-hwm) + 1))
			case 3:
				if rnd.IntN(3) == 0 {
					epoch++
					left := hwm + Offset(rnd.Int64N(int64(l.end()-hwm)+1))
					l.appended, l.dated = l.appended[:left], l.dated[:left]
				}
			default:
				p := looked(epoch, hwm, l.end(), now)
				if h.told && rnd.IntN(4) == 0 {
					p.LogEnd = Reading{}
				}
				h.take(p)
				for o := range hwm {
					if s, ok := h.appended(o); ok && (s.from > l.appended[o].UnixMilli() || s.to < l.appended[o].UnixMilli()) {
						t.Fatalf("seed %d, step %d, offset %d: appended at %d, told [%d, %d]: %+v", seed, step, o, l.appended[o].UnixMilli(), s.from, s.to, h.points)
					}
				}
			}
		}
	}
}

// TestHistoryGivesUp: a log whose answers tell nothing is asked a bounded
// number of times, and then once a minute.
func TestHistoryGivesUp(t *testing.T) {
	l := &logbook{first: 50}
	l.append(start, 100, 0) // the log start has moved behind the offset in question
	var h history
	h.look(100, start)
	asked := 0
	for sweep := range 60 {
		n, _ := h.learn(l, 5, start.Add(time.Duration(sweep)*tick), tick)
		asked += n
	}
	if asked < maxTokens || asked > maxTokens+10 {
		t.Errorf("%d questions in 10 minutes, want %d to %d", asked, maxTokens, maxTokens+10)
	}
}

// TestHistoryDropsWhatNobodyNeeds: a history costs what the group furthest
// behind needs.
func TestHistoryDropsWhatNobodyNeeds(t *testing.T) {
	var h history
	for i := range 100 {
		h.look(Offset(i), start.Add(time.Duration(i)*tick))
	}
	h.forgetBelow(97)
	if len(h.points) != 3 || h.points[0].offset != 97 {
		t.Errorf("points %+v, want those at 97, 98 and 99", h.points)
	}
	h.forgetBelow(1000)
	if len(h.points) != 1 {
		t.Errorf("points %+v, want the last one", h.points)
	}
}
