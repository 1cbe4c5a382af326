package oracle

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// Kind names what an Act did.
type Kind string

// The kinds of acts. Each says which fields of Act it uses, beyond Kind, Sent
// and Answered.
const (
	// Cluster is the first act of a record: Brokers and Timing.
	Cluster Kind = "cluster"
	// CreateTopic: Topic, Replicas, MinInSync.
	CreateTopic Kind = "create_topic"
	// CreatePartitions: Topic, Replicas of the partitions that were added.
	CreatePartitions Kind = "create_partitions"
	// DeleteTopic: Topic.
	DeleteTopic Kind = "delete_topic"
	// Append is one record batch: Topic, Partition, Offset (the base offset that
	// was answered, -1 when it is not known), Records, Acks, and for a
	// transactional one TransactionalID. Unregistered marks a batch that the
	// coordinator does not count to the transaction (KIP-890's late write).
	Append Kind = "append"
	// BeginTransaction: TransactionalID, Timeout (zero: that of the id's
	// transaction before; without one, longer than the record). Later transactions
	// of the id may begin with their first batch.
	BeginTransaction Kind = "begin_transaction"
	// AddPartition puts a partition into the transaction though no record of it
	// may be there: TransactionalID, Topic, Partition.
	AddPartition Kind = "add_partition"
	// EndTransaction is a commit or an abort, by the client or by whoever fenced
	// it: TransactionalID, Committed. Answered means that the outcome is
	// persisted; the markers come later (rule G12).
	EndTransaction Kind = "end_transaction"
	// CompleteTransaction is the sight of CompleteCommit or CompleteAbort:
	// TransactionalID. Every marker of the transaction that ended last is written
	// and replicated by then.
	CompleteTransaction Kind = "complete_transaction"
	// Marker is the sight of an end marker in the log: TransactionalID, Topic,
	// Partition, Offset. It makes the order of the log exact where several
	// transactions end at about the same time.
	Marker Kind = "marker"
	// WriteMarker is an end marker that a client wrote past the coordinator, as
	// the tool that ends hanging transactions does: TransactionalID, Topic,
	// Partition, Committed.
	WriteMarker Kind = "write_marker"
	// LostMarker says that a transaction that ended leaves no marker in a
	// partition (rule G17, or a fault that drops it): TransactionalID, Topic,
	// Partition.
	LostMarker Kind = "lost_marker"
	// CommitOffset: Group, Topic, Partition, Offset; with TransactionalID it takes
	// effect with that transaction's commit (rule H5). Maybe marks one that was
	// refused and may stand in the log all the same (rule H4): Answered bounds when
	// it was written, if it was.
	CommitOffset Kind = "commit_offset"
	// DeleteOffset removes a group's commit: Group, Topic, Partition.
	DeleteOffset Kind = "delete_offset"
	// DeleteRecords: Topic, Partition, Offset (the low watermark that was
	// answered: every live replica's log starts there). Without an answer it may
	// have been done by the leader alone, whose successor's log may start lower.
	DeleteRecords Kind = "delete_records"
	// LogStart is the sight of a log start that no DeleteRecords is known to have
	// made: Topic, Partition, Offset. It moved there between Sent and Answered;
	// if Answered is zero, perhaps only on a replica that does not lead. A leader
	// that comes later may have a log that starts lower.
	LogStart Kind = "log_start"
	// Retention says that a topic's records are deleted when they are old: Topic.
	// Between the log starts that the record has, each may stand at any batch.
	Retention Kind = "retention"
	// LoseRecords says that a change of leader lost records of a partition: Topic,
	// Partition. From Sent on its offsets are no longer judged but for their
	// order, and may go back.
	LoseRecords Kind = "lose_records"
	// ElectLeader is an election that an administrator asked for: Topic, Partition.
	// A sweep in which the leader changes may leave the partition out.
	ElectLeader Kind = "elect_leader"
	// MakeGroup is a group that begins without members and commits, as a share group
	// whose offsets somebody sets: Group.
	MakeGroup Kind = "make_group"
	// DeleteGroup: Group.
	DeleteGroup Kind = "delete_group"
	// JoinGroup: Group, Member, Topics (those it may be assigned partitions of).
	// A member that joins again stays one member; "*" stands for any topic.
	JoinGroup Kind = "join_group"
	// LeaveGroup: Group, Member. A member that fell silent leaves at an unknown
	// moment: Answered is zero.
	LeaveGroup Kind = "leave_group"
	// PauseBroker, ResumeBroker: Broker stands still (SIGSTOP) and goes on.
	PauseBroker  Kind = "pause_broker"
	ResumeBroker Kind = "resume_broker"
	// KillBroker, StopBroker, StartBroker: Broker ends at once, ends by a
	// controlled shutdown, is started again.
	KillBroker  Kind = "kill_broker"
	StopBroker  Kind = "stop_broker"
	StartBroker Kind = "start_broker"
	// Leader is the sight of a partition's leader in the metadata: Topic,
	// Partition, Broker. What was true before and after it is not said.
	Leader Kind = "leader"
	// Coordinator is the sight of a group's coordinator: Group, Broker.
	Coordinator Kind = "coordinator"
)

