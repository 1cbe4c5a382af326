package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// offsetCommit serves OffsetCommit (rule H4). Topics and partitions that do not
// exist get their errors, and the rest is committed.
//
// v2 to v4: a retention time, otherwise the broker's. v6: leader epochs. v7:
// static members. v9: GROUP_ID_NOT_FOUND and the consumer protocol's errors.
// v10: topic ids in place of names.
func (c *call) offsetCommit(req *kmsg.OffsetCommitRequest) {
	if !c.may(acl.Read, acl.Group, req.Group) {
		c.refuse(kafka.ErrGroupAuthorizationFailed)
		return
	}
	resp := kmsg.NewPtrOffsetCommitResponse()
	commit := group.CommitRequest{
		GroupID:                  req.Group,
		Generation:               req.Generation,
		MemberID:                 req.MemberID,
		InstanceID:               req.InstanceID,
		Retention:                -1,
		GroupIDNotFoundSupported: req.Version >= 9,
	}
	if req.Version <= 4 && req.RetentionTimeMillis >= 0 {
		commit.Retention = milliseconds(req.RetentionTimeMillis)
	}
	for i := range req.Topics {
		valid, refused := c.splitCommit(&req.Topics[i], req.Version)
		if len(refused.Partitions) > 0 {
			resp.Topics = append(resp.Topics, refused)
		}
		if len(valid.Partitions) > 0 {
			commit.Topics = append(commit.Topics, valid)
		}
	}
	if len(commit.Topics) == 0 {
		c.send(resp)
		return
	}
	c.broker.Groups.Commit(commit, func(topics []group.TopicResult, err error) {
		if err != nil {
			topics = failedCommit(commit.Topics, err)
		}
		for _, t := range topics {
			mergeCommitted(resp, t)
		}
		c.send(resp)
	})
}

// splitCommit separates what can be committed of a topic from what cannot.
func (c *call) splitCommit(t *kmsg.OffsetCommitRequestTopic, version int16) (valid group.CommitTopic, refused kmsg.OffsetCommitResponseTopic) {
	refused = kmsg.NewOffsetCommitResponseTopic()
	refused.Topic, refused.TopicID = t.Topic, t.TopicID
	name, err := t.Topic, error(nil)
	if version >= 10 {
		if topic, ok := c.image().TopicByID(t.TopicID); ok {
			name = topic.Name
		} else {
			err = kafka.ErrUnknownTopicID
		}
	}
	if err == nil {
		err = c.checkTopic(acl.Read, name)
	}
	if err == nil {
		topic, _ := c.image().Topic(name)
		valid.Topic, valid.TopicID = name, topic.ID
	}
	for _, p := range t.Partitions {
		partitionErr := err
		if partitionErr == nil {
			if _, ok := c.image().Partition(kafka.TopicPartition{Topic: name, Partition: p.Partition}); !ok {
				partitionErr = kafka.ErrUnknownTopicOrPartition
			}
		}
		if partitionErr != nil {
			refused.Partitions = append(refused.Partitions, committedPartition(p.Partition, partitionErr))
			continue
		}
		valid.Partitions = append(valid.Partitions, group.CommittedOffset{
			Partition:   p.Partition,
			Offset:      kafka.Offset(p.Offset),
			LeaderEpoch: kafka.LeaderEpoch(p.LeaderEpoch),
			Metadata:    stringOf(p.Metadata),
		})
	}
	return valid, refused
}

// failedCommit gives the error of a whole commit to each of its partitions.
func failedCommit(commit []group.CommitTopic, err error) []group.TopicResult {
	topics := make([]group.TopicResult, len(commit))
	for i, t := range commit {
		topics[i] = group.TopicResult{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			topics[i].Partitions = append(topics[i].Partitions, group.PartitionResult{Partition: p.Partition, Err: err})
		}
	}
	return topics
}

// mergeCommitted adds what the coordinator answered to the errors of the same
// topic.
func mergeCommitted(resp *kmsg.OffsetCommitResponse, t group.TopicResult) {
	at := -1
	for i := range resp.Topics {
		if same := &resp.Topics[i]; same.Topic == t.Topic || same.TopicID == t.TopicID && same.TopicID != [16]byte{} {
			at = i
		}
	}
	if at < 0 {
		topic := kmsg.NewOffsetCommitResponseTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		resp.Topics = append(resp.Topics, topic)
		at = len(resp.Topics) - 1
	}
	for _, p := range t.Partitions {
		resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, committedPartition(p.Partition, p.Err))
	}
}

func committedPartition(number int32, err error) kmsg.OffsetCommitResponseTopicPartition {
	p := kmsg.NewOffsetCommitResponseTopicPartition()
	p.Partition, p.ErrorCode = number, codeOf(err)
	return p
}

func refuseOffsetCommit(req *kmsg.OffsetCommitRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrOffsetCommitResponse()
	for _, t := range req.Topics {
		topic := kmsg.NewOffsetCommitResponseTopic()
		topic.Topic, topic.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			partition := kmsg.NewOffsetCommitResponseTopicPartition()
			partition.Partition, partition.ErrorCode = p.Partition, code
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
