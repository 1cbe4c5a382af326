package group

import "time"

// fence takes members out of a group, and the group back to the classic
// protocol if all that are left speak it.
func (c consumerGroups) fence(d *consumerDraft, members ...*consumerMember) {
	if len(members) == 0 {
		return
	}
	if c.downgrades(d.consumer, members) {
		c.downgrade(d, members, true)
		return
	}
	for _, m := range members {
		d.removeMember(m.id)
		c.timers.stopMember(d.id, m.id)
	}
	d.dropUnusedRegexes()
	d.emit(consumerEpochRecord(d.id, d.epoch+1, topicsHash(d.allTopics(), c.env.Topics)))
}

// expelConsumer takes a member out whose time is up, if it is still there.
func (c consumerGroups) expelConsumer(groupID, memberID string) {
	g, ok := c.groups[groupID].(*consumer)
	if !ok || g.members[memberID] == nil || !c.owned() {
		return
	}
	d := &consumerDraft{consumer: g}
	c.fence(d, g.members[memberID])
	c.writeChanges(d.changes, func(err error) {
		if err != nil {
			c.clk.After(expulsionBackoff, func() { c.expelConsumer(groupID, memberID) })
		}
	})
}

// expectMember lets a member's session end after a time, from now.
func (c consumerGroups) expectMember(groupID, memberID string, timeout time.Duration) {
	c.timers.set(memberTimer{groupID, memberID, sessionTimer}, c.clk.After(timeout, func() { c.expelConsumer(groupID, memberID) }))
}

// expectRevocation takes a member out that does not give its partitions up in
// time.
func (c consumerGroups) expectRevocation(groupID string, m *consumerMember) {
	c.timers.set(memberTimer{groupID, m.id, rebalanceTimer}, c.clk.After(m.rebalanceTimeout, func() {
		g, ok := c.groups[groupID].(*consumer)
		if ok && g.members[m.id] != nil && g.members[m.id].epoch == m.epoch {
			c.expelConsumer(groupID, m.id)
		}
	}))
}

// expectClassic takes a classic member out that does not rejoin, or sync, within
// its rebalance timeout.
func (c consumerGroups) expectClassic(groupID string, m *consumerMember, kind timerKind) {
	c.timers.set(memberTimer{groupID, m.id, kind}, c.clk.After(m.rebalanceTimeout, func() { c.expelConsumer(groupID, m.id) }))
}

// resume lets the sessions of a loaded group's members run.
func (c consumerGroups) resume(g *consumer) {
	for _, m := range g.sorted() {
		c.expectMember(g.id, m.id, c.env.Settings(g.id).ConsumerSessionTimeout)
		if m.state == memberUnrevoked {
			c.expectRevocation(g.id, m)
		}
	}
}
