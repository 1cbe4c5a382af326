package application

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// reader reads a partition as a read_committed consumer, up to where it would
// have to wait.
type reader struct {
	*client
	from     Partition
	position int64 // of the next Fetch
	buffer   []*kgo.Record
}

const fetchBytes = 1 << 20

// poll is the keys of at most so many records, all there are if there is no
// limit, and the offset to commit behind them. No keys mean that the end is
// reached.
func (r *reader) poll(most int) (keys []string, next int64, err error) {
	for len(r.buffer) == 0 {
		end, err := r.fetch()
		if err != nil {
			return nil, 0, err
		}
		if end {
			return nil, r.position, nil
		}
	}
	n := len(r.buffer)
	if most > 0 {
		n = min(n, most)
	}
	for _, record := range r.buffer[:n] {
		keys = append(keys, string(record.Key))
		next = record.Offset + 1
	}
	if r.buffer = r.buffer[n:]; len(r.buffer) == 0 {
		next = r.position // behind markers and what was aborted
	}
	return keys, next, nil
}

// fetch fills the buffer; end says that there is nothing left to fetch.
func (r *reader) fetch() (end bool, err error) {
	err = r.retried("Fetch", func() (int16, error) {
		if err := r.learn(); err != nil {
			return 0, err
		}
		req := kmsg.NewPtrFetchRequest()
		req.Version, req.MaxBytes, req.SessionEpoch, req.IsolationLevel = r.version(req.Key()), fetchBytes, -1, 1
		topic, want := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
		want.Partition, want.FetchOffset, want.PartitionMaxBytes, want.CurrentLeaderEpoch = r.from.Number, r.position, fetchBytes, -1
		topic.Topic, topic.Partitions = r.from.Topic, append(topic.Partitions, want)
		req.Topics = append(req.Topics, topic)
		answer, err := r.toLeader(r.from, req)
		if err != nil {
			return 0, err
		}
		resp := answer.(*kmsg.FetchResponse)
		if resp.ErrorCode != 0 {
			return resp.ErrorCode, nil
		}
		part := resp.Topics[0].Partitions[0]
		if part.ErrorCode != 0 {
			return part.ErrorCode, nil
		}
		opts := kgo.ProcessFetchPartitionOpts{
			Offset: r.position, IsolationLevel: kgo.ReadCommitted(), Topic: r.from.Topic, Partition: r.from.Number,
		}
		fetched, next := kgo.ProcessFetchPartition(opts, &part, kgo.DefaultDecompressor(), nil)
		if fetched.Err != nil {
			return 0, fetched.Err
		}
		end = next <= r.position
		r.buffer, r.position = fetched.Records, max(next, r.position)
		return 0, nil
	})
	return end, err
}

// begin finds where a group has committed that it goes on, which waits for open
// transactions with its offsets (KIP-447); 0 if it has committed nothing.
func (r *reader) begin(group string) error {
	req := kmsg.NewPtrOffsetFetchRequest()
	err := r.retried("OffsetFetch", func() (int16, error) {
		if err := r.learn(); err != nil {
			return 0, err
		}
		req.Version, req.RequireStable = r.version(req.Key()), true
		if req.Version < 8 {
			return 0, fmt.Errorf("the cluster has OffsetFetch up to v%d, v8 is wanted", req.Version)
		}
		g, topic := kmsg.NewOffsetFetchRequestGroup(), kmsg.NewOffsetFetchRequestGroupTopic()
		topic.Topic, topic.Partitions = r.from.Topic, []int32{r.from.Number}
		g.Group, g.MemberEpoch, g.Topics = group, -1, append(g.Topics, topic)
		req.Groups = []kmsg.OffsetFetchRequestGroup{g}
		answer, err := r.toCoordinator(ofGroup, group, req)
		if err != nil {
			return 0, err
		}
		resp := answer.(*kmsg.OffsetFetchResponse).Groups[0]
		if resp.ErrorCode != 0 {
			return resp.ErrorCode, nil
		}
		part := resp.Topics[0].Partitions[0]
		r.position = max(part.Offset, 0)
		return part.ErrorCode, nil
	})
	return err
}

// commit commits an offset of a group that nobody is a member of.
func (c *client) commit(group string, of Partition, offset int64) error {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group, req.Generation = c.version(req.Key()), group, -1
	topic, part := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
	part.Partition, part.Offset = of.Number, offset
	topic.Topic, topic.Partitions = of.Topic, append(topic.Partitions, part)
	req.Topics = append(req.Topics, topic)
	return c.retried("OffsetCommit", func() (int16, error) {
		answer, err := c.toCoordinator(ofGroup, group, req)
		if err != nil {
			return 0, err
		}
		return answer.(*kmsg.OffsetCommitResponse).Topics[0].Partitions[0].ErrorCode, nil
	})
}

// Records is the keys of all records that a read_committed consumer is given of
// a partition now, in order.
func Records(ctx context.Context, cluster Cluster, of Partition) ([]string, error) {
	r := reader{client: &client{ctx: ctx, cluster: cluster}, from: of}
	var all []string
	for {
		keys, _, err := r.poll(0)
		if err != nil || len(keys) == 0 {
			return all, err
		}
		all = append(all, keys...)
	}
}
