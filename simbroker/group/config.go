package group

import (
	"math"
	"time"
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
	// ConsumerMaxSize is group.consumer.max.size.
	ConsumerMaxSize int
	// ConsumerAssignors is group.consumer.assignors; the first one is the default.
	ConsumerAssignors []string
	// ConsumerRegexRefresh is group.consumer.regex.refresh.interval.ms.
	ConsumerRegexRefresh time.Duration
	// ConsumerMigrationPolicy is group.consumer.migration.policy.
	ConsumerMigrationPolicy MigrationPolicy
	// ShareMaxSize is group.share.max.size.
	ShareMaxSize int
	// ShareInitializeRetry is group.share.initialize.retry.interval.ms.
	ShareInitializeRetry time.Duration
	// StreamsMaxSize is group.streams.max.size.
	StreamsMaxSize int
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
		ConsumerMaxSize:               math.MaxInt32,
		ConsumerAssignors:             []string{UniformAssignor, RangeAssignor},
		ConsumerRegexRefresh:          10 * time.Minute,
		ConsumerMigrationPolicy:       MigrationBidirectional,
		ShareMaxSize:                  200,
		ShareInitializeRetry:          30 * time.Second,
		StreamsMaxSize:                math.MaxInt32,
	}
}

// MigrationPolicy is group.consumer.migration.policy: which groups change their
// protocol while they have members.
type MigrationPolicy string

// The policies, by Kafka's names.
const (
	MigrationBidirectional MigrationPolicy = "bidirectional"
	MigrationUpgrade       MigrationPolicy = "upgrade"
	MigrationDowngrade     MigrationPolicy = "downgrade"
	MigrationDisabled      MigrationPolicy = "disabled"
)

// Upgrades says whether a classic group may become one of the consumer
// protocol.
func (p MigrationPolicy) Upgrades() bool {
	return p == MigrationBidirectional || p == MigrationUpgrade
}

// Downgrades says whether a group of the consumer protocol may become a classic
// one.
func (p MigrationPolicy) Downgrades() bool {
	return p == MigrationBidirectional || p == MigrationDowngrade
}

// The server-side assignors, by Kafka's names.
const (
	UniformAssignor = "uniform" // of the consumer protocol
	RangeAssignor   = "range"   // of the consumer protocol
	SimpleAssignor  = "simple"  // of share groups
)
