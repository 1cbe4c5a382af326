package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// describeProducers serves DescribeProducers (rule G23), each partition with
// its own error. Any replica answers; a broker without one is
// NOT_LEADER_OR_FOLLOWER.
func (c *call) describeProducers(req *kmsg.DescribeProducersRequest) {
	resp := kmsg.NewPtrDescribeProducersResponse()
	for _, t := range req.Topics {
		topic := kmsg.NewDescribeProducersResponseTopic()
		topic.Topic = t.Topic
		topicErr := checkTopicName(t.Topic)
		if topicErr == nil {
			topicErr = c.checkTopic(acl.Read, t.Topic)
		}
		for _, number := range t.Partitions {
			states, err := []producer.State(nil), topicErr
			if err == nil {
				states, err = c.broker.Replicas.DescribeProducers(kafka.TopicPartition{Topic: t.Topic, Partition: number})
			}
			partition := describedProducers(number, states, err)
			partition.ErrorMessage = fullMessageOf(topicErr)
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	c.send(resp)
}

func describedProducers(number int32, states []producer.State, err error) kmsg.DescribeProducersResponseTopicPartition {
	partition := kmsg.NewDescribeProducersResponseTopicPartition()
	partition.Partition, partition.ErrorCode = number, codeOf(err)
	for _, s := range states {
		p := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		p.ProducerID, p.ProducerEpoch = int64(s.Producer.ID), int32(s.Producer.Epoch)
		p.LastSequence, p.LastTimestamp = s.LastSequence, s.LastTimestampMs
		p.CoordinatorEpoch, p.CurrentTxnStartOffset = int32(s.CoordinatorEpoch), int64(s.CurrentTxnStartOffset)
		partition.ActiveProducers = append(partition.ActiveProducers, p)
	}
	return partition
}

func refuseDescribeProducers(req *kmsg.DescribeProducersRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDescribeProducersResponse()
	for _, t := range req.Topics {
		topic := kmsg.NewDescribeProducersResponseTopic()
		topic.Topic = t.Topic
		for _, number := range t.Partitions {
			partition := describedProducers(number, nil, nil)
			partition.ErrorCode = code
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
