package group

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

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
