package group

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Protocol is one assignment protocol a member supports.
type Protocol struct {
	Name     string
	Metadata []byte
}

// JoinRequest asks to join a classic group (rule H2).
type JoinRequest struct {
	GroupID          string
	MemberID         string // "" for a new member
	InstanceID       *string
	ClientID         string
	ClientHost       string // with Java's leading slash: /127.0.0.1
	ProtocolType     string
	Protocols        []Protocol // in the member's order of preference
	SessionTimeout   time.Duration
	RebalanceTimeout time.Duration
	Reason           string // why, for people; it changes nothing
	// RequireKnownMemberID is set from v4 on: a new dynamic member first gets its
	// id with MEMBER_ID_REQUIRED.
	RequireKnownMemberID bool
	// SupportsSkipAssignment is set from v9 on: a leader that rejoins a stable
	// group is told to leave the assignment as it is.
	SupportsSkipAssignment bool
}

// JoinMember is what the leader is told of each member.
type JoinMember struct {
	MemberID   string
	InstanceID *string
	Metadata   []byte
}

// JoinResult answers JoinGroup. With an error, MemberID is what the request
// had or, with MEMBER_ID_REQUIRED, what the client must come back with, and
// GenerationID is -1.
type JoinResult struct {
	GenerationID   int32
	ProtocolType   *string
	ProtocolName   *string
	Leader         string
	SkipAssignment bool
	MemberID       string
	Members        []JoinMember // for the leader alone
}

// MemberAssignment is what the leader gives to one member.
type MemberAssignment struct {
	MemberID   string
	Assignment []byte
}

// SyncRequest brings the leader's assignment and asks for the member's own.
type SyncRequest struct {
	GroupID      string
	GenerationID int32
	MemberID     string
	InstanceID   *string
	ProtocolType *string // v5+, otherwise nil
	ProtocolName *string // v5+, otherwise nil
	Assignments  []MemberAssignment
}

// SyncResult answers SyncGroup.
type SyncResult struct {
	ProtocolType *string
	ProtocolName *string
	Assignment   []byte
}

// HeartbeatRequest keeps a member's session alive.
type HeartbeatRequest struct {
	GroupID      string
	GenerationID int32
	MemberID     string
	InstanceID   *string
}

// LeavingMember names a member that leaves, by member id or instance id.
type LeavingMember struct {
	MemberID   string
	InstanceID *string
	Reason     string // why, for people; it changes nothing
}

// LeaveRequest takes members out of a group.
type LeaveRequest struct {
	GroupID string
	Members []LeavingMember
}

// LeftMember answers for one leaving member.
type LeftMember struct {
	MemberID   string
	InstanceID *string
	Err        error
}

// MemberDescription describes one member.
type MemberDescription struct {
	MemberID   string
	InstanceID *string
	ClientID   string
	ClientHost string
	Metadata   []byte // empty unless the group is Stable
	Assignment []byte // the last one given; a rebalance does not clear it
}

// Description describes one classic group.
type Description struct {
	GroupID      string
	State        State
	ProtocolType string
	Protocol     string // empty unless the group is Stable
	Members      []MemberDescription
	// Err is nil, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_GROUP_ID,
	// or GROUP_ID_NOT_FOUND with state Dead, which versions below 6 do not show;
	// a Refusal has a message.
	Err error
}

// ListRequest selects groups; empty filters select all. Both compare without
// regard to case (rule H10).
type ListRequest struct {
	States []string
	Types  []string
}

// Listing is one group of a list.
type Listing struct {
	GroupID      string
	ProtocolType string // "" for a simple group
	State        State
	Kind         Kind
}

// CommittedOffset is an offset that a client commits.
type CommittedOffset struct {
	Partition   int32
	Offset      kafka.Offset
	LeaderEpoch kafka.LeaderEpoch // -1 if unknown
	Metadata    string
}

// CommitTopic holds the offsets of one topic.
type CommitTopic struct {
	Topic      string
	TopicID    kafka.TopicID // zero if the request came by name
	Partitions []CommittedOffset
}

