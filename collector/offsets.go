package collector

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// step is one of the four reads of a partition, in the order in which they
// are made.
type step int

const (
	logStart step = iota
	highWatermark
	lastStable
	logEnd
)

// Timestamps and replica ids that ListOffsets gives a meaning (KIP-79, E1).
const (
	timestampLatest   = -1
	timestampEarliest = -2
	replicaConsumer   = -1
	replicaDebugging  = -2
)

// isolationReadCommitted asks for the last stable offset in place of the high
// watermark.
const isolationReadCommitted = 1

// request returns the chunk's request of one step.
//
// The log end is asked for as the debugging replica, for which a broker applies
// no isolation level (E1). The level is set all the same: a broker that ignores
// the replica id then answers the last stable offset, and gives itself away as
// soon as that is below the high watermark; see markDeaf.
func (c *chunk) request(s step) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = replicaConsumer
	req.Topics = c.latest
	switch s {
	case logStart:
		req.Topics = c.earliest
	case lastStable:
		req.IsolationLevel = isolationReadCommitted
	case logEnd:
		req.ReplicaID = replicaDebugging
		req.IsolationLevel = isolationReadCommitted
	}
	return req
}

// String names the step as the metrics name the offset.
func (s step) String() string {
	return [...]string{"log start offset", "high watermark", "last stable offset", "log end offset"}[s]
}

// reading returns where a partition holds what the step reads.
func (s step) reading(p *lag.Partition) *lag.Reading {
	return [...]*lag.Reading{&p.LogStart, &p.HighWatermark, &p.LastStable, &p.LogEnd}[s]
}

// leaderAnswers is what one leader answered.
type leaderAnswers struct {
	line    *line
	answers []stepAnswer
	lacks   map[step]lag.MissKind // steps without an answer, though the broker is well
}

// stepAnswer is an answer of one step.
type stepAnswer struct {
	step step
	answered
}

// readPlans reads the steps of the plans from their leaders. Each goes its own
// way; one that fails costs its own partitions.
func (w *sweep) readPlans(ctx context.Context, plans map[int32]*plan) {
	var leaders []int32
	steps := make(map[int32][]step)
	for id, p := range plans {
		if _, ok := slices.BinarySearch(w.brokers, id); !ok {
			w.misses.add(lag.MissUnreachable, brokerSubject(id), 1, "it leads partitions and is not among the brokers", Offsets)
			continue
		}
		if !w.down[id] {
			leaders = append(leaders, id)
			steps[id] = w.stepsOf(id, p)
		}
	}
	slices.Sort(leaders)
	ended := make(map[int32]bool)
	fanOut(ctx, w.options.Serial, leaders, always, 0,
		func(id int32) *leaderAnswers { return w.askLeader(ctx, id, plans[id].chunks, steps[id]) },
		func(id int32, r *leaderAnswers) {
			ended[id] = true
			w.mergeLeader(id, r)
		})
	for _, id := range leaders {
		if !ended[id] {
			w.endedBy(id, "offsets", Offsets)
		}
	}
}

// stepsOf returns the steps to read from a leader.
func (w *sweep) stepsOf(id int32, p *plan) []step {
	var steps []step
	if p.withLogStart {
		steps = append(steps, logStart)
	}
	steps = append(steps, highWatermark, lastStable)
	if w.options.enabled(Offsets) && !w.deaf[id] {
		steps = append(steps, logEnd)
	}
	return steps
}

// askLeader sends a leader the requests of some steps, the last stable offset
// right behind the high watermark: what happens between the two goes unseen
// (measurements.md 2). It must not send them before the answer, as nothing
// says that a Client keeps the order of concurrent requests.
func (w *sweep) askLeader(ctx context.Context, id int32, chunks []chunk, steps []step) *leaderAnswers {
	r := &leaderAnswers{line: &line{sweep: w, id: id}, lacks: make(map[step]lag.MissKind)}
	for i := range chunks {
		var before answered
		for _, s := range steps {
			a, miss := r.line.askPart(ctx, i, chunks[i].request(s))
			if r.line.failure != "" {
				return r
			}
			if miss != "" {
				r.lacks[s] = miss
				continue
			}
			if s == lastStable && before.resp != nil {
				w.options.Observer.ReadGap(a.window.Answered.Sub(before.window.Answered))
			}
			before = a
			r.answers = append(r.answers, stepAnswer{s, a})
		}
	}
	return r
}

