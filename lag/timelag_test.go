package lag

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// story is a partition and its consumer, ten seconds a step.
type story struct {
	reason   string
	steps    int
	produced func(step int) int // records in that step
	consumed func(step int, committed, end Offset) Offset
	start    func(step int, end Offset) Offset // log start
	held     func(step int, end Offset) Offset // last stable offset
	ahead    time.Duration                     // by how much the producers' clock is ahead
	restarts func(step int) bool               // of the exporter
	deaf     bool                              // the time index does not answer
}

// TestTimeLag compares the ages that a tracker tells with when the records were
// really appended.
func TestTimeLag(t *testing.T) {
	never := func(int) bool { return false }
	even := func(int) int { return 10 }
	whole := func(_ int, end Offset) Offset { return end }
	kept := func(int, Offset) Offset { return 0 }
	half := func(_ int, c, end Offset) Offset { return min(end, c+5) } // falls behind for ever
	for _, s := range []story{
		{reason: "a consumer that falls behind", steps: 2000, produced: even, consumed: half, start: kept, held: whole, restarts: never},
		{reason: "the same, and no time index", steps: 2000, produced: even, consumed: half, start: kept, held: whole, restarts: never, deaf: true},
		{reason: "the exporter restarts", steps: 600, produced: even, consumed: half, start: kept, held: whole,
			restarts: func(i int) bool { return i%150 == 149 }},
		{reason: "bursts", steps: 600, produced: func(i int) int { return (i % 37) / 36 * 2000 }, start: kept, held: whole, restarts: func(i int) bool { return i == 300 },
			consumed: func(_ int, c, end Offset) Offset { return min(end, c+30) }},
		{reason: "producer and consumer pause in turn", steps: 600, start: kept, held: whole, restarts: func(i int) bool { return i == 320 },
			produced: func(i int) int { return 20 * (i / 50 % 2) },
			consumed: func(i int, c, end Offset) Offset { return min(end, c+25*Offset(i/70%2)) }},
		{reason: "retention overtakes a consumer that is dead", steps: 600, produced: even, held: whole, restarts: func(i int) bool { return i == 400 },
			consumed: func(i int, c, end Offset) Offset { return c },
			start:    func(i int, end Offset) Offset { return max(0, end-1000) / 100 * 100 }},
		{reason: "a transaction holds the last stable offset", steps: 300, produced: even, start: kept, restarts: func(i int) bool { return i == 200 },
			consumed: func(i int, c, end Offset) Offset { return min(end, c+9, 1000) },
			held:     func(i int, end Offset) Offset { return min(end, 1000) }},
		{reason: "the producers' clock is a minute ahead", steps: 300, produced: even, consumed: half, start: kept, held: whole, ahead: time.Minute, restarts: never},
	} {
		t.Run(s.reason, func(t *testing.T) { s.play(t) })
	}
}

