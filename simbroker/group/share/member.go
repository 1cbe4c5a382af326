package share

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// sharedTopic is partitions of a topic whose share state is being set up, or is.
type sharedTopic struct {
	name       string
	partitions []int32 // sorted
	since      int64   // when that was said, in milliseconds; not in the records
}

// member is one member of a share group. It never changes; a change makes a new
// value.
type member struct {
	id         string
	epoch      int32
	previous   int32
	rackID     *string
	clientID   string
	clientHost string
	topics     []string // sorted
	assigned   assignment.Set
}

// acceptsEpoch says whether a member may come with an epoch: its own, or the
// one before if it missed the answer.
func (m *member) acceptsEpoch(epoch int32) error {
	switch {
	case epoch == group.JoinEpoch || epoch == m.epoch || epoch == m.previous:
		return nil
	case epoch > m.epoch:
		return group.Refuse(kafka.ErrFencedMemberEpoch, "The share group member has a greater member epoch (%d) than the one known by the group coordinator (%d). "+
			"The member must abandon all its partitions and rejoin.", epoch, m.epoch)
	}
	return group.Refuse(kafka.ErrFencedMemberEpoch, "The share group member has a smaller member epoch (%d) than the one known by the group coordinator (%d), "+
		"and it does not match the previous member epoch (%d). The member must abandon all its partitions and rejoin.", epoch, m.epoch, m.previous)
}

// update is the member with what a heartbeat says anew.
func (m *member) update(req group.ShareHeartbeatRequest) *member {
	n := *m
	if req.RackID != nil {
		n.rackID = req.RackID
	}
	if req.SubscribedTopics != nil {
		n.topics = group.SortedNames(req.SubscribedTopics)
	}
	n.clientID, n.clientHost = req.ClientID, req.ClientHost
	return &n
}
