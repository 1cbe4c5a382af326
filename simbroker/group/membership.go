package group

import (
	"maps"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// newMemberJoinTimeout ends the session of a member that waits for its first
// generation: it has no other way to show that it lives.
const newMemberJoinTimeout = 5 * time.Minute

// Join answers JoinGroup when the generation has its members. Errors, beside
// those of a coordinator that is not there: INVALID_GROUP_ID,
// INVALID_SESSION_TIMEOUT, MEMBER_ID_REQUIRED, UNKNOWN_MEMBER_ID,
// FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL, GROUP_MAX_SIZE_REACHED.
func (c *Coordinator) Join(req JoinRequest, done func(JoinResult, error)) {
	refuse := func(err error) { done(refusedJoin(req.MemberID), err) }
	if req.GroupID == "" {
		refuse(kafka.ErrInvalidGroupID)
		return
	}
	if req.SessionTimeout < c.cfg.MinSessionTimeout || req.SessionTimeout > c.cfg.MaxSessionTimeout {
		refuse(kafka.ErrInvalidSessionTimeout)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		refuse(err)
		return
	}
	if g, ok := s.groups[req.GroupID].(*consumer); ok && len(g.members) > 0 {
		c.joinMixed(s, g, req, done)
		return
	}
	g, err := c.classicFor(s, req)
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
		c.joinNew(s, g, req, done)
	default:
		c.joinKnown(s, g, req, done)
	}
}

// classicFor is the classic group that a member joins, or makes by joining. An
// empty group of the consumer protocol, or of streams, becomes a classic one
// (rule H3).
func (c *Coordinator) classicFor(s *shard, req JoinRequest) (*classic, error) {
	old := s.groups[req.GroupID]
	if g, ok := old.(*classic); ok {
		return g, nil
	}
	switch {
	case old != nil && (old.kind() == Share || old.listing().State != Empty):
		return nil, kafka.ErrInconsistentGroupProtocol
	case req.MemberID != "":
		return nil, kafka.ErrUnknownMemberID
	case old != nil:
		return c.create(s, req.GroupID, old.tombstones())
	}
	return c.create(s, req.GroupID, nil)
}