// play plays the story, and checks every age.
func (s *story) play(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, uint64(len(s.reason))))
	tracker := NewTracker(tick)
	l := &logbook{}
	committed := Offset(0)
	known, due, questions := 0, 0, 0
	sinceStart := 0
	for i := range s.steps {
		now := start.Add(time.Duration(i) * tick)
		moments := make([]time.Duration, s.produced(i))
		for k := range moments {
			moments[k] = time.Duration(rnd.Int64N(int64(tick)))
		}
		slices.Sort(moments)
		for _, d := range moments {
			l.append(now.Add(d), 1, s.ahead)
		}
		now = now.Add(tick)
		committed = s.consumed(i, committed, l.end())
		l.first = s.start(i, l.end())
		if sinceStart++; s.restarts(i) {
			tracker, sinceStart = NewTracker(tick), 1
		}
		lso := s.held(i, l.end())
		row, asked := s.sweep(tracker, l, committed, lso, now)
		questions += asked

		position := max(committed, l.first)
		if committed >= l.end() {
			if row.HWMLagFor != Known(time.Duration(0)) || row.LSOLagFor != Known(time.Duration(0)) {
				t.Fatalf("step %d: everything is read, ages %v and %v", i, row.LSOLagFor, row.HWMLagFor)
			}
			continue
		}
		if position >= lso && row.LSOLagFor.known {
			t.Fatalf("step %d: nothing is readable below %d, age %v", i, lso, row.LSOLagFor.value)
		}
		truth := now.Sub(l.appended[position])
		due++
		age, ok := row.HWMLagFor.Get()
		if !ok {
			continue
		}
		known++
		if lsoAge, ok := row.LSOLagFor.Get(); ok && lsoAge != age {
			t.Fatalf("step %d: ages %v and %v of the same record", i, lsoAge, age)
		}
		// What was appended before the exporter began is dated by the producers,
		// and never later than it was seen.
		allowed := max(2*tick, truth/7) + s.ahead
		if off := (age - truth).Abs(); off > allowed || age < 0 {
			t.Fatalf("step %d, %d since the exporter began: offset %d of %d: age %v, in truth %v", i, sinceStart, position, l.end(), age, truth)
		}
	}
	t.Logf("known %d of %d times, %d questions", known, due, questions)
	if known < due*9/10 && !s.deaf {
		t.Errorf("the age is known in %d of %d sweeps", known, due)
	}
}

// sweep shows the log to a tracker as a sweep would, four rounds of questions
// included, and returns the group's row.
func (s *story) sweep(tracker *Tracker, l *logbook, committed, lso Offset, now time.Time) (row GroupPartitionView, asked int) {
	w := instant(now)
	p := Partition{
		Leader: 1, LogStart: Reading{l.first, w}, LastStable: Reading{lso, w}, HighWatermark: Reading{l.end(), w}, LogEnd: Reading{l.end(), w},
	}
	g := groupOf(TopicCommits{Topic: "t", Partitions: commits(committed)})
	sample := Sample{Started: now, Ended: now, Cluster: Known(Cluster{}), Topics: topic(1, p), Groups: []Group{g}}
	for range 4 {
		wants := tracker.WantDates(&sample)
		if len(wants) == 0 || s.deaf {
			break
		}
		asked += len(wants)
		read := &sample.Topics[0].Partitions[0]
		read.Datings = append(read.Datings, l.find(wants[0].Timestamp))
	}
	v := tracker.Observe(sample)
	return v.Groups[0].Topics[0].Partitions[0], asked
}

// TestHealthyGroupsAskNothing: a consumer that keeps up is dated by the
// tracker's own history alone.
func TestHealthyGroupsAskNothing(t *testing.T) {
	s := &story{}
	tracker := NewTracker(tick)
	l := &logbook{}
	for i := range 100 {
		now := start.Add(time.Duration(i) * tick)
		committed := l.end()
		if _, asked := s.sweep(tracker, l, committed, l.end(), now); asked > 0 {
			t.Fatalf("sweep %d: %d questions", i, asked)
		}
		l.append(now.Add(time.Second), 10, 0)
	}
	if n := len(tracker.topics["t"].partitions[0].history.points); n > 3 {
		t.Errorf("%d points are kept for a group that keeps up", n)
	}
}

func TestMaxAge(t *testing.T) {
	second, nothing := Known(time.Second), Optional[time.Duration]{}
	row := func(lag Count, age Optional[time.Duration]) GroupPartitionView {
		return GroupPartitionView{LSOLag: Known(lag), LSOLagFor: age}
	}
	behindMarker := row(1, nothing)
	behindMarker.Readable = Known(Count(0))
	for _, c := range []struct {
		reason string
		rows   []GroupPartitionView
		want   Optional[time.Duration]
	}{
		{"the greatest", []GroupPartitionView{row(3, second), row(5, Known(time.Minute))}, Known(time.Minute)},
		{"one that has read everything counts as 0", []GroupPartitionView{row(0, Known(time.Duration(0)))}, Known(time.Duration(0))},
		{"one that waits for a transaction does not count", []GroupPartitionView{row(0, nothing), row(3, second)}, second},
		{"one behind a marker does not count", []GroupPartitionView{behindMarker, row(3, second)}, second},
		{"one that is unknown withholds the greatest", []GroupPartitionView{row(3, nothing), row(3, second)}, nothing},
		{"one whose lag is unknown withholds the greatest", []GroupPartitionView{{}, row(3, second)}, nothing},
		{"none has one", []GroupPartitionView{row(0, nothing)}, nothing},
	} {
		if got := maxAge(c.rows, lsoAge); got != c.want {
			t.Errorf("%s: %v, want %v", c.reason, fmt.Sprint(got), fmt.Sprint(c.want))
		}
	}
}

