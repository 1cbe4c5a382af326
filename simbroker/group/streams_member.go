package group

import (
	"cmp"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// streamsMember is one member of a streams group. It never changes; a change
// makes a new value.
type streamsMember struct {
	id string
	holding[task]
	rackID           *string
	rebalanceTimeout time.Duration
	clientID         string
	clientHost       string
	topologyEpoch    int32
	processID        string
	endpoint         *Endpoint
	tags             []KeyValue // sorted by key
}

// newStreamsMember is a member of which nothing is known yet.
func newStreamsMember(id string) *streamsMember {
	return &streamsMember{id: id, holding: holding[task]{previous: -1}, rebalanceTimeout: -time.Millisecond, topologyEpoch: -1}
}

// acceptsEpoch says whether a member may come with an epoch; see the consumer
// protocol's.
func (m *streamsMember) acceptsEpoch(epoch int32, owned map[task]bool) error {
	switch {
	case epoch == joinEpoch || epoch == m.epoch:
		return nil
	case epoch > m.epoch:
		return refuse(kafka.ErrFencedMemberEpoch, "The streams group member has a greater member epoch (%d) than the one known by the group coordinator (%d). "+
			"The member must abandon all its partitions and rejoin.", epoch, m.epoch)
	case epoch == m.previous && owned != nil && m.covers(owned):
		return nil
	}
	return refuse(kafka.ErrFencedMemberEpoch, "The streams group member has a smaller member epoch (%d) than the one known by the group coordinator (%d). "+
		"The member must abandon all its partitions and rejoin.", epoch, m.epoch)
}

func (m *streamsMember) covers(tasks map[task]bool) bool {
	for t := range tasks {
		if _, ok := m.assigned[t]; !ok {
			return false
		}
	}
	return true
}

// update is the member with what a heartbeat says anew.
func (m *streamsMember) update(req StreamsHeartbeatRequest) *streamsMember {
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
		n.tags = slices.SortedFunc(slices.Values(req.Tags), func(a, b KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	}
	n.clientID, n.clientHost = req.ClientID, req.ClientHost
	return &n
}
