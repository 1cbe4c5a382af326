package group

import "time"

// fenceStreams takes a member out of a streams group.
func (c streamsGroups) fenceStreams(d *streamsDraft, m *streamsMember) {
	for _, kind := range []int16{keyStreamsCurrent, keyStreamsTarget, keyStreamsMember} {
		d.emit(Record{Key: encodeMemberKey(kind, d.id, m.id)})
	}
	d.emit(streamsEpochRecord(d.streams, d.epoch+1, d.metadataHash, d.validated, d.standbys))
	c.timers.stopMember(d.id, m.id)
}

// expelStreams takes a member out whose time is up, if it is still there.
func (c streamsGroups) expelStreams(groupID, memberID string) {
	g, ok := c.groups[groupID].(*streams)
	if !ok || g.members[memberID] == nil || !c.owned() {
		return
	}
	d := &streamsDraft{streams: g}
	c.fenceStreams(d, g.members[memberID])
	c.writeChanges(d.changes, func(err error) {
		if err != nil {
			c.clk.After(expulsionBackoff, func() { c.expelStreams(groupID, memberID) })
		}
	})
}

// expectStreamsMember lets a member's session end after a time, from now.
func (c streamsGroups) expectStreamsMember(groupID, memberID string, timeout time.Duration) {
	c.timers.set(memberTimer{groupID, memberID, sessionTimer}, c.clk.After(timeout, func() { c.expelStreams(groupID, memberID) }))
}

// expectTasksRevoked takes a member out that does not give tasks up in time.
func (c streamsGroups) expectTasksRevoked(groupID string, m *streamsMember) {
	c.timers.set(memberTimer{groupID, m.id, rebalanceTimer}, c.clk.After(m.rebalanceTimeout, func() {
		g, ok := c.groups[groupID].(*streams)
		if ok && g.members[m.id] != nil && g.members[m.id].epoch == m.epoch {
			c.expelStreams(groupID, m.id)
		}
	}))
}

// resume lets the sessions of a loaded group's members run.
func (c streamsGroups) resume(g *streams) {
	for _, m := range g.sorted() {
		c.expectStreamsMember(g.id, m.id, c.env.Settings(g.id).StreamsSessionTimeout)
		if m.state == memberUnrevoked {
			c.expectTasksRevoked(g.id, m)
		}
	}
}
