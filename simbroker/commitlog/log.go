package commitlog

import (
	"iter"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// TimestampType is message.timestamp.type.
type TimestampType int8

// Timestamp types, by their attribute bit.
const (
	CreateTime    TimestampType = 0
	LogAppendTime TimestampType = 1
)

// Config holds a topic's properties, by Kafka's names.
type Config struct {
	SegmentBytes       int64         // segment.bytes
	SegmentMs          time.Duration // segment.ms
	RetentionMs        time.Duration // retention.ms; negative for no limit
	RetentionBytes     int64         // retention.bytes; negative for no limit
	Delete             bool          // cleanup.policy contains delete
	Compact            bool          // cleanup.policy contains compact
	TimestampType      TimestampType // message.timestamp.type
	TimestampBeforeMax time.Duration // message.timestamp.before.max.ms
	TimestampAfterMax  time.Duration // message.timestamp.after.max.ms
	MaxMessageBytes    int           // max.message.bytes
	IndexIntervalBytes int           // index.interval.bytes
}

// DefaultConfig returns Kafka 4.3's defaults.
func DefaultConfig() Config {
	return Config{
		SegmentBytes:       1 << 30,
		SegmentMs:          7 * 24 * time.Hour,
		RetentionMs:        7 * 24 * time.Hour,
		RetentionBytes:     -1,
		Delete:             true,
		TimestampBeforeMax: 1<<63 - 1,
		TimestampAfterMax:  time.Hour,
		MaxMessageBytes:    1048588,
		IndexIntervalBytes: 4096,
	}
}

// AbortedTxn is an entry of the aborted transactions index (rule B4).
type AbortedTxn struct {
	ProducerID       kafka.ProducerID
	FirstOffset      kafka.Offset
	LastOffset       kafka.Offset // of the marker
	LastStableOffset kafka.Offset
}

// EpochEnd says where a leader epoch ends: the first offset after it.
type EpochEnd struct {
	Epoch     kafka.LeaderEpoch
	EndOffset kafka.Offset
}

// Log is one replica's log of a partition.
type Log struct{}

// LogStartOffset is the first offset that can be read.
func (l *Log) LogStartOffset() kafka.Offset { return 0 }

// LastStableOffset is where read_committed readers stop (rule C10).
func (l *Log) LastStableOffset() kafka.Offset { return 0 }

// HighWatermark is where consumers stop: all below is replicated.
func (l *Log) HighWatermark() kafka.Offset { return 0 }

// LogEndOffset is the offset of the next record.
func (l *Log) LogEndOffset() kafka.Offset { return 0 }

// Batches runs over the batches from the one that contains the offset, up to
// the log end offset.
func (l *Log) Batches(from kafka.Offset) iter.Seq[Batch] {
	return func(func(Batch) bool) {}
}

// Producers lists what the log knows of its producers, by id.
func (l *Log) Producers() []producer.State { return nil }
