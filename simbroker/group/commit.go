package group

import (
	"errors"
	"unicode/utf16"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// Commit commits offsets and answers when they are replicated, topics and
// partitions in the order asked (rule H4). OFFSET_METADATA_TOO_LARGE is a
// partition's own error; the others stand for all partitions: NOT_COORDINATOR,
// COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE,
// ILLEGAL_GENERATION, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID,
// FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS, and of a group of the consumer
// protocol STALE_MEMBER_EPOCH and UNSUPPORTED_VERSION.
func (c *Coordinator) Commit(req CommitRequest, done func([]TopicResult, error)) {
	s, err := c.find(req.GroupID)
	if err != nil {
		done(nil, err)
		return
	}
	check, err := validateCommit(s.groups[req.GroupID], req)
	if err == nil {
		err = check.allows(req.Topics)
	}
	if err != nil {
		done(nil, err)
		return
	}
	if g, ok := s.groups[req.GroupID].(*classic); ok {
		classicGroups{s}.committed(g, req.MemberID)
	}
	c.store(s, s.plain(), req.GroupID, req.Topics, func(topic CommitTopic) commit {
		stored := commit{at: c.broker.now(), expires: noTime, topicID: topic.TopicID}
		if req.Retention >= 0 {
			stored.expires = stored.at + req.Retention.Milliseconds()
		}
		return stored
	}, done)
}

// validateCommit says whether a plain commit is good. A group that does not
// exist is made by one of no generation: a simple group.
func validateCommit(g group, req CommitRequest) (commitCheck, error) {
	switch {
	case g != nil:
		return g.validateCommit(commitAttempt{
			memberID: req.MemberID, instanceID: req.InstanceID, epoch: req.Generation, knowsEpochs: req.GroupIDNotFoundSupported,
		})
	case req.Generation < 0:
		return nil, nil
	case req.GroupIDNotFoundSupported:
		return nil, kafka.ErrGroupIDNotFound
	}
	return nil, kafka.ErrIllegalGeneration
}

// TxnCommit commits offsets in a transaction: they are pending until its
// marker comes (rules H5, H6). The transaction coordinator is asked before the
// group is looked at, so that a refused request may leave the partition in the
// transaction (rule G10). Errors are those of Commit, without
// GROUP_ID_NOT_FOUND and REBALANCE_IN_PROGRESS, INVALID_GROUP_ID, and those of
// the verification.
func (c *Coordinator) TxnCommit(req TxnCommitRequest, done func([]TopicResult, error)) {
	if req.GroupID == "" {
		done(nil, kafka.ErrInvalidGroupID)
		return
	}
	if _, err := c.find(req.GroupID); err != nil {
		done(nil, err)
		return
	}
	c.broker.env.Verifier.Verify(Verification{
		TransactionalID: req.TransactionalID,
		Producer:        req.Producer,
		Partition:       kafka.TopicPartition{Topic: kafka.ConsumerOffsetsTopic, Partition: c.PartitionFor(req.GroupID)},
		Mode:            req.Mode,
	}, func(guard producer.Guard, err error) {
		if err != nil {
			done(nil, coordinatorError(err))
			return
		}
		c.commitVerified(req, guard, done)
	})
}

func (c *Coordinator) commitVerified(req TxnCommitRequest, guard producer.Guard, done func([]TopicResult, error)) {
	s, err := c.find(req.GroupID) // again: time has passed
	if err != nil {
		done(nil, err)
		return
	}
	if err := validateTxnCommit(s.groups[req.GroupID], req); err != nil {
		done(nil, err)
		return
	}
	b := s.plain()
	b.Producer, b.Guard = req.Producer, guard
	c.store(s, b, req.GroupID, req.Topics, func(CommitTopic) commit {
		return commit{at: c.broker.now(), expires: noTime}
	}, done)
}

// validateTxnCommit says whether a transactional commit is good. Transactional
// producers know nothing of member epochs: a stale one is ILLEGAL_GENERATION.
func validateTxnCommit(g group, req TxnCommitRequest) error {
	if g == nil {
		if req.Generation >= 0 {
			return kafka.ErrIllegalGeneration
		}
		return nil
	}
	check, err := g.validateCommit(commitAttempt{
		memberID: req.MemberID, instanceID: req.InstanceID, epoch: req.Generation, transactional: true,
	})
	if err == nil {
		err = check.allows(req.Topics)
	}
	if errors.Is(err, kafka.ErrStaleMemberEpoch) {
		return kafka.ErrIllegalGeneration
	}
	return err
}

// store writes the offsets of a commit into a batch. begin is what all commits
// of a topic have in common.
func (c *Coordinator) store(s *shard, b Batch, groupID string, topics []CommitTopic, begin func(CommitTopic) commit, done func([]TopicResult, error)) {
	results := make([]TopicResult, len(topics))
	for i, topic := range topics {
		results[i] = TopicResult{Topic: topic.Topic, TopicID: topic.TopicID}
		for _, p := range topic.Partitions {
			result := PartitionResult{Partition: p.Partition}
			if javaLength(p.Metadata) > c.broker.cfg.OffsetMetadataMaxBytes {
				result.Err = kafka.ErrOffsetMetadataTooLarge
			} else {
				stored := begin(topic)
				stored.offset, stored.leaderEpoch, stored.metadata = p.Offset, p.LeaderEpoch, p.Metadata
				key := encodeOffsetKey(groupID, kafka.TopicPartition{Topic: topic.Topic, Partition: p.Partition})
				b.Records = append(b.Records, Record{Key: key, Value: encodeCommit(stored)})
			}
			results[i].Partitions = append(results[i].Partitions, result)
		}
	}
	if len(b.Records) == 0 {
		done(results, nil)
		return
	}
	s.write(b, func(err error) {
		if err != nil {
			done(nil, err)
			return
		}
		done(results, nil)
	})
}

// javaLength is the length of a string as Java counts it, which is what
// offset.metadata.max.bytes is compared with.
func javaLength(s string) int { return len(utf16.Encode([]rune(s))) }