// mergeLeader takes over what a leader answered, whole or not.
func (w *sweep) mergeLeader(id int32, r *leaderAnswers) {
	for _, a := range r.answers {
		w.apply(id, a.step, a.answered)
	}
	for s, miss := range r.lacks {
		w.misses.add(miss, brokerSubject(id), 1, s.String(), Offsets)
	}
	switch r.line.failure {
	case "":
	case lag.MissDeadline:
		w.endedBy(id, "offsets", Offsets)
	default:
		w.markDown(r.line)
		w.misses.fail(Offsets)
	}
}

// apply takes over one answer of a leader. Partitions that it does not lead
// count for nothing.
func (w *sweep) apply(id int32, s step, a answered) {
	if a.resp == nil {
		return
	}
	resp := a.resp.(*kmsg.ListOffsetsResponse)
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		for j := range topic.Partitions {
			answer := &topic.Partitions[j]
			place, ok := w.layout.place(topic.Topic, answer.Partition)
			if !ok || int32(w.partitions[place].Leader) != id {
				continue
			}
			if answer.ErrorCode != 0 {
				w.refuse(id, s, place, answer.ErrorCode)
				continue
			}
			*s.reading(&w.partitions[place]) = lag.Reading{Offset: lag.Offset(answer.Offset), Within: a.window}
		}
	}
	if s == logEnd {
		w.findDeaf(id)
	}
}

// refuse notes the error that a leader answered for a partition. The first one
// stays. One that concerns the log end alone costs only that.
func (w *sweep) refuse(id int32, s step, place int, code int16) {
	if _, already := w.errors[place]; already {
		return
	}
	if kind := missOfCode(code); s == logEnd && !mayHaveMoved(kind) {
		w.misses.add(kind, brokerSubject(id), 1, s.String()+": "+codeText(code), Offsets)
		return
	}
	w.errors[place] = code
}

// findDeaf looks for a log end below the high watermark that was read before
// it from the same leader in the same epoch. No Kafka answers that: this broker
// ignores the replica id (some emulators and services do), and has answered
// the last stable offset. Its answers are dropped, and it is not asked again
// until it fails or leaves: the high watermark must never be called log end.
func (w *sweep) findDeaf(id int32) {
	for i := range w.partitions {
		p := &w.partitions[i]
		if int32(p.Leader) == id && p.LogEnd.OK() && p.HighWatermark.OK() && p.LogEnd.Offset < p.HighWatermark.Offset {
			w.deaf[id] = true
			break
		}
	}
	for i := range w.partitions {
		if p := &w.partitions[i]; w.deaf[id] && int32(p.Leader) == id {
			p.LogEnd = lag.Reading{}
		}
	}
}

// leaveOut drops the readings of partitions that the sweep could not finish and
// counts them.
func (w *sweep) leaveOut() {
	for i := range w.layout.topics {
		topic := &w.layout.topics[i]
		for place := topic.first; place < topic.end; place++ {
			p := &w.partitions[place]
			if !w.needs(place) {
				continue
			}
			if p.Leader == lag.NoBroker {
				w.misses.add(lag.MissNoLeader, "topic "+topic.name, 1, "", Offsets)
				continue
			}
			code, refused := w.errors[place]
			if !refused {
				continue
			}
			p.HighWatermark, p.LastStable = lag.Reading{}, lag.Reading{}
			if kerr.ErrorForCode(code) != kerr.OffsetNotAvailable {
				p.LogStart, p.LogEnd = lag.Reading{}, lag.Reading{}
			}
			w.misses.add(missOfCode(code), "topic "+topic.name, 1, codeText(code), Offsets)
		}
	}
	for id := range w.deaf {
		w.misses.add(lag.MissAPIMissing, brokerSubject(id), 1, "it answers another offset for the log end", Offsets)
	}
}

// offsetless says why no offset of any partition was read, a line for each
// leader; empty if one was, or there was none to read.
func (w *sweep) offsetless() string {
	reasons := make(map[int32]string)
	for place := range w.partitions {
		p := &w.partitions[place]
		if !w.needs(place) || p.Leader == lag.NoBroker {
			continue
		}
		if p.LogStart.OK() || p.HighWatermark.OK() || p.LastStable.OK() || p.LogEnd.OK() {
			return ""
		}
		id := int32(p.Leader)
		if code, refused := w.errors[place]; refused && reasons[id] == "" {
			reasons[id] = "ListOffsets: " + codeText(code)
		} else if !refused {
			reasons[id] = cmp.Or(reasons[id], w.misses.reason(brokerSubject(id)))
		}
	}
	var lines []string
	for _, id := range slices.Sorted(maps.Keys(reasons)) {
		lines = append(lines, brokerSubject(id)+": "+cmp.Or(reasons[id], "ListOffsets gave no answer"))
	}
	return strings.Join(lines, "\n")
}
