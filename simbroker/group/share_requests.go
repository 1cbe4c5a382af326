package group

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

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
