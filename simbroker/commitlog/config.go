package commitlog

import "time"

// TimestampType is message.timestamp.type.
type TimestampType int8

// Timestamp types, by their attribute bit.
const (
	CreateTime    TimestampType = 0
	LogAppendTime TimestampType = 1
)

// Compression is compression.type: the codec to which the leader compresses
// what producers send, or none of its own choice.
type Compression int8

// AsProduced keeps each batch's own codec.
const AsProduced Compression = 0

// CompressTo is the compression.type of a codec, Uncompressed included.
func CompressTo(c Codec) Compression { return Compression(c) + 1 }

// codec is what a batch of that codec is to have.
func (c Compression) codec(produced Codec) Codec {
	if c == AsProduced {
		return produced
	}
	return Codec(c - 1)
}

// Config holds a topic's properties, by Kafka's names.
type Config struct {
	SegmentBytes       int64         // segment.bytes
	SegmentTime        time.Duration // segment.ms
	SegmentJitter      time.Duration // segment.jitter.ms
	SegmentIndexBytes  int           // segment.index.bytes
	RetentionTime      time.Duration // retention.ms; negative for no limit
	RetentionBytes     int64         // retention.bytes; negative for no limit
	Delete             bool          // cleanup.policy contains delete
	Compact            bool          // cleanup.policy contains compact
	TimestampType      TimestampType // message.timestamp.type
	TimestampBeforeMax time.Duration // message.timestamp.before.max.ms
	TimestampAfterMax  time.Duration // message.timestamp.after.max.ms
	Compression        Compression   // compression.type
	MaxMessageBytes    int           // max.message.bytes
	IndexIntervalBytes int           // index.interval.bytes

	MinCleanableDirtyRatio float64       // min.cleanable.dirty.ratio
	MinCompactionLag       time.Duration // min.compaction.lag.ms
	MaxCompactionLag       time.Duration // max.compaction.lag.ms
	DeleteRetention        time.Duration // delete.retention.ms
}

// segmentTime is how old a segment may become: a compacted log rolls it for
// max.compaction.lag.ms, too, as the last segment is never cleaned.
func (c Config) segmentTime() time.Duration {
	if c.Compact && c.MaxCompactionLag > 0 {
		return min(c.SegmentTime, c.MaxCompactionLag)
	}
	return c.SegmentTime
}

// DefaultConfig returns Kafka 4.3's defaults.
func DefaultConfig() Config {
	return Config{
		SegmentBytes:       1 << 30,
		SegmentTime:        7 * 24 * time.Hour,
		SegmentIndexBytes:  10 << 20,
		RetentionTime:      7 * 24 * time.Hour,
		RetentionBytes:     -1,
		Delete:             true,
		TimestampBeforeMax: 1<<63 - 1,
		TimestampAfterMax:  time.Hour,
		MaxMessageBytes:    1<<20 + overheadBytes,
		IndexIntervalBytes: 4096,

		MinCleanableDirtyRatio: 0.5,
		MaxCompactionLag:       1<<63 - 1,
		DeleteRetention:        24 * time.Hour,
	}
}
