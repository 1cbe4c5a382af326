package group

import (
	"bytes"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// memberState says how far a member of the consumer protocol has come on the
// way to its target assignment. The values are those of the records.
type memberState int8

const (
	memberStable        memberState = 0 // it is there, or waits for nothing
	memberUnrevoked     memberState = 1 // it has to give partitions up
	memberUnreleased    memberState = 2 // others have to
	memberStateOfFuture memberState = 127
)

// consumerMember is one member of a group of the consumer protocol. It never
// changes; a change makes a new value.
type consumerMember struct {
	id         string
	epoch      int32
	previous   int32 // epoch, which is accepted from a member that missed the answer
	state      memberState
	instanceID *string
	rackID     *string
	// rebalanceTimeout is how long the member may take to give partitions up.
	rebalanceTimeout time.Duration
	clientID         string
	clientHost       string
	topics           []string // names it subscribes to, sorted
	regex            string   // it subscribes by; "" for none
	assignor         *string
	// classic is set for a member that speaks the classic protocol.
	classic  *classicMembership
	assigned ownership // what it may read
	revoking ownership // what it still has and must give up
}

// classicMembership is what a member of the classic protocol brought along.
type classicMembership struct {
	sessionTimeout time.Duration
	protocols      []Protocol
}

// newConsumerMember is a member of which nothing is known yet.
func newConsumerMember(id string) *consumerMember {
	return &consumerMember{id: id, previous: -1, rebalanceTimeout: -time.Millisecond}
}

// reconciledTo says whether the member has reached a target assignment.
func (m *consumerMember) reconciledTo(targetEpoch int32) bool {
	return m.state == memberStable && m.epoch == targetEpoch
}

// owns says whether the member has a partition, be it only to give it up.
func (m *consumerMember) owns(p idPartition) bool {
	_, assigned := m.assigned[p]
	_, revoking := m.revoking[p]
	return assigned || revoking
}

// sameMetadata says whether the record of what the member said would be the
// same.
func (m *consumerMember) sameMetadata(other *consumerMember) bool {
	return bytes.Equal(encodeConsumerMember(m), encodeConsumerMember(other))
}

// sameAssignment says whether the record of what the member has would be the
// same.
func (m *consumerMember) sameAssignment(other *consumerMember) bool {
	return bytes.Equal(encodeCurrentAssignment(m), encodeCurrentAssignment(other))
}

// at is the member at another epoch.
func (m *consumerMember) at(epoch int32) *consumerMember {
	n := *m
	n.epoch, n.previous = epoch, m.epoch
	return &n
}

// update is the member with what a heartbeat says anew; what it leaves out
// stays.
func (m *consumerMember) update(req ConsumerHeartbeatRequest) *consumerMember {
	n := *m
	if req.InstanceID != nil {
		n.instanceID = req.InstanceID
	}
	if req.RackID != nil {
		n.rackID = req.RackID
	}
	if req.RebalanceTimeout >= 0 {
		n.rebalanceTimeout = req.RebalanceTimeout
	}
	if req.ServerAssignor != nil {
		n.assignor = req.ServerAssignor
	}
	if req.SubscribedTopics != nil {
		n.topics = slices.Compact(slices.Sorted(slices.Values(req.SubscribedTopics)))
	}
	if req.SubscribedRegex != nil {
		n.regex = *req.SubscribedRegex
	}
	n.clientID, n.clientHost, n.classic = req.ClientID, req.ClientHost, nil
	return &n
}

// epochName is what the member calls its epoch.
func (m *consumerMember) epochName() string {
	if m.classic != nil {
		return "generation id"
	}
	return "member epoch"
}

// stale refuses an epoch, by the error that the member's protocol has for it.
func (m *consumerMember) stale(format string, args ...any) error {
	if m.classic != nil {
		return refuse(kafka.ErrIllegalGeneration, format, args...)
	}
	return refuse(kafka.ErrStaleMemberEpoch, format, args...)
}
