package collector

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// The optional requests of the collector groups, which are counted apart from
// those that every sweep makes with the same API.
const (
	askPending = "OffsetFetch (require stable)"
	askDates   = "ListOffsets (timestamp)"
	askRecords = "Fetch"
	askShares  = "DescribeShareGroupOffsets"
)

// maxPause bounds how many sweeps pass before a broker is asked an optional
// question again that it did not answer.
const maxPause = 64

// advisor says what to look up before a sweep ends. A *lag.Tracker does.
type advisor interface {
	WantDates(*lag.Sample) []lag.WantedDate
	WantFetches(*lag.Sample) []lag.WantedFetch
	WantConfirmations(*lag.Sample) []lag.WantedConfirmation
}

// pauseKey names one optional question to one broker.
type pauseKey struct {
	broker   int32
	question string
}

// pause is for how long a broker is spared a question, and why.
type pause struct {
	failures int
	until    int // the sweep in which it is asked again
	kind     lag.MissKind
}

// readOptional looks up what tells more about groups than the requests that
// every sweep makes, and adds it to the sample: nothing of it is needed for any
// offset or lag. A broker that does not answer one of these requests is asked
// no other one in this sweep, and that one not again for a while, twice as long
// each time; all the rest is asked of it as before.
func (w *sweep) readOptional(ctx context.Context, sample *lag.Sample) {
	w.readShares(ctx)
	w.readPending(ctx)
	if w.advisor == nil {
		return
	}
	sample.Ended = w.options.Now()
	w.readRecords(ctx, sample)
	w.readDates(ctx, sample)
}

// askOptional sends brokers one request each, all at the same time, for a
// collector, and calls took with each answer.
func (w *sweep) askOptional(ctx context.Context, c Collector, question string, requests map[int32]kmsg.Request, took func(id int32, a answered)) {
	w.askOptionals(ctx, c, question, one(requests), func(id int32, _ int, a answered) { took(id, a) })
}

// askOptionals is askOptional for any number of requests to each broker. took is told
// which of them is answered.
func (w *sweep) askOptionals(ctx context.Context, c Collector, question string, requests map[int32][]kmsg.Request, took func(id int32, i int, a answered)) {
	var ids []int32
	for _, id := range slices.Sorted(maps.Keys(requests)) {
		_, listed := slices.BinarySearch(w.brokers, id)
		switch p := w.pauses[pauseKey{id, question}]; {
		case !listed, w.down[id], w.unwilling[id]: // it is a miss already
			w.misses.fail(c)
		case p == nil || w.count >= p.until:
			ids = append(ids, id)
		case p.kind == lag.MissAPIMissing:
			w.misses.add(lag.MissAPIMissing, brokerSubject(id), 1, question)
		default:
			w.misses.add(lag.MissSuspended, brokerSubject(id), 1, question, c)
		}
	}
	ended := make(map[int32]bool)
	fanOut(ctx, w.options.Serial, ids, always, 0,
		func(id int32) replies {
			r := replies{line: &line{sweep: w, id: id, api: question}}
			r.miss = r.line.sendEach(ctx, requests[id], func(_ int, a answered) { r.answers = append(r.answers, a) })
			return r
		},
		func(id int32, r replies) {
			ended[id] = true
			key := pauseKey{id, question}
			for i, a := range r.answers {
				took(id, i, a)
			}
			if r.miss == "" {
				delete(w.pauses, key)
				return
			}
			w.unwilling[id] = r.line.failure != ""
			w.misses.add(r.miss, r.line.subject(), 1, question, c)
			if r.miss != lag.MissDeadline {
				w.pause(key, r.miss)
			}
		})
	for _, id := range ids {
		if !ended[id] {
			w.misses.add(lag.MissDeadline, brokerSubject(id), 1, question, c)
		}
	}
}

// pause notes that a broker did not answer a question.
func (w *sweep) pause(key pauseKey, kind lag.MissKind) {
	p := w.pauses[key]
	if p == nil {
		p = &pause{}
		w.pauses[key] = p
	}
	p.failures, p.kind = p.failures+1, kind
	p.until = w.count + 1 + min(1<<min(p.failures, 10), maxPause)
}
