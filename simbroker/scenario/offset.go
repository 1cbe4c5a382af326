package scenario

import (
	"context"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Replica ids that clients use (rule E1).
const (
	consumerReplica = int32(-1)
	debugReplica    = int32(-2)
)

// latest is the timestamp that asks for the end of the log.
const latest = int64(-1)

type offsetQuery struct {
	version   int16 // 0 lets the Play choose
	replica   int32
	committed bool
	epoch     int32 // current leader epoch; 0 sends none, else it is one more
	timestamp int64
	at        string
}

// listOffsets sends one ListOffsets request for partitions that share a leader.
func (p *Play) listOffsets(ctx context.Context, tps []topicPartition, q offsetQuery) (parts []kmsg.ListOffsetsResponseTopicPartition, refusal string, err error) {
	broker, refusal, err := p.target(ctx, tps[0], q.at)
	if err != nil || refusal != "" {
		return nil, refusal, err
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = p.version(req.Key(), q.version-1), q.replica
	if q.committed {
		req.IsolationLevel = 1
	}
	topic := kmsg.NewListOffsetsRequestTopic()
	topic.Topic = tps[0].topic
	for _, tp := range tps {
		part := kmsg.NewListOffsetsRequestTopicPartition()
		part.Partition, part.Timestamp, part.CurrentLeaderEpoch = tp.partition, q.timestamp, q.epoch-1
		topic.Partitions = append(topic.Partitions, part)
	}
	req.Topics = append(req.Topics, topic)
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return nil, "", err
	}
	return resp.(*kmsg.ListOffsetsResponse).Topics[0].Partitions, "", nil
}

// listOffset asks for one partition's offset.
func (p *Play) listOffset(ctx context.Context, tp topicPartition, q offsetQuery) (offset int64, code int16, err error) {
	parts, refusal, err := p.listOffsets(ctx, []topicPartition{tp}, q)
	if err != nil {
		return 0, 0, err
	}
	if refusal != "" {
		return 0, kerr.LeaderNotAvailable.Code, nil
	}
	return parts[0].Offset, parts[0].ErrorCode, nil
}

// firstManyGroups is the version of OffsetFetch that takes many groups at once.
const firstManyGroups = 8

// fetchOffsets asks for a group's offsets, of all partitions if it names none, in
// a version, or in the one that suits the cluster if that is -1.
func (p *Play) fetchOffsets(ctx context.Context, broker int32, version int16, stable bool, g kmsg.OffsetFetchRequestGroup) (kmsg.OffsetFetchResponseGroup, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.RequireStable, req.Groups = p.version(req.Key(), version), stable, []kmsg.OffsetFetchRequestGroup{g}
	req.Group = g.Group
	for _, t := range g.Topics {
		topic := kmsg.NewOffsetFetchRequestTopic()
		topic.Topic, topic.Partitions = t.Topic, t.Partitions
		req.Topics = append(req.Topics, topic)
	}
	resp, err := p.ask(ctx, broker, req)
	if err != nil {
		return kmsg.OffsetFetchResponseGroup{}, err
	}
	got := resp.(*kmsg.OffsetFetchResponse)
	if req.Version >= firstManyGroups {
		return got.Groups[0], nil
	}
	only := kmsg.NewOffsetFetchResponseGroup()
	only.Group, only.ErrorCode = g.Group, got.ErrorCode
	for _, t := range got.Topics {
		topic := kmsg.NewOffsetFetchResponseGroupTopic()
		topic.Topic = t.Topic
		for _, part := range t.Partitions {
			of := kmsg.NewOffsetFetchResponseGroupTopicPartition()
			of.Partition, of.Offset, of.ErrorCode = part.Partition, part.Offset, part.ErrorCode
			topic.Partitions = append(topic.Partitions, of)
		}
		only.Topics = append(only.Topics, topic)
	}
	return only, nil
}
