package assignment

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Reconciliation is what it takes to bring a member nearer to its target
// (Kafka's CurrentAssignmentBuilder). It computes, and changes nothing.
type Reconciliation[P comparable] struct {
	Has         Holding[P]
	Target      map[P]bool
	TargetEpoch int32
	// Subscribed says whether the member may have something at all, which the
	// target may not know yet.
	Subscribed func(P) bool
	// SubscriptionChanged is set when the member has changed its subscription
	// in this very heartbeat.
	SubscriptionChanged bool
	// Taken says whether another member still has something.
	Taken func(P) bool
	// Owned is what the member says that it has; nil if it does not say.
	Owned map[P]bool
}

// Next is the member's next step, which is where it is if it cannot move. A
// member gets something only after its old owner has reported that it gave it
// up; until a member has given up its own, it stays at its epoch.
func (r Reconciliation[P]) Next() (Holding[P], error) {
	switch r.Has.State {
	case Stable:
		switch {
		case r.Has.Epoch != r.TargetEpoch:
			return r.advance(r.Has.Epoch), nil
		case r.SubscriptionChanged:
			return r.unsubscribe(), nil
		}
		return r.Has, nil
	case Unrevoked:
		switch {
		case !r.holds(r.Has.Revoking):
			return r.advance(r.Has.Epoch), nil
		case r.SubscriptionChanged:
			return r.unsubscribe(), nil
		}
		return r.Has, nil
	case Unreleased:
		return r.advance(r.Has.Epoch), nil
	}
	if len(r.Owned) > 0 || r.Owned == nil {
		return r.Has, group.Refuse(kafka.ErrFencedMemberEpoch, "The consumer group member is in a unknown state. "+
			"The member must abandon all its partitions and rejoin.")
	}
	return r.advance(r.TargetEpoch), nil
}

// holds says whether the member has any of some things, as it must be assumed
// to if it does not say.
func (r Reconciliation[P]) holds(things map[P]int32) bool {
	if r.Owned == nil {
		return true
	}
	for p := range things {
		if r.Owned[p] {
			return true
		}
	}
	return false
}

// unsubscribe takes away what the member no longer subscribes to, without
// waiting for a target that says so.
func (r Reconciliation[P]) unsubscribe() Holding[P] {
	keeps, revoking := make(map[P]int32), make(map[P]int32)
	for p, since := range r.Has.Revoking {
		revoking[p] = since
	}
	for p, since := range r.Has.Assigned {
		if r.Subscribed(p) {
			keeps[p] = since
		} else {
			revoking[p] = since
		}
	}
	if len(keeps) == len(r.Has.Assigned) {
		return r.Has
	}
	n := r.Has.at(r.Has.Epoch)
	n.Assigned = keeps
	if r.holds(revoking) {
		n.State, n.Revoking = Unrevoked, revoking
	}
	return n
}

// advance takes the member to its target as far as it can go now.
func (r Reconciliation[P]) advance(epoch int32) Holding[P] {
	keeps, revoking := make(map[P]int32), make(map[P]int32)
	for p, since := range r.Has.Assigned {
		if r.Target[p] && r.Subscribed(p) {
			keeps[p] = since
		} else {
			revoking[p] = since
		}
	}
	if len(revoking) > 0 && r.holds(revoking) {
		n := r.Has.at(epoch)
		n.State, n.Assigned, n.Revoking = Unrevoked, keeps, revoking
		return n
	}
	n := r.Has.at(r.TargetEpoch)
	n.State, n.Assigned, n.Revoking = Stable, keeps, nil
	for p := range r.Target {
		_, has := r.Has.Assigned[p]
		switch {
		case has || !r.Subscribed(p):
		case r.Taken(p):
			n.State = Unreleased
		default:
			n.Assigned[p] = r.TargetEpoch
		}
	}
	return n
}
