package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// deleteRecords serves DeleteRecords (rules B8 and B9), each partition with its
// own error. The answer comes when every live replica has followed.
func (c *call) deleteRecords(req *kmsg.DeleteRecordsRequest) {
	resp := refuseDeleteRecords(req, 0).(*kmsg.DeleteRecordsResponse)
	var partitions []replica.DeleteRecordsPartition
	var asked []place
	for i, t := range req.Topics {
		for j, p := range t.Partitions {
			tp := kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}
			if err := c.checkPartition(acl.Delete, tp); err != nil {
				resp.Topics[i].Partitions[j].ErrorCode = codeOf(err)
				continue
			}
			partitions = append(partitions, replica.DeleteRecordsPartition{Partition: tp, Offset: kafka.Offset(p.Offset)})
			asked = append(asked, place{i, j})
		}
	}
	if len(partitions) == 0 {
		c.send(resp)
		return
	}
	c.broker.Replicas.DeleteRecords(partitions, milliseconds(req.TimeoutMillis), func(deleted []replica.DeletedRecords) {
		for k, d := range deleted {
			answer := &resp.Topics[asked[k].topic].Partitions[asked[k].partition]
			answer.LowWatermark, answer.ErrorCode = int64(d.LowWatermark), codeOf(d.Err)
		}
		c.send(resp)
	})
}

func refuseDeleteRecords(req *kmsg.DeleteRecordsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDeleteRecordsResponse()
	for _, t := range req.Topics {
		topic := kmsg.NewDeleteRecordsResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			partition := kmsg.NewDeleteRecordsResponseTopicPartition()
			partition.Partition, partition.LowWatermark, partition.ErrorCode = p.Partition, -1, code
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
