package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// offsetDelete serves OffsetDelete (rule H11). Topics and partitions that do
// not exist get their errors, and the rest is deleted.
func (c *call) offsetDelete(req *kmsg.OffsetDeleteRequest) {
	if !c.may(acl.Delete, acl.Group, req.Group) {
		c.refuse(kafka.ErrGroupAuthorizationFailed)
		return
	}
	resp := kmsg.NewPtrOffsetDeleteResponse()
	deletion := group.DeleteOffsetsRequest{GroupID: req.Group}
	for _, t := range req.Topics {
		valid := group.FetchTopic{Topic: t.Topic}
		refused := kmsg.NewOffsetDeleteResponseTopic()
		refused.Topic = t.Topic
		for _, p := range t.Partitions {
			if err := c.checkPartition(acl.Read, kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}); err != nil {
				refused.Partitions = append(refused.Partitions, deletedOffset(p.Partition, codeOf(err)))
			} else {
				valid.Partitions = append(valid.Partitions, p.Partition)
			}
		}
		if len(refused.Partitions) > 0 {
			resp.Topics = append(resp.Topics, refused)
		}
		if len(valid.Partitions) > 0 {
			deletion.Topics = append(deletion.Topics, valid)
		}
	}
	c.broker.Groups.DeleteOffsets(deletion, func(topics []group.TopicResult, err error) {
		if err != nil {
			c.refuse(err)
			return
		}
		for _, t := range topics {
			mergeDeletedOffsets(resp, t)
		}
		c.send(resp)
	})
}

// mergeDeletedOffsets adds what the coordinator answered to the errors of the
// same topic.
func mergeDeletedOffsets(resp *kmsg.OffsetDeleteResponse, t group.TopicResult) {
	at := -1
	for i := range resp.Topics {
		if resp.Topics[i].Topic == t.Topic {
			at = i
		}
	}
	if at < 0 {
		topic := kmsg.NewOffsetDeleteResponseTopic()
		topic.Topic = t.Topic
		resp.Topics = append(resp.Topics, topic)
		at = len(resp.Topics) - 1
	}
	for _, p := range t.Partitions {
		resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, deletedOffset(p.Partition, codeOf(p.Err)))
	}
}

func deletedOffset(number int32, code int16) kmsg.OffsetDeleteResponseTopicPartition {
	p := kmsg.NewOffsetDeleteResponseTopicPartition()
	p.Partition, p.ErrorCode = number, code
	return p
}

func refuseOffsetDelete(_ *kmsg.OffsetDeleteRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrOffsetDeleteResponse()
	resp.ErrorCode = code
	return resp
}
