package collector

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Limits of the questions to brokers' time indexes in one sweep.
const (
	// maxDateRounds is how often each leader is asked. A question of the next
	// round depends on the answer of the one before.
	maxDateRounds = 4

	// maxDates is how many partitions of one leader are asked about at a time.
	// Each costs it a look into an index and into the log.
	maxDates = 1000
)

// readDates asks leaders when records were appended, as far as the tracker does
// not know by itself. A broker answers the other way round, from time to offset
// (KIP-79), so it takes several rounds to find an offset. No record is fetched.
func (w *sweep) readDates(ctx context.Context, sample *lag.Sample) {
	if w.options.NoTimeIndex {
		return
	}
	refused := make(map[int]bool) // places that are asked no more
	for range maxDateRounds {
		requests := make(map[int32]kmsg.Request)
		asked := make(map[int]time.Time)
		sizes := make(map[int32]int)
		for _, want := range w.advisor.WantDates(sample) {
			place, ok := w.layout.place(want.Topic, want.Partition)
			if !ok || refused[place] {
				continue
			}
			p := &w.partitions[place]
			leader := int32(p.Leader)
			if sizes[leader] == maxDates {
				continue
			}
			sizes[leader]++
			if requests[leader] == nil {
				requests[leader] = kmsg.NewPtrListOffsetsRequest()
			}
			req := requests[leader].(*kmsg.ListOffsetsRequest)
			req.ReplicaID = replicaConsumer
			req.Topics = addToTopic(req.Topics, want.Topic, p, want.Timestamp.UnixMilli())
			asked[place] = want.Timestamp
			refused[place] = true // until it is answered
		}
		if len(asked) == 0 {
			return
		}
		w.askOptional(ctx, Groups, askDates, requests, func(id int32, a answered) {
			for place := range w.takeDates(id, a.resp.(*kmsg.ListOffsetsResponse), asked) {
				delete(refused, place)
			}
		})
	}
}

// byTimestamp says whether a ListOffsets asks time indexes. A request of this
// package asks for one thing for all its partitions.
func byTimestamp(req *kmsg.ListOffsetsRequest) bool {
	return len(req.Topics) > 0 && req.Topics[0].Partitions[0].Timestamp >= 0
}

// takeDates takes over what a leader answered, and returns the places that it
// answered for.
func (w *sweep) takeDates(id int32, resp *kmsg.ListOffsetsResponse, asked map[int]time.Time) map[int]bool {
	places := make(map[int]bool)
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		for j := range topic.Partitions {
			answer := &topic.Partitions[j]
			place, ok := w.layout.place(topic.Topic, answer.Partition)
			timestamp, wanted := asked[place]
			if !ok || !wanted || answer.ErrorCode != 0 || int32(w.partitions[place].Leader) != id {
				continue
			}
			d := lag.Dating{Asked: timestamp}
			if answer.Offset >= 0 {
				d.Offset, d.Dated = lag.Known(lag.Offset(answer.Offset)), time.UnixMilli(answer.Timestamp)
			}
			p := &w.partitions[place]
			p.Datings = append(p.Datings, d)
			places[place] = true
		}
	}
	return places
}
