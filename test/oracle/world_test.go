package oracle

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// world is a cluster so small that its truth is plain: every event happens at
// one moment, which the record does not tell. The tests compare the oracle's
// judgement with it.
type world struct {
	rnd    *rand.Rand
	now    time.Duration
	queue  eventQueue
	seq    int
	rec    Recorder
	logs   []*worldLog
	groups map[string]map[int]*timeline // commits by group and log
	paused [2]time.Duration             // the follower stands still from, until
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func stampAt(d time.Duration) time.Time { return epoch.Add(d) }

// timeline is a quantity over time.
type timeline struct {
	at    []time.Duration
	value []int64
}

func (t *timeline) set(now time.Duration, v int64) {
	t.at, t.value = append(t.at, now), append(t.value, v)
}

// get is the value at a moment; ok is false before the first.
func (t *timeline) get(at time.Duration) (v int64, ok bool) {
	i, found := slices.BinarySearch(t.at, at)
	if found {
		for i+1 < len(t.at) && t.at[i+1] == at {
			i++
		}
		return t.value[i], true
	}
	if i == 0 {
		return 0, false
	}
	return t.value[i-1], true
}

// worldLog is one partition.
type worldLog struct {
	topic                 string
	replicas              int
	end, high, start, lso timeline
	leo, hwm, first       int64
	open                  map[string]int64 // id → first offset
	closing               []worldMarker    // written, not replicated
}

type worldMarker struct {
	first, offset int64
}

func (l *worldLog) settle(now time.Duration) {
	l.closing = slices.DeleteFunc(l.closing, func(m worldMarker) bool { return m.offset < l.hwm })
	lso := l.hwm
	for _, f := range l.open {
		lso = min(lso, f)
	}
	for _, m := range l.closing {
		lso = min(lso, m.first)
	}
	l.end.set(now, l.leo)
	l.high.set(now, l.hwm)
	l.start.set(now, l.first)
	l.lso.set(now, max(lso, l.first))
}

type worldEvent struct {
	at  time.Duration
	seq int
	do  func()
}

type eventQueue []worldEvent

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(worldEvent)) }
func (q *eventQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, worldEvent{w.now + d, w.seq, do})
}

func (w *world) run(until time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at <= until {
		e := heap.Pop(&w.queue).(worldEvent)
		w.now = e.at
		e.do()
	}
	w.now = until
}

// some is a random time up to d.
func (w *world) some(d time.Duration) time.Duration {
	return time.Duration(w.rnd.Int64N(int64(d))) + 1
}

// replicate moves the high watermark over what is in the log now, a moment
// later, or when the follower goes on.
func (w *world) replicate(l *worldLog, then func()) {
	until := l.leo
	delay := time.Duration(0)
	if l.replicas > 1 {
		delay = w.some(3 * time.Millisecond)
		if w.now >= w.paused[0] && w.now < w.paused[1] {
			delay += w.paused[1] - w.now
		} else if w.now+delay >= w.paused[0] && w.now < w.paused[0] {
			delay = w.paused[0] - w.now // just before it stands still
		}
	}
	w.after(delay, func() {
		if until > l.hwm {
			l.hwm = until
			l.settle(w.now)
		}
		if then != nil {
			then()
		}
	})
}

func (w *world) append(index int, id string, n int64, acks int16, done func()) {
	l := w.logs[index]
	a := Act{Kind: Append, Sent: stampAt(w.now), Topic: l.topic, Records: n, Acks: acks, TransactionalID: id}
	w.after(w.some(time.Millisecond), func() {
		a.Offset = l.leo
		if _, is := l.open[id]; id != "" && !is {
			l.open[id] = l.leo
		}
		l.leo += n
		l.settle(w.now)
		answer := func() {
			w.after(w.some(time.Millisecond), func() {
				a.Answered = stampAt(w.now)
				w.rec.Add(a)
				done()
			})
		}
		if acks == 1 {
			answer()
			answer = nil
		}
		w.replicate(l, answer)
	})
}

// mark writes an end marker and calls done once it is replicated.
func (w *world) mark(index int, id string, done func()) {
	l := w.logs[index]
	w.after(w.some(2*time.Millisecond), func() {
		if first, is := l.open[id]; is {
			l.closing = append(l.closing, worldMarker{first, l.leo})
			delete(l.open, id)
		}
		l.leo++
		l.settle(w.now)
		w.replicate(l, done)
	})
}

// transact runs transactions of one id for ever.
func (w *world) transact(id string) {
	n := 1 + w.rnd.IntN(4)
	used := map[int]bool{}
	var step func()
	step = func() {
		if n == 0 {
			w.end(id, used, func() { w.after(w.some(6*time.Millisecond), func() { w.transact(id) }) })
			return
		}
		n--
		index := w.rnd.IntN(2)
		used[index] = true
		w.append(index, id, 1+w.rnd.Int64N(5), -1, func() { w.after(w.some(2*time.Millisecond), step) })
	}
	w.rec.Add(Act{Kind: BeginTransaction, Sent: stampAt(w.now), Answered: stampAt(w.now), TransactionalID: id, Timeout: time.Hour})
	step()
}

