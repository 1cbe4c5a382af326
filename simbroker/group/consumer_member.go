package group

import (
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// consumerMember is one member of a group of the consumer protocol. It never
// changes; a change makes a new value.
type consumerMember struct {
	id string
	holding[idPartition]
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
	classic *classicMembership
}

// classicMembership is what a member of the classic protocol brought along.
type classicMembership struct {
	sessionTimeout time.Duration
	protocols      []Protocol
}

// newConsumerMember is a member of which nothing is known yet.
func newConsumerMember(id string) *consumerMember {
	return &consumerMember{id: id, holding: holding[idPartition]{previous: -1}, rebalanceTimeout: -time.Millisecond}
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
