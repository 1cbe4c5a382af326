package group

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// heartbeat serves a member that joins, stays or leaves, and answers when what
// it changed is replicated.
func (c streamsGroups) heartbeat(req StreamsHeartbeatRequest, done func(StreamsHeartbeatResult, error)) {
	fail := func(err error) { done(StreamsHeartbeatResult{}, err) }
	var result StreamsHeartbeatResult
	var d *streamsDraft
	var err error
	if req.MemberEpoch < joinEpoch {
		result, d, err = c.leaveStreams(req)
	} else {
		result, d, err = c.beatStreams(req)
	}
	if err != nil {
		fail(err)
		return
	}
	c.writeChanges(d.changes, func(err error) {
		if err != nil {
			fail(err)
			return
		}
		done(result, nil)
	})
}

// validateStreamsHeartbeat refuses what no member may ask.
func validateStreamsHeartbeat(req StreamsHeartbeatRequest) error {
	invalid := func(format string, args ...any) error { return refuse(kafka.ErrInvalidRequest, format, args...) }
	some := 0
	for _, tasks := range [][]TaskIDs{req.Active, req.Standby, req.Warmup} {
		if tasks != nil {
			some++
		}
	}
	switch {
	case req.InstanceID != nil:
		return invalid("Static membership is not yet supported.")
	case len(req.Warmup) > 0:
		return invalid("WarmupTasks are not supported yet.")
	case req.Topology != nil && slices.ContainsFunc(req.Topology.Subtopologies, func(s Subtopology) bool { return len(s.SourceRegexes) > 0 }):
		return invalid("Regular expressions for source topics are not supported yet.")
	case strings.TrimSpace(req.MemberID) == "":
		return invalid("MemberId can't be empty.")
	case strings.TrimSpace(req.GroupID) == "":
		return invalid("GroupId can't be empty.")
	case req.RackID != nil && strings.TrimSpace(*req.RackID) == "":
		return invalid("RackId can't be empty.")
	case req.MemberEpoch == staticLeaveEpoch:
		return invalid("InstanceId can't be null.")
	case req.MemberEpoch < staticLeaveEpoch:
		return invalid("MemberEpoch is %d, but must be greater than or equal to -2.", req.MemberEpoch)
	case some > 0 && some < 3:
		return invalid("If one task-type is non-null, all must be non-null.")
	case req.MemberEpoch != joinEpoch && req.Topology != nil:
		return invalid("Topology can only be provided when (re-)joining.")
	}
	if req.MemberEpoch != joinEpoch {
		return nil
	}
	switch {
	case req.RebalanceTimeout < 0:
		return invalid("RebalanceTimeoutMs must be provided in first request.")
	case some < 3 || len(req.Active)+len(req.Standby) > 0:
		return invalid("ActiveTasks must be empty when (re-)joining.")
	case req.Topology == nil:
		return invalid("Topology must be non-null when (re-)joining.")
	}
	for _, s := range req.Topology.Subtopologies {
		for _, changelog := range s.Changelogs {
			if changelog.Partitions != 0 {
				return refuse(kafka.ErrStreamsInvalidTopology, "Changelog topic %s must have an undefined partition count, but it is set to %d.",
					changelog.Name, changelog.Partitions)
			}
		}
	}
	return nil
}

// beatStreams is a heartbeat of a member that stays or comes.
func (c streamsGroups) beatStreams(req StreamsHeartbeatRequest) (StreamsHeartbeatResult, *streamsDraft, error) {
	fail := func(err error) (StreamsHeartbeatResult, *streamsDraft, error) {
		return StreamsHeartbeatResult{}, nil, err
	}
	d, err := c.draftStreams(req.GroupID, req.MemberEpoch == joinEpoch)
	if err != nil {
		return fail(err)
	}
	before, err := c.enterStreams(d, req)
	if err != nil {
		return fail(err)
	}
	if g, ok := c.groups[d.id].(*streams); ok {
		g.configured = true
	}
	empty := len(d.members) == 0
	after := before.update(req)
	changed := !after.sameMetadata(before)
	if changed {
		d.emit(streamsMemberRecord(d.id, after))
	}
	if err := d.takeTopology(req.Topology); err != nil {
		return fail(err)
	}
	result := StreamsHeartbeatResult{MemberID: after.id, Interval: c.env.Settings(req.GroupID).StreamsHeartbeatInterval}
	if after.topologyEpoch < d.topology.Epoch {
		result.Status = append(result.Status, StreamsStatus{StatusStaleTopology,
			fmt.Sprintf("The member's topology epoch %d is behind the group's topology epoch %d.", after.topologyEpoch, d.topology.Epoch)})
	}
	topology := configure(d.topology, c.env.Topics)
	if err := topology.owns(req.Active); err != nil {
		return fail(err)
	}
	c.raiseStreamsEpoch(d, topology, changed)
	c.delayFirstAssignment(d.id, empty)
	if status := c.computeStreamsTarget(d, topology); status != nil {
		result.Status = append(result.Status, *status)
	}
	after, err = c.reconcileStreams(d, after, req)
	if err != nil {
		return fail(err)
	}
	if topology.status != nil {
		result.Status = append(result.Status, *topology.status)
		result.Create = topology.missing
	}
	c.expectStreamsMember(d.id, after.id, c.env.Settings(req.GroupID).StreamsSessionTimeout)
	result.MemberEpoch = after.epoch
	if req.MemberEpoch == joinEpoch || !maps.Equal(before.assigned, after.assigned) {
		result.Active = taskIDs(sortedTasks(after.assigned))
	}
	return result, d, nil
}

// enterStreams is the member that a heartbeat comes from.
func (c streamsGroups) enterStreams(d *streamsDraft, req StreamsHeartbeatRequest) (*streamsMember, error) {
	m := d.members[req.MemberID]
	switch {
	case req.MemberEpoch == joinEpoch && len(d.members) >= c.cfg.StreamsMaxSize:
		return nil, refuse(kafka.ErrGroupMaxSizeReached, "The streams group has reached its maximum capacity of %d members.", c.cfg.StreamsMaxSize)
	case m == nil && req.MemberEpoch != joinEpoch:
		_, err := d.member(req.MemberID)
		return nil, err
	case m == nil:
		return newStreamsMember(req.MemberID), nil
	}
	return m, m.acceptsEpoch(req.MemberEpoch, setOfTasks(req.Active))
}

// leaveStreams is a heartbeat by which a member leaves.
func (c streamsGroups) leaveStreams(req StreamsHeartbeatRequest) (StreamsHeartbeatResult, *streamsDraft, error) {
	g, err := findKind[*streams](c.shard, req.GroupID, "streams")
	if err != nil {
		return StreamsHeartbeatResult{}, nil, err
	}
	m, err := g.member(req.MemberID)
	if err != nil {
		return StreamsHeartbeatResult{}, nil, err
	}
	d := &streamsDraft{streams: g}
	c.fenceStreams(d, m)
	return StreamsHeartbeatResult{MemberID: req.MemberID, MemberEpoch: req.MemberEpoch}, d, nil
}
