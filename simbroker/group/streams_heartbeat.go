package group

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// StreamsHeartbeat serves a member of a streams group: it joins with its
// topology, leaves, says which tasks it has and learns which it is to have
// (KIP-1071). It answers when what it changed is replicated. Errors, beside
// those of a coordinator that is not there: INVALID_REQUEST,
// STREAMS_INVALID_TOPOLOGY, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID,
// FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED.
func (c *Coordinator) StreamsHeartbeat(req StreamsHeartbeatRequest, done func(StreamsHeartbeatResult, error)) {
	fail := func(err error) { done(StreamsHeartbeatResult{}, err) }
	if err := validateStreamsHeartbeat(req); err != nil {
		fail(err)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		fail(err)
		return
	}
	var result StreamsHeartbeatResult
	var d *streamsDraft
	if req.MemberEpoch < joinEpoch {
		result, d, err = c.leaveStreams(s, req)
	} else {
		result, d, err = c.beatStreams(s, req)
	}
	if err != nil {
		fail(err)
		return
	}
	c.writeChanges(s, d.changes, func(err error) {
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

// streamsDraft is a streams group with changes that are not written yet; see
// consumerDraft.
type streamsDraft struct {
	*streams
	copied bool
	changes
}

func (d *streamsDraft) emit(r Record) {
	if !d.copied {
		d.streams, d.copied = d.streams.clone(), true
	}
	d.records = append(d.records, r)
	d.streams.replay(r, 0)
}

// draftStreams begins with the group as it is, or with a new one, which may take
// the place of a classic group without members.
func (c *Coordinator) draftStreams(s *shard, id string, create bool) (*streamsDraft, error) {
	switch g := s.groups[id].(type) {
	case *streams:
		return &streamsDraft{streams: g}, nil
	case nil:
		if !create {
			return nil, refuse(kafka.ErrGroupIDNotFound, "Streams group %s not found.", id)
		}
		return &streamsDraft{streams: newStreams(id), copied: true}, nil
	case *classic:
		if create && g.state == Empty {
			return &streamsDraft{streams: newStreams(id), copied: true, changes: changes{records: g.tombstones()}}, nil
		}
	}
	return nil, notA("streams", id)
}

// beatStreams is a heartbeat of a member that stays or comes.
func (c *Coordinator) beatStreams(s *shard, req StreamsHeartbeatRequest) (StreamsHeartbeatResult, *streamsDraft, error) {
	fail := func(err error) (StreamsHeartbeatResult, *streamsDraft, error) {
		return StreamsHeartbeatResult{}, nil, err
	}
	d, err := c.draftStreams(s, req.GroupID, req.MemberEpoch == joinEpoch)
	if err != nil {
		return fail(err)
	}
	before, err := c.enterStreams(d, req)
	if err != nil {
		return fail(err)
	}
	if g, ok := s.groups[d.id].(*streams); ok {
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
	topology := d.topology.configure(c.env.Topics)
	if err := topology.owns(req.Active); err != nil {
		return fail(err)
	}
	c.raiseStreamsEpoch(d, topology, changed)
	c.delayFirstAssignment(s, d.id, empty)
	if status := c.computeStreamsTarget(s, d, topology); status != nil {
		result.Status = append(result.Status, *status)
	}
	after, err = c.reconcileStreams(s, d, after, req)
	if err != nil {
		return fail(err)
	}
	if topology.status != nil {
		result.Status = append(result.Status, *topology.status)
		result.Create = topology.missing
	}
	c.expectStreamsMember(s, d.id, after.id, c.env.Settings(req.GroupID).StreamsSessionTimeout)
	result.MemberEpoch = after.epoch
	if req.MemberEpoch == joinEpoch || !maps.Equal(before.assigned, after.assigned) {
		result.Active = taskIDs(sortedTasks(after.assigned))
	}
	return result, d, nil
}

// enterStreams is the member that a heartbeat comes from.
func (c *Coordinator) enterStreams(d *streamsDraft, req StreamsHeartbeatRequest) (*streamsMember, error) {
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

// update is the member with what a heartbeat says anew.
func (m *streamsMember) update(req StreamsHeartbeatRequest) *streamsMember {
	n := *m
	if req.RackID != nil {
		n.rackID = req.RackID
	}
	if req.RebalanceTimeout >= 0 {
		n.rebalanceTimeout = req.RebalanceTimeout
	}
	if req.Topology != nil {
		n.topologyEpoch = req.Topology.Epoch
	}
	if req.ProcessID != nil {
		n.processID = *req.ProcessID
	}
	if req.Endpoint != nil {
		n.endpoint = req.Endpoint
	}
	if req.Tags != nil {
		n.tags = slices.SortedFunc(slices.Values(req.Tags), func(a, b KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	}
	n.clientID, n.clientHost = req.ClientID, req.ClientHost
	return &n
}

// takeTopology takes a member's topology in if the group has none. It cannot be
// changed yet, in Kafka either.
func (d *streamsDraft) takeTopology(t *Topology) error {
	switch {
	case t == nil:
	case d.topology == nil:
		d.emit(streamsTopologyRecord(d.id, t))
	case d.topology.Epoch <= t.Epoch && !bytes.Equal(encodeTopology(t), encodeTopology(d.topology)):
		return refuse(kafka.ErrInvalidRequest, "Topology updates are not supported yet.")
	}
	return nil
}

// owns refuses tasks that there cannot be.
func (c configured) owns(ids []TaskIDs) error {
	if c.tasks == nil {
		return nil
	}
	for t := range setOfTasks(ids) {
		if !c.tasks[t] {
			return refuse(kafka.ErrInvalidRequest, "Task %d for subtopology %s is invalid.", t.partition, t.subtopology)
		}
	}
	return nil
}

// raiseStreamsEpoch raises the group's epoch if a member changed, its topics
// did, or they are all there for the first time.
func (c *Coordinator) raiseStreamsEpoch(d *streamsDraft, topology configured, changed bool) {
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
func (c *Coordinator) delayFirstAssignment(s *shard, id string, empty bool) {
	delay := c.env.Settings(id).StreamsInitialDelay
	name := memberTimer{group: id, kind: initialTimer}
	if !empty || delay <= 0 || s.timers[name] != nil {
		return
	}
	s.setTimer(name, c.clk.After(delay, func() {
		s.stopTimer(name)
		g, ok := s.groups[id].(*streams)
		if !ok || !c.owned(s) || len(g.members) == 0 || !g.configured {
			return
		}
		d := &streamsDraft{streams: g}
		c.computeStreamsTarget(s, d, g.topology.configure(c.env.Topics))
		c.writeChanges(s, d.changes, func(error) {}) // the next heartbeat tries again
	}))
}

// computeStreamsTarget computes a target for the group's epoch, unless it has
// one. It says so if it has to wait.
func (c *Coordinator) computeStreamsTarget(s *shard, d *streamsDraft, topology configured) *StreamsStatus {
	if s.timers[memberTimer{group: d.id, kind: initialTimer}] != nil {
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
func (c *Coordinator) reconcileStreams(s *shard, d *streamsDraft, m *streamsMember, req StreamsHeartbeatRequest) (*streamsMember, error) {
	if m.reconciledTo(d.targetEpoch) {
		return m, nil
	}
	target := d.target[m.id]
	if s.timers[memberTimer{group: d.id, kind: initialTimer}] != nil {
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
		c.expectTasksRevoked(s, d.id, next)
	} else {
		s.stopTimer(memberTimer{d.id, next.id, rebalanceTimer})
	}
	return next, nil
}

// leaveStreams is a heartbeat by which a member leaves.
func (c *Coordinator) leaveStreams(s *shard, req StreamsHeartbeatRequest) (StreamsHeartbeatResult, *streamsDraft, error) {
	g, err := findKind[*streams](c, req.GroupID, "streams")
	if err != nil {
		return StreamsHeartbeatResult{}, nil, err
	}
	m, err := g.member(req.MemberID)
	if err != nil {
		return StreamsHeartbeatResult{}, nil, err
	}
	d := &streamsDraft{streams: g}
	c.fenceStreams(s, d, m)
	return StreamsHeartbeatResult{MemberID: req.MemberID, MemberEpoch: req.MemberEpoch}, d, nil
}

// fenceStreams takes a member out of a streams group.
func (c *Coordinator) fenceStreams(s *shard, d *streamsDraft, m *streamsMember) {
	for _, kind := range []int16{keyStreamsCurrent, keyStreamsTarget, keyStreamsMember} {
		d.emit(Record{Key: encodeMemberKey(kind, d.id, m.id)})
	}
	d.emit(streamsEpochRecord(d.streams, d.epoch+1, d.metadataHash, d.validated, d.standbys))
	s.stopTimers(d.id, m.id)
}

// expelStreams takes a member out whose time is up, if it is still there.
func (c *Coordinator) expelStreams(s *shard, groupID, memberID string) {
	g, ok := s.groups[groupID].(*streams)
	if !ok || g.members[memberID] == nil || !c.owned(s) {
		return
	}
	d := &streamsDraft{streams: g}
	c.fenceStreams(s, d, g.members[memberID])
	c.writeChanges(s, d.changes, func(err error) {
		if err != nil {
			c.clk.After(expulsionBackoff, func() { c.expelStreams(s, groupID, memberID) })
		}
	})
}

// expectStreamsMember lets a member's session end after a time, from now.
func (c *Coordinator) expectStreamsMember(s *shard, groupID, memberID string, timeout time.Duration) {
	s.setTimer(memberTimer{groupID, memberID, sessionTimer}, c.clk.After(timeout, func() { c.expelStreams(s, groupID, memberID) }))
}

// expectTasksRevoked takes a member out that does not give tasks up in time.
func (c *Coordinator) expectTasksRevoked(s *shard, groupID string, m *streamsMember) {
	s.setTimer(memberTimer{groupID, m.id, rebalanceTimer}, c.clk.After(m.rebalanceTimeout, func() {
		g, ok := s.groups[groupID].(*streams)
		if ok && g.members[m.id] != nil && g.members[m.id].epoch == m.epoch {
			c.expelStreams(s, groupID, m.id)
		}
	}))
}

// loadedStreams lets the sessions of a loaded group's members run.
func (c *Coordinator) loadedStreams(s *shard, g *streams) {
	for _, m := range g.sorted() {
		c.expectStreamsMember(s, g.id, m.id, c.env.Settings(g.id).StreamsSessionTimeout)
		if m.state == memberUnrevoked {
			c.expectTasksRevoked(s, g.id, m)
		}
	}
}

// setOfTasks is the tasks of a heartbeat; nil stays nil.
func setOfTasks(ids []TaskIDs) map[task]bool {
	if ids == nil {
		return nil
	}
	s := make(map[task]bool)
	for _, t := range ids {
		for _, n := range t.Partitions {
			s[task{t.Subtopology, n}] = true
		}
	}
	return s
}

// taskIDs is sorted tasks as heartbeats carry them.
func taskIDs(sorted []task) []TaskIDs {
	ids := []TaskIDs{}
	for _, t := range sorted {
		if n := len(ids); n == 0 || ids[n-1].Subtopology != t.subtopology {
			ids = append(ids, TaskIDs{Subtopology: t.subtopology})
		}
		last := &ids[len(ids)-1]
		last.Partitions = append(last.Partitions, t.partition)
	}
	return ids
}

// DescribeStreams describes streams groups, in the order asked.
func (c *Coordinator) DescribeStreams(groupIDs []string) []StreamsDescription {
	descriptions := make([]StreamsDescription, len(groupIDs))
	for i, id := range groupIDs {
		g, err := findKind[*streams](c, id, "streams")
		if err != nil {
			descriptions[i] = StreamsDescription{GroupID: id, Err: err}
			continue
		}
		descriptions[i] = c.describeStreams(g)
	}
	return descriptions
}

func (c *Coordinator) describeStreams(g *streams) StreamsDescription {
	d := StreamsDescription{GroupID: g.id, State: g.state(), Epoch: g.epoch, AssignmentEpoch: g.targetEpoch}
	if g.topology != nil {
		d.Topology = g.topology.described(g.topology.configure(c.env.Topics))
	}
	for _, m := range g.sorted() {
		d.Members = append(d.Members, StreamsMemberDescription{
			MemberID: m.id, RackID: m.rackID, MemberEpoch: m.epoch, ClientID: m.clientID, ClientHost: m.clientHost,
			TopologyEpoch: m.topologyEpoch, ProcessID: m.processID, Endpoint: m.endpoint, Tags: m.tags,
			Active: taskIDs(sortedTasks(m.assigned)), Target: taskIDs(sortedTasks(g.target[m.id])),
		})
	}
	return d
}

// described is a topology as descriptions show it: sorted, and with the decided
// numbers of partitions once all topics are there.
func (t *Topology) described(c configured) *Topology {
	d := &Topology{Epoch: t.Epoch, Subtopologies: slices.Clone(t.Subtopologies)}
	slices.SortFunc(d.Subtopologies, func(a, b Subtopology) int { return cmp.Compare(a.ID, b.ID) })
	internal := func(topics []InternalTopic) []InternalTopic {
		sorted := slices.SortedFunc(slices.Values(topics), func(a, b InternalTopic) int { return cmp.Compare(a.Name, b.Name) })
		for i := range sorted {
			at := slices.IndexFunc(c.internal, func(decided InternalTopic) bool { return decided.Name == sorted[i].Name })
			if c.status == nil && at >= 0 {
				sorted[i] = c.internal[at]
			}
		}
		return sorted
	}
	for i := range d.Subtopologies {
		s := &d.Subtopologies[i]
		s.SourceTopics, s.RepartitionSinks = sortedNames(s.SourceTopics), sortedNames(s.RepartitionSinks)
		s.RepartitionSources, s.Changelogs = internal(s.RepartitionSources), internal(s.Changelogs)
	}
	return d
}
