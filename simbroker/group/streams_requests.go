package group

import "time"

// TaskIDs is tasks of one subtopology of a streams group.
type TaskIDs struct {
	Subtopology string
	Partitions  []int32
}

// StreamsStatus is something that keeps a streams group from its work.
type StreamsStatus struct {
	Code   int8
	Detail string
}

// The statuses of streams groups, by Kafka's codes.
const (
	StatusStaleTopology         int8 = 0
	StatusMissingSourceTopics   int8 = 1
	StatusIncorrectPartitions   int8 = 2
	StatusMissingInternalTopics int8 = 3
	StatusShutdownApplication   int8 = 4
	StatusAssignmentDelayed     int8 = 5
)

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
	// EndpointEpoch is that of the endpoints which the member was told last.
	EndpointEpoch int32
	Tags          []KeyValue
}

// StreamsHeartbeatResult answers a heartbeat of a streams group.
type StreamsHeartbeatResult struct {
	MemberID    string
	MemberEpoch int32
	Interval    time.Duration
	Status      []StreamsStatus
	Active      []TaskIDs // nil if nothing changed, as Standby then
	Standby     []TaskIDs
	// Endpoints are those of all members, nil if the member knows them: they are of
	// EndpointEpoch.
	Endpoints     []EndpointPartitions
	EndpointEpoch int32
	// Create is the internal topics that the broker is to create.
	Create []InternalTopic
}

// EndpointPartitions is what can be asked for at a member's endpoint: the partitions
// of which its tasks make their state, by the topics' names.
type EndpointPartitions struct {
	Endpoint
	Active, Standby []AssignedTopic
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
	Standby       []TaskIDs
	Target        []TaskIDs
	TargetStandby []TaskIDs
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
