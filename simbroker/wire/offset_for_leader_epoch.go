package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// offsetForLeaderEpoch serves OffsetForLeaderEpoch (rule E5, KIP-320): where
// the largest epoch not above the one asked for ends in the leader's log, -1
// and -1 where that cannot be told or with an error.
//
// v2: the current leader epoch (rule E4). v3: the replica's id, which makes no
// difference.
func (c *call) offsetForLeaderEpoch(req *kmsg.OffsetForLeaderEpochRequest) {
	all := c.mayCluster(acl.ClusterAction)
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for _, t := range req.Topics {
		topic := kmsg.NewOffsetForLeaderEpochResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			end, err := commitlog.EpochEnd{}, error(kafka.ErrTopicAuthorizationFailed)
			if all || c.may(acl.Describe, acl.Topic, t.Topic) {
				end, err = c.broker.Replicas.OffsetForLeaderEpoch(
					kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition},
					kafka.LeaderEpoch(p.CurrentLeaderEpoch), kafka.LeaderEpoch(p.LeaderEpoch))
			}
			if err != nil {
				end = commitlog.EpochEnd{Epoch: -1, EndOffset: -1}
			}
			topic.Partitions = append(topic.Partitions, epochEnd(p.Partition, end, codeOf(err)))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	c.send(resp)
}

func epochEnd(number int32, end commitlog.EpochEnd, code int16) kmsg.OffsetForLeaderEpochResponseTopicPartition {
	p := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
	p.Partition, p.ErrorCode = number, code
	p.LeaderEpoch, p.EndOffset = int32(end.Epoch), int64(end.EndOffset)
	return p
}

func refuseOffsetForLeaderEpoch(req *kmsg.OffsetForLeaderEpochRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for _, t := range req.Topics {
		topic := kmsg.NewOffsetForLeaderEpochResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, epochEnd(p.Partition, commitlog.EpochEnd{Epoch: -1, EndOffset: -1}, code))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
