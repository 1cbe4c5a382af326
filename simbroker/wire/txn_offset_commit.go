package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// txnOffsetCommit serves TxnOffsetCommit (rule H5). Topics and partitions that
// do not exist get their errors, and the rest is committed.
//
// v2: COORDINATOR_LOAD_IN_PROGRESS, before that COORDINATOR_NOT_AVAILABLE, since
// clients crashed on it (KAFKA-7296); leader epochs. v3: generation, member and
// instance id (KIP-447). v4: TRANSACTION_ABORTABLE. v5: adds the group's
// partition of __consumer_offsets to the transaction (rule G10).
func (c *call) txnOffsetCommit(req *kmsg.TxnOffsetCommitRequest) {
	switch {
	case !c.may(acl.Write, acl.TransactionalID, req.TransactionalID):
		c.refuse(kafka.ErrTransactionalIDAuthorizationFailed)
		return
	case !c.may(acl.Read, acl.Group, req.Group):
		c.refuse(kafka.ErrGroupAuthorizationFailed)
		return
	}
	resp := kmsg.NewPtrTxnOffsetCommitResponse()
	commit := group.TxnCommitRequest{
		GroupID:         req.Group,
		TransactionalID: req.TransactionalID,
		Producer:        kafka.Producer{ID: kafka.ProducerID(req.ProducerID), Epoch: kafka.ProducerEpoch(req.ProducerEpoch)},
		Generation:      req.Generation,
		MemberID:        req.MemberID,
		InstanceID:      req.InstanceID,
		Mode:            verifyMode(req.Version),
	}
	for i := range req.Topics {
		valid, refused := c.splitTxnCommit(&req.Topics[i])
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
	c.broker.Groups.TxnCommit(commit, func(topics []group.TopicResult, err error) {
		if err != nil {
			if req.Version < 2 && domainError(err) == kafka.ErrCoordinatorLoadInProgress {
				err = kafka.ErrCoordinatorNotAvailable
			}
			topics = failedCommit(commit.Topics, err)
		}
		for _, t := range topics {
			mergeTxnCommitted(resp, t)
		}
		c.send(resp)
	})
}

func verifyMode(version int16) group.VerifyMode {
	switch {
	case version <= 3:
		return group.DefaultError
	case version == 4:
		return group.GenericErrorSupported
	}
	return group.AddPartition
}

// splitTxnCommit separates what can be committed of a topic from what cannot.
func (c *call) splitTxnCommit(t *kmsg.TxnOffsetCommitRequestTopic) (valid group.CommitTopic, refused kmsg.TxnOffsetCommitResponseTopic) {
	refused = kmsg.NewTxnOffsetCommitResponseTopic()
	refused.Topic, valid.Topic = t.Topic, t.Topic
	if topic, ok := c.image().Topic(t.Topic); ok {
		valid.TopicID = topic.ID
	}
	for _, p := range t.Partitions {
		if err := c.checkPartition(acl.Read, kafka.TopicPartition{Topic: t.Topic, Partition: p.Partition}); err != nil {
			refused.Partitions = append(refused.Partitions, txnCommittedPartition(p.Partition, codeOf(err)))
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

// mergeTxnCommitted adds what the coordinator answered to the errors of the
// same topic.
func mergeTxnCommitted(resp *kmsg.TxnOffsetCommitResponse, t group.TopicResult) {
	at := -1
	for i := range resp.Topics {
		if resp.Topics[i].Topic == t.Topic {
			at = i
		}
	}
	if at < 0 {
		topic := kmsg.NewTxnOffsetCommitResponseTopic()
		topic.Topic = t.Topic
		resp.Topics = append(resp.Topics, topic)
		at = len(resp.Topics) - 1
	}
	for _, p := range t.Partitions {
		resp.Topics[at].Partitions = append(resp.Topics[at].Partitions, txnCommittedPartition(p.Partition, codeOf(p.Err)))
	}
}

func txnCommittedPartition(number int32, code int16) kmsg.TxnOffsetCommitResponseTopicPartition {
	p := kmsg.NewTxnOffsetCommitResponseTopicPartition()
	p.Partition, p.ErrorCode = number, code
	return p
}

func refuseTxnOffsetCommit(req *kmsg.TxnOffsetCommitRequest, code int16) kmsg.Response {
	resp := kmsg.NewPtrTxnOffsetCommitResponse()
	for _, t := range req.Topics {
		topic := kmsg.NewTxnOffsetCommitResponseTopic()
		topic.Topic = t.Topic
		for _, p := range t.Partitions {
			topic.Partitions = append(topic.Partitions, txnCommittedPartition(p.Partition, code))
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}
