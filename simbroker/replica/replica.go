// Package replica is one broker's replica manager: the partitions that the
// broker hosts, as leader or as follower, each with a log of its own.
//
// It serves clients (Produce, Fetch, ListOffsets, OffsetForLeaderEpoch,
// DeleteRecords, DescribeProducers), coordinators (Append, WriteMarkers,
// Verify, Log) and the followers of the partitions that it leads (Fetch with a
// replica id), and it runs the fetch loops of the partitions that it follows.
// Leaders keep the high watermark, propose changes of the ISR to the
// controller, and answer acks=-1 and waiting fetches when the offsets allow
// (sections C to F of the semantics, KIP-98, KIP-101, KIP-497, KIP-966).
//
// A Broker is a state machine on the cluster's event loop: it has no
// goroutine, no lock and no clock but the one it is given. What is asked of it
// is answered through done, once, either before the call returns or from a
// later event; requests that wait when the broker is killed are never
// answered. Metadata comes from outside by Apply: the package elects nobody.
//
// It is built in layers, of which none knows the ones above: the log of a replica
// (log.go); what its leader knows of followers, and what follows from that for high
// watermark and ISR (leadership.go); a partition in its role, with those who wait
// for it (partition.go); the partitions of the broker (partitions.go); fetches,
// followers' sessions and fetch loops (fetch.go, session.go, fetcher.go); the Broker;
// and the other requests on that.
//
// It leaves out log directories, quotas, authorisation and tiered
// storage.
package replica

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// Config holds the broker properties that the room obeys, by Kafka's names.
// All may change while the broker runs (Broker.Configure).
type Config struct {
	ReplicaLagTimeMax            time.Duration // replica.lag.time.max.ms
	ReplicaFetchWaitMax          time.Duration // replica.fetch.wait.max.ms
	ReplicaFetchBackoff          time.Duration // replica.fetch.backoff.ms
	ReplicaFetchMaxBytes         int           // replica.fetch.max.bytes
	ReplicaFetchResponseMaxBytes int           // replica.fetch.response.max.bytes
	ReplicaSocketTimeout         time.Duration // replica.socket.timeout.ms
	HighWatermarkCheckpoint      time.Duration // replica.high.watermark.checkpoint.interval.ms
	FetchMaxBytes                int           // fetch.max.bytes
	LogRetentionCheckInterval    time.Duration // log.retention.check.interval.ms
	LogCleanerBackoff            time.Duration // log.cleaner.backoff.ms; 0 without a cleaner
	ProducerIDExpiration         time.Duration // producer.id.expiration.ms
	ProducerIDExpirationCheck    time.Duration // producer.id.expiration.check.interval.ms

	// TransactionPartitionVerification is
	// transaction.partition.verification.enable (rule G10).
	TransactionPartitionVerification bool
	// AddPartitionsToTxnRetryBackoff and its Max are
	// add.partitions.to.txn.retry.backoff(.max).ms: how often and how long the
	// broker itself retries CONCURRENT_TRANSACTIONS for Produce v12+.
	AddPartitionsToTxnRetryBackoff    time.Duration
	AddPartitionsToTxnRetryBackoffMax time.Duration
	// RackAware sends consumers to a replica in their own rack (KIP-392):
	// replica.selector.class is RackAwareReplicaSelector.
	RackAware bool
}

// DefaultConfig returns Kafka 4.3's defaults.
func DefaultConfig() Config {
	return Config{
		ReplicaLagTimeMax:                 30 * time.Second,
		ReplicaFetchWaitMax:               500 * time.Millisecond,
		ReplicaFetchBackoff:               time.Second,
		ReplicaFetchMaxBytes:              1 << 20,
		ReplicaFetchResponseMaxBytes:      10 << 20,
		ReplicaSocketTimeout:              30 * time.Second,
		HighWatermarkCheckpoint:           5 * time.Second,
		FetchMaxBytes:                     55 << 20,
		LogRetentionCheckInterval:         5 * time.Minute,
		LogCleanerBackoff:                 15 * time.Second,
		ProducerIDExpiration:              24 * time.Hour,
		ProducerIDExpirationCheck:         10 * time.Minute,
		TransactionPartitionVerification:  true,
		AddPartitionsToTxnRetryBackoff:    20 * time.Millisecond,
		AddPartitionsToTxnRetryBackoffMax: 100 * time.Millisecond,
	}
}

