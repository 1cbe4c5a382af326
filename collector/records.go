package collector

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Limits of what is fetched from one leader in one sweep.
const (
	// maxFetchBytes bounds an answer as a whole, but for one batch that is
	// larger.
	maxFetchBytes = 4 << 20

	// fetchBytes is how much of one partition is fetched: the range behind a
	// group that has read everything is a few markers, and of another one a
	// single batch tells enough.
	fetchBytes = 32 << 10

	// largeFetchBytes is how much is fetched where that was too little for one
	// batch. The default of max.message.bytes fits into it.
	largeFetchBytes = 1<<20 + 4<<10

	// maxDecompressedBytes bounds what one batch may decompress to.
	maxDecompressedBytes = 64 << 20
)

// readRecords looks into the logs behind groups that stand still, whether there
// is anything for them to read: with one read_committed Fetch a leader, that
// does not wait, and never from a last stable offset or above.
func (w *sweep) readRecords(ctx context.Context, sample *lag.Sample) {
	if w.options.NoReadableLag {
		return
	}
	wants := w.advisor.WantFetches(sample)
	// A batch of any size is answered, if it is the first: so a partition whose
	// batches are too large is asked for first, and the others after it.
	slices.SortStableFunc(wants, func(a, b lag.WantedFetch) int {
		switch {
		case a.Large == b.Large:
			return 0
		case a.Large:
			return -1
		default:
			return 1
		}
	})
	requests := make(map[int32]kmsg.Request)
	asked := make(map[int]lag.Offset)
	sizes := make(map[int32]int)
	for _, want := range wants {
		place, ok := w.layout.place(want.Topic, want.Partition)
		if !ok {
			continue
		}
		if _, already := asked[place]; already {
			continue // a request can name a partition once
		}
		size := fetchBytes
		if want.Large {
			size = largeFetchBytes
		}
		p := &w.partitions[place]
		leader := int32(p.Leader)
		if sizes[leader]+size > maxFetchBytes {
			continue
		}
		sizes[leader] += size
		if requests[leader] == nil {
			requests[leader] = newFetchRequest()
		}
		addFetch(requests[leader].(*kmsg.FetchRequest), want, p, size)
		asked[place] = want.From
	}
	w.askOptional(ctx, Groups, askRecords, requests, func(id int32, a answered) {
		w.takeRecords(id, a.resp.(*kmsg.FetchResponse), asked)
	})
}

// newFetchRequest returns a request outside any session (KIP-227) that is
// answered at once.
func newFetchRequest() *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxWaitMillis, req.MinBytes = 0, 0
	req.MaxBytes = maxFetchBytes
	req.IsolationLevel = isolationReadCommitted
	return req
}

// addFetch appends a partition, in the order of the calls.
func addFetch(req *kmsg.FetchRequest, want lag.WantedFetch, partition *lag.Partition, size int) {
	if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != want.Topic {
		if i := slices.IndexFunc(req.Topics, func(t kmsg.FetchRequestTopic) bool { return t.Topic == want.Topic }); i >= 0 {
			req.Topics[i].Partitions = append(req.Topics[i].Partitions, fetchPartition(want, partition, size))
			return
		}
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic = want.Topic
		req.Topics = append(req.Topics, topic)
	}
	last := &req.Topics[len(req.Topics)-1]
	last.Partitions = append(last.Partitions, fetchPartition(want, partition, size))
}

// fetchPartition returns what one partition is asked for.
func fetchPartition(want lag.WantedFetch, partition *lag.Partition, size int) kmsg.FetchRequestTopicPartition {
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.CurrentLeaderEpoch = want.Partition, int32(partition.LeaderEpoch)
	p.FetchOffset, p.PartitionMaxBytes = int64(want.From), int32(size)
	return p
}

// takeRecords takes over what a leader answered.
func (w *sweep) takeRecords(id int32, resp *kmsg.FetchResponse, asked map[int]lag.Offset) {
	if resp.ErrorCode != 0 {
		w.misses.add(missOfCode(resp.ErrorCode), brokerSubject(id), 1, askRecords+": "+codeText(resp.ErrorCode), Groups)
		return
	}
	total := 0
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			total += len(resp.Topics[i].Partitions[j].RecordBatches)
		}
	}
	full := total > maxFetchBytes-largeFetchBytes
	for i := range resp.Topics {
		topic := &resp.Topics[i]
		for j := range topic.Partitions {
			answer := &topic.Partitions[j]
			place, ok := w.layout.place(topic.Topic, answer.Partition)
			from, wanted := asked[place]
			if !ok || !wanted || int32(w.partitions[place].Leader) != id {
				continue
			}
			p := &w.partitions[place]
			f := lag.Fetch{From: from, Until: from}
			switch kind := missOfCode(answer.ErrorCode); kind {
			case "":
				lso, _, _, _ := p.Pinned()
				f = w.records(topic.Topic, answer, from, lso)
				f.Large = f.Until == from && !(full && len(answer.RecordBatches) == 0)
			default:
				f.Failed = kind
				if kerr.ErrorForCode(answer.ErrorCode) != kerr.OffsetOutOfRange { // retention was faster
					w.misses.add(kind, "topic "+topic.Topic, 1, askRecords+": "+codeText(answer.ErrorCode), Groups)
				}
			}
			p.Fetches = append(p.Fetches, f)
		}
	}
}

// records counts the records of an answer, as a consumer does (rule D6): those
// of aborted transactions are told by the list of them that comes with the
// answer, end markers move the position and are no records.
func (s *Sweeper) records(topic string, answer *kmsg.FetchResponseTopicPartition, from, lastStable lag.Offset) lag.Fetch {
	f := lag.Fetch{From: from, Until: from}
	options := kgo.ProcessFetchPartitionOpts{
		Offset: int64(from), Topic: topic, Partition: answer.Partition, IsolationLevel: kgo.ReadCommitted(),
	}
	committed, until := kgo.ProcessFetchPartition(options, answer, s.decompressor, nil)
	options.IsolationLevel = kgo.ReadUncommitted()
	all, _ := kgo.ProcessFetchPartition(options, answer, s.decompressor, nil)
	f.Committed, f.All = below(committed.Records, lastStable), below(all.Records, lastStable)
	switch n := len(committed.Records); {
	case committed.Err == nil:
		f.Until = lag.Offset(until)
	case n > 0:
		f.Until = lag.Offset(committed.Records[n-1].Offset) + 1
	default:
		f.Failed = lag.MissOther // it cannot be read
	}
	return f
}

// below counts the records below an offset.
func below(records []*kgo.Record, offset lag.Offset) lag.Count {
	n := lag.Count(0)
	for _, r := range records {
		if r.Offset < int64(offset) {
			n++
		}
	}
	return n
}

// newDecompressor returns franz-go's decompressor with a bound, which only a
// client can be made with. The client never connects.
func newDecompressor() kgo.Decompressor {
	client, err := kgo.NewClient(kgo.MaxDecompressBatchBytes(maxDecompressedBytes))
	if err != nil {
		panic("collector: a franz-go client with no address: " + err.Error())
	}
	defer client.Close()
	return client.OptValue(kgo.WithDecompressor).(kgo.Decompressor)
}
