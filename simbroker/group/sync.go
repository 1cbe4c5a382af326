package group

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// sync answers SyncGroup when the leader has brought the assignment and it is
// replicated.
func (c classicGroups) sync(g *classic, req SyncRequest, done func(SyncResult, error)) {
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
			c.takeAssignment(g, req)
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
func (c classicGroups) takeAssignment(g *classic, req SyncRequest) {
	assignment := make(map[string][]byte)
	for _, a := range req.Assignments {
		assignment[a.MemberID] = a.Assignment
	}
	c.persist([]Record{g.record(assignment)}, func(err error) {
		if g.state != CompletingRebalance || g.number != req.GenerationID {
			return // the group has moved on
		}
		if err != nil {
			c.assign(g, nil, err)
			c.prepareRebalance(g)
			return
		}
		g.move(Stable, c.now()) // before anybody hears of it
		c.assign(g, assignment, nil)
	})
}

// heartbeat keeps a member alive.
func (c classicGroups) heartbeat(g *classic, req HeartbeatRequest) error {
	m, err := g.validate(req.MemberID, req.InstanceID)
	switch {
	case err != nil:
		return err
	case req.GenerationID != g.number:
		return kafka.ErrIllegalGeneration
	}
	c.expectHeartbeat(g, m, m.sessionTimeout)
	if g.state == PreparingRebalance {
		return kafka.ErrRebalanceInProgress
	}
	return nil
}

// committed takes a commit of a member for a heartbeat.
func (c classicGroups) committed(g *classic, memberID string) {
	if g.state == Stable || g.state == PreparingRebalance {
		m := g.member(memberID)
		c.expectHeartbeat(g, m, m.sessionTimeout)
	}
}
