package wire

import (
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// describeTopicPartitions serves DescribeTopicPartitions (KIP-966): topics in
// order of their names, so many partitions a response, and a cursor where the
// next one goes on. No topics named means all; then those that the client may
// not describe are left out. What it may do with the others is told unasked.
func (c *call) describeTopicPartitions(req *kmsg.DescribeTopicPartitionsRequest) {
	names := c.topicsFromCursor(req)
	if at := req.Cursor; at != nil && (at.Partition < 0 || len(req.Topics) > 0 && !slices.Contains(names, at.Topic)) {
		c.refuse(kafka.ErrInvalidRequest)
		return
	}
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	limit := min(int64(req.ResponsePartitionLimit), c.cluster().Config().Int("max.request.partition.size.limit"))
	remaining := int(max(limit, 1))
	var forbidden []kmsg.DescribeTopicPartitionsResponseTopic
	for _, name := range names {
		if !c.may(acl.Describe, acl.Topic, name) {
			if len(req.Topics) > 0 {
				forbidden = append(forbidden, describedTopicError(name, kafka.ErrTopicAuthorizationFailed))
			}
			continue
		}
		if resp.NextCursor != nil {
			continue
		}
		if remaining == 0 {
			resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name}
			continue
		}
		first := 0
		if req.Cursor != nil && req.Cursor.Topic == name {
			first = int(req.Cursor.Partition)
		}
		topic, next := c.describedTopic(name, first, remaining)
		topic.AuthorizedOperations = c.authorizedOperations(acl.Topic, name)
		resp.Topics = append(resp.Topics, topic)
		remaining -= len(topic.Partitions)
		if next > 0 {
			resp.NextCursor = &kmsg.DescribeTopicPartitionsResponseNextCursor{Topic: name, Partition: int32(next)}
		}
	}
	resp.Topics = append(resp.Topics, forbidden...)
	c.send(resp)
}

// topicsFromCursor lists the topics asked for, from that of the cursor on.
func (c *call) topicsFromCursor(req *kmsg.DescribeTopicPartitionsRequest) []string {
	names := make(map[string]bool)
	for _, t := range req.Topics {
		names[t.Topic] = true
	}
	if len(req.Topics) == 0 {
		for _, t := range c.image().Topics() {
			names[t.Name] = true
		}
	}
	return slices.DeleteFunc(slices.Sorted(maps.Keys(names)), func(name string) bool {
		return req.Cursor != nil && name < req.Cursor.Topic
	})
}

// describedTopic describes at most limit partitions of a topic, and says with
// which number the rest begins, 0 if there is none.
func (c *call) describedTopic(name string, first, limit int) (topic kmsg.DescribeTopicPartitionsResponseTopic, next int) {
	t, ok := c.image().Topic(name)
	if !ok {
		if err := checkTopicName(name); err != nil {
			return describedTopicError(name, err), 0
		}
		return describedTopicError(name, kafka.ErrUnknownTopicOrPartition), 0
	}
	topic = describedTopicError(name, nil)
	topic.TopicID = t.ID
	end := min(len(t.Partitions), first+limit)
	for i := first; i < end; i++ {
		topic.Partitions = append(topic.Partitions, c.describedPartition(int32(i), t.Partitions[i]))
	}
	if end < len(t.Partitions) {
		next = end
	}
	return topic, next
}

func (c *call) describedPartition(number int32, p *controller.Partition) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	partition := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	partition.Partition, partition.LeaderID, partition.LeaderEpoch = number, int32(c.liveLeader(p)), int32(p.LeaderEpoch)
	partition.Replicas, partition.ISR = int32s(p.Replicas), int32s(p.ISR)
	partition.EligibleLeaderReplicas, partition.LastKnownELR = int32s(p.ELR), int32s(p.LastKnownELR)
	partition.OfflineReplicas = int32s(c.offline(p.Replicas))
	return partition
}

func describedTopicError(name string, err error) kmsg.DescribeTopicPartitionsResponseTopic {
	topic := kmsg.NewDescribeTopicPartitionsResponseTopic()
	topic.Topic, topic.IsInternal, topic.ErrorCode = &name, kafka.IsInternal(name), codeOf(err)
	return topic
}

func refuseDescribeTopicPartitions(req *kmsg.DescribeTopicPartitionsRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrDescribeTopicPartitionsResponse()
	for _, t := range req.Topics {
		topic := describedTopicError(t.Topic, nil)
		topic.ErrorCode = code
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
