package consumer

import (
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// member is one member of a group of the consumer protocol. It never changes; a
// change makes a new value.
type member struct {
	id string
	assignment.Holding[assignment.Partition]
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
	protocols      []group.Protocol
}

// newMember is a member of which nothing is known yet.
func newMember(id string) *member {
	return &member{id: id, Holding: assignment.Holding[assignment.Partition]{Previous: -1}, rebalanceTimeout: -time.Millisecond}
}

// update is the member with what a heartbeat says anew; what it leaves out
// stays.
func (m *member) update(req group.ConsumerHeartbeatRequest) *member {
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
func (m *member) epochName() string {
	if m.classic != nil {
		return "generation id"
	}
	return "member epoch"
}

// stale refuses an epoch, by the error that the member's protocol has for it.
func (m *member) stale(format string, args ...any) error {
	if m.classic != nil {
		return group.Refuse(kafka.ErrIllegalGeneration, format, args...)
	}
	return group.Refuse(kafka.ErrStaleMemberEpoch, format, args...)
}
