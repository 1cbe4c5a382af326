package classic

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Sync answers SyncGroup when the leader has brought the assignment and it is
// replicated.
func (p Protocol) Sync(g *Group, req group.SyncRequest, done func(group.SyncResult, error)) {
	m, err := g.validateSync(req)
	switch {
	case err != nil:
		done(group.SyncResult{}, err)
	case g.state == group.PreparingRebalance:
		done(group.SyncResult{}, kafka.ErrRebalanceInProgress)
	case g.state == group.Stable:
		g.synced(m)
		done(g.syncResult(m), nil)
	default:
		m.sync = done
		g.synced(m)
		if g.leader == m.ID {
			p.takeAssignment(g, req)
		}
	}
}

// synced notes that a member has synced.
func (g *Group) synced(m *Member) {
	delete(g.pendingSync, m.ID)
	if len(g.pendingSync) == 0 {
		g.syncTimer.Stop()
	}
}

// takeAssignment persists the leader's assignment and then gives it out.
func (p Protocol) takeAssignment(g *Group, req group.SyncRequest) {
	assignment := make(map[string][]byte)
	for _, a := range req.Assignments {
		assignment[a.MemberID] = a.Assignment
	}
	p.Persist([]group.Record{g.Record(assignment)}, func(err error) {
		if g.state != group.CompletingRebalance || g.Number != req.GenerationID {
			return // the group has moved on
		}
		if err != nil {
			p.assign(g, nil, err)
			p.prepareRebalance(g)
			return
		}
		g.move(group.Stable, p.Now()) // before anybody hears of it
		p.assign(g, assignment, nil)
	})
}

// Heartbeat keeps a member alive.
func (p Protocol) Heartbeat(g *Group, req group.HeartbeatRequest) error {
	m, err := g.validate(req.MemberID, req.InstanceID)
	switch {
	case err != nil:
		return err
	case req.GenerationID != g.Number:
		return kafka.ErrIllegalGeneration
	}
	p.expectHeartbeat(g, m, m.SessionTimeout)
	if g.state == group.PreparingRebalance {
		return kafka.ErrRebalanceInProgress
	}
	return nil
}

// Committed takes a commit of a member for a heartbeat.
func (p Protocol) Committed(g *Group, memberID string) {
	if g.state == group.Stable || g.state == group.PreparingRebalance {
		m := g.member(memberID)
		p.expectHeartbeat(g, m, m.SessionTimeout)
	}
}
