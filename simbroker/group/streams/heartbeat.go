package streams

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Heartbeat serves a member that joins, stays or leaves, and answers when what
// it changed is replicated.
func (p Protocol) Heartbeat(req group.StreamsHeartbeatRequest, done func(group.StreamsHeartbeatResult, error)) {
	fail := func(err error) { done(group.StreamsHeartbeatResult{}, err) }
	var result group.StreamsHeartbeatResult
	var d *draft
	var err error
	if req.MemberEpoch < group.JoinEpoch {
		result, d, err = p.leave(req)
	} else {
		result, d, err = p.beat(req)
	}
	if err != nil {
		fail(err)
		return
	}
	p.WriteChanges(d.Changes, func(err error) {
		if err != nil {
			fail(err)
			return
		}
		done(result, nil)
	})
}

// Validate refuses what no member may ask.
func Validate(req group.StreamsHeartbeatRequest) error {
	invalid := func(format string, args ...any) error { return group.Refuse(kafka.ErrInvalidRequest, format, args...) }
	some := 0
	for _, tasks := range [][]group.TaskIDs{req.Active, req.Standby, req.Warmup} {
		if tasks != nil {
			some++
		}
	}
	switch {
	case req.InstanceID != nil:
		return invalid("Static membership is not yet supported.")
	case len(req.Warmup) > 0:
		return invalid("WarmupTasks are not supported yet.")
	case req.Topology != nil && slices.ContainsFunc(req.Topology.Subtopologies, func(s group.Subtopology) bool { return len(s.SourceRegexes) > 0 }):
		return invalid("Regular expressions for source topics are not supported yet.")
	case strings.TrimSpace(req.MemberID) == "":
		return invalid("MemberId can't be empty.")
	case strings.TrimSpace(req.GroupID) == "":
		return invalid("GroupId can't be empty.")
	case req.RackID != nil && strings.TrimSpace(*req.RackID) == "":
		return invalid("RackId can't be empty.")
	case req.MemberEpoch == group.StaticLeaveEpoch:
		return invalid("InstanceId can't be null.")
	case req.MemberEpoch < group.StaticLeaveEpoch:
		return invalid("MemberEpoch is %d, but must be greater than or equal to -2.", req.MemberEpoch)
	case some > 0 && some < 3:
		return invalid("If one task-type is non-null, all must be non-null.")
	case req.MemberEpoch != group.JoinEpoch && req.Topology != nil:
		return invalid("Topology can only be provided when (re-)joining.")
	}
	if req.MemberEpoch != group.JoinEpoch {
		return nil
	}
	switch {
	case req.RebalanceTimeout < 0:
		return invalid("RebalanceTimeoutMs must be provided in first request.")
	case some < 3 || len(req.Active) > 0:
		return invalid("ActiveTasks must be empty when (re-)joining.")
	case len(req.Standby) > 0:
		return invalid("StandbyTasks must be empty when (re-)joining.")
	case req.Topology == nil:
		return invalid("Topology must be non-null when (re-)joining.")
	}
	for _, s := range req.Topology.Subtopologies {
		for _, changelog := range s.Changelogs {
			if changelog.Partitions != 0 {
				return group.Refuse(kafka.ErrStreamsInvalidTopology, "Changelog topic %s must have an undefined partition count, but it is set to %d.",
					changelog.Name, changelog.Partitions)
			}
		}
	}
	return nil
}

// beat is a heartbeat of a member that stays or comes.
func (p Protocol) beat(req group.StreamsHeartbeatRequest) (group.StreamsHeartbeatResult, *draft, error) {
	fail := func(err error) (group.StreamsHeartbeatResult, *draft, error) {
		return group.StreamsHeartbeatResult{}, nil, err
	}
	d, err := p.draftGroup(req.GroupID, req.MemberEpoch == group.JoinEpoch)
	if err != nil {
		return fail(err)
	}
	before, err := p.enter(d, req)
	if err != nil {
		return fail(err)
	}
	if g, ok := p.Groups[d.id].(*Group); ok {
		g.configured = true
	}
	empty := len(d.members) == 0
	after := before.update(req)
	changed := !after.sameMetadata(before)
	if changed {
		d.emit(memberRecord(d.id, after))
	}
	if err := d.takeTopology(req.Topology); err != nil {
		return fail(err)
	}
	result := group.StreamsHeartbeatResult{MemberID: after.id, Interval: p.Env.Settings(req.GroupID).StreamsHeartbeatInterval}
	if after.topologyEpoch < d.topology.Epoch {
		result.Status = append(result.Status, group.StreamsStatus{Code: group.StatusStaleTopology,
			Detail: fmt.Sprintf("The member's topology epoch %d is behind the group's topology epoch %d.", after.topologyEpoch, d.topology.Epoch)})
	}
	topology := configure(d.topology, p.Env.Topics)
	if err := topology.owns(ownedTasks(req)); err != nil {
		return fail(err)
	}
	p.raiseEpoch(d, topology, changed)
	p.delayFirstAssignment(d.id, empty)
	if status := p.computeTarget(d, topology); status != nil {
		result.Status = append(result.Status, *status)
	}
	after, err = p.reconcile(d, after, req)
	if err != nil {
		return fail(err)
	}
	if topology.status != nil {
		result.Status = append(result.Status, *topology.status)
		result.Create = topology.missing
	}
	p.expectMember(d.id, after.id, p.Env.Settings(req.GroupID).StreamsSessionTimeout)
	result.MemberEpoch = after.Epoch
	if req.MemberEpoch == group.JoinEpoch || !maps.Equal(before.Assigned, after.Assigned) {
		result.Active, result.Standby = taskIDs(after.Assigned, false), taskIDs(after.Assigned, true)
	}
	p.tellEndpoints(d, after, topology, req.EndpointEpoch, &result)
	return result, d, nil
}

// enter is the member that a heartbeat comes from.
func (p Protocol) enter(d *draft, req group.StreamsHeartbeatRequest) (*member, error) {
	m := d.members[req.MemberID]
	switch {
	case req.MemberEpoch == group.JoinEpoch && len(d.members) >= p.Config.StreamsMaxSize:
		return nil, group.Refuse(kafka.ErrGroupMaxSizeReached, "The streams group has reached its maximum capacity of %d members.", p.Config.StreamsMaxSize)
	case m == nil && req.MemberEpoch != group.JoinEpoch:
		_, err := d.member(req.MemberID)
		return nil, err
	case m == nil:
		return newMember(req.MemberID), nil
	}
	return m, m.acceptsEpoch(req.MemberEpoch, ownedTasks(req))
}

// leave is a heartbeat by which a member leaves.
func (p Protocol) leave(req group.StreamsHeartbeatRequest) (group.StreamsHeartbeatResult, *draft, error) {
	g, err := shard.Find[*Group](p.Shard, req.GroupID, "streams")
	if err != nil {
		return group.StreamsHeartbeatResult{}, nil, err
	}
	m, err := g.member(req.MemberID)
	if err != nil {
		return group.StreamsHeartbeatResult{}, nil, err
	}
	d := &draft{Group: g}
	p.fence(d, m)
	return group.StreamsHeartbeatResult{MemberID: req.MemberID, MemberEpoch: req.MemberEpoch}, d, nil
}
