package group

import "slices"

// subscribe writes what a member said, and raises the group's epoch if that, or
// what became of its topics, calls for a new target. It reports whether the
// member's subscription changed.
func (c consumerGroups) subscribe(d *consumerDraft, before, after *consumerMember, mayDescribe func(string) bool) (bool, error) {
	regex, err := c.updateRegex(d, before, after, mayDescribe)
	if err != nil {
		return false, err
	}
	if !after.sameMetadata(before) {
		d.emit(consumerMemberRecord(d.id, after))
	}
	names := !slices.Equal(before.topics, after.topics)
	bump := names || regex == regexResolved || regex != regexUnchanged && after.classic != nil
	c.raiseEpoch(d, bump)
	return names || regex != regexUnchanged, nil
}

// raiseEpoch raises the group's epoch if it must rise, or if its topics are not
// what they were.
func (c consumerGroups) raiseEpoch(d *consumerDraft, must bool) {
	if hash := topicsHash(d.allTopics(), c.env.Topics); must || hash != d.metadataHash {
		d.emit(consumerEpochRecord(d.id, d.epoch+1, hash))
	}
}

// computeTarget computes a target assignment for the group's epoch, unless it
// has one or the last one is too fresh (group.consumer.assignment.interval.ms).
func (c consumerGroups) computeTarget(d *consumerDraft) {
	if d.targetEpoch >= d.epoch {
		return
	}
	now := c.now()
	interval := c.env.Settings(d.id).ConsumerAssignmentInterval
	if d.targetAt != 0 && interval != 0 && now < d.targetAt+interval.Milliseconds() {
		return
	}
	var members []assignee
	for _, m := range d.sorted() {
		members = append(members, assignee{
			id: m.id, instanceID: m.instanceID,
			topics: topicSizes(d.subscribedTo(m), c.env.Topics), has: d.target[m.id],
		})
	}
	assign := assignUniformly
	if d.preferredAssignor(c.cfg.ConsumerAssignors[0]) == rangeAssignor {
		assign = assignRanges
	}
	targets := assign(members)
	for _, m := range members {
		if old, ok := d.target[m.id]; !ok || !slices.Equal(sortedPartitions(old), sortedPartitions(targets[m.id])) {
			d.emit(consumerTargetRecord(d.id, m.id, targets[m.id]))
		}
	}
	d.emit(consumerTargetEpochRecord(d.id, d.epoch, now))
}

// reconcile takes a member a step nearer to its target.
func (c consumerGroups) reconcile(d *consumerDraft, m *consumerMember, subscriptionChanged bool, owned partitionSet) (*consumerMember, error) {
	if !subscriptionChanged && m.reconciledTo(d.targetEpoch) {
		return m, nil
	}
	subscribed := topicSizes(d.subscribedTo(m), c.env.Topics)
	has, err := reconciliation[idPartition]{
		has:                 m.holding,
		target:              d.target[m.id],
		targetEpoch:         d.targetEpoch,
		subscribed:          func(p idPartition) bool { _, ok := subscribed[p.topic]; return ok },
		subscriptionChanged: subscriptionChanged,
		taken:               func(p idPartition) bool { return d.ownedByOthers(p, m.id) },
		owned:               owned,
	}.next()
	if err != nil {
		return nil, err
	}
	next := new(*m)
	next.holding = has
	if next.sameAssignment(m) {
		return next, nil
	}
	d.emit(currentAssignmentRecord(d.id, next))
	if next.classic == nil {
		if next.state == memberUnrevoked {
			c.expectRevocation(d.id, next)
		} else {
			c.timers.stop(memberTimer{d.id, next.id, rebalanceTimer})
		}
	}
	return next, nil
}