func (w *world) end(id string, used map[int]bool, done func()) {
	a := Act{Kind: EndTransaction, Sent: stampAt(w.now), TransactionalID: id, Committed: w.rnd.IntN(3) > 0}
	w.after(w.some(time.Millisecond), func() {
		left := len(used)
		for index := range 2 {
			if used[index] {
				w.mark(index, id, func() {
					left--
					if left == 0 {
						done()
					}
				})
			}
		}
		w.after(w.some(time.Millisecond), func() {
			a.Answered = stampAt(w.now)
			w.rec.Add(a)
		})
	})
}

// produce appends plain records to a log for ever.
func (w *world) produce(index int) {
	acks := int16(1)
	if index == 1 {
		acks = -1
	}
	w.append(index, "", 1+w.rnd.Int64N(9), acks, func() { w.after(w.some(4*time.Millisecond), func() { w.produce(index) }) })
}

// consume commits what a reader of the log has seen, for ever.
func (w *world) consume(group string, index int) {
	l := w.logs[index]
	a := Act{Kind: CommitOffset, Sent: stampAt(w.now), Group: group, Topic: l.topic, Offset: l.lso.value[len(l.lso.value)-1]}
	w.after(w.some(time.Millisecond), func() {
		w.groups[group][index].set(w.now, a.Offset)
		w.after(w.some(time.Millisecond), func() {
			a.Answered = stampAt(w.now)
			w.rec.Add(a)
			w.after(w.some(20*time.Millisecond), func() { w.consume(group, index) })
		})
	})
}

// purge deletes records up to the high watermark, now and then.
func (w *world) purge(index int) {
	l := w.logs[index]
	a := Act{Kind: DeleteRecords, Sent: stampAt(w.now), Topic: l.topic, Offset: l.first + w.rnd.Int64N(l.hwm-l.first+1)}
	w.after(w.some(time.Millisecond), func() {
		l.first = a.Offset
		l.settle(w.now)
		w.after(w.some(time.Millisecond), func() {
			a.Answered = stampAt(w.now)
			w.rec.Add(a)
			w.after(w.some(200*time.Millisecond), func() { w.purge(index) })
		})
	})
}

// newWorld is a world with a topic of one replica, one of two, and a plain one,
// with producers and consumers at work. The second replica stands still for a
// while.
func newWorld(seed uint64) *world {
	w := &world{
		rnd:    rand.New(rand.NewPCG(seed, 1)),
		groups: map[string]map[int]*timeline{},
		paused: [2]time.Duration{1200 * time.Millisecond, 1400 * time.Millisecond},
	}
	w.rec.Add(Act{Kind: Cluster, Sent: stampAt(-time.Hour), Answered: stampAt(-time.Hour), Brokers: []int32{1, 2},
		Timing: &Timing{ReplicationDelay: 4 * time.Millisecond, Settle: time.Second}})
	for i, replicas := range [][]int32{{1}, {1, 2}, {1, 2}} {
		l := &worldLog{topic: fmt.Sprint("t", i), replicas: len(replicas), open: map[string]int64{}}
		l.settle(-time.Hour)
		w.logs = append(w.logs, l)
		w.rec.Add(Act{Kind: CreateTopic, Sent: stampAt(-time.Hour), Answered: stampAt(-time.Hour), Topic: l.topic, Replicas: [][]int32{replicas}})
	}
	w.after(w.paused[0], func() { w.rec.Add(Act{Kind: PauseBroker, Sent: stampAt(w.now), Answered: stampAt(w.now), Broker: 2}) })
	w.after(w.paused[1], func() { w.rec.Add(Act{Kind: ResumeBroker, Sent: stampAt(w.now), Answered: stampAt(w.now), Broker: 2}) })
	for _, id := range []string{"x", "y", "z"} {
		w.transact(id)
	}
	w.produce(1)
	w.produce(2)
	w.after(100*time.Millisecond, func() { w.purge(0) })
	for _, g := range []string{"a", "b"} {
		w.groups[g] = map[int]*timeline{}
		for index := range w.logs {
			if g == "b" && index == 2 {
				continue // it commits there nothing
			}
			w.groups[g][index] = &timeline{}
			w.consume(g, index)
		}
	}
	return w
}

// reader reads a world as an exporter does: in the order of reads that the
// steps give, one moment after the other.
type reader struct {
	w      *world
	order  []string
	period time.Duration
	pause  time.Duration // between two reads
	prev   map[int]*reading
	sweeps int
}

