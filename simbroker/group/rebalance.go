package group

import (
	"maps"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// rebalance begins a rebalance, or lets a running one go on.
func (c classicGroups) rebalance(g *classic) {
	if mayFollow(PreparingRebalance, g.state) {
		c.prepareRebalance(g)
		return
	}
	c.joinedMaybe(g)
}

// prepareRebalance begins to wait for members to join. A group that was Empty
// gets some time for more of them (group.initial.rebalance.delay.ms).
func (c classicGroups) prepareRebalance(g *classic) {
	if g.state == CompletingRebalance {
		c.assign(g, nil, kafka.ErrRebalanceInProgress)
	}
	clear(g.pendingSync)
	g.syncTimer.Stop()
	initial := g.state == Empty
	g.move(PreparingRebalance, c.now())
	if initial {
		delay := c.cfg.InitialRebalanceDelay
		c.delayJoin(g, delay, max(g.rebalanceTimeout()-delay, 0))
		return
	}
	if g.allJoined() {
		c.completeJoin(g)
		return
	}
	c.joinWithin(g, g.rebalanceTimeout())
}

// joinWithin ends the wait for members after a time.
func (c classicGroups) joinWithin(g *classic, d time.Duration) {
	g.joinTimer.Stop()
	g.joinTimer = c.clk.After(d, func() { c.completeJoin(g) })
}

// delayJoin waits for the first members, and again while more come and the
// rebalance timeout lasts.
func (c classicGroups) delayJoin(g *classic, delay, remaining time.Duration) {
	g.joinTimer.Stop()
	g.joinTimer = c.clk.After(delay, func() {
		if !g.joined || remaining == 0 {
			c.completeJoin(g)
			return
		}
		g.joined = false
		c.delayJoin(g, min(c.cfg.InitialRebalanceDelay, remaining), max(remaining-delay, 0))
	})
}

// joinedMaybe completes the join if everybody is there, unless the group is
// still in its initial delay.
func (c classicGroups) joinedMaybe(g *classic) {
	if g.state == PreparingRebalance && g.previous != Empty && g.allJoined() {
		c.completeJoin(g)
	}
}

// completeJoin begins the next generation with those that have joined. Dynamic
// members that have not are out; static ones stay until their session ends.
func (c classicGroups) completeJoin(g *classic) {
	g.joinTimer.Stop()
	for _, m := range slices.Clone(g.members) {
		if m.join == nil && m.instanceID == nil {
			g.remove(m.id)
		}
	}
	if !g.electJoined() && len(g.members) > 0 {
		c.joinWithin(g, g.rebalanceTimeout())
		return
	}
	g.next(c.now())
	if g.state == Empty {
		// Should the record not be written, the last generation comes back at the
		// next load, and its sessions end.
		c.persist([]Record{g.record(nil)}, func(error) {})
		return
	}
	number := g.number
	g.syncTimer.Stop()
	g.syncTimer = c.clk.After(g.rebalanceTimeout(), func() { c.expireSync(g, number) })
	for _, m := range g.members {
		g.pendingSync[m.id] = true
	}
	for _, m := range slices.Clone(g.members) {
		c.expectHeartbeat(g, m, m.sessionTimeout)
		m.fresh = false
		m.answerJoin(g.joinResult(m), nil)
	}
}

// expireSync takes those out that have joined and not synced.
func (c classicGroups) expireSync(g *classic, number int32) {
	if g.number != number || len(g.pendingSync) == 0 || g.state != CompletingRebalance && g.state != Stable {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(g.pendingSync)) {
		g.remove(id)
	}
	c.prepareRebalance(g)
}

// assign gives every member its assignment, or clears it and answers with an
// error.
func (c classicGroups) assign(g *classic, assignment map[string][]byte, err error) {
	for _, m := range g.members {
		m.assignment = assignment[m.id]
	}
	for _, m := range slices.Clone(g.members) {
		result := g.syncResult(m)
		if err != nil {
			result = SyncResult{}
		}
		if m.sync != nil {
			// While a member waited, the end of its session was passed over.
			c.expectHeartbeat(g, m, m.sessionTimeout)
			m.answerSync(result, err)
		}
	}
}

// expectHeartbeat lets a member's session end after a time, from now.
func (c classicGroups) expectHeartbeat(g *classic, m *member, timeout time.Duration) {
	m.session.Stop()
	m.session = c.clk.After(timeout, func() {
		if !m.excused() {
			c.expel(g, m)
		}
	})
}

// expel takes a member out whose session has ended.
func (c classicGroups) expel(g *classic, m *member) {
	c.drop(g, m)
	if g.state == Stable || g.state == CompletingRebalance {
		c.rebalance(g)
		return
	}
	c.missingNobody(g)
}

// missingNobody completes the join if a session that ended was the last thing
// to wait for; unlike a member that joins, it cuts the initial delay short.
func (c classicGroups) missingNobody(g *classic) {
	if g.state == PreparingRebalance && g.allJoined() {
		c.completeJoin(g)
	}
}

// drop takes a member out of the group; one that waits for a generation may
// join again.
func (c classicGroups) drop(g *classic, m *member) {
	g.remove(m.id)
	m.answerJoin(refusedJoin(""), kafka.ErrUnknownMemberID)
}

// resume lets the sessions of a loaded group's members run.
func (c classicGroups) resume(g *classic) {
	for _, m := range g.members {
		c.expectHeartbeat(g, m, m.sessionTimeout)
	}
	if len(g.members) > c.cfg.MaxSize {
		c.prepareRebalance(g)
	}
}

// takeBack gives a group that has come back to the classic protocol what its
// record does not have: all of its members' protocols, and their sessions.
func (c classicGroups) takeBack(was *classic, rebalance bool) {
	g, ok := c.groups[was.id].(*classic)
	if !ok {
		return
	}
	for _, m := range g.members {
		m.protocols = was.member(m.id).protocols
		c.expectHeartbeat(g, m, m.sessionTimeout)
	}
	if rebalance {
		c.prepareRebalance(g)
	}
}
