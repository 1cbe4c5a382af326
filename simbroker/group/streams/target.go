package streams

import (
	"fmt"
	"maps"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
)

// raiseEpoch raises the group's epoch if a member changed, its topics did, or
// they are all there for the first time.
func (p Protocol) raiseEpoch(d *draft, topology configured, changed bool) {
	hash := assignment.Hash(d.topology.Required(), p.Env.Topics)
	validated := int32(-1)
	if topology.status == nil {
		validated = d.topology.Epoch
	}
	standbys := fmt.Sprint(p.Env.Settings(d.id).StreamsStandbys)
	if changed || hash != d.metadataHash || validated != d.validated || standbys != d.standbys {
		d.emit(epochRecord(d.Group, d.epoch+1, hash, validated, standbys))
	}
}

// delayFirstAssignment gives members of a new group time to join before the
// first assignment (group.streams.initial.rebalance.delay.ms).
func (p Protocol) delayFirstAssignment(id string, empty bool) {
	delay := p.Env.Settings(id).StreamsInitialDelay
	name := shard.Timer{Group: id, Kind: shard.InitialTimer}
	if !empty || delay <= 0 || p.Timers[name] != nil {
		return
	}
	p.Timers.Set(name, p.Clock.After(delay, func() {
		p.Timers.Stop(name)
		g, ok := p.Groups[id].(*Group)
		if !ok || !p.Owned() || len(g.members) == 0 || !g.configured {
			return
		}
		d := &draft{Group: g}
		p.computeTarget(d, configure(g.topology, p.Env.Topics))
		p.WriteChanges(d.Changes, func(error) {}) // the next heartbeat tries again
	}))
}

// computeTarget computes a target for the group's epoch, unless it has one. It
// says so if it has to wait.
func (p Protocol) computeTarget(d *draft, topology configured) *group.StreamsStatus {
	if p.Timers[shard.Timer{Group: d.id, Kind: shard.InitialTimer}] != nil {
		return &group.StreamsStatus{Code: group.StatusAssignmentDelayed, Detail: "Assignment delayed due to the configured initial rebalance delay."}
	}
	if d.targetEpoch >= d.epoch {
		return nil
	}
	now := p.Now()
	interval := p.Env.Settings(d.id).StreamsAssignmentInterval
	if d.targetAt != 0 && interval != 0 && now < d.targetAt+interval.Milliseconds() {
		return &group.StreamsStatus{Code: group.StatusAssignmentDelayed, Detail: "Assignment delayed due to the configured assignment interval."}
	}
	members := d.sorted()
	targets := assignTasks(members, d.target, topology, p.Env.Settings(d.id).StreamsStandbys)
	for _, m := range members {
		if old, ok := d.target[m.id]; !ok || !maps.Equal(old, targets[m.id]) {
			d.emit(targetRecord(d.id, m.id, targets[m.id]))
		}
	}
	d.emit(targetEpochRecord(d.id, d.epoch, now))
	return nil
}

// reconcile takes a member a step nearer to its target.
func (p Protocol) reconcile(d *draft, m *member, req group.StreamsHeartbeatRequest) (*member, error) {
	if m.ReconciledTo(d.targetEpoch) {
		return m, nil
	}
	target := d.target[m.id]
	if p.Timers[shard.Timer{Group: d.id, Kind: shard.InitialTimer}] != nil {
		target = nil
	}
	has, err := assignment.Reconciliation[task]{
		Has: m.Holding, Target: target, TargetEpoch: d.targetEpoch,
		Subscribed: func(task) bool { return true },
		Taken:      func(t task) bool { return d.taken(t, m) },
		Owned:      ownedTasks(req),
	}.Next()
	if err != nil {
		return nil, err
	}
	next := new(*m)
	next.Holding = has
	if next.sameAssignment(m) {
		return next, nil
	}
	d.emit(currentRecord(d.id, next))
	if next.State == assignment.Unrevoked {
		p.expectRevocation(d.id, next)
	} else {
		p.Timers.Stop(shard.Timer{Group: d.id, Member: next.id, Kind: shard.RebalanceTimer})
	}
	return next, nil
}
