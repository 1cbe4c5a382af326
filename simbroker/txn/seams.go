package txn

import (
	"iter"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Record is one record of __transaction_state; a nil Value is a tombstone.
type Record struct {
	Key   []byte
	Value []byte
}

// Log is the part of this broker's logs that the coordinator needs.
// An implementation must never run a callback after the broker was killed.
type Log interface {
	// Append appends one batch to a partition of __transaction_state that this
	// broker leads, with acks=-1; timeout bounds the wait for replication (Kafka
	// takes the transaction's own timeout). done is invoked once, before Append returns or
	// later: with nil when the high watermark has passed the batch, else with the
	// error of the log (for example NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT,
	// NOT_LEADER_OR_FOLLOWER). A timed-out batch may still become replicated.
	Append(partition int32, records []Record, timeout time.Duration, done func(error))
	// Records yields what a partition's local log holds, from its start to its
	// end, in order.
	Records(partition int32) iter.Seq[Record]
}

// Marker is one transaction's end marker for some partitions of one leader.
type Marker struct {
	Producer         kafka.Producer
	Commit           bool // COMMIT, otherwise ABORT
	CoordinatorEpoch kafka.CoordinatorEpoch
	// TransactionVersion is 2 for a marker whose epoch was bumped when the end
	// was prepared, which the log checks strictly (rule C7), otherwise 0.
	TransactionVersion int16
	Partitions         []kafka.TopicPartition
}

// Markers takes end markers to the leaders of partitions (WriteTxnMarkers).
type Markers interface {
	// Leader is a partition's leader by this broker's metadata. It reports false
	// for a partition that does not exist or has no leader: its marker is skipped
	// (rule G17).
	Leader(tp kafka.TopicPartition) (kafka.BrokerID, bool)
	// Write sends a marker to a broker. done is invoked once, in a later event or
	// before Write returns, with one result for each partition of the marker in
	// its order (nil for written), or with nil results and an error when the
	// broker cannot be reached.
	Write(leader kafka.BrokerID, m Marker, done func(results []error, err error))
}

// IDs allocates blocks of producer ids (rule G0), which the controller gives.
type IDs interface {
	// Block asks for a block for this broker; done is invoked once with its first
	// id and its length, or with an error.
	Block(done func(first kafka.ProducerID, length int64, err error))
}

// Features tells what the cluster has finalised.
type Features interface {
	// TransactionVersion is the finalised level of transaction.version, 0 to 2.
	TransactionVersion() int16
}

// Environment is all that a coordinator needs from elsewhere.
type Environment struct {
	Log      Log
	Markers  Markers
	IDs      IDs
	Features Features
}
