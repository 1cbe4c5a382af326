package coordinator

import (
	"errors"
	"unicode/utf16"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/classic"
	"github.com/lso-exporter/lso-exporter/simbroker/group/offsets"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
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
func (c *Coordinator) Commit(req group.CommitRequest, done func([]group.TopicResult, error)) {
	s, err := c.find(req.GroupID)
	if err != nil {
		done(nil, err)
		return
	}
	check, err := validateCommit(s.Groups[req.GroupID], req)
	if err == nil {
		err = check.Allows(req.Topics)
	}
	if err != nil {
		done(nil, err)
		return
	}
	if g, ok := s.Groups[req.GroupID].(*classic.Group); ok {
		classic.Protocol{Shard: s}.Committed(g, req.MemberID)
	}
	c.store(s, s.Plain(), req.GroupID, req.Topics, func(topic group.CommitTopic) offsets.Commit {
		stored := offsets.Commit{At: c.broker.Now(), Expires: group.NoTime, TopicID: topic.TopicID}
		if req.Retention >= 0 {
			stored.Expires = stored.At + req.Retention.Milliseconds()
		}
		return stored
	}, done)
}

// validateCommit says whether a plain commit is good. A group that does not
// exist is made by one of no generation: a simple group.
func validateCommit(g shard.Group, req group.CommitRequest) (shard.CommitCheck, error) {
	switch {
	case g != nil:
		return g.ValidateCommit(shard.CommitAttempt{
			MemberID: req.MemberID, InstanceID: req.InstanceID, Epoch: req.Generation, KnowsEpochs: req.GroupIDNotFoundSupported,
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
func (c *Coordinator) TxnCommit(req group.TxnCommitRequest, done func([]group.TopicResult, error)) {
	if req.GroupID == "" {
		done(nil, kafka.ErrInvalidGroupID)
		return
	}
	if _, err := c.find(req.GroupID); err != nil {
		done(nil, err)
		return
	}
	c.broker.Env.Verifier.Verify(group.Verification{
		TransactionalID: req.TransactionalID,
		Producer:        req.Producer,
		Partition:       kafka.TopicPartition{Topic: kafka.ConsumerOffsetsTopic, Partition: c.PartitionFor(req.GroupID)},
		Mode:            req.Mode,
	}, func(guard producer.Guard, err error) {
		if err != nil {
			done(nil, shard.CoordinatorError(err))
			return
		}
		c.commitVerified(req, guard, done)
	})
}

func (c *Coordinator) commitVerified(req group.TxnCommitRequest, guard producer.Guard, done func([]group.TopicResult, error)) {
	s, err := c.find(req.GroupID) // again: time has passed
	if err != nil {
		done(nil, err)
		return
	}
	if err := validateTxnCommit(s.Groups[req.GroupID], req); err != nil {
		done(nil, err)
		return
	}
	b := s.Plain()
	b.Producer, b.Guard = req.Producer, guard
	c.store(s, b, req.GroupID, req.Topics, func(group.CommitTopic) offsets.Commit {
		return offsets.Commit{At: c.broker.Now(), Expires: group.NoTime}
	}, done)
}

// validateTxnCommit says whether a transactional commit is good. Transactional
// producers know nothing of member epochs: a stale one is ILLEGAL_GENERATION.
func validateTxnCommit(g shard.Group, req group.TxnCommitRequest) error {
	if g == nil {
		if req.Generation >= 0 {
			return kafka.ErrIllegalGeneration
		}
		return nil
	}
	check, err := g.ValidateCommit(shard.CommitAttempt{
		MemberID: req.MemberID, InstanceID: req.InstanceID, Epoch: req.Generation, Transactional: true,
	})
	if err == nil {
		err = check.Allows(req.Topics)
	}
	if errors.Is(err, kafka.ErrStaleMemberEpoch) {
		return kafka.ErrIllegalGeneration
	}
	return err
}

// store writes the offsets of a commit into a batch. begin is what all commits
// of a topic have in common.
func (c *Coordinator) store(s *shard.Shard, b group.Batch, groupID string, topics []group.CommitTopic, begin func(group.CommitTopic) offsets.Commit, done func([]group.TopicResult, error)) {
	results := make([]group.TopicResult, len(topics))
	for i, topic := range topics {
		results[i] = group.TopicResult{Topic: topic.Topic, TopicID: topic.TopicID}
		for _, p := range topic.Partitions {
			result := group.PartitionResult{Partition: p.Partition}
			if javaLength(p.Metadata) > c.broker.Config.OffsetMetadataMaxBytes {
				result.Err = kafka.ErrOffsetMetadataTooLarge
			} else {
				stored := begin(topic)
				stored.Offset, stored.LeaderEpoch, stored.Metadata = p.Offset, p.LeaderEpoch, p.Metadata
				key := record.OffsetKey(groupID, kafka.TopicPartition{Topic: topic.Topic, Partition: p.Partition})
				b.Records = append(b.Records, group.Record{Key: key, Value: offsets.Encode(stored)})
			}
			results[i].Partitions = append(results[i].Partitions, result)
		}
	}
	if len(b.Records) == 0 {
		done(results, nil)
		return
	}
	s.Write(b, func(err error) {
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