// PartitionState is a partition's metadata as the controller publishes it.
type PartitionState struct {
	Partition      kafka.TopicPartition
	TopicID        kafka.TopicID
	Leader         kafka.BrokerID // kafka.NoBroker while there is none
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch int32            // counts every change of leader, ISR or replicas
	Replicas       []kafka.BrokerID // in order of preference
	ISR            []kafka.BrokerID
	ELR            []kafka.BrokerID // eligible leader replicas (KIP-966); the room only carries them
	Config         *TopicConfig     // may be that of many partitions; it must not change
}

// TopicConfig holds the topic properties that the room obeys.
type TopicConfig struct {
	Log               commitlog.Config
	MinInsyncReplicas int // min.insync.replicas
}

// DefaultTopicConfig returns Kafka 4.3's defaults.
func DefaultTopicConfig() *TopicConfig {
	return &TopicConfig{Log: commitlog.DefaultConfig(), MinInsyncReplicas: 1}
}

// Peers reaches other brokers and the controller. Implementations call done
// exactly once, from an event of the asking broker (so that a paused broker
// sees the answer when it is resumed, and a killed one never), and never
// before Fetch or AlterPartition has returned.
type Peers interface {
	// Fetch hands a follower's fetch to the leader's Broker.Fetch. The error is
	// non-nil only when the leader could not be reached.
	Fetch(leader kafka.BrokerID, req FetchRequest, done func(FetchResult, error))
	// AlterPartition proposes another ISR to the controller (KIP-497) and
	// answers the partition's state afterwards. Any error leaves the ISR as it
	// was; the broker proposes again when there is still reason to.
	AlterPartition(change ISRChange, done func(PartitionState, error))
}

// ISRChange is a leader's wish for another ISR.
type ISRChange struct {
	Partition      kafka.TopicPartition
	Leader         kafka.BrokerID
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch int32
	ISR            []kafka.BrokerID
}

// Metadata is what the broker knows of the cluster beyond the partitions that
// it hosts.
type Metadata interface {
	// Exists says whether the partition exists anywhere: if it does, a broker
	// that does not host it answers NOT_LEADER_OR_FOLLOWER, otherwise
	// UNKNOWN_TOPIC_OR_PARTITION.
	Exists(kafka.TopicPartition) bool
	// Unfenced says whether the broker is registered and not fenced; only such
	// a broker may enter an ISR (KIP-841) or holds back a low watermark (B8).
	Unfenced(kafka.BrokerID) bool
	// Rack is broker.rack of a broker that is not fenced; empty if it has none.
	Rack(kafka.BrokerID) string
}

// Verifier asks the transaction coordinator about a transaction (rule G10).
type Verifier interface {
	// Verify answers one error per partition of the request, nil for those
	// that belong to the producer's ongoing transaction, of a transactional id
	// whose coordinator it finds by itself. With Add it makes them belong.
	// Errors are the coordinator's: TRANSACTION_ABORTABLE where verification
	// found the partition not in the transaction, PRODUCER_FENCED,
	// INVALID_PRODUCER_ID_MAPPING, CONCURRENT_TRANSACTIONS,
	// COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR;
	// the room translates them for the client's version.
	Verify(req VerifyRequest, done func(errs []error))
}

// VerifyRequest names the partitions that a producer is about to write to.
type VerifyRequest struct {
	TransactionalID string
	Producer        kafka.Producer
	Partitions      []kafka.TopicPartition
	Add             bool // add the partitions (transaction protocol 2) instead of only looking
}

// Deps is what a Broker needs from its surroundings. RoleChanged may be nil.
type Deps struct {
	Clock       clock.Clock // the broker's own host
	Peers       Peers
	Metadata    Metadata
	Verifier    Verifier
	RoleChanged func(RoleChange)
}

// Role is what a broker is to a partition.
type Role int8

// Roles. A follower may be without a leader to follow.
const (
	NotHosted Role = iota
	Follower
	Leader
)

// String names the role.
func (r Role) String() string { return [...]string{"not-hosted", "follower", "leader"}[r] }

// RoleChange tells what the broker has become to a partition. It is told on
// every change of role or leader epoch, after the log is ready: a leader can
// be read from (Log) and appended to (Append) within the notification.
type RoleChange struct {
	Partition   kafka.TopicPartition
	Role        Role
	LeaderEpoch kafka.LeaderEpoch
}

// TransactionSupport is what the client's protocol version knows of
// transactions, which decides how an unverified write is handled (rule G10).
// Kafka calls it TransactionSupportedOperation.
type TransactionSupport int

