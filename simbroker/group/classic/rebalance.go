package classic

import (
	"maps"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// rebalance begins a rebalance, or lets a running one go on.
func (p Protocol) rebalance(g *Group) {
	if mayFollow(group.PreparingRebalance, g.state) {
		p.prepareRebalance(g)
		return
	}
	p.joinedMaybe(g)
}

// prepareRebalance begins to wait for members to join. A group that was Empty
// gets some time for more of them (group.initial.rebalance.delay.ms).
func (p Protocol) prepareRebalance(g *Group) {
	if g.state == group.CompletingRebalance {
		p.assign(g, nil, kafka.ErrRebalanceInProgress)
	}
	clear(g.pendingSync)
	g.syncTimer.Stop()
	initial := g.state == group.Empty
	g.move(group.PreparingRebalance, p.Now())
	if initial {
		delay := p.Config.InitialRebalanceDelay
		p.delayJoin(g, delay, max(g.rebalanceTimeout()-delay, 0))
		return
	}
	if g.allJoined() {
		p.completeJoin(g)
		return
	}
	p.joinWithin(g, g.rebalanceTimeout())
}

// joinWithin ends the wait for members after a time.
func (p Protocol) joinWithin(g *Group, d time.Duration) {
	g.joinTimer.Stop()
	g.joinTimer = p.Clock.After(d, func() { p.completeJoin(g) })
}

// delayJoin waits for the first members, and again while more come and the
// rebalance timeout lasts.
func (p Protocol) delayJoin(g *Group, delay, remaining time.Duration) {
	g.joinTimer.Stop()
	g.joinTimer = p.Clock.After(delay, func() {
		if !g.joined || remaining == 0 {
			p.completeJoin(g)
			return
		}
		g.joined = false
		p.delayJoin(g, min(p.Config.InitialRebalanceDelay, remaining), max(remaining-delay, 0))
	})
}

// joinedMaybe completes the join if everybody is there, unless the group is
// still in its initial delay.
func (p Protocol) joinedMaybe(g *Group) {
	if g.state == group.PreparingRebalance && g.previous != group.Empty && g.allJoined() {
		p.completeJoin(g)
	}
}

// completeJoin begins the next generation with those that have joined. Dynamic
// members that have not are out; static ones stay until their session ends.
func (p Protocol) completeJoin(g *Group) {
	g.joinTimer.Stop()
	for _, m := range slices.Clone(g.Members) {
		if m.join == nil && m.InstanceID == nil {
			g.remove(m.ID)
		}
	}
	if !g.electJoined() && len(g.Members) > 0 {
		p.joinWithin(g, g.rebalanceTimeout())
		return
	}
	g.next(p.Now())
	if g.state == group.Empty {
		// Should the record not be written, the last generation comes back at the
		// next load, and its sessions end.
		p.Persist([]group.Record{g.Record(nil)}, func(error) {})
		return
	}
	number := g.Number
	g.syncTimer.Stop()
	g.syncTimer = p.Clock.After(g.rebalanceTimeout(), func() { p.expireSync(g, number) })
	for _, m := range g.Members {
		g.pendingSync[m.ID] = true
	}
	for _, m := range slices.Clone(g.Members) {
		p.expectHeartbeat(g, m, m.SessionTimeout)
		m.fresh = false
		m.answerJoin(g.joinResult(m), nil)
	}
}

// expireSync takes those out that have joined and not synced.
func (p Protocol) expireSync(g *Group, number int32) {
	if g.Number != number || len(g.pendingSync) == 0 || g.state != group.CompletingRebalance && g.state != group.Stable {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(g.pendingSync)) {
		g.remove(id)
	}
	p.prepareRebalance(g)
}

// assign gives every member its assignment, or clears it and answers with an
// error.
func (p Protocol) assign(g *Group, assignment map[string][]byte, err error) {
	for _, m := range g.Members {
		m.Assignment = assignment[m.ID]
	}
	for _, m := range slices.Clone(g.Members) {
		result := g.syncResult(m)
		if err != nil {
			result = group.SyncResult{}
		}
		if m.sync != nil {
			// While a member waited, the end of its session was passed over.
			p.expectHeartbeat(g, m, m.SessionTimeout)
			m.answerSync(result, err)
		}
	}
}

// expectHeartbeat lets a member's session end after a time, from now.
func (p Protocol) expectHeartbeat(g *Group, m *Member, timeout time.Duration) {
	m.session.Stop()
	m.session = p.Clock.After(timeout, func() {
		if !m.excused() {
			p.expel(g, m)
		}
	})
}

// expel takes a member out whose session has ended.
func (p Protocol) expel(g *Group, m *Member) {
	p.drop(g, m)
	if g.state == group.Stable || g.state == group.CompletingRebalance {
		p.rebalance(g)
		return
	}
	p.missingNobody(g)
}

// missingNobody completes the join if a session that ended was the last thing
// to wait for; unlike a member that joins, it cuts the initial delay short.
func (p Protocol) missingNobody(g *Group) {
	if g.state == group.PreparingRebalance && g.allJoined() {
		p.completeJoin(g)
	}
}

// drop takes a member out of the group; one that waits for a generation may
// join again.
func (p Protocol) drop(g *Group, m *Member) {
	g.remove(m.ID)
	m.answerJoin(group.RefusedJoin(""), kafka.ErrUnknownMemberID)
}

// Resume lets the sessions of a loaded group's members run.
func (p Protocol) Resume(g *Group) {
	for _, m := range g.Members {
		p.expectHeartbeat(g, m, m.SessionTimeout)
	}
	if len(g.Members) > p.Config.MaxSize {
		p.prepareRebalance(g)
	}
}

// TakeBack gives a group that has come back to the classic protocol what its
// record does not have: all of its members' protocols, and their sessions.
func (p Protocol) TakeBack(was *Group, rebalance bool) {
	g, ok := p.Groups[was.ID].(*Group)
	if !ok {
		return
	}
	for _, m := range g.Members {
		m.Protocols = was.member(m.ID).Protocols
		p.expectHeartbeat(g, m, m.SessionTimeout)
	}
	if rebalance {
		p.prepareRebalance(g)
	}
}
