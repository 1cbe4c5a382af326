package group

import (
	"fmt"
	"maps"
)

// raiseStreamsEpoch raises the group's epoch if a member changed, its topics
// did, or they are all there for the first time.
func (c streamsGroups) raiseStreamsEpoch(d *streamsDraft, topology configured, changed bool) {
	hash := topicsHash(d.topology.required(), c.env.Topics)
	validated := int32(-1)
	if topology.status == nil {
		validated = d.topology.Epoch
	}
	standbys := fmt.Sprint(c.env.Settings(d.id).StreamsStandbys)
	if changed || hash != d.metadataHash || validated != d.validated || standbys != d.standbys {
		d.emit(streamsEpochRecord(d.streams, d.epoch+1, hash, validated, standbys))
	}
}

// delayFirstAssignment gives members of a new group time to join before the
// first assignment (group.streams.initial.rebalance.delay.ms).
func (c streamsGroups) delayFirstAssignment(id string, empty bool) {
	delay := c.env.Settings(id).StreamsInitialDelay
	name := memberTimer{group: id, kind: initialTimer}
	if !empty || delay <= 0 || c.timers[name] != nil {
		return
	}
	c.timers.set(name, c.clk.After(delay, func() {
		c.timers.stop(name)
		g, ok := c.groups[id].(*streams)
		if !ok || !c.owned() || len(g.members) == 0 || !g.configured {
			return
		}
		d := &streamsDraft{streams: g}
		c.computeStreamsTarget(d, configure(g.topology, c.env.Topics))
		c.writeChanges(d.changes, func(error) {}) // the next heartbeat tries again
	}))
}

// computeStreamsTarget computes a target for the group's epoch, unless it has
// one. It says so if it has to wait.
func (c streamsGroups) computeStreamsTarget(d *streamsDraft, topology configured) *StreamsStatus {
	if c.timers[memberTimer{group: d.id, kind: initialTimer}] != nil {
		return &StreamsStatus{StatusAssignmentDelayed, "Assignment delayed due to the configured initial rebalance delay."}
	}
	if d.targetEpoch >= d.epoch {
		return nil
	}
	now := c.now()
	interval := c.env.Settings(d.id).StreamsAssignmentInterval
	if d.targetAt != 0 && interval != 0 && now < d.targetAt+interval.Milliseconds() {
		return &StreamsStatus{StatusAssignmentDelayed, "Assignment delayed due to the configured assignment interval."}
	}
	members := d.sorted()
	targets := assignTasks(members, d.target, topology.tasks)
	for _, m := range members {
		if old, ok := d.target[m.id]; !ok || !maps.Equal(old, targets[m.id]) {
			d.emit(streamsTargetRecord(d.id, m.id, targets[m.id]))
		}
	}
	d.emit(streamsTargetEpochRecord(d.id, d.epoch, now))
	return nil
}

// reconcileStreams takes a member a step nearer to its target.
func (c streamsGroups) reconcileStreams(d *streamsDraft, m *streamsMember, req StreamsHeartbeatRequest) (*streamsMember, error) {
	if m.reconciledTo(d.targetEpoch) {
		return m, nil
	}
	target := d.target[m.id]
	if c.timers[memberTimer{group: d.id, kind: initialTimer}] != nil {
		target = nil
	}
	var owned map[task]bool
	if req.Active != nil {
		owned = setOfTasks(req.Active)
	}
	has, err := reconciliation[task]{
		has: m.holding, target: target, targetEpoch: d.targetEpoch,
		subscribed: func(task) bool { return true },
		taken:      func(t task) bool { return d.ownedByOthers(t, m) },
		owned:      owned,
	}.next()
	if err != nil {
		return nil, err
	}
	next := new(*m)
	next.holding = has
	if next.sameAssignment(m) {
		return next, nil
	}
	d.emit(streamsCurrentRecord(d.id, next))
	if next.state == memberUnrevoked {
		c.expectTasksRevoked(d.id, next)
	} else {
		c.timers.stop(memberTimer{d.id, next.id, rebalanceTimer})
	}
	return next, nil
}
