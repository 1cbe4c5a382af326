package group

import "time"

// ConsumerProtocol is the protocol type of consumers, whose subscriptions the
// coordinator can read.
const ConsumerProtocol = "consumer"

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

// RefusedJoin is the answer to a member that does not get into a generation.
func RefusedJoin(memberID string) JoinResult { return JoinResult{GenerationID: -1, MemberID: memberID} }

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
