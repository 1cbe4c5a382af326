package group

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// reconciliation is what it takes to bring a member nearer to its target
// (Kafka's CurrentAssignmentBuilder). It computes, and changes nothing.
type reconciliation[P comparable] struct {
	has         holding[P]
	target      map[P]bool
	targetEpoch int32
	// subscribed says whether the member may have something at all, which the
	// target may not know yet.
	subscribed func(P) bool
	// subscriptionChanged is set when the member has changed its subscription
	// in this very heartbeat.
	subscriptionChanged bool
	// taken says whether another member still has something.
	taken func(P) bool
	// owned is what the member says that it has; nil if it does not say.
	owned map[P]bool
}

// next is the member's next step, which is where it is if it cannot move. A
// member gets something only after its old owner has reported that it gave it
// up; until a member has given up its own, it stays at its epoch.
func (r reconciliation[P]) next() (holding[P], error) {
	switch r.has.state {
	case memberStable:
		switch {
		case r.has.epoch != r.targetEpoch:
			return r.advance(r.has.epoch), nil
		case r.subscriptionChanged:
			return r.unsubscribe(), nil
		}
		return r.has, nil
	case memberUnrevoked:
		switch {
		case !r.holds(r.has.revoking):
			return r.advance(r.has.epoch), nil
		case r.subscriptionChanged:
			return r.unsubscribe(), nil
		}
		return r.has, nil
	case memberUnreleased:
		return r.advance(r.has.epoch), nil
	}
	if len(r.owned) > 0 || r.owned == nil {
		return r.has, refuse(kafka.ErrFencedMemberEpoch, "The consumer group member is in a unknown state. "+
			"The member must abandon all its partitions and rejoin.")
	}
	return r.advance(r.targetEpoch), nil
}

// holds says whether the member has any of some things, as it must be assumed
// to if it does not say.
func (r reconciliation[P]) holds(things map[P]int32) bool {
	if r.owned == nil {
		return true
	}
	for p := range things {
		if r.owned[p] {
			return true
		}
	}
	return false
}

// unsubscribe takes away what the member no longer subscribes to, without
// waiting for a target that says so.
func (r reconciliation[P]) unsubscribe() holding[P] {
	keeps, revoking := make(map[P]int32), make(map[P]int32)
	for p, since := range r.has.revoking {
		revoking[p] = since
	}
	for p, since := range r.has.assigned {
		if r.subscribed(p) {
			keeps[p] = since
		} else {
			revoking[p] = since
		}
	}
	if len(keeps) == len(r.has.assigned) {
		return r.has
	}
	n := r.has.at(r.has.epoch)
	n.assigned = keeps
	if r.holds(revoking) {
		n.state, n.revoking = memberUnrevoked, revoking
	}
	return n
}

// advance takes the member to its target as far as it can go now.
func (r reconciliation[P]) advance(epoch int32) holding[P] {
	keeps, revoking := make(map[P]int32), make(map[P]int32)
	for p, since := range r.has.assigned {
		if r.target[p] && r.subscribed(p) {
			keeps[p] = since
		} else {
			revoking[p] = since
		}
	}
	if len(revoking) > 0 && r.holds(revoking) {
		n := r.has.at(epoch)
		n.state, n.assigned, n.revoking = memberUnrevoked, keeps, revoking
		return n
	}
	n := r.has.at(r.targetEpoch)
	n.state, n.assigned, n.revoking = memberStable, keeps, nil
	for p := range r.target {
		_, has := r.has.assigned[p]
		switch {
		case has || !r.subscribed(p):
		case r.taken(p):
			n.state = memberUnreleased
		default:
			n.assigned[p] = r.targetEpoch
		}
	}
	return n
}
