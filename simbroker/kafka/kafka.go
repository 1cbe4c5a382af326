// Package kafka holds the vocabulary that the rooms of the simulator share:
// identifiers and offsets as distinct types, so that an offset is never handed
// over as an epoch, and the errors that a room answers. It knows neither the
// wire protocol nor its error codes; package wire translates.
package kafka

import (
	"fmt"
	"strconv"
)

// BrokerID is a broker's node id. NoBroker stands for "no leader".
type BrokerID int32

// NoBroker is the id of no broker: a partition without a leader has it.
const NoBroker BrokerID = -1

// Offset is a position in a partition's log.
type Offset int64

// LeaderEpoch counts a partition's leader elections, from 0.
type LeaderEpoch int32

// ProducerID identifies a producer in the whole cluster. NoProducerID marks
// batches of plain producers.
type ProducerID int64

// ProducerEpoch separates the incarnations of one producer id.
type ProducerEpoch int16

// CoordinatorEpoch is the leader epoch of the __transaction_state partition
// under which a marker was written (rule G1).
type CoordinatorEpoch int32

// Absent identifiers, as they stand in record batches (rule A3).
const (
	NoProducerID       ProducerID       = -1
	NoProducerEpoch    ProducerEpoch    = -1
	NoSequence         int32            = -1
	NoOffset           Offset           = -1
	NoCoordinatorEpoch CoordinatorEpoch = -1
)

// TopicID is a topic's UUID; a re-created topic has another one.
type TopicID [16]byte

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String renders the partition as Kafka's logs do: orders-3.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// Compare orders partitions by topic, then by number.
func (tp TopicPartition) Compare(other TopicPartition) int {
	switch {
	case tp.Topic < other.Topic:
		return -1
	case tp.Topic > other.Topic:
		return 1
	}
	return int(tp.Partition) - int(other.Partition)
}

// Names of the internal topics.
const (
	TransactionStateTopic = "__transaction_state"
	ConsumerOffsetsTopic  = "__consumer_offsets"
)

// IsInternal says whether a topic is one of Kafka's own.
func IsInternal(topic string) bool {
	return topic == TransactionStateTopic || topic == ConsumerOffsetsTopic
}

// PartitionFor is the partition of an internal topic that keeps key: the
// absolute value of Java's String.hashCode modulo count, with |MinInt32| = 0
// (rules G1, H1).
func PartitionFor(key string, count int32) int32 {
	h := javaHashCode(key)
	if h == -1<<31 {
		return 0
	}
	if h < 0 {
		h = -h
	}
	return h % count
}

// javaHashCode is java.lang.String.hashCode, over UTF-16 code units.
func javaHashCode(s string) int32 {
	var h int32
	for _, r := range s {
		if r > 0xFFFF {
			r -= 0x10000
			h = 31*h + (0xD800 + (r >> 10))
			h = 31*h + (0xDC00 + (r & 0x3FF))
			continue
		}
		h = 31*h + r
	}
	return h
}

// Producer is a producer id with its epoch.
type Producer struct {
	ID    ProducerID
	Epoch ProducerEpoch
}

// String renders the pair as the litmus tests do: (12,0).
func (p Producer) String() string { return fmt.Sprintf("(%d,%d)", p.ID, p.Epoch) }
