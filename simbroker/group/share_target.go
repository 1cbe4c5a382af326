package group

import "maps"

// awaitsAssignment says whether share state was set up for partitions that the
// target does not have yet.
func (g *share) awaitsAssignment() bool {
	given := make(partitionSet)
	for _, target := range g.target {
		maps.Copy(given, target)
	}
	for id, t := range g.initialized {
		if !g.subscribes(t.name) {
			continue
		}
		for _, n := range t.partitions {
			if !given[idPartition{id, n}] {
				return true
			}
		}
	}
	return false
}

// computeShareTarget computes a target for the group's epoch, unless it has one
// or the last one is too fresh (group.share.assignment.interval.ms).
func (c shareGroups) computeShareTarget(d *shareDraft) {
	interval := c.env.Settings(d.id).ShareAssignmentInterval
	if d.targetEpoch >= d.epoch || d.targetAt != 0 && interval != 0 && d.now < d.targetAt+interval.Milliseconds() {
		return
	}
	var members []assignee
	for _, m := range d.sorted() {
		members = append(members, assignee{id: m.id, topics: d.assignable(m.topics), has: d.target[m.id]})
	}
	targets := assignShared(members)
	for _, m := range members {
		if old, ok := d.target[m.id]; !ok || !maps.Equal(old, targets[m.id]) {
			d.emit(shareTargetRecord(d.id, m.id, targets[m.id]))
		}
	}
	d.emit(shareTargetEpochRecord(d.id, d.epoch, d.now))
}

// reconcileShare brings a member to its target: there is nothing to wait for.
func (c shareGroups) reconcileShare(d *shareDraft, m *shareMember, subscriptionChanged bool) *shareMember {
	if m.epoch == d.targetEpoch && !subscriptionChanged {
		return m
	}
	n := *m
	if m.epoch != d.targetEpoch {
		n.epoch, n.previous = d.targetEpoch, m.epoch
	}
	subscribed := topicSizes(m.topics, c.env.Topics)
	n.assigned = make(partitionSet)
	for p := range d.target[m.id] {
		if _, ok := subscribed[p.topic]; ok {
			n.assigned[p] = true
		}
	}
	if n.epoch != m.epoch || !maps.Equal(n.assigned, m.assigned) {
		d.emit(shareCurrentRecord(d.id, &n))
	}
	return &n
}