// CommitRequest commits offsets (rule H4).
type CommitRequest struct {
	GroupID string
	// Generation is the classic generation or the consumer protocol's member
	// epoch; negative for a simple group.
	Generation int32
	MemberID   string
	InstanceID *string
	// Retention is how long to keep the offsets (v2 to v4); negative means as the
	// broker is configured.
	Retention time.Duration
	Topics    []CommitTopic
	// GroupIDNotFoundSupported is set from v9 on: GROUP_ID_NOT_FOUND instead of
	// ILLEGAL_GENERATION for a group that does not exist.
	GroupIDNotFoundSupported bool
}

// TxnCommitRequest commits offsets in a transaction (rule H5).
type TxnCommitRequest struct {
	GroupID         string
	TransactionalID string
	Producer        kafka.Producer
	Generation      int32
	MemberID        string
	InstanceID      *string
	Topics          []CommitTopic
	Mode            VerifyMode
}

// PartitionResult answers for one partition.
type PartitionResult struct {
	Partition int32
	Err       error
}

// TopicResult answers for one topic.
type TopicResult struct {
	Topic      string
	TopicID    kafka.TopicID
	Partitions []PartitionResult
}

// FetchTopic names partitions of one topic.
type FetchTopic struct {
	Topic      string
	TopicID    kafka.TopicID
	Partitions []int32
}

// FetchRequest reads the committed offsets of one group (rules H7, H9).
type FetchRequest struct {
	GroupID string
	// MemberID and MemberEpoch are the consumer protocol's (v9+); nil and -1 skip
	// their validation.
	MemberID    *string
	MemberEpoch int32
	// Topics is nil to read all.
	Topics        []FetchTopic
	RequireStable bool
}

// FetchedOffset is what is committed for one partition: offset -1, leader
// epoch -1 and no metadata if nothing is, without an error.
type FetchedOffset struct {
	Partition   int32
	Offset      kafka.Offset
	LeaderEpoch kafka.LeaderEpoch
	Metadata    string
	Err         error // nil or UNSTABLE_OFFSET_COMMIT
}

// FetchedTopic holds the offsets of one topic.
type FetchedTopic struct {
	Topic      string
	TopicID    kafka.TopicID
	Partitions []FetchedOffset
}

// DeleteOffsetsRequest deletes committed offsets (OffsetDelete).
type DeleteOffsetsRequest struct {
	GroupID string
	Topics  []FetchTopic
}

// DeletedTopic is a topic that was deleted from the cluster.
type DeletedTopic struct {
	Name string
	ID   kafka.TopicID
}

// AssignedTopic is partitions of one topic in an assignment.
type AssignedTopic struct {
	TopicID kafka.TopicID
	// Topic is the name, in descriptions.
	Topic      string
	Partitions []int32
}

// ConsumerHeartbeatRequest is what a member of the consumer protocol says (rule
// H3). What is nil or negative has not changed.
type ConsumerHeartbeatRequest struct {
	GroupID  string
	MemberID string
	// MemberEpoch is 0 to join, -1 to leave, -2 for a static member that leaves
	// and means to come back.
	MemberEpoch      int32
	InstanceID       *string
	RackID           *string
	ClientID         string
	ClientHost       string // with Java's leading slash
	RebalanceTimeout time.Duration
	SubscribedTopics []string
	SubscribedRegex  *string
	ServerAssignor   *string
	// Owned is what the member has, by topic id.
	Owned []AssignedTopic
	// RequireMemberID is set from v1 on, where members make their ids themselves.
	RequireMemberID bool
	// MayDescribe says whether the member may know of a topic that its regular
	// expression matches; nil stands for all.
	MayDescribe func(topic string) bool
}

// ConsumerHeartbeatResult answers a heartbeat.
type ConsumerHeartbeatResult struct {
	MemberID    string
	MemberEpoch int32
	// Interval is until the next heartbeat.
	Interval time.Duration
	// Assignment is what the member may read now; nil if nothing changed.
	Assignment []AssignedTopic
}

// ConsumerMemberDescription describes a member of a group of the consumer
// protocol.
type ConsumerMemberDescription struct {
	MemberID         string
	InstanceID       *string
	RackID           *string
	MemberEpoch      int32
	ClientID         string
	ClientHost       string
	SubscribedTopics []string
	SubscribedRegex  string
	Classic          bool // it speaks the classic protocol
	// Assignment is what the member has, what it is to give up included.
	Assignment []AssignedTopic
	Target     []AssignedTopic
}

