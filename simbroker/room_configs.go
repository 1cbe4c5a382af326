package simbroker

import (
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// verificationProperty says whether brokers verify partitions (rule G10).
const verificationProperty = "transaction.partition.verification.enable"

func replicaConfig(c *property.Config) replica.Config {
	return replica.Config{
		ReplicaLagTimeMax:                 c.Duration("replica.lag.time.max.ms"),
		ReplicaFetchWaitMax:               c.Duration("replica.fetch.wait.max.ms"),
		ReplicaFetchBackoff:               c.Duration("replica.fetch.backoff.ms"),
		ReplicaFetchMaxBytes:              int(c.Int("replica.fetch.max.bytes")),
		ReplicaFetchResponseMaxBytes:      int(c.Int("replica.fetch.response.max.bytes")),
		ReplicaSocketTimeout:              c.Duration("replica.socket.timeout.ms"),
		HighWatermarkCheckpoint:           c.Duration("replica.high.watermark.checkpoint.interval.ms"),
		FetchMaxBytes:                     int(c.Int("fetch.max.bytes")),
		LogRetentionCheckInterval:         c.Duration("log.retention.check.interval.ms"),
		LogCleanerBackoff:                 cleanerBackoff(c),
		ProducerIDExpiration:              c.Duration("producer.id.expiration.ms"),
		ProducerIDExpirationCheck:         c.Duration("producer.id.expiration.check.interval.ms"),
		TransactionPartitionVerification:  c.Bool(verificationProperty),
		AddPartitionsToTxnRetryBackoff:    c.Duration("add.partitions.to.txn.retry.backoff.ms"),
		AddPartitionsToTxnRetryBackoffMax: c.Duration("add.partitions.to.txn.retry.backoff.max.ms"),
		RackAware:                         c.String("replica.selector.class") == rackAwareSelector,
	}
}

// rackAwareSelector is the replica selector that Kafka brings along.
const rackAwareSelector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

// cleanerBackoff is how often the cleaner looks at the logs; 0 without one.
func cleanerBackoff(c *property.Config) time.Duration {
	if !c.Bool("log.cleaner.enable") {
		return 0
	}
	return max(c.Duration("log.cleaner.backoff.ms"), time.Millisecond)
}

func connectionLimits(c *property.Config) wire.Limits {
	return wire.Limits{
		Total: int(c.Int("max.connections")),
		PerIP: wire.PerIP(int(c.Int("max.connections.per.ip")), c.List("max.connections.per.ip.overrides")),
	}
}

func topicConfig(t property.Inherited) *replica.TopicConfig {
	policy := t.List("cleanup.policy")
	timestamps := commitlog.CreateTime
	if t.String("message.timestamp.type") == "LogAppendTime" {
		timestamps = commitlog.LogAppendTime
	}
	return &replica.TopicConfig{
		MinInsyncReplicas: int(t.Int("min.insync.replicas")),
		Log: commitlog.Config{
			SegmentBytes:       t.Int("segment.bytes"),
			SegmentTime:        t.Duration("segment.ms"),
			SegmentJitter:      t.Duration("segment.jitter.ms"),
			SegmentIndexBytes:  int(t.Int("segment.index.bytes")),
			RetentionTime:      t.Duration("retention.ms"),
			RetentionBytes:     t.Int("retention.bytes"),
			Delete:             slices.Contains(policy, "delete"),
			Compact:            slices.Contains(policy, "compact"),
			TimestampType:      timestamps,
			TimestampBeforeMax: t.Duration("message.timestamp.before.max.ms"),
			TimestampAfterMax:  t.Duration("message.timestamp.after.max.ms"),
			Compression:        compression(t.String("compression.type")),
			MaxMessageBytes:    int(t.Int("max.message.bytes")),
			IndexIntervalBytes: int(t.Int("index.interval.bytes")),

			MinCleanableDirtyRatio: t.Float("min.cleanable.dirty.ratio"),
			MinCompactionLag:       t.Duration("min.compaction.lag.ms"),
			MaxCompactionLag:       t.Duration("max.compaction.lag.ms"),
			DeleteRetention:        t.Duration("delete.retention.ms"),
		},
	}
}

// compression is a compression.type; the property's table allows no other.
func compression(name string) commitlog.Compression {
	switch name {
	case "uncompressed":
		return commitlog.CompressTo(commitlog.Uncompressed)
	case "gzip":
		return commitlog.CompressTo(commitlog.Gzip)
	case "snappy":
		return commitlog.CompressTo(commitlog.Snappy)
	case "lz4":
		return commitlog.CompressTo(commitlog.LZ4)
	case "zstd":
		return commitlog.CompressTo(commitlog.Zstd)
	}
	return commitlog.AsProduced
}

func txnConfig(c *property.Config) txn.Config {
	return txn.Config{
		Partitions:            int32(c.Int("transaction.state.log.num.partitions")),
		MaxTimeout:            c.Duration("transaction.max.timeout.ms"),
		AbortTimedOutInterval: c.Duration("transaction.abort.timed.out.transaction.cleanup.interval.ms"),
		RemoveExpiredInterval: c.Duration("transaction.remove.expired.transaction.cleanup.interval.ms"),
		IDExpiration:          c.Duration("transactional.id.expiration.ms"),
	}
}

func groupConfig(c *property.Config) group.Config {
	return group.Config{
		Partitions:                    int32(c.Int("offsets.topic.num.partitions")),
		InitialRebalanceDelay:         c.Duration("group.initial.rebalance.delay.ms"),
		MinSessionTimeout:             c.Duration("group.min.session.timeout.ms"),
		MaxSessionTimeout:             c.Duration("group.max.session.timeout.ms"),
		MaxSize:                       int(c.Int("group.max.size")),
		OffsetsRetention:              time.Duration(c.Int("offsets.retention.minutes")) * time.Minute,
		OffsetsRetentionCheckInterval: c.Duration("offsets.retention.check.interval.ms"),
		OffsetMetadataMaxBytes:        int(c.Int("offset.metadata.max.bytes")),
		OffsetCommitTimeout:           c.Duration("offsets.commit.timeout.ms"),
		ConsumerMaxSize:               int(c.Int("group.consumer.max.size")),
		ConsumerAssignors:             assignorNames(c.List("group.consumer.assignors")),
		ConsumerRegexRefresh:          c.Duration("group.consumer.regex.refresh.interval.ms"),
		ConsumerMigrationPolicy:       group.MigrationPolicy(strings.ToLower(c.String("group.consumer.migration.policy"))),
		ShareMaxSize:                  int(c.Int("group.share.max.size")),
		StreamsMaxSize:                int(c.Int("group.streams.max.size")),
		ShareInitializeRetry:          c.Duration("group.share.initialize.retry.interval.ms"),
	}
}

// assignorNames are the names of assignors, which may be given by their classes.
func assignorNames(assignors []string) []string {
	names := slices.Clone(assignors)
	for i, name := range names {
		if class, ok := strings.CutPrefix(name, "org.apache.kafka.coordinator.group.assignor."); ok {
			names[i] = strings.ToLower(strings.TrimSuffix(class, "Assignor"))
		}
	}
	return names
}

func groupSettings(c property.Inherited) group.Settings {
	return group.Settings{
		ConsumerSessionTimeout:     c.Duration("consumer.session.timeout.ms"),
		ConsumerHeartbeatInterval:  c.Duration("consumer.heartbeat.interval.ms"),
		ConsumerAssignmentInterval: c.Duration("consumer.assignment.interval.ms"),
		ShareSessionTimeout:        c.Duration("share.session.timeout.ms"),
		ShareHeartbeatInterval:     c.Duration("share.heartbeat.interval.ms"),
		ShareAssignmentInterval:    c.Duration("share.assignment.interval.ms"),
		StreamsSessionTimeout:      c.Duration("streams.session.timeout.ms"),
		StreamsHeartbeatInterval:   c.Duration("streams.heartbeat.interval.ms"),
		StreamsAssignmentInterval:  c.Duration("streams.assignment.interval.ms"),
		StreamsInitialDelay:        c.Duration("streams.initial.rebalance.delay.ms"),
		StreamsStandbys:            int(c.Int("streams.num.standby.replicas")),
	}
}

// shareSettings are what a group does with what it shares. A reset that makes no
// sense is the default.
func shareSettings(c property.Inherited) share.Settings {
	reset, _ := share.ParseReset(c.String("share.auto.offset.reset"))
	return share.Settings{
		Reset:         reset,
		LockDuration:  c.Duration("share.record.lock.duration.ms"),
		DeliveryLimit: int(c.Int("share.delivery.count.limit")),
		MaxLocks:      int(c.Int("share.partition.max.record.locks")),
		ReadCommitted: c.String("share.isolation.level") == "read_committed",
		Renew:         c.Bool("share.renew.acknowledge.enable"),
	}
}
