package group

import "time"

// fenceShare takes a member out of a share group.
func (c shareGroups) fenceShare(d *shareDraft, m *shareMember) {
	for _, kind := range []int16{keyShareCurrent, keyShareTarget, keyShareMember} {
		d.emit(Record{Key: encodeMemberKey(kind, d.id, m.id)})
	}
	d.emit(shareEpochRecord(d.id, d.epoch+1, topicsHash(d.allTopics(), c.env.Topics)))
	c.timers.stopMember(d.id, m.id)
}

// expelShare takes a member out whose session is over, if it is still there.
func (c shareGroups) expelShare(groupID, memberID string) {
	g, ok := c.groups[groupID].(*share)
	if !ok || g.members[memberID] == nil || !c.owned() {
		return
	}
	d := &shareDraft{share: g, now: c.now()}
	c.fenceShare(d, g.members[memberID])
	c.writeChanges(d.changes, func(err error) {
		if err != nil {
			c.clk.After(expulsionBackoff, func() { c.expelShare(groupID, memberID) })
		}
	})
}

// expectShareMember lets a member's session end after a time, from now.
func (c shareGroups) expectShareMember(groupID, memberID string, timeout time.Duration) {
	c.timers.set(memberTimer{groupID, memberID, sessionTimer}, c.clk.After(timeout, func() { c.expelShare(groupID, memberID) }))
}

// resume lets the sessions of a loaded group's members run.
func (c shareGroups) resume(g *share) {
	for _, m := range g.sorted() {
		c.expectShareMember(g.id, m.id, c.env.Settings(g.id).ShareSessionTimeout)
	}
}