type reading struct {
	at                     time.Duration
	start, lso, high, end  int64
	below, observed, stall time.Duration
	since                  time.Duration // of the last stable offset, below the high watermark
	commits                map[string]int64
	hidden                 bool // not shown
}

// sweep reads every log from moment at on, and returns the scrape of it after
// change had its way with what was read.
func (r *reader) sweep(at time.Duration, change func(map[int]*reading)) Scrape {
	now := map[int]*reading{}
	t := at
	for _, step := range r.order {
		for index, l := range r.w.logs {
			x := now[index]
			if x == nil {
				x = &reading{commits: map[string]int64{}}
				now[index] = x
			}
			switch step {
			case "commits":
				x.start, _ = l.start.get(t)
				for g, logs := range r.w.groups {
					if log := logs[index]; log != nil {
						if v, ok := log.get(t); ok {
							x.commits[g] = v
						}
					}
				}
			case "high":
				x.high, _ = l.high.get(t)
			case "lso":
				x.lso, _ = l.lso.get(t)
			case "end":
				x.end, _ = l.end.get(t)
			}
			t += r.pause
		}
	}
	for index, x := range now {
		x.at = t
		x.lso = min(x.high, max(x.lso, x.start))
		x.end = max(x.end, x.high)
		r.remember(index, x)
	}
	r.prev = now
	r.sweeps++
	shown := now
	if change != nil {
		shown = map[int]*reading{}
		for index, x := range now {
			c := *x
			c.commits = map[string]int64{}
			for g, v := range x.commits {
				c.commits[g] = v
			}
			shown[index] = &c
		}
		change(shown)
	}
	return Scrape{Exporter: "e", Start: stampAt(at), End: stampAt(t), At: stampAt(t), Period: r.period, Text: []byte(r.render(shown))}
}

func (r *reader) remember(index int, x *reading) {
	before := r.prev[index]
	x.since = x.at
	if before == nil {
		return
	}
	x.observed, x.below = before.observed+x.at-before.at, before.below
	if before.lso < before.high {
		x.below += x.at - before.at
		if before.lso == x.lso || x.lso == x.start {
			x.since = before.since
		}
	}
	if x.lso < x.high {
		x.stall = x.at - x.since
	}
}

func (r *reader) render(now map[int]*reading) string {
	b := &strings.Builder{}
	out := func(name, labels string, v any) { fmt.Fprintf(b, "%s{%s} %v\n", name, labels, v) }
	fmt.Fprintf(b, "lso_exporter_sweeps_total{result=\"complete\"} %d\n", r.sweeps)
	for _, metric := range []string{belowTotal, observed} {
		fmt.Fprintf(b, "# TYPE %s counter\n", metric)
		for index, l := range r.w.logs {
			if x := now[index]; x != nil && !x.hidden {
				d := x.below
				if metric == observed {
					d = x.observed
				}
				out(metric, fmt.Sprintf("topic=%q,partition=\"0\"", l.topic), d.Seconds())
			}
		}
	}
	for index, l := range r.w.logs {
		x := now[index]
		if x == nil {
			continue
		}
		at := fmt.Sprintf("topic=%q,partition=\"0\"", l.topic)
		out(replicas, at, l.replicas)
		out(inSync, at, l.replicas)
		out(leader, at, 1)
		if x.hidden {
			continue
		}
		out(logStart, at, x.start)
		out(lastStable, at, x.lso)
		out(highWater, at, x.high)
		out(logEnd, at, x.end)
		out(unstable, at, x.high-x.lso)
		if x.end > x.high {
			out(unreplicated, at, x.end-x.high)
		}
		out(stalled, at, x.stall.Seconds())
		for _, g := range []string{"a", "b"} {
			c, ok := x.commits[g]
			if !ok {
				continue
			}
			gp := fmt.Sprintf("group=%q,", g) + at
			out(committed, gp, c)
			out(hwmLag, gp, max(0, x.high-max(c, x.start)))
			out(lsoLag, gp, max(0, x.lso-max(c, x.start)))
			if x.start > c {
				out(lost, gp, x.start-c)
			}
			gt := fmt.Sprintf("group=%q,topic=%q", g, l.topic)
			out(topicHWMLag, gt, max(0, x.high-max(c, x.start)))
			out(topicLSOLag, gt, max(0, x.lso-max(c, x.start)))
			state := "caught_up"
			if x.lso > max(c, x.start) {
				state = "consuming"
			}
			out(topicState, fmt.Sprintf("%s,state=%q", gt, state), 1)
		}
	}
	for _, g := range []string{"a", "b"} {
		out(groupInfo, fmt.Sprintf("group=%q", g), 1)
		out(groupState, fmt.Sprintf("group=%q,state=\"Empty\"", g), 1)
		for _, m := range []string{members, uncommitted, orphans} {
			out(m, fmt.Sprintf("group=%q", g), 0)
		}
	}
	return b.String()
}
