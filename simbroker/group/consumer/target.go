package consumer

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
)

// subscribe writes what a member said, and raises the group's epoch if that, or
// what became of its topics, calls for a new target. It reports whether the
// member's subscription changed.
func (p Protocol) subscribe(d *draft, before, after *member, mayDescribe func(string) bool) (bool, error) {
	regex, err := p.updateRegex(d, before, after, mayDescribe)
	if err != nil {
		return false, err
	}
	if !after.sameMetadata(before) {
		d.emit(memberRecord(d.id, after))
	}
	names := !slices.Equal(before.topics, after.topics)
	bump := names || regex == regexResolved || regex != regexUnchanged && after.classic != nil
	p.raiseEpoch(d, bump)
	return names || regex != regexUnchanged, nil
}

// computeTarget computes a target assignment for the group's epoch, unless it
// has one or the last one is too fresh (group.consumer.assignment.interval.ms).
func (p Protocol) computeTarget(d *draft) {
	if d.targetEpoch >= d.epoch {
		return
	}
	now := p.Now()
	interval := p.Env.Settings(d.id).ConsumerAssignmentInterval
	if d.targetAt != 0 && interval != 0 && now < d.targetAt+interval.Milliseconds() {
		return
	}
	var members []assignment.Assignee
	for _, m := range d.sorted() {
		members = append(members, assignment.Assignee{
			ID: m.id, InstanceID: m.instanceID,
			Topics: assignment.Sizes(d.subscribedTo(m), p.Env.Topics), Has: d.target[m.id],
		})
	}
	assign := assignment.Uniform
	if d.preferredAssignor(p.Config.ConsumerAssignors[0]) == group.RangeAssignor {
		assign = assignment.Range
	}
	targets := assign(members)
	for _, m := range members {
		if old, ok := d.target[m.ID]; !ok || !slices.Equal(assignment.Sorted(old), assignment.Sorted(targets[m.ID])) {
			d.emit(targetRecord(d.id, m.ID, targets[m.ID]))
		}
	}
	d.emit(targetEpochRecord(d.id, d.epoch, now))
}

// reconcile takes a member a step nearer to its target.
func (p Protocol) reconcile(d *draft, m *member, subscriptionChanged bool, owned assignment.Set) (*member, error) {
	if !subscriptionChanged && m.ReconciledTo(d.targetEpoch) {
		return m, nil
	}
	subscribed := assignment.Sizes(d.subscribedTo(m), p.Env.Topics)
	has, err := assignment.Reconciliation[assignment.Partition]{
		Has:                 m.Holding,
		Target:              d.target[m.id],
		TargetEpoch:         d.targetEpoch,
		Subscribed:          func(p assignment.Partition) bool { _, ok := subscribed[p.Topic]; return ok },
		SubscriptionChanged: subscriptionChanged,
		Taken:               func(p assignment.Partition) bool { return d.ownedByOthers(p, m.id) },
		Owned:               owned,
	}.Next()
	if err != nil {
		return nil, err
	}
	next := new(*m)
	next.Holding = has
	if next.sameAssignment(m) {
		return next, nil
	}
	d.emit(currentRecord(d.id, next))
	if next.classic == nil {
		if next.State == assignment.Unrevoked {
			p.expectRevocation(d.id, next)
		} else {
			p.Timers.Stop(shard.Timer{Group: d.id, Member: next.id, Kind: shard.RebalanceTimer})
		}
	}
	return next, nil
}
