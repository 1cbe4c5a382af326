package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// alterShareGroupOffsets serves AlterShareGroupOffsets. Topics that the client
// may not read or that there are not get their errors, before the others, which
// are altered.
func (c *call) alterShareGroupOffsets(req *kmsg.AlterShareGroupOffsetsRequest) {
	switch {
	case !c.finalized("share.version", ""):
		c.refuse(kafka.ErrUnsupportedVersion)
		return
	case !c.may(acl.Read, acl.Group, req.GroupID):
		c.refuse(kafka.ErrGroupAuthorizationFailed)
		return
	}
	resp := kmsg.NewPtrAlterShareGroupOffsetsResponse()
	alteration := group.AlterShareOffsetsRequest{GroupID: req.GroupID}
	for _, t := range req.Topics {
		if err := c.checkTopic(acl.Read, t.Topic); err != nil {
			refused := group.TopicResult{Topic: t.Topic, TopicID: c.topicIDOf(t.Topic)}
			for _, p := range t.Partitions {
				refused.Partitions = append(refused.Partitions, group.PartitionResult{Partition: p.Partition, Err: err})
			}
			resp.Topics = append(resp.Topics, alteredShareOffsets(refused))
			continue
		}
		start := group.ShareStart{Topic: t.Topic}
		for _, p := range t.Partitions {
			start.Partitions = append(start.Partitions, group.ShareStartPartition{Partition: p.Partition, Start: kafka.Offset(p.StartOffset)})
		}
		alteration.Topics = append(alteration.Topics, start)
	}
	c.broker.Groups.AlterShareOffsets(alteration, func(topics []group.TopicResult, err error) {
		if err != nil {
			failed := kmsg.NewPtrAlterShareGroupOffsetsResponse()
			failed.ErrorCode, failed.ErrorMessage = codeOf(err), fullMessageOf(err)
			c.send(failed)
			return
		}
		for _, t := range topics {
			resp.Topics = append(resp.Topics, alteredShareOffsets(t))
		}
		c.send(resp)
	})
}

// topicIDOf is a topic's id, zero if there is none.
func (c *call) topicIDOf(topic string) kafka.TopicID {
	if t, ok := c.image().Topic(topic); ok {
		return t.ID
	}
	return kafka.TopicID{}
}

func alteredShareOffsets(result group.TopicResult) kmsg.AlterShareGroupOffsetsResponseTopic {
	t := kmsg.NewAlterShareGroupOffsetsResponseTopic()
	t.Topic, t.TopicID = result.Topic, result.TopicID
	for _, r := range result.Partitions {
		p := kmsg.NewAlterShareGroupOffsetsResponseTopicPartition()
		p.Partition, p.ErrorCode, p.ErrorMessage = r.Partition, codeOf(r.Err), fullMessageOf(r.Err)
		t.Partitions = append(t.Partitions, p)
	}
	return t
}

func refuseAlterShareGroupOffsets(_ *kmsg.AlterShareGroupOffsetsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrAlterShareGroupOffsetsResponse()
	resp.ErrorCode = code
	return resp
}
