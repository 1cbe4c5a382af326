package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// timestampSince is the version that introduced each timestamp that is a
// question of its own (rules E6 and E7).
var timestampSince = map[int64]int16{
	replica.Latest:                1,
	replica.Earliest:              1,
	replica.MaxTimestamp:          7,
	replica.EarliestLocal:         8,
	replica.LatestTiered:          9,
	replica.EarliestPendingUpload: 11,
}

// listOffsets serves ListOffsets (section E). Each partition has its own error;
// one that stands there twice is INVALID_REQUEST, once.
//
// v2: isolation level. v4: leader epochs. v5: OFFSET_NOT_AVAILABLE, before that
// LEADER_NOT_AVAILABLE (rule E9). v7, v8, v9, v11: special timestamps. v10: a
// timeout, for tiered storage alone.
func (c *call) listOffsets(req *kmsg.ListOffsetsRequest) {
	repeated := repeatedPartitions(req)
	resp := kmsg.NewPtrListOffsetsResponse()
	for i := range req.Topics {
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = req.Topics[i].Topic
		for _, p := range req.Topics[i].Partitions {
			tp := kafka.TopicPartition{Topic: topic.Topic, Partition: p.Partition}
			answered, twice := repeated[tp]
			if answered {
				continue
			}
			listed, err := c.listOffset(req, tp, p, twice)
			if twice {
				repeated[tp] = true
			}
			topic.Partitions = append(topic.Partitions, listedPartition(p.Partition, listed, codeOf(err)))
		}
		if len(topic.Partitions) > 0 {
			resp.Topics = append(resp.Topics, topic)
		}
	}
	c.send(resp)
}

// repeatedPartitions are the partitions that stand in a request more than once,
// with false for each. Where topics differ and partitions come in order, as
// clients have it, there can be none.
func repeatedPartitions(req *kmsg.ListOffsetsRequest) map[kafka.TopicPartition]bool {
	topics, inOrder := make(map[string]bool, len(req.Topics)), true
	for _, t := range req.Topics {
		inOrder = inOrder && !topics[t.Topic]
		topics[t.Topic] = true
		for i := 1; i < len(t.Partitions); i++ {
			inOrder = inOrder && t.Partitions[i-1].Partition < t.Partitions[i].Partition
		}
	}
	if inOrder {
		return nil
	}
	seen, repeated := make(map[kafka.TopicPartition]bool), make(map[kafka.TopicPartition]bool)
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			tp := kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			if seen[tp] {
				repeated[tp] = false
			}
			seen[tp] = true
		}
	}
	return repeated
}

// listOffset answers for one partition; its fields are all -1 with an error.
func (c *call) listOffset(req *kmsg.ListOffsetsRequest, tp kafka.TopicPartition, p kmsg.ListOffsetsRequestTopicPartition, twice bool) (replica.ListedOffset, error) {
	nothing := replica.ListedOffset{Offset: -1, TimestampMs: -1, LeaderEpoch: -1}
	if !c.may(acl.Describe, acl.Topic, tp.Topic) {
		return nothing, kafka.ErrTopicAuthorizationFailed
	}
	if twice {
		return nothing, kafka.ErrInvalidRequest
	}
	if since, ok := timestampSince[p.Timestamp]; p.Timestamp < 0 && (!ok || req.Version < since) {
		return nothing, kafka.ErrUnsupportedVersion
	}
	if !knownIsolation(req.IsolationLevel) {
		return nothing, kafka.ErrUnknownServerError
	}
	listed, err := c.broker.Replicas.ListOffsets(replica.ListOffsetsRequest{
		ReplicaID:          kafka.BrokerID(req.ReplicaID),
		Isolation:          replica.IsolationLevel(req.IsolationLevel),
		Partition:          tp,
		CurrentLeaderEpoch: kafka.LeaderEpoch(p.CurrentLeaderEpoch),
		Timestamp:          p.Timestamp,
	})
	if err != nil {
		listed = nothing
	}
	if req.Version < 5 && domainError(err) == kafka.ErrOffsetNotAvailable {
		err = kafka.ErrLeaderNotAvailable
	}
	return listed, err
}

func listedPartition(number int32, listed replica.ListedOffset, code int16) kmsg.ListOffsetsResponseTopicPartition {
	p := kmsg.NewListOffsetsResponseTopicPartition()
	p.Partition, p.ErrorCode = number, code
	p.Timestamp, p.Offset, p.LeaderEpoch = listed.TimestampMs, int64(listed.Offset), int32(listed.LeaderEpoch)
	return p
}

func refuseListOffsets(req *kmsg.ListOffsetsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrListOffsetsResponse()
	for i := range req.Topics {
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = req.Topics[i].Topic
		for _, p := range req.Topics[i].Partitions {
			topic.Partitions = append(topic.Partitions, listedPartition(p.Partition, replica.ListedOffset{Offset: -1, TimestampMs: -1, LeaderEpoch: -1}, code))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
