package group

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// ShareHeartbeat serves a member of a share group: it joins, leaves, says what
// it subscribes to and learns what it may share (KIP-932). It answers when what
// it changed is replicated. Errors, beside those of a coordinator that is not
// there: INVALID_REQUEST, GROUP_ID_NOT_FOUND, UNKNOWN_MEMBER_ID,
// FENCED_MEMBER_EPOCH, GROUP_MAX_SIZE_REACHED.
func (c *Coordinator) ShareHeartbeat(req ShareHeartbeatRequest, done func(ShareHeartbeatResult, error)) {
	fail := func(err error) { done(ShareHeartbeatResult{}, err) }
	if err := validateShareHeartbeat(req); err != nil {
		fail(err)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		fail(err)
		return
	}
	var result ShareHeartbeatResult
	var d *shareDraft
	if req.MemberEpoch == leaveEpoch {
		result, d, err = c.leaveShare(s, req)
	} else {
		result, d, err = c.beatShare(s, req)
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

// validateShareHeartbeat refuses what no member may ask.
func validateShareHeartbeat(req ShareHeartbeatRequest) error {
	switch {
	case strings.TrimSpace(req.MemberID) == "":
		return refuse(kafka.ErrInvalidRequest, "MemberId can't be empty.")
	case strings.TrimSpace(req.GroupID) == "":
		return refuse(kafka.ErrInvalidRequest, "GroupId can't be empty.")
	case req.RackID != nil && strings.TrimSpace(*req.RackID) == "":
		return refuse(kafka.ErrInvalidRequest, "RackId can't be empty.")
	case req.MemberEpoch == joinEpoch && len(req.SubscribedTopics) == 0:
		return refuse(kafka.ErrInvalidRequest, "SubscribedTopicNames must be set in first request.")
	case req.MemberEpoch < leaveEpoch:
		return refuse(kafka.ErrInvalidRequest, "MemberEpoch is invalid.")
	}
	return nil
}

// shareDraft is a share group with changes that are not written yet; see
// consumerDraft.
type shareDraft struct {
	*share
	copied bool
	now    int64
	changes
}

func (d *shareDraft) emit(r Record) {
	if !d.copied {
		d.share, d.copied = d.share.clone(), true
	}
	d.records = append(d.records, r)
	d.share.replay(r, d.now)
}

// draftShare begins with the group as it is, or with a new one. No group of
// another kind becomes a share group.
func (c *Coordinator) draftShare(s *shard, id string, create bool) (*shareDraft, error) {
	found, exists := s.groups[id]
	g, ok := found.(*share)
	switch {
	case ok:
		return &shareDraft{share: g, now: c.now()}, nil
	case exists:
		return nil, notA("share", id)
	case !create:
		return nil, refuse(kafka.ErrGroupIDNotFound, "Share group %s not found.", id)
	}
	return &shareDraft{share: newShare(id), copied: true, now: c.now()}, nil
}

// beatShare is a heartbeat of a member that stays or comes.
func (c *Coordinator) beatShare(s *shard, req ShareHeartbeatRequest) (ShareHeartbeatResult, *shareDraft, error) {
	fail := func(err error) (ShareHeartbeatResult, *shareDraft, error) { return ShareHeartbeatResult{}, nil, err }
	d, err := c.draftShare(s, req.GroupID, req.MemberEpoch == joinEpoch)
	if err != nil {
		return fail(err)
	}
	before := d.members[req.MemberID]
	switch {
	case before == nil && len(d.members) >= c.cfg.ShareMaxSize:
		return fail(refuse(kafka.ErrGroupMaxSizeReached, "The share group has reached its maximum capacity of %d members.", c.cfg.ShareMaxSize))
	case before == nil && req.MemberEpoch != joinEpoch:
		_, err := d.member(req.MemberID)
		return fail(err)
	case before == nil:
		before = &shareMember{id: req.MemberID, previous: -1}
	}
	if err := before.acceptsEpoch(req.MemberEpoch); err != nil {
		return fail(err)
	}
	after := before.update(req)
	changed := !slices.Equal(before.topics, after.topics)
	pending := d.targetEpoch >= d.epoch && d.awaitsAssignment()
	if !after.sameMetadata(before) {
		d.emit(shareMemberRecord(d.id, after))
	}
	if hash := topicsHash(d.allTopics(), c.env.Topics); changed || pending || hash != d.metadataHash {
		d.emit(shareEpochRecord(d.id, d.epoch+1, hash))
	}
	c.computeShareTarget(d)
	after = c.reconcileShare(d, after, changed)
	c.setUpShareState(s, d)
	settings := c.env.Settings(req.GroupID)
	c.expectShareMember(s, d.id, after.id, settings.ShareSessionTimeout)
	result := ShareHeartbeatResult{MemberID: after.id, MemberEpoch: after.epoch, Interval: settings.ShareHeartbeatInterval}
	if req.MemberEpoch == joinEpoch || req.SubscribedTopics != nil || !maps.Equal(before.assigned, after.assigned) {
		result.Assignment = assigned(sortedPartitions(after.assigned))
	}
	return result, d, nil
}

// update is the member with what a heartbeat says anew.
func (m *shareMember) update(req ShareHeartbeatRequest) *shareMember {
	n := *m
	if req.RackID != nil {
		n.rackID = req.RackID
	}
	if req.SubscribedTopics != nil {
		n.topics = sortedNames(req.SubscribedTopics)
	}
	n.clientID, n.clientHost = req.ClientID, req.ClientHost
	return &n
}

// awaitsAssignment says whether share state was set up for partitions that the
// target does not have yet.
func (g *share) awaitsAssignment() bool {
	given := make(partitionSet)
	for _, target := range g.target {
		maps.Copy(given, target)
	}
	for id, t := range g.initialized {
		if !g.subscribes(t.name) {
			continue
		}
		for _, n := range t.partitions {
			if !given[idPartition{id, n}] {
				return true
			}
		}
	}
	return false
}

// computeShareTarget computes a target for the group's epoch, unless it has one
// or the last one is too fresh (group.share.assignment.interval.ms).
func (c *Coordinator) computeShareTarget(d *shareDraft) {
	interval := c.env.Settings(d.id).ShareAssignmentInterval
	if d.targetEpoch >= d.epoch || d.targetAt != 0 && interval != 0 && d.now < d.targetAt+interval.Milliseconds() {
		return
	}
	var members []assignee
	for _, m := range d.sorted() {
		members = append(members, assignee{id: m.id, topics: d.assignable(m.topics), has: d.target[m.id]})
	}
	targets := assignShared(members)
	for _, m := range members {
		if old, ok := d.target[m.id]; !ok || !maps.Equal(old, targets[m.id]) {
			d.emit(shareTargetRecord(d.id, m.id, targets[m.id]))
		}
	}
	d.emit(shareTargetEpochRecord(d.id, d.epoch, d.now))
}

// reconcileShare brings a member to its target: there is nothing to wait for.
func (c *Coordinator) reconcileShare(d *shareDraft, m *shareMember, subscriptionChanged bool) *shareMember {
	if m.epoch == d.targetEpoch && !subscriptionChanged {
		return m
	}
	n := *m
	if m.epoch != d.targetEpoch {
		n.epoch, n.previous = d.targetEpoch, m.epoch
	}
	subscribed := topicSizes(m.topics, c.env.Topics)
	n.assigned = make(partitionSet)
	for p := range d.target[m.id] {
		if _, ok := subscribed[p.topic]; ok {
			n.assigned[p] = true
		}
	}
	if n.epoch != m.epoch || !maps.Equal(n.assigned, m.assigned) {
		d.emit(shareCurrentRecord(d.id, &n))
	}
	return &n
}

// setUpShareState has share state set up for partitions of subscribed topics
// that have none. That they are on the way is a record; that they are there
// another one, which the next heartbeat takes into account.
func (c *Coordinator) setUpShareState(s *shard, d *shareDraft) {
	missing := make(map[kafka.TopicID]shareTopic)
	var partitions []SharePartition
	for _, name := range d.allTopics() {
		t, ok := c.env.Topics.Topic(name)
		if !ok {
			continue
		}
		under := slices.Clone(d.initialized[t.ID].partitions)
		if way := d.initializing[t.ID]; d.now-way.since < c.cfg.ShareInitializeRetry.Milliseconds() {
			under = append(under, way.partitions...)
		}
		add := shareTopic{name: name}
		for n := range t.Partitions {
			if !slices.Contains(under, n) {
				add.partitions = append(add.partitions, n)
				partitions = append(partitions, SharePartition{TopicID: t.ID, Partition: n, Start: kafka.NoOffset})
			}
		}
		if len(add.partitions) > 0 {
			missing[t.ID] = add
		}
	}
	if len(missing) == 0 {
		return
	}
	d.emit(shareStateRecord(d.id, union(d.initializing, missing), d.initialized))
	id, epoch := d.id, d.epoch
	d.written = func() {
		c.env.Shares.Initialize(id, partitions, epoch, func(err error) { c.shareStateSetUp(s, id, missing, err, func(error) {}) })
	}
}

// union is the partitions of both, topic by topic.
func union(a, b map[kafka.TopicID]shareTopic) map[kafka.TopicID]shareTopic {
	all := maps.Clone(a)
	for id, t := range b {
		merged := slices.Concat(all[id].partitions, t.partitions)
		slices.Sort(merged)
		all[id] = shareTopic{name: t.name, partitions: slices.Compact(merged), since: t.since}
	}
	return all
}

// shareStateSetUp is told that share state was set up, or could not be: then it
// is tried again by a later heartbeat. done is told once that is written.
func (c *Coordinator) shareStateSetUp(s *shard, id string, topics map[kafka.TopicID]shareTopic, err error, done func(error)) {
	g, ok := s.groups[id].(*share)
	if !ok || !c.owned(s) {
		done(kafka.ErrNotCoordinator)
		return
	}
	initializing := make(map[kafka.TopicID]shareTopic)
	for topic, way := range g.initializing {
		way.partitions = slices.DeleteFunc(slices.Clone(way.partitions), func(n int32) bool { return slices.Contains(topics[topic].partitions, n) })
		if len(way.partitions) > 0 {
			initializing[topic] = way
		}
	}
	initialized := g.initialized
	if err == nil {
		initialized = union(g.initialized, topics)
	}
	c.write(s, c.plain(shareStateRecord(id, initializing, initialized)), func(failed error) { done(cmp.Or(err, failed)) })
}

// leaveShare is a heartbeat by which a member leaves.
func (c *Coordinator) leaveShare(s *shard, req ShareHeartbeatRequest) (ShareHeartbeatResult, *shareDraft, error) {
	g, err := findKind[*share](c, req.GroupID, "share")
	if err != nil {
		return ShareHeartbeatResult{}, nil, err
	}
	m, err := g.member(req.MemberID)
	if err != nil {
		return ShareHeartbeatResult{}, nil, err
	}
	d := &shareDraft{share: g, now: c.now()}
	c.fenceShare(s, d, m)
	return ShareHeartbeatResult{MemberID: req.MemberID, MemberEpoch: req.MemberEpoch}, d, nil
}

// fenceShare takes a member out of a share group.
func (c *Coordinator) fenceShare(s *shard, d *shareDraft, m *shareMember) {
	for _, kind := range []int16{keyShareCurrent, keyShareTarget, keyShareMember} {
		d.emit(Record{Key: encodeMemberKey(kind, d.id, m.id)})
	}
	d.emit(shareEpochRecord(d.id, d.epoch+1, topicsHash(d.allTopics(), c.env.Topics)))
	s.stopTimers(d.id, m.id)
}

// expectShareMember lets a member's session end after a time, from now.
func (c *Coordinator) expectShareMember(s *shard, groupID, memberID string, timeout time.Duration) {
	s.setTimer(memberTimer{groupID, memberID, sessionTimer}, c.clk.After(timeout, func() { c.expelShare(s, groupID, memberID) }))
}

// expelShare takes a member out whose session is over, if it is still there.
func (c *Coordinator) expelShare(s *shard, groupID, memberID string) {
	g, ok := s.groups[groupID].(*share)
	if !ok || g.members[memberID] == nil || !c.owned(s) {
		return
	}
	d := &shareDraft{share: g, now: c.now()}
	c.fenceShare(s, d, g.members[memberID])
	c.writeChanges(s, d.changes, func(err error) {
		if err != nil {
			c.clk.After(expulsionBackoff, func() { c.expelShare(s, groupID, memberID) })
		}
	})
}

// loadedShare lets the sessions of a loaded group's members run.
func (c *Coordinator) loadedShare(s *shard, g *share) {
	for _, m := range g.sorted() {
		c.expectShareMember(s, g.id, m.id, c.env.Settings(g.id).ShareSessionTimeout)
	}
}

// DescribeShares describes share groups, in the order asked.
func (c *Coordinator) DescribeShares(groupIDs []string) []ShareDescription {
	descriptions := make([]ShareDescription, len(groupIDs))
	for i, id := range groupIDs {
		g, err := findKind[*share](c, id, "share")
		if err != nil {
			descriptions[i] = ShareDescription{GroupID: id, Err: err}
			continue
		}
		d := ShareDescription{GroupID: id, State: g.state(), Epoch: g.epoch, AssignmentEpoch: g.targetEpoch, Assignor: simpleAssignor}
		for _, m := range g.sorted() {
			d.Members = append(d.Members, ShareMemberDescription{
				MemberID: m.id, RackID: m.rackID, MemberEpoch: m.epoch, ClientID: m.clientID, ClientHost: m.clientHost,
				SubscribedTopics: m.topics, Assignment: described(sortedPartitions(m.assigned), c.env.Topics),
			})
		}
		descriptions[i] = d
	}
	return descriptions
}

// SharedPartitions lists the partitions for which a share group has its state
// set up, by topic name; nothing for a group that is none. Errors are those of a
// coordinator that is not there.
func (c *Coordinator) SharedPartitions(groupID string) ([]AssignedTopic, error) {
	s, err := c.find(groupID)
	if err != nil {
		return nil, err
	}
	g, ok := s.groups[groupID].(*share)
	if !ok {
		return nil, nil
	}
	set := make(partitionSet)
	for id, t := range g.initialized {
		for _, n := range t.partitions {
			set[idPartition{id, n}] = true
		}
	}
	return described(sortedPartitions(set), c.env.Topics), nil
}
