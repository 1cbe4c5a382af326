package streams

import (
	"cmp"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// member is one member of a streams group. It never changes; a change makes a
// new value.
type member struct {
	id string
	assignment.Holding[task]
	rackID           *string
	rebalanceTimeout time.Duration
	clientID         string
	clientHost       string
	topologyEpoch    int32
	processID        string
	endpoint         *group.Endpoint
	tags             []group.KeyValue // sorted by key
}

// newMember is a member of which nothing is known yet.
func newMember(id string) *member {
	return &member{id: id, Holding: assignment.Holding[task]{Previous: -1}, rebalanceTimeout: -time.Millisecond, topologyEpoch: -1}
}

// acceptsEpoch says whether a member may come with an epoch; see the consumer
// protocol's.
func (m *member) acceptsEpoch(epoch int32, owned map[task]bool) error {
	switch {
	case epoch == group.JoinEpoch || epoch == m.Epoch:
		return nil
	case epoch > m.Epoch:
		return group.Refuse(kafka.ErrFencedMemberEpoch, "The streams group member has a greater member epoch (%d) than the one known by the group coordinator (%d). "+
			"The member must abandon all its partitions and rejoin.", epoch, m.Epoch)
	case epoch == m.Previous && owned != nil && m.covers(owned):
		return nil
	}
	return group.Refuse(kafka.ErrFencedMemberEpoch, "The streams group member has a smaller member epoch (%d) than the one known by the group coordinator (%d). "+
		"The member must abandon all its partitions and rejoin.", epoch, m.Epoch)
}

func (m *member) covers(tasks map[task]bool) bool {
	for t := range tasks {
		if _, ok := m.Assigned[t]; !ok {
			return false
		}
	}
	return true
}

// update is the member with what a heartbeat says anew.
func (m *member) update(req group.StreamsHeartbeatRequest) *member {
	n := *m
	if req.RackID != nil {
		n.rackID = req.RackID
	}
	if req.RebalanceTimeout >= 0 {
		n.rebalanceTimeout = req.RebalanceTimeout
	}
	if req.Topology != nil {
		n.topologyEpoch = req.Topology.Epoch
	}
	if req.ProcessID != nil {
		n.processID = *req.ProcessID
	}
	if req.Endpoint != nil {
		n.endpoint = req.Endpoint
	}
	if req.Tags != nil {
		n.tags = slices.SortedFunc(slices.Values(req.Tags), func(a, b group.KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	}
	n.clientID, n.clientHost = req.ClientID, req.ClientHost
	return &n
}