// TestWantFetches: only what stands still or is stalled is fetched, never at or
// above the last stable offset, and nothing twice.
func TestWantFetches(t *testing.T) {
	group := func(name string, offsets ...Offset) Group {
		g := committed(offsets...)
		g.Name, g.Members = name, Known(1)
		return g
	}
	for _, c := range []struct {
		reason  string
		sweeps  int // before, thirty seconds apart
		fetched []Fetch
		lso     Offset
		groups  []Group
		want    string
	}{
		{"at first sight nothing stands still", 0, nil, 9, []Group{group("g", 5)}, "[]"},
		{"still", 2, nil, 9, []Group{group("g", 5)}, "[{t 0 5 false}]"},
		{"caught up", 2, nil, 9, []Group{group("g", 9)}, "[]"},
		{"F08: committed below the log start, which is the high watermark", 2, nil, 2, []Group{group("g", 1)}, "[]"},
		{"two groups at one position are one question, the lowest first", 2, nil, 9, []Group{group("g", 5), group("h", 3), group("i", 5)}, "[{t 0 3 false} {t 0 5 false}]"},
		{"what is known is not asked again", 2, []Fetch{{From: 5, Until: 9, Committed: 4, All: 4}}, 9, []Group{group("g", 5)}, "[]"},
		{"a record was seen, and there is more than one answer holds", 2, []Fetch{{From: 5, Until: 6, Committed: 1, All: 1}}, 9, []Group{group("g", 5)}, "[]"},
		{"a part was seen without a record", 2, []Fetch{{From: 5, Until: 6}}, 9, []Group{group("g", 5)}, "[{t 0 5 false}]"},
		{"the batch was larger than the answer", 2, []Fetch{{From: 5, Until: 5, Large: true}}, 9, []Group{group("g", 5)}, "[{t 0 5 true}]"},
		{"refused", 2, []Fetch{{From: 5, Until: 5, Failed: MissUnauthorized}}, 9, []Group{group("g", 5)}, "[]"},
		{"the leader did not answer", 2, []Fetch{{From: 5, Until: 5, Failed: MissTimeout}}, 9, []Group{group("g", 5)}, "[{t 0 5 false}]"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			tracker := NewTracker(30 * time.Second)
			sampleAt := func(i int) Sample {
				p := four(float64(30*i), 0, 2, c.lso, c.lso, c.lso)
				return sampled(float64(30*i), topic(1, p), c.groups...)
			}
			for i := range c.sweeps {
				s := sampleAt(i)
				s.Topics[0].Partitions[0].Fetches = c.fetched
				tracker.Observe(s)
			}
			s := sampleAt(c.sweeps)
			if got := fmt.Sprint(tracker.WantFetches(&s)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}

	t.Run("a group that moves on a partition that is stalled", func(t *testing.T) {
		tracker := NewTracker(tick)
		for i, want := range []string{"[]", "[{t 0 6 false}]", "[{t 0 7 false}]"} {
			s := sampled(float64(10*i), topic(1, four(float64(10*i), 0, 0, 9, 20, 20)), group("g", Offset(5+i)))
			if got := fmt.Sprint(tracker.WantFetches(&s)); got != want {
				t.Errorf("sweep %d: %s, want %s", i, got, want)
			}
			tracker.Observe(s)
		}
	})
}
