package group

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// ConsumerHeartbeat serves a member of the consumer protocol: it joins, leaves,
// says what it subscribes to and has, and learns what it is to have (KIP-848,
// rule H3). It answers when what it changed is replicated. Errors, beside those
// of a coordinator that is not there: INVALID_REQUEST, GROUP_ID_NOT_FOUND,
// UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, UNRELEASED_INSTANCE_ID,
// FENCED_INSTANCE_ID, UNSUPPORTED_ASSIGNOR, INVALID_REGULAR_EXPRESSION,
// GROUP_MAX_SIZE_REACHED.
func (c *Coordinator) ConsumerHeartbeat(req ConsumerHeartbeatRequest, done func(ConsumerHeartbeatResult, error)) {
	if err := c.validateConsumerHeartbeat(req); err != nil {
		done(ConsumerHeartbeatResult{}, err)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		done(ConsumerHeartbeatResult{}, err)
		return
	}
	var result ConsumerHeartbeatResult
	var d *consumerDraft
	if req.MemberEpoch < joinEpoch {
		result, d, err = c.leaveConsumer(s, req)
	} else {
		result, d, err = c.beatConsumer(s, req)
	}
	if err != nil {
		done(ConsumerHeartbeatResult{}, err)
		return
	}
	c.writeChanges(s, d.changes, func(err error) {
		if err != nil {
			result = ConsumerHeartbeatResult{}
		}
		done(result, err)
	})
}