// create makes a group and its first record, behind the tombstones of what it
// takes the place of. If the record is not replicated in time the group stays;
// those who wait are told, and come again.
func (c *Coordinator) create(s *shard, id string, tombstones []Record) (*classic, error) {
	g := newClassic(id, c.now())
	created := Record{Key: encodeGroupKey(id), Value: encodeGeneration(generation{since: g.since})}
	var refusal error
	inLog := false
	c.persist(s, append(tombstones, created), func(err error) {
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
	s.groups[id] = g
	return g, nil
}

// joinNew is a join without a member id: of a static member that may take its
// old place, or of a dynamic one that is first told its id.
func (c *Coordinator) joinNew(s *shard, g *classic, req JoinRequest, done func(JoinResult, error)) {
	name := req.ClientID
	if req.InstanceID != nil {
		name = *req.InstanceID
	}
	id := name + "-" + c.env.UUID()
	if req.InstanceID != nil {
		if m := g.static(*req.InstanceID); m != nil {
			c.rejoinStatic(s, g, m, id, req, done)
			return
		}
	} else if req.RequireKnownMemberID {
		g.pendingJoin[id] = c.clk.After(req.SessionTimeout, func() {
			g.remove(id)
			c.missingNobody(s, g)
		})
		done(refusedJoin(id), kafka.ErrMemberIDRequired)
		return
	}
	c.enter(s, g, id, req, done)
}

// joinKnown is a join with a member id.
func (c *Coordinator) joinKnown(s *shard, g *classic, req JoinRequest, done func(JoinResult, error)) {
	if g.pendingJoin[req.MemberID] != nil && req.InstanceID == nil {
		c.enter(s, g, req.MemberID, req, done)
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
	c.rebalance(s, g)
}

// enter takes a new member into the group.
func (c *Coordinator) enter(s *shard, g *classic, id string, req JoinRequest, done func(JoinResult, error)) {
	m := &member{
		id: id, instanceID: req.InstanceID, clientID: req.ClientID, clientHost: req.ClientHost,
		protocolType: req.ProtocolType, fresh: true,
	}
	m.update(req, done)
	if g.state == PreparingRebalance && g.previous == Empty {
		g.joined = true
	}
	g.add(m)
	c.expectHeartbeat(s, g, m, newMemberJoinTimeout)
	c.rebalance(s, g)
}

// rejoinStatic gives a static member's place to the client that says it is it.
// In a Stable group nobody else notices, as long as the protocol stays.
func (c *Coordinator) rejoinStatic(s *shard, g *classic, m *member, id string, req JoinRequest, done func(JoinResult, error)) {
	before, leader := *m, g.leader
	g.replaceStatic(m, id)
	c.expectHeartbeat(s, g, m, m.sessionTimeout)
	m.update(req, done)
	switch {
	case g.state == CompletingRebalance:
		// The leader may assign to the old id already.
		c.prepareRebalance(s, g)
		return
	case g.state != Stable:
		c.joinedMaybe(s, g)
		return
	case g.vote() != *g.protocol:
		c.rebalance(s, g)
		return
	}
	assignment := make(map[string][]byte)
	for _, m := range g.members {
		assignment[m.id] = m.assignment
	}
	c.persist(s, []Record{g.record(assignment)}, func(err error) {
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

// rebalance begins a rebalance, or lets a running one go on.
func (c *Coordinator) rebalance(s *shard, g *classic) {
	if PreparingRebalance.mayFollow(g.state) {
		c.prepareRebalance(s, g)
		return
	}
	c.joinedMaybe(s, g)
}

// prepareRebalance begins to wait for members to join. A group that was Empty
// gets some time for more of them (group.initial.rebalance.delay.ms).
func (c *Coordinator) prepareRebalance(s *shard, g *classic) {
	if g.state == CompletingRebalance {
		c.assign(s, g, nil, kafka.ErrRebalanceInProgress)
	}
	clear(g.pendingSync)
	g.syncTimer.Stop()
	initial := g.state == Empty
	g.move(PreparingRebalance, c.now())
	if initial {
		delay := c.cfg.InitialRebalanceDelay
		c.delayJoin(s, g, delay, max(g.rebalanceTimeout()-delay, 0))
		return
	}
	if g.allJoined() {
		c.completeJoin(s, g)
		return
	}
	c.joinWithin(s, g, g.rebalanceTimeout())
}

// joinWithin ends the wait for members after a time.
func (c *Coordinator) joinWithin(s *shard, g *classic, d time.Duration) {
	g.joinTimer.Stop()
	g.joinTimer = c.clk.After(d, func() { c.completeJoin(s, g) })
}

// delayJoin waits for the first members, and again while more come and the
// rebalance timeout lasts.
func (c *Coordinator) delayJoin(s *shard, g *classic, delay, remaining time.Duration) {
	g.joinTimer.Stop()
	g.joinTimer = c.clk.After(delay, func() {
		if !g.joined || remaining == 0 {
			c.completeJoin(s, g)
			return
		}
		g.joined = false
		c.delayJoin(s, g, min(c.cfg.InitialRebalanceDelay, remaining), max(remaining-delay, 0))
	})
}

// joinedMaybe completes the join if everybody is there, unless the group is
// still in its initial delay.
func (c *Coordinator) joinedMaybe(s *shard, g *classic) {
	if g.state == PreparingRebalance && g.previous != Empty && g.allJoined() {
		c.completeJoin(s, g)
	}
}

// completeJoin begins the next generation with those that have joined. Dynamic
// members that have not are out; static ones stay until their session ends.
func (c *Coordinator) completeJoin(s *shard, g *classic) {
	g.joinTimer.Stop()
	for _, m := range slices.Clone(g.members) {
		if m.join == nil && m.instanceID == nil {
			g.remove(m.id)
		}
	}
	if !g.electJoined() && len(g.members) > 0 {
		c.joinWithin(s, g, g.rebalanceTimeout())
		return
	}
	g.next(c.now())
	if g.state == Empty {
		// Should the record not be written, the last generation comes back at the
		// next load, and its sessions end.
		c.persist(s, []Record{g.record(nil)}, func(error) {})
		return
	}
	number := g.number
	g.syncTimer.Stop()
	g.syncTimer = c.clk.After(g.rebalanceTimeout(), func() { c.expireSync(s, g, number) })
	for _, m := range g.members {
		g.pendingSync[m.id] = true
	}
	for _, m := range slices.Clone(g.members) {
		c.expectHeartbeat(s, g, m, m.sessionTimeout)
		m.fresh = false
		m.answerJoin(g.joinResult(m), nil)
	}
}

// expireSync takes those out that have joined and not synced.
func (c *Coordinator) expireSync(s *shard, g *classic, number int32) {
	if g.number != number || len(g.pendingSync) == 0 || g.state != CompletingRebalance && g.state != Stable {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(g.pendingSync)) {
		g.remove(id)
	}
	c.prepareRebalance(s, g)
}

// Sync answers SyncGroup when the leader has brought the assignment and it is
// replicated. Errors: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID,
// ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
func (c *Coordinator) Sync(req SyncRequest, done func(SyncResult, error)) {
	s, found, err := c.findMembers(req.GroupID)
	if err != nil {
		done(SyncResult{}, err)
		return
	}
	if mixed, ok := found.(*consumer); ok {
		c.syncMixed(s, mixed, req, done)
		return
	}
	g := found.(*classic)
	m, err := g.validateSync(req)
	switch {
	case err != nil:
		done(SyncResult{}, err)
	case g.state == PreparingRebalance:
		done(SyncResult{}, kafka.ErrRebalanceInProgress)
	case g.state == Stable:
		g.synced(m)
		done(g.syncResult(m), nil)
	default:
		m.sync = done
		g.synced(m)
		if g.leader == m.id {
			c.takeAssignment(s, g, req)
		}
	}
}

// synced notes that a member has synced.
func (c *classic) synced(m *member) {
	delete(c.pendingSync, m.id)
	if len(c.pendingSync) == 0 {
		c.syncTimer.Stop()
	}
}

func (c *classic) validateSync(req SyncRequest) (*member, error) {
	differs := func(asked, chosen *string) bool { return asked != nil && chosen != nil && *asked != *chosen }
	m, err := c.validate(req.MemberID, req.InstanceID)
	switch {
	case err != nil:
		return nil, err
	case req.GenerationID != c.number:
		return nil, kafka.ErrIllegalGeneration
	case differs(req.ProtocolType, &c.protocolType), differs(req.ProtocolName, c.protocol):
		return nil, kafka.ErrInconsistentGroupProtocol
	}
	return m, nil
}

// takeAssignment persists the leader's assignment and then gives it out.
func (c *Coordinator) takeAssignment(s *shard, g *classic, req SyncRequest) {
	assignment := make(map[string][]byte)
	for _, a := range req.Assignments {
		assignment[a.MemberID] = a.Assignment
	}
	c.persist(s, []Record{g.record(assignment)}, func(err error) {
		if g.state != CompletingRebalance || g.number != req.GenerationID {
			return // the group has moved on
		}
		if err != nil {
			c.assign(s, g, nil, err)
			c.prepareRebalance(s, g)
			return
		}
		g.move(Stable, c.now()) // before anybody hears of it
		c.assign(s, g, assignment, nil)
	})
}

// assign gives every member its assignment, or clears it and answers with an
// error.
func (c *Coordinator) assign(s *shard, g *classic, assignment map[string][]byte, err error) {
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
			c.expectHeartbeat(s, g, m, m.sessionTimeout)
			m.answerSync(result, err)
		}
	}
}

// Heartbeat keeps a member alive. Errors: INVALID_GROUP_ID, NOT_COORDINATOR,
// UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID,
// REBALANCE_IN_PROGRESS. While the group is loading every heartbeat is good.
func (c *Coordinator) Heartbeat(req HeartbeatRequest) error {
	s, found, err := c.findMembers(req.GroupID)
	if err == kafka.ErrCoordinatorLoadInProgress {
		return nil
	}
	if err != nil {
		return err
	}
	if mixed, ok := found.(*consumer); ok {
		return c.heartbeatMixed(s, mixed, req)
	}
	g := found.(*classic)
	m, err := g.validate(req.MemberID, req.InstanceID)
	switch {
	case err != nil:
		return err
	case req.GenerationID != g.number:
		return kafka.ErrIllegalGeneration
	}
	c.expectHeartbeat(s, g, m, m.sessionTimeout)
	if g.state == PreparingRebalance {
		return kafka.ErrRebalanceInProgress
	}
	return nil
}

// findMembers is a group of classic members, or of some among others.
func (c *Coordinator) findMembers(groupID string) (*shard, group, error) {
	if groupID == "" {
		return nil, nil, kafka.ErrInvalidGroupID
	}
	s, err := c.find(groupID)
	if err != nil {
		return nil, nil, err
	}
	g := s.groups[groupID]
	if g == nil || g.listing().State == Empty || g.kind() > Consumer {
		return nil, nil, kafka.ErrUnknownMemberID
	}
	return s, g, nil
}

// expectHeartbeat lets a member's session end after a time, from now.
func (c *Coordinator) expectHeartbeat(s *shard, g *classic, m *member, timeout time.Duration) {
	m.session.Stop()
	m.session = c.clk.After(timeout, func() {
		if !m.excused() {
			c.expel(s, g, m)
		}
	})
}

// expel takes a member out whose session has ended.
func (c *Coordinator) expel(s *shard, g *classic, m *member) {
	c.drop(g, m)
	if g.state == Stable || g.state == CompletingRebalance {
		c.rebalance(s, g)
		return
	}
	c.missingNobody(s, g)
}

// missingNobody completes the join if a session that ended was the last thing
// to wait for; unlike a member that joins, it cuts the initial delay short.
func (c *Coordinator) missingNobody(s *shard, g *classic) {
	if g.state == PreparingRebalance && g.allJoined() {
		c.completeJoin(s, g)
	}
}

// drop takes a member out of the group; one that waits for a generation may
// join again.
func (c *Coordinator) drop(g *classic, m *member) {
	g.remove(m.id)
	m.answerJoin(refusedJoin(""), kafka.ErrUnknownMemberID)
}

// Leave takes members out, one result each in the order asked:
// UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID. The error stands for all of them:
// INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS. A group of
// the consumer protocol answers when it is replicated.
func (c *Coordinator) Leave(req LeaveRequest, done func([]LeftMember, error)) {
	if req.GroupID == "" {
		done(nil, kafka.ErrInvalidGroupID)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		done(nil, err)
		return
	}
	if mixed, ok := s.groups[req.GroupID].(*consumer); ok {
		c.leaveMixed(s, mixed, req, done)
		return
	}
	g, _ := s.groups[req.GroupID].(*classic)
	left := make([]LeftMember, len(req.Members))
	gone := false
	for i, leaving := range req.Members {
		left[i] = LeftMember{MemberID: leaving.MemberID, InstanceID: leaving.InstanceID, Err: c.leave(g, leaving)}
		gone = gone || left[i].Err == nil
	}
	if gone {
		c.afterLeaving(s, g)
	}
	done(left, nil)
}

// leave takes one member out. Without a member id it is an administrator who
// removes a static member.
func (c *Coordinator) leave(g *classic, leaving LeavingMember) error {
	if g == nil {
		return kafka.ErrUnknownMemberID
	}
	if leaving.MemberID == "" {
		if leaving.InstanceID == nil || g.static(*leaving.InstanceID) == nil {
			return kafka.ErrUnknownMemberID
		}
		c.drop(g, g.static(*leaving.InstanceID))
		return nil
	}
	if g.pendingJoin[leaving.MemberID] != nil {
		g.remove(leaving.MemberID)
		return nil
	}
	m, err := g.validate(leaving.MemberID, leaving.InstanceID)
	if err != nil {
		return err
	}
	c.drop(g, m)
	m.answerSync(SyncResult{}, kafka.ErrUnknownMemberID)
	return nil
}

func (c *Coordinator) afterLeaving(s *shard, g *classic) {
	switch g.state {
	case Stable, CompletingRebalance:
		c.rebalance(s, g)
	case PreparingRebalance:
		c.joinedMaybe(s, g)
	}
}
