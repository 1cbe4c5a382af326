package share

import (
	"maps"

	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
)

// awaitsAssignment says whether share state was set up for partitions that the
// target does not have yet.
func (g *Group) awaitsAssignment() bool {
	given := make(assignment.Set)
	for _, target := range g.target {
		maps.Copy(given, target)
	}
	for id, t := range g.initialized {
		if !g.Subscribes(t.name) {
			continue
		}
		for _, n := range t.partitions {
			if !given[assignment.Partition{Topic: id, Number: n}] {
				return true
			}
		}
	}
	return false
}

// computeTarget computes a target for the group's epoch, unless it has one or
// the last one is too fresh (group.share.assignment.interval.ms).
func (p Protocol) computeTarget(d *draft) {
	interval := p.Env.Settings(d.id).ShareAssignmentInterval
	if d.targetEpoch >= d.epoch || d.targetAt != 0 && interval != 0 && d.now < d.targetAt+interval.Milliseconds() {
		return
	}
	var members []assignment.Assignee
	for _, m := range d.sorted() {
		members = append(members, assignment.Assignee{ID: m.id, Topics: d.assignable(m.topics), Has: d.target[m.id]})
	}
	targets := assignment.Simple(members)
	for _, m := range members {
		if old, ok := d.target[m.ID]; !ok || !maps.Equal(old, targets[m.ID]) {
			d.emit(targetRecord(d.id, m.ID, targets[m.ID]))
		}
	}
	d.emit(targetEpochRecord(d.id, d.epoch, d.now))
}

// reconcile brings a member to its target: there is nothing to wait for.
func (p Protocol) reconcile(d *draft, m *member, subscriptionChanged bool) *member {
	if m.epoch == d.targetEpoch && !subscriptionChanged {
		return m
	}
	n := *m
	if m.epoch != d.targetEpoch {
		n.epoch, n.previous = d.targetEpoch, m.epoch
	}
	subscribed := assignment.Sizes(m.topics, p.Env.Topics)
	n.assigned = make(assignment.Set)
	for partition := range d.target[m.id] {
		if _, ok := subscribed[partition.Topic]; ok {
			n.assigned[partition] = true
		}
	}
	if n.epoch != m.epoch || !maps.Equal(n.assigned, m.assigned) {
		d.emit(currentRecord(d.id, &n))
	}
	return &n
}