// validateConsumerHeartbeat refuses what no member may ask.
func (c *Coordinator) validateConsumerHeartbeat(req ConsumerHeartbeatRequest) error {
	memberNeeded := req.RequireMemberID || req.MemberEpoch > joinEpoch || req.MemberEpoch == leaveEpoch
	blank := func(s *string) bool { return s != nil && strings.TrimSpace(*s) == "" }
	switch {
	case memberNeeded && blank(&req.MemberID):
		return refuse(kafka.ErrInvalidRequest, "MemberId can't be empty.")
	case blank(&req.GroupID):
		return refuse(kafka.ErrInvalidRequest, "GroupId can't be empty.")
	case blank(req.InstanceID):
		return refuse(kafka.ErrInvalidRequest, "InstanceId can't be empty.")
	case blank(req.RackID):
		return refuse(kafka.ErrInvalidRequest, "RackId can't be empty.")
	case req.MemberEpoch < staticLeaveEpoch:
		return refuse(kafka.ErrInvalidRequest, "MemberEpoch is invalid.")
	case req.MemberEpoch == staticLeaveEpoch && req.InstanceID == nil:
		return refuse(kafka.ErrInvalidRequest, "InstanceId can't be null.")
	}
	if req.MemberEpoch == joinEpoch {
		switch {
		case req.RebalanceTimeout < 0:
			return refuse(kafka.ErrInvalidRequest, "RebalanceTimeoutMs must be provided in first request.")
		case req.Owned == nil || len(req.Owned) > 0:
			return refuse(kafka.ErrInvalidRequest, "TopicPartitions must be empty when (re-)joining.")
		case req.SubscribedTopics == nil && req.SubscribedRegex == nil:
			return refuse(kafka.ErrInvalidRequest, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
		}
	}
	if req.ServerAssignor != nil && !slices.Contains(c.cfg.ConsumerAssignors, *req.ServerAssignor) {
		return refuse(kafka.ErrUnsupportedAssignor, "ServerAssignor %s is not supported. Supported assignors: %s.",
			*req.ServerAssignor, strings.Join(c.cfg.ConsumerAssignors, ", "))
	}
	return nil
}

// beatConsumer is a heartbeat of a member that stays or comes.
func (c *Coordinator) beatConsumer(s *shard, req ConsumerHeartbeatRequest) (ConsumerHeartbeatResult, *consumerDraft, error) {
	fail := func(err error) (ConsumerHeartbeatResult, *consumerDraft, error) {
		return ConsumerHeartbeatResult{}, nil, err
	}
	d, err := c.draftConsumer(s, req.GroupID, req.MemberEpoch == joinEpoch)
	if err != nil {
		return fail(err)
	}
	if err := d.acceptsMember(req.MemberID, req.InstanceID, c.cfg.ConsumerMaxSize); err != nil {
		return fail(err)
	}
	if req.MemberID == "" {
		req.MemberID = c.memberID()
	}
	before, err := d.enter(req.MemberID, req.InstanceID, req.MemberEpoch, req.Owned)
	if err != nil {
		return fail(err)
	}
	after := before.update(req)
	changed, err := c.subscribe(s, d, before, after, req.MayDescribe)
	if err != nil {
		return fail(err)
	}
	c.computeTarget(d)
	var owned partitionSet
	if req.Owned != nil {
		owned = setOf(req.Owned)
	}
	after, err = c.reconcile(s, d, after, changed, owned)
	if err != nil {
		return fail(err)
	}
	settings := c.env.Settings(req.GroupID)
	c.expectMember(s, d.id, after.id, settings.ConsumerSessionTimeout)
	result := ConsumerHeartbeatResult{MemberID: after.id, MemberEpoch: after.epoch, Interval: settings.ConsumerHeartbeatInterval}
	// The member is told of its assignment when it changed, and when it says all
	// there is to say, as it does on joining and after errors.
	full := req.RebalanceTimeout >= 0 && (req.SubscribedTopics != nil || req.SubscribedRegex != nil) && req.Owned != nil
	if req.MemberEpoch == joinEpoch || full || !slices.Equal(sortedPartitions(before.assigned), sortedPartitions(after.assigned)) {
		result.Assignment = assigned(sortedPartitions(after.assigned))
	}
	return result, d, nil
}

// memberID is an id for a member that has none, in the form of Kafka's Uuid.
func (c *Coordinator) memberID() string {
	raw, err := hex.DecodeString(strings.ReplaceAll(c.env.UUID(), "-", ""))
	if err != nil {
		panic("member id: the environment gave no UUID: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// consumerDraft is a group with changes that are not written yet. Each record
// is taken into it at once, so that the next decision sees it; the group itself
// changes when the records are in the log.
type consumerDraft struct {
	*consumer
	copied bool // the group is the draft's own
	changes
}

// emit adds a record.
func (d *consumerDraft) emit(r Record) {
	if !d.copied {
		d.consumer, d.copied = d.consumer.clone(), true
	}
	d.records = append(d.records, r)
	d.consumer.replay(r, 0)
}

// draftConsumer begins with the group as it is, with a new one, or with what
// becomes of a classic group when a member of the consumer protocol joins it.
func (c *Coordinator) draftConsumer(s *shard, id string, create bool) (*consumerDraft, error) {
	switch g := s.groups[id].(type) {
	case *consumer:
		return &consumerDraft{consumer: g}, nil
	case nil:
		if !create {
			return nil, refuse(kafka.ErrGroupIDNotFound, "Consumer group %s not found.", id)
		}
		return &consumerDraft{consumer: newConsumer(id), copied: true}, nil
	case *classic:
		if !create {
			return nil, notA("consumer", id)
		}
		if g.state == Empty {
			return &consumerDraft{consumer: newConsumer(id), copied: true, changes: changes{records: g.tombstones()}}, nil
		}
		return c.upgrade(s, g)
	}
	return nil, notA("consumer", id)
}

// changes are records that are written together.
type changes struct {
	records []Record
	// written, if not nil, is called when the records are in the log, replicated
	// or not.
	written func()
}

// writeChanges writes what was gathered; without anything it waits until what
// was written before is replicated, as the answer tells of it.
func (c *Coordinator) writeChanges(s *shard, w changes, done func(error)) {
	if len(w.records) == 0 {
		c.whenReplicated(s, done)
		return
	}
	b := c.plain(w.records...)
	c.append(s, b, func(base kafka.Offset) {
		c.replayBatch(s, b, base)
		if w.written != nil {
			w.written()
		}
	}, done)
}

// acceptsMember says whether the group's size lets a member in.
func (g *consumer) acceptsMember(id string, instanceID *string, limit int) error {
	if instanceID != nil && g.static(*instanceID) != nil || g.members[id] != nil || len(g.members) < limit {
		return nil
	}
	return refuse(kafka.ErrGroupMaxSizeReached, "The consumer group has reached its maximum capacity of %d members.", limit)
}

// enter is the member that a heartbeat of the consumer protocol comes from: an
// old one, a new one, or one that takes the place of a static member.
func (d *consumerDraft) enter(id string, instanceID *string, epoch int32, owned []AssignedTopic) (*consumerMember, error) {
	if instanceID == nil {
		m := d.members[id]
		if m == nil && epoch == joinEpoch {
			return newConsumerMember(id), nil
		}
		if m == nil {
			_, err := d.member(id)
			return nil, err
		}
		return m, m.acceptsEpoch(epoch, owned)
	}
	static := d.static(*instanceID)
	if epoch != joinEpoch {
		if err := d.checkStatic(static, id, *instanceID); err != nil {
			return nil, err
		}
		return static, static.acceptsEpoch(epoch, owned)
	}
	switch {
	case static == nil && d.members[id] != nil:
		return d.members[id], nil
	case static == nil:
		return newConsumerMember(id), nil
	case static.classic == nil && static.epoch != staticLeaveEpoch:
		return nil, refuse(kafka.ErrUnreleasedInstanceID, "Static member %s with instance id %s cannot join the group because the instance id is owned by %s member.",
			id, *instanceID, static.id)
	}
	return d.replace(static, id), nil
}

// checkStatic says whether a request comes from the present holder of an
// instance id.
func (g *consumer) checkStatic(static *consumerMember, id, instanceID string) error {
	switch {
	case static == nil:
		return refuse(kafka.ErrUnknownMemberID, "Instance id %s is unknown.", instanceID)
	case static.id != id:
		return refuse(kafka.ErrFencedInstanceID, "Static member %s with instance id %s was fenced by member %s.", id, instanceID, static.id)
	}
	return nil
}

// replace gives a static member's place and partitions to another id.
func (d *consumerDraft) replace(old *consumerMember, id string) *consumerMember {
	m := *old
	m.id, m.epoch, m.previous = id, joinEpoch, joinEpoch
	target := d.target[old.id]
	d.removeMember(old.id)
	d.emit(consumerMemberRecord(d.id, &m))
	d.emit(consumerTargetRecord(d.id, id, target))
	d.emit(currentAssignmentRecord(d.id, &m))
	return &m
}

// removeMember emits the tombstones of a member.
func (d *consumerDraft) removeMember(id string) {
	d.emit(Record{Key: encodeMemberKey(keyCurrentAssignment, d.id, id)})
	d.emit(Record{Key: encodeMemberKey(keyTargetMember, d.id, id)})
	d.emit(Record{Key: encodeMemberKey(keyConsumerMember, d.id, id)})
}

// acceptsEpoch says whether a member may come with an epoch. The previous one
// is good if the member has nothing beyond its assignment: it missed the answer
// that told it of the present one.
func (m *consumerMember) acceptsEpoch(epoch int32, owned []AssignedTopic) error {
	switch {
	case epoch == joinEpoch || epoch == m.epoch:
		return nil
	case epoch > m.epoch:
		return refuse(kafka.ErrFencedMemberEpoch, "The consumer group member has a greater member epoch (%d) than the one known by the group coordinator (%d). "+
			"The member must abandon all its partitions and rejoin.", epoch, m.epoch)
	case epoch == m.previous && owned != nil && m.covers(setOf(owned)):
		return nil
	}
	return refuse(kafka.ErrFencedMemberEpoch, "The consumer group member has a smaller member epoch (%d) than the one known by the group coordinator (%d). "+
		"The member must abandon all its partitions and rejoin.", epoch, m.epoch)
}

// covers says whether all of some partitions are assigned to the member.
func (m *consumerMember) covers(partitions partitionSet) bool {
	for p := range partitions {
		if _, ok := m.assigned[p]; !ok {
			return false
		}
	}
	return true
}

// subscribe writes what a member said, and raises the group's epoch if that, or
// what became of its topics, calls for a new target. It reports whether the
// member's subscription changed.
func (c *Coordinator) subscribe(s *shard, d *consumerDraft, before, after *consumerMember, mayDescribe func(string) bool) (bool, error) {
	regex, err := c.updateRegex(s, d, before, after, mayDescribe)
	if err != nil {
		return false, err
	}
	if !after.sameMetadata(before) {
		d.emit(consumerMemberRecord(d.id, after))
	}
	names := !slices.Equal(before.topics, after.topics)
	bump := names || regex == regexResolved || regex != regexUnchanged && after.classic != nil
	c.raiseEpoch(d, bump)
	return names || regex != regexUnchanged, nil
}

// raiseEpoch raises the group's epoch if it must rise, or if its topics are not
// what they were.
func (c *Coordinator) raiseEpoch(d *consumerDraft, must bool) {
	if hash := topicsHash(d.allTopics(), c.env.Topics); must || hash != d.metadataHash {
		d.emit(consumerEpochRecord(d.id, d.epoch+1, hash))
	}
}

// computeTarget computes a target assignment for the group's epoch, unless it
// has one or the last one is too fresh (group.consumer.assignment.interval.ms).
func (c *Coordinator) computeTarget(d *consumerDraft) {
	if d.targetEpoch >= d.epoch {
		return
	}
	now := c.now()
	interval := c.env.Settings(d.id).ConsumerAssignmentInterval
	if d.targetAt != 0 && interval != 0 && now < d.targetAt+interval.Milliseconds() {
		return
	}
	var members []assignee
	for _, m := range d.sorted() {
		members = append(members, assignee{
			id: m.id, instanceID: m.instanceID,
			topics: topicSizes(d.subscribedTo(m), c.env.Topics), has: d.target[m.id],
		})
	}
	assign := assignUniformly
	if d.preferredAssignor(c.cfg.ConsumerAssignors[0]) == rangeAssignor {
		assign = assignRanges
	}
	targets := assign(members)
	for _, m := range members {
		if old, ok := d.target[m.id]; !ok || !slices.Equal(sortedPartitions(old), sortedPartitions(targets[m.id])) {
			d.emit(consumerTargetRecord(d.id, m.id, targets[m.id]))
		}
	}
	d.emit(consumerTargetEpochRecord(d.id, d.epoch, now))
}

// reconcile takes a member a step nearer to its target.
func (c *Coordinator) reconcile(s *shard, d *consumerDraft, m *consumerMember, subscriptionChanged bool, owned partitionSet) (*consumerMember, error) {
	if !subscriptionChanged && m.reconciledTo(d.targetEpoch) {
		return m, nil
	}
	subscribed := topicSizes(d.subscribedTo(m), c.env.Topics)
	has, err := reconciliation[idPartition]{
		has:                 m.holding,
		target:              d.target[m.id],
		targetEpoch:         d.targetEpoch,
		subscribed:          func(p idPartition) bool { _, ok := subscribed[p.topic]; return ok },
		subscriptionChanged: subscriptionChanged,
		taken:               func(p idPartition) bool { return d.ownedByOthers(p, m.id) },
		owned:               owned,
	}.next()
	if err != nil {
		return nil, err
	}
	next := new(*m)
	next.holding = has
	if next.sameAssignment(m) {
		return next, nil
	}
	d.emit(currentAssignmentRecord(d.id, next))
	if next.classic == nil {
		if next.state == memberUnrevoked {
			c.expectRevocation(s, d.id, next)
		} else {
			s.stopTimer(memberTimer{d.id, next.id, rebalanceTimer})
		}
	}
	return next, nil
}

// leaveConsumer is a heartbeat by which a member leaves.
func (c *Coordinator) leaveConsumer(s *shard, req ConsumerHeartbeatRequest) (ConsumerHeartbeatResult, *consumerDraft, error) {
	fail := func(err error) (ConsumerHeartbeatResult, *consumerDraft, error) {
		return ConsumerHeartbeatResult{}, nil, err
	}
	g, ok := s.groups[req.GroupID].(*consumer)
	switch {
	case s.groups[req.GroupID] == nil:
		return fail(notFound(req.GroupID))
	case !ok:
		return fail(notA("consumer", req.GroupID))
	}
	result := ConsumerHeartbeatResult{MemberID: req.MemberID, MemberEpoch: req.MemberEpoch}
	d := &consumerDraft{consumer: g}
	m := g.members[req.MemberID]
	if req.InstanceID != nil {
		m = g.static(*req.InstanceID)
		if err := g.checkStatic(m, req.MemberID, *req.InstanceID); err != nil {
			return fail(err)
		}
	} else if _, err := g.member(req.MemberID); err != nil {
		return fail(err)
	}
	if req.InstanceID != nil && req.MemberEpoch == staticLeaveEpoch {
		d.emit(currentAssignmentRecord(g.id, m.away()))
		return result, d, nil
	}
	c.fence(s, d, m)
	return result, d, nil
}

// away is a static member that left and keeps its place and its partitions.
func (m *consumerMember) away() *consumerMember {
	n := *m
	n.epoch, n.revoking = staticLeaveEpoch, nil
	n.assigned = make(ownership, len(m.assigned))
	for p := range m.assigned {
		n.assigned[p] = joinEpoch
	}
	return &n
}

// fence takes members out of a group, and the group back to the classic
// protocol if all that are left speak it.
func (c *Coordinator) fence(s *shard, d *consumerDraft, members ...*consumerMember) {
	if len(members) == 0 {
		return
	}
	if c.downgrades(d.consumer, members) {
		c.downgrade(s, d, members, true)
		return
	}
	for _, m := range members {
		d.removeMember(m.id)
		s.stopTimers(d.id, m.id)
	}
	d.dropUnusedRegexes()
	d.emit(consumerEpochRecord(d.id, d.epoch+1, topicsHash(d.allTopics(), c.env.Topics)))
}

// expulsionBackoff is the time until an expulsion is tried again that could not
// be written.
const expulsionBackoff = 500 * time.Millisecond

// expelConsumer takes a member out whose time is up, if it is still there.
func (c *Coordinator) expelConsumer(s *shard, groupID, memberID string) {
	g, ok := s.groups[groupID].(*consumer)
	if !ok || g.members[memberID] == nil || !c.owned(s) {
		return
	}
	d := &consumerDraft{consumer: g}
	c.fence(s, d, g.members[memberID])
	c.writeChanges(s, d.changes, func(err error) {
		if err != nil {
			c.clk.After(expulsionBackoff, func() { c.expelConsumer(s, groupID, memberID) })
		}
	})
}

// expectMember lets a member's session end after a time, from now.
func (c *Coordinator) expectMember(s *shard, groupID, memberID string, timeout time.Duration) {
	s.setTimer(memberTimer{groupID, memberID, sessionTimer}, c.clk.After(timeout, func() { c.expelConsumer(s, groupID, memberID) }))
}

// expectRevocation takes a member out that does not give its partitions up in
// time.
func (c *Coordinator) expectRevocation(s *shard, groupID string, m *consumerMember) {
	s.setTimer(memberTimer{groupID, m.id, rebalanceTimer}, c.clk.After(m.rebalanceTimeout, func() {
		g, ok := s.groups[groupID].(*consumer)
		if ok && g.members[m.id] != nil && g.members[m.id].epoch == m.epoch {
			c.expelConsumer(s, groupID, m.id)
		}
	}))
}
