package group

import (
	"iter"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// Record is one record of a batch; a nil Value is a tombstone.
type Record struct {
	Key   []byte
	Value []byte
}

// Batch is what one append writes.
type Batch struct {
	// Producer is set for the offsets of a transaction, whose batch is
	// transactional; otherwise its id is NoProducerID.
	Producer kafka.Producer
	// Guard is what the verification of such a batch gave (rule G11).
	Guard   producer.Guard
	Records []Record
	// Timeout bounds the wait for replication (offsets.commit.timeout.ms).
	Timeout time.Duration
}

// Marker ends a transaction on one partition of __consumer_offsets.
type Marker struct {
	Producer         kafka.Producer
	Commit           bool // COMMIT, otherwise ABORT
	CoordinatorEpoch kafka.CoordinatorEpoch
	// TransactionVersion is 2 for a marker that the log checks strictly (rule
	// C7), otherwise 0.
	TransactionVersion int16
	// Timeout bounds the wait for replication.
	Timeout time.Duration
}

// Entry is one record as a log holds it: an offset record, a group's record,
// or an end marker.
type Entry struct {
	Offset   kafka.Offset
	Producer kafka.Producer // of a transactional record or marker, else NoProducerID
	Marker   bool
	Commit   bool // of a marker: COMMIT, otherwise ABORT
	Record        // of a record that is no marker
}

// Log is the part of this broker's logs that the coordinator needs. As in
// Kafka, an append does not ask for min.insync.replicas; it waits for the high
// watermark, which stands still while they are too few. An implementation must
// never run a callback after the broker was killed.
type Log interface {
	// Append appends one batch to a partition of __consumer_offsets that this
	// broker leads and returns the offset of its first record, or the log's error
	// if nothing was appended. After an append, done is invoked once, in a later
	// event or before Append returns: with nil when the high watermark has passed
	// the batch, else with the error (REQUEST_TIMED_OUT, NOT_LEADER_OR_FOLLOWER);
	// done is not invoked when Append returns an error.
	Append(partition int32, b Batch, done func(error)) (kafka.Offset, error)
	// AppendMarker appends an end marker. done is invoked once, in a later event
	// or before AppendMarker returns, with the marker's offset, NoOffset if it was
	// not appended, and with the error of the append or of the replication.
	AppendMarker(partition int32, m Marker, done func(kafka.Offset, error))
	// HighWatermark is the partition's high watermark as this leader has it.
	HighWatermark(partition int32) kafka.Offset
	// Entries yields what a partition's local log holds, from its start to its
	// end, in order.
	Entries(partition int32) iter.Seq[Entry]
}

// NoTime stands for no moment, in milliseconds.
const NoTime int64 = -1