const (
	// DefaultError: Produce ≤ v10, TxnOffsetCommit ≤ v3. An unverified
	// partition is INVALID_TXN_STATE.
	DefaultError TransactionSupport = iota
	// GenericErrorSupported: Produce v11, TxnOffsetCommit v4. An unverified
	// partition is TRANSACTION_ABORTABLE.
	GenericErrorSupported
	// AddPartition: Produce v12+, TxnOffsetCommit v5+. The partition is added.
	AddPartition
)

// ProduceRequest is a client's records for several partitions.
type ProduceRequest struct {
	TransactionalID string // empty for none
	Support         TransactionSupport
	Acks            int16
	Timeout         time.Duration // how long acks=-1 waits
	// InternalTopics allows writes to Kafka's own topics, as for the client id
	// __admin_client.
	InternalTopics bool
	Partitions     []ProducePartition
}

// ProducePartition is the records for one partition. The room keeps Records
// and writes to it: the caller must not use it again.
type ProducePartition struct {
	Partition kafka.TopicPartition
	Records   []byte
}

// ProduceResult answers a ProduceRequest, partition by partition in its order.
type ProduceResult struct {
	Partitions []ProducedPartition
}

// ProducedPartition is what became of one partition's records. After
// REQUEST_TIMED_OUT and NOT_ENOUGH_REPLICAS_AFTER_APPEND the records are in
// the log at BaseOffset (rule F8); after other errors nothing was appended and
// BaseOffset is -1. Err may be a *commitlog.RecordErrors.
type ProducedPartition struct {
	Partition       kafka.TopicPartition
	Err             error
	BaseOffset      kafka.Offset
	LogAppendTimeMs int64 // -1 unless the topic uses LogAppendTime
	LogStartOffset  kafka.Offset
	LeaderEpoch     kafka.LeaderEpoch // of the present leader, with NOT_LEADER_OR_FOLLOWER (KIP-951); else -1
	Leader          kafka.BrokerID    // the same; else NoBroker
}

// IsolationLevel is the consumer's isolation.level.
type IsolationLevel int8

// Isolation levels, by their wire values.
const (
	ReadUncommitted IsolationLevel = 0
	ReadCommitted   IsolationLevel = 1
)

// Replica ids of those who are not brokers.
const (
	ConsumerReplica kafka.BrokerID = -1 // an ordinary client
	DebugReplica    kafka.BrokerID = -2 // LATEST is the log end offset (rule E1)
	FutureReplica   kafka.BrokerID = -3 // reads up to the log end offset (rule D1)
)

// FetchRequest is a fetch by a consumer or, with a broker's ReplicaID, by a
// follower, whose offsets count as acknowledgements (rule F3).
type FetchRequest struct {
	ReplicaID kafka.BrokerID
	Isolation IsolationLevel
	// FromFollowers allows any replica to serve a consumer: Fetch v11+ (rule D1).
	FromFollowers bool
	// Rack is where a consumer is; empty if it does not say.
	Rack string
	// Cut fills up what is read with the beginning of the next batch.
	Cut        bool
	MaxWait    time.Duration
	MinBytes   int
	MaxBytes   int
	Partitions []FetchPartition
	// Session makes the fetch one of a follower's session, of which Partitions
	// are those that have changed; nil for a fetch of Partitions alone.
	Session *FetchSession
}

// FetchSession says to which session of the follower with its leader a fetch
// belongs (KIP-227).
type FetchSession struct {
	Number uint64
	Full   bool // opens the session: Partitions are all of them
	Forget []kafka.TopicPartition
}

// FetchPartition is the position in one partition.
type FetchPartition struct {
	Partition          kafka.TopicPartition
	TopicID            kafka.TopicID // zero if the caller does not know it
	Offset             kafka.Offset
	MaxBytes           int
	CurrentLeaderEpoch kafka.LeaderEpoch // -1 if unknown (rule E4)
	LastFetchedEpoch   kafka.LeaderEpoch // -1 if unknown; asks for divergence (KIP-595)
	LogStartOffset     kafka.Offset      // a follower's own; -1 for consumers
}

// FetchResult answers a FetchRequest, partition by partition in its order. In a
// session, it has only partitions of which there is something new, each with the
// position that it is about.
type FetchResult struct {
	Partitions []FetchedPartition
	// Err is FETCH_SESSION_ID_NOT_FOUND where the leader has no such session.
	Err error
}

