package replica

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// Deps is what a Broker needs from its surroundings. RoleChanged may be nil.
type Deps struct {
	Clock       clock.Clock // the broker's own host
	Peers       Peers
	Metadata    Metadata
	Verifier    Verifier
	RoleChanged func(RoleChange)
}

// Broker is one broker's replica manager.
type Broker struct {
	id   kafka.BrokerID
	cfg  Config
	deps Deps
}

// New returns a running broker that hosts nothing.
func New(id kafka.BrokerID, cfg Config, deps Deps) *Broker {
	return &Broker{id: id, cfg: cfg, deps: deps}
}

// ID is the broker's node id.
func (b *Broker) ID() kafka.BrokerID { return b.id }

// Configure changes the broker's properties.
func (b *Broker) Configure(cfg Config) { b.cfg = cfg }

// Apply takes a partition's published state: the broker creates the log that
// it is to host, becomes leader or follower, and deletes the log when it is no
// longer among the replicas or when the topic id has changed. A state whose
// partition epoch is older than the known one changes the configuration only.
func (b *Broker) Apply(state PartitionState) {}

// Delete forgets a partition and its log, as when its topic is deleted.
func (b *Broker) Delete(tp kafka.TopicPartition) {}

// Restart is the start of a new process on the old one's disk (rule C12): logs,
// leader epochs, checkpoints and producer snapshots survive, everything
// waiting is forgotten, and no partition has a role until Apply gives it one.
// A clean stop wrote its checkpoints and snapshots; a kill did not. It must be
// called after the broker's clock was killed, since it starts the periodic
// tasks anew.
func (b *Broker) Restart(clean bool) {}

// Produce appends a client's batches (sections A, C, rules F8 and G10).
func (b *Broker) Produce(req ProduceRequest, done func(ProduceResult)) {}

// Fetch reads records (section D, rule F3), waiting for MinBytes up to MaxWait.
func (b *Broker) Fetch(req FetchRequest, done func(FetchResult)) {}

// ListOffsets answers section E. Errors: UNKNOWN_TOPIC_OR_PARTITION,
// NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH,
// OFFSET_NOT_AVAILABLE, UNSUPPORTED_VERSION for an unknown special timestamp.
func (b *Broker) ListOffsets(req ListOffsetsRequest) (ListedOffset, error) {
	return ListedOffset{}, nil
}

// OffsetForLeaderEpoch is where the largest epoch not above the requested one
// ends in the leader's log, (-1, -1) if it cannot be told (rule E5, KIP-320).
func (b *Broker) OffsetForLeaderEpoch(tp kafka.TopicPartition, current, requested kafka.LeaderEpoch) (commitlog.EpochEnd, error) {
	return commitlog.EpochEnd{}, nil
}

// DeleteRecords raises log start offsets (rules B8, B9) and answers when every
// live replica has followed, or REQUEST_TIMED_OUT.
func (b *Broker) DeleteRecords(partitions []DeleteRecordsPartition, timeout time.Duration, done func([]DeletedRecords)) {
}

// DescribeProducers lists a partition's producers by id (rule G23); any
// replica answers.
func (b *Broker) DescribeProducers(tp kafka.TopicPartition) ([]producer.State, error) {
	return nil, nil
}

// WriteMarkers appends end markers and answers when all replicas have them.
func (b *Broker) WriteMarkers(req MarkersRequest, done func([]MarkerResult)) {}

// Verify asks for a Guard to write transactional offsets to an internal
// partition (rule G10, TxnOffsetCommit). Unlike Produce it passes
// CONCURRENT_TRANSACTIONS on in every version.
func (b *Broker) Verify(tp kafka.TopicPartition, transactionalID string, p kafka.Producer, support TransactionSupport, done func(producer.Guard, error)) {
}

// Append writes a coordinator's records as one batch. It returns the batch's
// base offset at once, or why nothing was appended, in which case done is never
// called. done is called when the high watermark has passed the batch, or with
// NOT_LEADER_OR_FOLLOWER or REQUEST_TIMED_OUT.
func (b *Broker) Append(req AppendRequest, done func(error)) (kafka.Offset, error) { return 0, nil }

// Log is the local log of a hosted partition, nil if there is none. It is for
// reading only.
func (b *Broker) Log(tp kafka.TopicPartition) *commitlog.Log { return nil }

// Status describes a hosted partition.
func (b *Broker) Status(tp kafka.TopicPartition) (PartitionStatus, bool) {
	return PartitionStatus{}, false
}

// Partitions lists the hosted partitions in order.
func (b *Broker) Partitions() []kafka.TopicPartition { return nil }

// String shows every hosted partition, sorted, in one line.
func (b *Broker) String() string { return "" }
