package classic

import (
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// newMemberJoinTimeout ends the session of a member that waits for its first
// generation: it has no other way to show that it lives.
const newMemberJoinTimeout = 5 * time.Minute

// Join answers JoinGroup when the generation has its members.
func (p Protocol) Join(req group.JoinRequest, done func(group.JoinResult, error)) {
	refuse := func(err error) { done(group.RefusedJoin(req.MemberID), err) }
	g, err := p.classicFor(req)
	if err != nil {
		if err == kafka.ErrInconsistentGroupProtocol {
			done(group.RefusedJoin(""), err)
			return
		}
		refuse(err)
		return
	}
	switch {
	case !g.accepts(req.MemberID, p.Config.MaxSize):
		g.remove(req.MemberID)
		done(group.RefusedJoin(""), kafka.ErrGroupMaxSizeReached)
	case !g.supported(req.ProtocolType, req.Protocols):
		refuse(kafka.ErrInconsistentGroupProtocol)
	case req.MemberID == "":
		p.joinNew(g, req, done)
	default:
		p.joinKnown(g, req, done)
	}
}

// classicFor is the classic group that a member joins, or makes by joining. An
// empty group of the consumer protocol, or of streams, becomes a classic one
// (rule H3).
func (p Protocol) classicFor(req group.JoinRequest) (*Group, error) {
	old := p.Groups[req.GroupID]
	if g, ok := old.(*Group); ok {
		return g, nil
	}
	switch {
	case old != nil && (old.Kind() == group.Share || old.Listing().State != group.Empty):
		return nil, kafka.ErrInconsistentGroupProtocol
	case req.MemberID != "":
		return nil, kafka.ErrUnknownMemberID
	case old != nil:
		return p.create(req.GroupID, old.Tombstones())
	}
	return p.create(req.GroupID, nil)
}

// create makes a group and its first record, behind the tombstones of what it
// takes the place of. If the record is not replicated in time the group stays;
// those who wait are told, and come again.
func (p Protocol) create(id string, tombstones []group.Record) (*Group, error) {
	g := New(id, p.Now())
	created := group.Record{Key: record.ClassicKey(id), Value: encodeGeneration(generation{since: g.since})}
	var refusal error
	inLog := false
	p.Persist(append(tombstones, created), func(err error) {
		if !inLog {
			refusal = err
			return
		}
		for _, m := range slices.Clone(g.Members) {
			if err != nil {
				m.answerJoin(group.RefusedJoin(""), err)
			}
		}
	})
	if refusal != nil {
		return nil, refusal
	}
	inLog = true
	p.Groups[id] = g
	return g, nil
}

// joinNew is a join without a member id: of a static member that may take its
// old place, or of a dynamic one that is first told its id.
func (p Protocol) joinNew(g *Group, req group.JoinRequest, done func(group.JoinResult, error)) {
	name := req.ClientID
	if req.InstanceID != nil {
		name = *req.InstanceID
	}
	id := name + "-" + p.Env.UUID()
	if req.InstanceID != nil {
		if m := g.static(*req.InstanceID); m != nil {
			p.rejoinStatic(g, m, id, req, done)
			return
		}
	} else if req.RequireKnownMemberID {
		g.pendingJoin[id] = p.Clock.After(req.SessionTimeout, func() {
			g.remove(id)
			p.missingNobody(g)
		})
		done(group.RefusedJoin(id), kafka.ErrMemberIDRequired)
		return
	}
	p.enter(g, id, req, done)
}

// joinKnown is a join with a member id.
func (p Protocol) joinKnown(g *Group, req group.JoinRequest, done func(group.JoinResult, error)) {
	if g.pendingJoin[req.MemberID] != nil && req.InstanceID == nil {
		p.enter(g, req.MemberID, req, done)
		return
	}
	m, err := g.validate(req.MemberID, req.InstanceID)
	if err == nil && g.state == group.Empty {
		err = kafka.ErrUnknownMemberID
	}
	if err != nil {
		done(group.RefusedJoin(req.MemberID), err)
		return
	}
	// Nothing new from a member that has its generation: it missed the answer. A
	// leader that joins again wants a rebalance, for reasons of its own.
	settled := g.state == group.CompletingRebalance || g.state == group.Stable && g.leader != m.ID
	if settled && m.matches(req.Protocols) {
		done(g.joinResult(m), nil)
		return
	}
	m.update(req, done)
	p.rebalance(g)
}

// enter takes a new member into the group.
func (p Protocol) enter(g *Group, id string, req group.JoinRequest, done func(group.JoinResult, error)) {
	m := &Member{
		ID: id, InstanceID: req.InstanceID, ClientID: req.ClientID, ClientHost: req.ClientHost,
		ProtocolType: req.ProtocolType, fresh: true,
	}
	m.update(req, done)
	if g.state == group.PreparingRebalance && g.previous == group.Empty {
		g.joined = true
	}
	g.add(m)
	p.expectHeartbeat(g, m, newMemberJoinTimeout)
	p.rebalance(g)
}

// rejoinStatic gives a static member's place to the client that says it is it.
// In a Stable group nobody else notices, as long as the protocol stays.
func (p Protocol) rejoinStatic(g *Group, m *Member, id string, req group.JoinRequest, done func(group.JoinResult, error)) {
	before, leader := *m, g.leader
	g.replaceStatic(m, id)
	p.expectHeartbeat(g, m, m.SessionTimeout)
	m.update(req, done)
	switch {
	case g.state == group.CompletingRebalance:
		// The leader may assign to the old id already.
		p.prepareRebalance(g)
		return
	case g.state != group.Stable:
		p.joinedMaybe(g)
		return
	case g.vote() != *g.Protocol:
		p.rebalance(g)
		return
	}
	assignment := make(map[string][]byte)
	for _, m := range g.Members {
		assignment[m.ID] = m.Assignment
	}
	p.Persist([]group.Record{g.Record(assignment)}, func(err error) {
		if g.state == group.Dead || m.ID != id || m.join == nil {
			return // others have answered meanwhile
		}
		if err != nil {
			m.Protocols, m.RebalanceTimeout, m.SessionTimeout = before.Protocols, before.RebalanceTimeout, before.SessionTimeout
			m.answerJoin(group.RefusedJoin(""), err)
			g.replaceStatic(m, before.ID)
			return
		}
		m.answerJoin(g.rejoined(m, leader, req.SupportsSkipAssignment), nil)
	})
}

// rejoined is what a static member is told that took its place in a Stable
// group. A leader that knows of skipping need not assign anew; for others the
// leader is named as it was before, so that the member takes itself for a
// follower.
func (g *Group) rejoined(m *Member, leader string, skips bool) group.JoinResult {
	r := g.joinResult(m)
	if skips {
		r.SkipAssignment = g.leader == m.ID
		return r
	}
	r.Leader, r.Members = leader, nil
	return r
}
