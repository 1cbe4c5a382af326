package group

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// reconciliation is what it takes to bring a member of the consumer protocol
// nearer to its target (Kafka's CurrentAssignmentBuilder). It computes, and
// changes nothing.
type reconciliation struct {
	member      *consumerMember
	target      partitionSet
	targetEpoch int32
	// subscribed says whether the member subscribes to a topic, which the target
	// may not know yet.
	subscribed func(kafka.TopicID) bool
	// subscriptionChanged is set when the member has changed its subscription
	// in this very heartbeat.
	subscriptionChanged bool
	// taken says whether another member still has a partition.
	taken func(idPartition) bool
	// owned is what the member says that it has; nil if it does not say.
	owned partitionSet
}

// next is the member's next step, which is the member itself if it cannot move.
// A member gets a partition only after its old owner has reported that it gave
// it up; until a member has given up its own, it stays at its epoch.
func (r reconciliation) next() (*consumerMember, error) {
	m := r.member
	switch m.state {
	case memberStable:
		switch {
		case m.epoch != r.targetEpoch:
			return r.advance(m.epoch), nil
		case r.subscriptionChanged:
			return r.unsubscribe(), nil
		}
		return m, nil
	case memberUnrevoked:
		switch {
		case !r.holds(m.revoking):
			return r.advance(m.epoch), nil
		case r.subscriptionChanged:
			return r.unsubscribe(), nil
		}
		return m, nil
	case memberUnreleased:
		return r.advance(m.epoch), nil
	}
	if len(r.owned) > 0 || r.owned == nil {
		return nil, refuse(kafka.ErrFencedMemberEpoch, "The consumer group member is in a unknown state. "+
			"The member must abandon all its partitions and rejoin.")
	}
	return r.advance(r.targetEpoch), nil
}

// holds says whether the member has any of some partitions, as it must be
// assumed to if it does not say.
func (r reconciliation) holds(partitions ownership) bool {
	if r.owned == nil {
		return true
	}
	for p := range partitions {
		if r.owned[p] {
			return true
		}
	}
	return false
}

// unsubscribe takes away partitions of topics that the member no longer
// subscribes to, without waiting for a target that says so.
func (r reconciliation) unsubscribe() *consumerMember {
	m := r.member
	keeps, revoking := make(ownership), make(ownership)
	for p, since := range m.revoking {
		revoking[p] = since
	}
	for p, since := range m.assigned {
		if r.subscribed(p.topic) {
			keeps[p] = since
		} else {
			revoking[p] = since
		}
	}
	if len(keeps) == len(m.assigned) {
		return m
	}
	n := m.at(m.epoch)
	n.assigned = keeps
	if r.holds(revoking) {
		n.state, n.revoking = memberUnrevoked, revoking
	}
	return n
}

// advance takes the member to its target as far as it can go now.
func (r reconciliation) advance(epoch int32) *consumerMember {
	m := r.member
	keeps, revoking := make(ownership), make(ownership)
	for p, since := range m.assigned {
		if r.target[p] && r.subscribed(p.topic) {
			keeps[p] = since
		} else {
			revoking[p] = since
		}
	}
	if len(revoking) > 0 && r.holds(revoking) {
		n := m.at(epoch)
		n.state, n.assigned, n.revoking = memberUnrevoked, keeps, revoking
		return n
	}
	n := m.at(r.targetEpoch)
	n.state, n.assigned, n.revoking = memberStable, keeps, nil
	for p := range r.target {
		_, has := m.assigned[p]
		switch {
		case has || !r.subscribed(p.topic):
		case r.taken(p):
			n.state = memberUnreleased
		default:
			n.assigned[p] = r.targetEpoch
		}
	}
	return n
}
