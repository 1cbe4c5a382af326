package group

import (
	"math"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Config holds the broker properties of the group coordinator, named as Kafka
// names them.
type Config struct {
	// Partitions is offsets.topic.num.partitions.
	Partitions int32
	// InitialRebalanceDelay is group.initial.rebalance.delay.ms.
	InitialRebalanceDelay time.Duration
	// MinSessionTimeout is group.min.session.timeout.ms.
	MinSessionTimeout time.Duration
	// MaxSessionTimeout is group.max.session.timeout.ms.
	MaxSessionTimeout time.Duration
	// MaxSize is group.max.size.
	MaxSize int
	// OffsetsRetention is offsets.retention.minutes.
	OffsetsRetention time.Duration
	// OffsetsRetentionCheckInterval is offsets.retention.check.interval.ms.
	OffsetsRetentionCheckInterval time.Duration
	// OffsetMetadataMaxBytes is offset.metadata.max.bytes.
	OffsetMetadataMaxBytes int
	// OffsetCommitTimeout is offsets.commit.timeout.ms.
	OffsetCommitTimeout time.Duration
}

// DefaultConfig is what Kafka does without being told otherwise.
func DefaultConfig() Config {
	return Config{
		Partitions:                    50,
		InitialRebalanceDelay:         3 * time.Second,
		MinSessionTimeout:             6 * time.Second,
		MaxSessionTimeout:             30 * time.Minute,
		MaxSize:                       math.MaxInt32,
		OffsetsRetention:              7 * 24 * time.Hour,
		OffsetsRetentionCheckInterval: 10 * time.Minute,
		OffsetMetadataMaxBytes:        4096,
		OffsetCommitTimeout:           5 * time.Second,
	}
}

// Coordinator is one broker's group coordinator.
type Coordinator struct {
	broker kafka.BrokerID
	clk    clock.Clock
	cfg    Config
	env    Environment
}

// New returns a coordinator that leads no partition yet, with its scans
// running on clk. What it held in memory is lost with the broker: a restarted
// broker gets a new one.
func New(broker kafka.BrokerID, clk clock.Clock, cfg Config, env Environment) *Coordinator {
	return &Coordinator{broker: broker, clk: clk, cfg: cfg, env: env}
}

// Load makes the coordinator the owner of a partition of __consumer_offsets.
// Reading the log takes one event, during which the partition answers
// COORDINATOR_LOAD_IN_PROGRESS. Loading a partition that is already owned,
// under a later epoch, reloads it.
func (c *Coordinator) Load(partition int32, epoch kafka.LeaderEpoch) {}

// Unload gives a partition up: its groups leave memory, waiting members get
// NOT_COORDINATOR, and so do later requests.
func (c *Coordinator) Unload(partition int32) {}

// PartitionFor is the partition of __consumer_offsets that keeps a group.
func (c *Coordinator) PartitionFor(groupID string) int32 {
	return kafka.PartitionFor(groupID, c.cfg.Partitions)
}

// Join answers JoinGroup when the generation has its members. Errors, beside
// those of a coordinator that is not there: INVALID_GROUP_ID,
// INVALID_SESSION_TIMEOUT, MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID,
// FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED,
// REBALANCE_IN_PROGRESS.
func (c *Coordinator) Join(req JoinRequest, done func(JoinResult, error)) {}

// Sync answers SyncGroup when the leader has brought the assignment. Errors:
// UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
// INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
func (c *Coordinator) Sync(req SyncRequest, done func(SyncResult, error)) {}

// Heartbeat keeps a member alive. Errors: UNKNOWN_MEMBER_ID,
// ILLEGAL_GENERATION, FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS.
func (c *Coordinator) Heartbeat(req HeartbeatRequest) error { return nil }

// Leave takes members out, one result each in the order asked:
// UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID. The error stands for all of them.
func (c *Coordinator) Leave(req LeaveRequest) ([]LeftMember, error) { return nil, nil }

// Describe describes classic groups, in the order asked.
func (c *Coordinator) Describe(groupIDs []string) []Description { return nil }

// List lists the groups of this broker, sorted by id. It answers
// COORDINATOR_LOAD_IN_PROGRESS while any partition loads.
func (c *Coordinator) List(req ListRequest) ([]Listing, error) { return nil, nil }

// Commit commits offsets and answers when they are replicated (rule H4). The
// error stands for all partitions; OFFSET_METADATA_TOO_LARGE is a partition's
// own.
func (c *Coordinator) Commit(req CommitRequest, done func([]TopicResult, error)) {}

// TxnCommit commits offsets in a transaction: they are pending until its
// marker comes (rules H5, H6).
func (c *Coordinator) TxnCommit(req TxnCommitRequest, done func([]TopicResult, error)) {}

// CompleteTransaction appends an end marker to a partition of
// __consumer_offsets and applies or drops the transaction's pending offsets, in
// log order. It stands for the replica's own append of a marker on these
// partitions. A partition that is not owned or still loads answers
// NOT_LEADER_OR_FOLLOWER, as Kafka's WriteTxnMarkers does.
func (c *Coordinator) CompleteTransaction(partition int32, m Marker, done func(error)) {}

// FetchOffsets reads committed offsets (rules H7, H9), topics in the order
// asked, or sorted if all were asked for. The error stands for the group.
func (c *Coordinator) FetchOffsets(req FetchRequest, done func([]FetchedTopic, error)) {}

// DeleteOffsets deletes committed offsets and pending ones with them (rule
// H11). Partitions of a topic that a live group subscribes to get
// GROUP_SUBSCRIBED_TO_TOPIC. Errors: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
func (c *Coordinator) DeleteOffsets(req DeleteOffsetsRequest, done func([]TopicResult, error)) {}

// DeleteGroups deletes groups, one error each in the order asked: nil,
// NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND (rule H11).
func (c *Coordinator) DeleteGroups(groupIDs []string, done func([]error)) {}

// TopicsDeleted drops what is committed for deleted topics.
func (c *Coordinator) TopicsDeleted(topics []DeletedTopic) {}

// Configure replaces the configuration; the scan takes a new interval up at
// its next run.
func (c *Coordinator) Configure(cfg Config) { c.cfg = cfg }

// String is the coordinator's state on one line, sorted by id.
func (c *Coordinator) String() string { return "" }