// FetchedPartition is what was read of one partition. Offsets are those of the
// moment before the read, and -1 after an error (rule D4), except that a
// follower learns LogStartOffset and LogEndOffset with OFFSET_OUT_OF_RANGE
// (it would ask ListOffsets for them, rule F9).
type FetchedPartition struct {
	Partition        kafka.TopicPartition
	At               FetchPartition // the position, in a session
	Err              error
	HighWatermark    kafka.Offset
	LastStableOffset kafka.Offset
	LogStartOffset   kafka.Offset
	LogEndOffset     kafka.Offset // for followers only; not on the wire
	// Aborted is nil for read_uncommitted, else the aborted transactions,
	// perhaps none (rule D5).
	Aborted []commitlog.AbortedTxn
	// Diverging is set when the follower's log departs from the leader's: the
	// largest epoch both may share, and where it ends (KIP-595).
	Diverging *commitlog.EpochEnd
	Records   commitlog.Records
	// LeaderEpoch and Leader name the present leader with
	// NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH (KIP-951); else -1.
	LeaderEpoch kafka.LeaderEpoch
	Leader      kafka.BrokerID
	// Preferred is the replica from which a consumer is to read instead; then
	// there are no records. Otherwise NoBroker.
	Preferred kafka.BrokerID
}

// Timestamps of ListOffsets that are questions of their own.
const (
	Latest                int64 = -1
	Earliest              int64 = -2
	MaxTimestamp          int64 = -3
	EarliestLocal         int64 = -4
	LatestTiered          int64 = -5
	EarliestPendingUpload int64 = -6
)

// ListOffsetsRequest asks one partition for an offset. Which special
// timestamps a protocol version knows (rule E7), and that versions below 5
// answer LEADER_NOT_AVAILABLE for OFFSET_NOT_AVAILABLE (rule E9), is the
// wire's to say.
type ListOffsetsRequest struct {
	ReplicaID          kafka.BrokerID
	Isolation          IsolationLevel
	Partition          kafka.TopicPartition
	CurrentLeaderEpoch kafka.LeaderEpoch // -1 skips the check (rule E4)
	Timestamp          int64             // ms, or one of the special ones
}

// ListedOffset answers ListOffsets; all fields are -1 where nothing was found.
type ListedOffset struct {
	Offset      kafka.Offset
	TimestampMs int64
	LeaderEpoch kafka.LeaderEpoch
}

// DeleteRecordsPartition asks to drop what lies before Offset; -1 stands for
// the high watermark.
type DeleteRecordsPartition struct {
	Partition kafka.TopicPartition
	Offset    kafka.Offset
}

// DeletedRecords is what became of one partition: the least log start offset
// of its live replicas (rule B8), or -1 and an error.
type DeletedRecords struct {
	Partition    kafka.TopicPartition
	LowWatermark kafka.Offset
	Err          error
}

// MarkersRequest writes one transaction's end markers (WriteTxnMarkers, rules
// C7, C8 and G17).
type MarkersRequest struct {
	Producer         kafka.Producer
	CoordinatorEpoch kafka.CoordinatorEpoch
	Commit           bool
	// TransactionVersion is that of the marker: 2 demands a higher epoch than
	// that of the data (rule C7).
	TransactionVersion int8
	Timeout            time.Duration // for the acknowledgement of all replicas; 0 waits for ever
	Partitions         []kafka.TopicPartition
}

// MarkerResult is what became of one partition's marker.
type MarkerResult struct {
	Partition kafka.TopicPartition
	Offset    kafka.Offset // of the marker; -1 if it was not appended
	Err       error
}

// AppendRequest is a coordinator's write to a partition that this broker
// leads.
type AppendRequest struct {
	Partition kafka.TopicPartition
	Records   []commitlog.Record
	// Producer and Transactional make the batch part of a transaction
	// (TxnOffsetCommit, rule H5); Guard then is what Verify answered.
	Producer      kafka.Producer
	Transactional bool
	Guard         producer.Guard
	// Sequenced begins the batch with sequence 0, as Kafka's group coordinator
	// does whether there is a producer or not.
	Sequenced bool
	// MinISR refuses the append with NOT_ENOUGH_REPLICAS while the ISR is
	// smaller than min.insync.replicas, as acks=-1 does.
	MinISR  bool
	Timeout time.Duration // for the acknowledgement; 0 waits for ever
}

// PartitionStatus is a hosted partition at one moment.
type PartitionStatus struct {
	State            PartitionState // as this broker knows it
	Role             Role
	LogStartOffset   kafka.Offset
	LastStableOffset kafka.Offset
	HighWatermark    kafka.Offset
	LogEndOffset     kafka.Offset
	SizeBytes        int64
}
