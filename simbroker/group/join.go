package group

import (
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// newMemberJoinTimeout ends the session of a member that waits for its first
// generation: it has no other way to show that it lives.
const newMemberJoinTimeout = 5 * time.Minute

// join answers JoinGroup when the generation has its members.
func (c classicGroups) join(req JoinRequest, done func(JoinResult, error)) {
	refuse := func(err error) { done(refusedJoin(req.MemberID), err) }
	g, err := c.classicFor(req)
	if err != nil {
		if err == kafka.ErrInconsistentGroupProtocol {
			done(refusedJoin(""), err)
			return
		}
		refuse(err)
		return
	}
	switch {
	case !g.accepts(req.MemberID, c.cfg.MaxSize):
		g.remove(req.MemberID)
		done(refusedJoin(""), kafka.ErrGroupMaxSizeReached)
	case !g.supported(req.ProtocolType, req.Protocols):
		refuse(kafka.ErrInconsistentGroupProtocol)
	case req.MemberID == "":
		c.joinNew(g, req, done)
	default:
		c.joinKnown(g, req, done)
	}
}

// classicFor is the classic group that a member joins, or makes by joining. An
// empty group of the consumer protocol, or of streams, becomes a classic one
// (rule H3).
func (c classicGroups) classicFor(req JoinRequest) (*classic, error) {
	old := c.groups[req.GroupID]
	if g, ok := old.(*classic); ok {
		return g, nil
	}
	switch {
	case old != nil && (old.kind() == Share || old.listing().State != Empty):
		return nil, kafka.ErrInconsistentGroupProtocol
	case req.MemberID != "":
		return nil, kafka.ErrUnknownMemberID
	case old != nil:
		return c.create(req.GroupID, old.tombstones())
	}
	return c.create(req.GroupID, nil)
}

// create makes a group and its first record, behind the tombstones of what it
// takes the place of. If the record is not replicated in time the group stays;
// those who wait are told, and come again.
func (c classicGroups) create(id string, tombstones []Record) (*classic, error) {
	g := newClassic(id, c.now())
	created := Record{Key: encodeGroupKey(id), Value: encodeGeneration(generation{since: g.since})}
	var refusal error
	inLog := false
	c.persist(append(tombstones, created), func(err error) {
		if !inLog {
			refusal = err
			return
		}
		for _, m := range slices.Clone(g.members) {
			if err != nil {
				m.answerJoin(refusedJoin(""), err)
			}
		}
	})
	if refusal != nil {
		return nil, refusal
	}
	inLog = true
	c.groups[id] = g
	return g, nil
}

// joinNew is a join without a member id: of a static member that may take its
// old place, or of a dynamic one that is first told its id.
func (c classicGroups) joinNew(g *classic, req JoinRequest, done func(JoinResult, error)) {
	name := req.ClientID
	if req.InstanceID != nil {
		name = *req.InstanceID
	}
	id := name + "-" + c.env.UUID()
	if req.InstanceID != nil {
		if m := g.static(*req.InstanceID); m != nil {
			c.rejoinStatic(g, m, id, req, done)
			return
		}
	} else if req.RequireKnownMemberID {
		g.pendingJoin[id] = c.clk.After(req.SessionTimeout, func() {
			g.remove(id)
			c.missingNobody(g)
		})
		done(refusedJoin(id), kafka.ErrMemberIDRequired)
		return
	}
	c.enter(g, id, req, done)
}

// joinKnown is a join with a member id.
func (c classicGroups) joinKnown(g *classic, req JoinRequest, done func(JoinResult, error)) {
	if g.pendingJoin[req.MemberID] != nil && req.InstanceID == nil {
		c.enter(g, req.MemberID, req, done)
		return
	}
	m, err := g.validate(req.MemberID, req.InstanceID)
	if err == nil && g.state == Empty {
		err = kafka.ErrUnknownMemberID
	}
	if err != nil {
		done(refusedJoin(req.MemberID), err)
		return
	}
	// Nothing new from a member that has its generation: it missed the answer. A
	// leader that joins again wants a rebalance, for reasons of its own.
	settled := g.state == CompletingRebalance || g.state == Stable && g.leader != m.id
	if settled && m.matches(req.Protocols) {
		done(g.joinResult(m), nil)
		return
	}
	m.update(req, done)
	c.rebalance(g)
}

// enter takes a new member into the group.
func (c classicGroups) enter(g *classic, id string, req JoinRequest, done func(JoinResult, error)) {
	m := &member{
		id: id, instanceID: req.InstanceID, clientID: req.ClientID, clientHost: req.ClientHost,
		protocolType: req.ProtocolType, fresh: true,
	}
	m.update(req, done)
	if g.state == PreparingRebalance && g.previous == Empty {
		g.joined = true
	}
	g.add(m)
	c.expectHeartbeat(g, m, newMemberJoinTimeout)
	c.rebalance(g)
}

// rejoinStatic gives a static member's place to the client that says it is it.
// In a Stable group nobody else notices, as long as the protocol stays.
func (c classicGroups) rejoinStatic(g *classic, m *member, id string, req JoinRequest, done func(JoinResult, error)) {
	before, leader := *m, g.leader
	g.replaceStatic(m, id)
	c.expectHeartbeat(g, m, m.sessionTimeout)
	m.update(req, done)
	switch {
	case g.state == CompletingRebalance:
		// The leader may assign to the old id already.
		c.prepareRebalance(g)
		return
	case g.state != Stable:
		c.joinedMaybe(g)
		return
	case g.vote() != *g.protocol:
		c.rebalance(g)
		return
	}
	assignment := make(map[string][]byte)
	for _, m := range g.members {
		assignment[m.id] = m.assignment
	}
	c.persist([]Record{g.record(assignment)}, func(err error) {
		if g.state == Dead || m.id != id || m.join == nil {
			return // others have answered meanwhile
		}
		if err != nil {
			m.protocols, m.rebalanceTimeout, m.sessionTimeout = before.protocols, before.rebalanceTimeout, before.sessionTimeout
			m.answerJoin(refusedJoin(""), err)
			g.replaceStatic(m, before.id)
			return
		}
		m.answerJoin(g.rejoined(m, leader, req.SupportsSkipAssignment), nil)
	})
}

// rejoined is what a static member is told that took its place in a Stable
// group. A leader that knows of skipping need not assign anew; for others the
// leader is named as it was before, so that the member takes itself for a
// follower.
func (c *classic) rejoined(m *member, leader string, skips bool) JoinResult {
	r := c.joinResult(m)
	if skips {
		r.SkipAssignment = c.leader == m.id
		return r
	}
	r.Leader, r.Members = leader, nil
	return r
}
