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

// VerifyMode says what a TxnOffsetCommit's version lets the coordinator of the
// transaction do with the partition of __consumer_offsets (rule G10).
type VerifyMode int8

// The modes, by Kafka's names.
const (
	// DefaultError verifies; a partition outside the transaction is answered
	// with INVALID_TXN_STATE (TxnOffsetCommit up to v3).
	DefaultError VerifyMode = iota
	// GenericErrorSupported verifies; the answer is TRANSACTION_ABORTABLE (v4).
	GenericErrorSupported
	// AddPartition adds the partition to the transaction (v5).
	AddPartition
)

// Verification asks the coordinator of a transaction about one partition.
type Verification struct {
	TransactionalID string
	Producer        kafka.Producer
	Partition       kafka.TopicPartition
	Mode            VerifyMode
}

// Verifier asks the transaction coordinator for the right to write to a
// partition. done is invoked once, in a later event or before Verify returns,
// with a guard, or with the error that the client is to get by the mode. The
// zero guard and no error answer a verification that is not needed, as where
// the partition has the transaction open already.
type Verifier interface {
	Verify(v Verification, done func(producer.Guard, error))
}

// Topic is a topic as a coordinator sees it.
type Topic struct {
	Name       string
	ID         kafka.TopicID
	Partitions int32
}

// Topics is the metadata of topics as this broker has it. It answers at once
// and changes with the broker's metadata only.
type Topics interface {
	Topic(name string) (Topic, bool)
	TopicByID(id kafka.TopicID) (Topic, bool)
	// Names lists all topics, sorted.
	Names() []string
	// Version is the metadata offset up to which the broker has come.
	Version() int64
}

// Settings are what a group may set for itself over the broker's own values
// (the configuration resource GROUP).
type Settings struct {
	ConsumerSessionTimeout     time.Duration // consumer.session.timeout.ms
	ConsumerHeartbeatInterval  time.Duration // consumer.heartbeat.interval.ms
	ConsumerAssignmentInterval time.Duration // consumer.assignment.interval.ms
	ShareSessionTimeout        time.Duration // share.session.timeout.ms
	ShareHeartbeatInterval     time.Duration // share.heartbeat.interval.ms
	ShareAssignmentInterval    time.Duration // share.assignment.interval.ms
	StreamsSessionTimeout      time.Duration // streams.session.timeout.ms
	StreamsHeartbeatInterval   time.Duration // streams.heartbeat.interval.ms
	StreamsAssignmentInterval  time.Duration // streams.assignment.interval.ms
	StreamsInitialDelay        time.Duration // streams.initial.rebalance.delay.ms
	StreamsStandbys            int           // streams.num.standby.replicas; kept, and none is assigned
}

// DefaultSettings is what groups do that set nothing, at a broker that was told
// nothing.
func DefaultSettings() Settings {
	return Settings{
		ConsumerSessionTimeout:     45 * time.Second,
		ConsumerHeartbeatInterval:  5 * time.Second,
		ConsumerAssignmentInterval: time.Second,
		ShareSessionTimeout:        45 * time.Second,
		ShareHeartbeatInterval:     5 * time.Second,
		ShareAssignmentInterval:    time.Second,
		StreamsSessionTimeout:      45 * time.Second,
		StreamsHeartbeatInterval:   5 * time.Second,
		StreamsAssignmentInterval:  time.Second,
		StreamsInitialDelay:        3 * time.Second,
	}
}

// SharePartition is a partition, by its topic's id, that a share group begins
// with.
type SharePartition struct {
	TopicID   kafka.TopicID
	Partition int32
	// Start is where, NoOffset for where the group's setting says.
	Start kafka.Offset
}

// ShareStates keeps what share groups were delivered, as the share coordinator
// does (KIP-932). done is invoked once, in a later event or before the call
// returns; an error says that the state is as it was.
type ShareStates interface {
	// Initialize sets state up for partitions, in place of what there is; epoch
	// is the group's.
	Initialize(groupID string, partitions []SharePartition, epoch int32, done func(error))
	// Delete forgets all that is kept for a group.
	Delete(groupID string, done func(error))
	// DeleteTopics forgets what is kept for topics of a group.
	DeleteTopics(groupID string, topics []kafka.TopicID, done func(error))
}

// Environment is all that a coordinator needs from elsewhere.
type Environment struct {
	Log      Log
	Verifier Verifier
	Topics   Topics
	Shares   ShareStates
	// Settings are those of one group.
	Settings func(groupID string) Settings
	// UUID returns a random UUID in its text form; member ids end in one. It
	// draws on the cluster's seed.
	UUID func() string
}