// Act is one thing that a scenario did, or saw, as its client knows it.
type Act struct {
	Kind Kind `json:"kind"`
	// Sent is when the request left; nothing happened before.
	Sent time.Time `json:"sent"`
	// Answered is when its success was known. Zero: it may have happened at any
	// moment from Sent on, or never. An act that was refused is not recorded.
	Answered time.Time `json:"answered,omitzero"`

	Topic     string `json:"topic,omitempty"`
	Partition int32  `json:"partition,omitempty"`
	Offset    int64  `json:"offset,omitempty"`
	Records   int64  `json:"records,omitempty"`
	Acks      int16  `json:"acks,omitempty"`

	// TransactionalID names whose transaction it is: the transactional id, or, so
	// that blockers can be judged, "producer N" for producer id N.
	TransactionalID string        `json:"transactional_id,omitempty"`
	Timeout         time.Duration `json:"timeout,omitempty"`
	Committed       bool          `json:"committed,omitempty"`
	Unregistered    bool          `json:"unregistered,omitempty"`

	Maybe  bool     `json:"maybe,omitempty"`
	Group  string   `json:"group,omitempty"`
	Member string   `json:"member,omitempty"`
	Topics []string `json:"topics,omitempty"`

	Broker    int32     `json:"broker,omitempty"`
	Brokers   []int32   `json:"brokers,omitempty"`
	Replicas  [][]int32 `json:"replicas,omitempty"`
	MinInSync int       `json:"min_in_sync,omitempty"`
	Timing    *Timing   `json:"timing,omitempty"`
}

// Timing is what bounds the moments at which the cluster does things of its
// own accord. Zero values stand for the defaults that each field names.
type Timing struct {
	// SessionTimeout is broker.session.timeout.ms: 9 s.
	SessionTimeout time.Duration `json:"session_timeout,omitempty"`
	// HeartbeatInterval is broker.heartbeat.interval.ms: 2 s. A broker's session
	// may have begun that long before it was paused or killed.
	HeartbeatInterval time.Duration `json:"heartbeat_interval,omitempty"`
	// ReplicaLagTimeMax is replica.lag.time.max.ms: 30 s.
	ReplicaLagTimeMax time.Duration `json:"replica_lag_time_max,omitempty"`
	// ReplicationDelay bounds how long an undisturbed follower is behind: 1 s.
	ReplicationDelay time.Duration `json:"replication_delay,omitempty"`
	// FixedCoordinators: the groups' internal topic has one replica, so that a
	// group's coordinator stays where it is, and is away when its broker is.
	FixedCoordinators bool `json:"fixed_coordinators,omitempty"`
	// Settle bounds how long it takes until a topic, a group, a deletion, a new
	// leader or a broker's return shows everywhere: 3 s.
	Settle time.Duration `json:"settle,omitempty"`
}

func (t *Timing) withDefaults() Timing {
	var out Timing
	if t != nil {
		out = *t
	}
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&out.SessionTimeout, 9 * time.Second},
		{&out.HeartbeatInterval, 2 * time.Second},
		{&out.ReplicaLagTimeMax, 30 * time.Second},
		{&out.ReplicationDelay, time.Second},
		{&out.Settle, 3 * time.Second},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return out
}

// shrinkEarliest and shrinkLatest bound how long after a broker fell silent it
// leaves every ISR (rule F4).
func (t Timing) shrinkEarliest() time.Duration {
	return max(0, min(t.SessionTimeout-t.HeartbeatInterval, t.ReplicaLagTimeMax-t.ReplicationDelay))
}

func (t Timing) shrinkLatest() time.Duration {
	return min(t.SessionTimeout, t.ReplicaLagTimeMax*3/2) + t.Settle
}

// Recorder gathers acts from any number of goroutines.
type Recorder struct {
	mu   sync.Mutex
	acts []Act
}

// Add appends one act.
func (r *Recorder) Add(a Act) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.acts = append(r.acts, a)
}

// Acts is a copy of what was gathered so far.
func (r *Recorder) Acts() []Act {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Act(nil), r.acts...)
}

// Encode writes acts as JSON, one a line.
func Encode(w io.Writer, acts []Act) error {
	enc := json.NewEncoder(w)
	for i := range acts {
		if err := enc.Encode(&acts[i]); err != nil {
			return fmt.Errorf("encode act %d: %w", i+1, err)
		}
	}
	return nil
}

// Decode reads what Encode wrote; its error names the line.
func Decode(r io.Reader) ([]Act, error) {
	var acts []Act
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var a Act
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			return nil, fmt.Errorf("decode acts: line %d: %w", n, err)
		}
		acts = append(acts, a)
	}
	return acts, lines.Err()
}