// ConsumerDescription describes a group of the consumer protocol.
type ConsumerDescription struct {
	GroupID         string
	State           State
	Epoch           int32
	AssignmentEpoch int32
	Assignor        string
	Members         []ConsumerMemberDescription // sorted by id
	// Err is nil, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, INVALID_GROUP_ID,
	// or GROUP_ID_NOT_FOUND.
	Err error
}

// ShareHeartbeatRequest is what a member of a share group says. What is nil has
// not changed.
type ShareHeartbeatRequest struct {
	GroupID          string
	MemberID         string
	MemberEpoch      int32 // 0 to join, -1 to leave
	RackID           *string
	ClientID         string
	ClientHost       string
	SubscribedTopics []string
}

// ShareHeartbeatResult answers a heartbeat of a share group.
type ShareHeartbeatResult struct {
	MemberID    string
	MemberEpoch int32
	Interval    time.Duration
	Assignment  []AssignedTopic // nil if nothing changed
}

// ShareMemberDescription describes a member of a share group.
type ShareMemberDescription struct {
	MemberID         string
	RackID           *string
	MemberEpoch      int32
	ClientID         string
	ClientHost       string
	SubscribedTopics []string
	Assignment       []AssignedTopic
}

// ShareDescription describes a share group.
type ShareDescription struct {
	GroupID         string
	State           State // Empty or Stable
	Epoch           int32
	AssignmentEpoch int32
	Assignor        string
	Members         []ShareMemberDescription // sorted by id
	// Err is as in ConsumerDescription.
	Err error
}

// ShareStart says where a share group goes on in partitions of a topic.
type ShareStart struct {
	Topic      string
	Partitions []ShareStartPartition
}

// ShareStartPartition is one partition of a ShareStart.
type ShareStartPartition struct {
	Partition int32
	Start     kafka.Offset // NoOffset for where the group's setting says
}

// AlterShareOffsetsRequest sets the offsets of a share group without members.
type AlterShareOffsetsRequest struct {
	GroupID string
	Topics  []ShareStart
}

// ShareTopicResult answers for one topic of a share group.
type ShareTopicResult struct {
	Topic   string
	TopicID kafka.TopicID // zero if the group had nothing of it
	Err     error
}

// TaskIDs is tasks of one subtopology of a streams group.
type TaskIDs struct {
	Subtopology string
	Partitions  []int32
}

// StreamsHeartbeatRequest is what a member of a streams group says. What is nil
// or negative has not changed.
type StreamsHeartbeatRequest struct {
	GroupID          string
	MemberID         string
	MemberEpoch      int32 // 0 to join, -1 to leave
	InstanceID       *string
	RackID           *string
	ClientID         string
	ClientHost       string
	RebalanceTimeout time.Duration
	// Topology is what the application does, told when the member joins.
	Topology *Topology
	// The tasks that the member has.
	Active, Standby, Warmup []TaskIDs
	ProcessID               *string
	Endpoint                *Endpoint
	Tags                    []KeyValue
}

// StreamsHeartbeatResult answers a heartbeat of a streams group.
type StreamsHeartbeatResult struct {
	MemberID    string
	MemberEpoch int32
	Interval    time.Duration
	Status      []StreamsStatus
	Active      []TaskIDs // nil if nothing changed
	// Create is the internal topics that the broker is to create.
	Create []InternalTopic
}

// StreamsMemberDescription describes a member of a streams group.
type StreamsMemberDescription struct {
	MemberID      string
	RackID        *string
	MemberEpoch   int32
	ClientID      string
	ClientHost    string
	TopologyEpoch int32
	ProcessID     string
	Endpoint      *Endpoint
	Tags          []KeyValue
	Active        []TaskIDs
	Target        []TaskIDs
}

// StreamsDescription describes a streams group.
type StreamsDescription struct {
	GroupID         string
	State           State
	Epoch           int32
	AssignmentEpoch int32
	Topology        *Topology
	Members         []StreamsMemberDescription // sorted by id
	// Err is as in ConsumerDescription.
	Err error
}
