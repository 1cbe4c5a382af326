package group

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// CommittedOffset is an offset that a client commits.
type CommittedOffset struct {
	Partition   int32
	Offset      kafka.Offset
	LeaderEpoch kafka.LeaderEpoch // -1 if unknown
	Metadata    string
}

// CommitTopic holds the offsets of one topic.
type CommitTopic struct {
	Topic      string
	TopicID    kafka.TopicID // zero if the request came by name
	Partitions []CommittedOffset
}

// CommitRequest commits offsets (rule H4).
type CommitRequest struct {
	GroupID string
	// Generation is the classic generation or the consumer protocol's member
	// epoch; negative for a simple group.
	Generation int32
	MemberID   string
	InstanceID *string
	// Retention is how long to keep the offsets (v2 to v4); negative means as the
	// broker is configured.
	Retention time.Duration
	Topics    []CommitTopic
	// GroupIDNotFoundSupported is set from v9 on: GROUP_ID_NOT_FOUND instead of
	// ILLEGAL_GENERATION for a group that does not exist.
	GroupIDNotFoundSupported bool
}

// TxnCommitRequest commits offsets in a transaction (rule H5).
type TxnCommitRequest struct {
	GroupID         string
	TransactionalID string
	Producer        kafka.Producer
	Generation      int32
	MemberID        string
	InstanceID      *string
	Topics          []CommitTopic
	Mode            VerifyMode
}

// PartitionResult answers for one partition.
type PartitionResult struct {
	Partition int32
	Err       error
}

// TopicResult answers for one topic.
type TopicResult struct {
	Topic      string
	TopicID    kafka.TopicID
	Partitions []PartitionResult
}

// FetchTopic names partitions of one topic.
type FetchTopic struct {
	Topic      string
	TopicID    kafka.TopicID
	Partitions []int32
}

// FetchRequest reads the committed offsets of one group (rules H7, H9).
type FetchRequest struct {
	GroupID string
	// MemberID and MemberEpoch are the consumer protocol's (v9+); nil and -1 skip
	// their validation.
	MemberID    *string
	MemberEpoch int32
	// Topics is nil to read all.
	Topics        []FetchTopic
	RequireStable bool
}

// FetchedOffset is what is committed for one partition: offset -1, leader
// epoch -1 and no metadata if nothing is, without an error.
type FetchedOffset struct {
	Partition   int32
	Offset      kafka.Offset
	LeaderEpoch kafka.LeaderEpoch
	Metadata    string
	Err         error // nil or UNSTABLE_OFFSET_COMMIT
}

// FetchedTopic holds the offsets of one topic.
type FetchedTopic struct {
	Topic      string
	TopicID    kafka.TopicID
	Partitions []FetchedOffset
}

// DeleteOffsetsRequest deletes committed offsets (OffsetDelete).
type DeleteOffsetsRequest struct {
	GroupID string
	Topics  []FetchTopic
}

// DeletedTopic is a topic that was deleted from the cluster.
type DeletedTopic struct {
	Name string
	ID   kafka.TopicID
}
