package group

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Members of the classic protocol in a group of the consumer protocol. To them
// the member epoch is the generation, and REBALANCE_IN_PROGRESS says that there
// is another one to come for; nobody waits for others, and nobody leads.

// joinMixed serves JoinGroup to a group of the consumer protocol that has
// members.
func (c consumerGroups) joinMixed(g *consumer, req JoinRequest, done func(JoinResult, error)) {
	refuse := func(err error) { done(refusedJoin(req.MemberID), err) }
	if c.cfg.ConsumerMigrationPolicy == MigrationDisabled {
		refuse(kafka.ErrInconsistentGroupProtocol)
		return
	}
	id, fresh := req.MemberID, req.MemberID == ""
	if fresh {
		id = c.memberID()
	}
	if err := g.acceptsMember(id, req.InstanceID, c.cfg.ConsumerMaxSize); err != nil {
		refuse(err)
		return
	}
	if !g.supportsClassic(req.ProtocolType, req.Protocols) {
		refuse(kafka.ErrInconsistentGroupProtocol)
		return
	}
	if fresh && req.InstanceID == nil && req.RequireKnownMemberID {
		done(refusedJoin(id), kafka.ErrMemberIDRequired)
		return
	}
	sub, err := decodeSubscription(req.Protocols[0].Metadata)
	if err != nil {
		refuse(kafka.ErrInconsistentGroupProtocol)
		return
	}
	c.enterMixed(g, id, fresh, req, sub, done)
}

// enterMixed takes a classic member a step nearer to its target, and answers
// when that is replicated.
func (c consumerGroups) enterMixed(g *consumer, id string, fresh bool, req JoinRequest, sub subscription, done func(JoinResult, error)) {
	refuse := func(err error) { done(refusedJoin(req.MemberID), err) }
	d := &consumerDraft{consumer: g}
	before, err := d.enterClassic(id, req.InstanceID, fresh)
	if err != nil {
		refuse(err)
		return
	}
	after := before.updateClassic(req, sub)
	changed, err := c.subscribe(d, before, after, nil)
	if err != nil {
		refuse(err)
		return
	}
	replacesLast := c.downgrades(d.consumer, nil) // the last member of the consumer protocol
	if !replacesLast {
		c.computeTarget(d)
	}
	stale := d.targetEpoch < d.epoch
	if !replacesLast || !stale {
		if after, err = c.reconcile(d, after, changed, withIDs(sub.owned, c.env.Topics)); err != nil {
			refuse(err)
			return
		}
	}
	if replacesLast {
		c.downgrade(d, nil, stale)
	}
	protocolType := consumerProtocol
	c.writeChanges(d.changes, func(err error) {
		if err != nil {
			refuse(err)
			return
		}
		c.timers.stop(memberTimer{g.id, id, joinTimer})
		if _, still := c.groups[g.id].(*consumer); still {
			c.expectMember(g.id, id, req.SessionTimeout)
			c.expectClassic(g.id, after, syncTimer)
		}
		done(JoinResult{MemberID: id, GenerationID: after.epoch, ProtocolType: &protocolType, ProtocolName: &req.Protocols[0].Name}, nil)
	})
}

// supportsClassic says whether a classic member with these protocols could take
// part.
func (g *consumer) supportsClassic(protocolType string, protocols []Protocol) bool {
	if protocolType != consumerProtocol || len(protocols) == 0 {
		return false
	}
	return slices.ContainsFunc(protocols, func(p Protocol) bool {
		for _, m := range g.members {
			if m.classic != nil && !slices.ContainsFunc(m.classic.protocols, func(o Protocol) bool { return o.Name == p.Name }) {
				return false
			}
		}
		return true
	})
}

// enterClassic is the member that a JoinGroup comes from.
func (d *consumerDraft) enterClassic(id string, instanceID *string, fresh bool) (*consumerMember, error) {
	if instanceID == nil {
		if m := d.members[id]; m != nil {
			return m, nil
		}
		return newConsumerMember(id), nil
	}
	static := d.static(*instanceID)
	switch {
	case !fresh:
		return static, d.checkStatic(static, id, *instanceID)
	case static == nil:
		return newConsumerMember(id), nil
	}
	return d.replace(static, id), nil
}

// updateClassic is the member with what a JoinGroup says.
func (m *consumerMember) updateClassic(req JoinRequest, sub subscription) *consumerMember {
	n := *m
	if req.InstanceID != nil {
		n.instanceID = req.InstanceID
	}
	if sub.rackID != nil {
		n.rackID = sub.rackID
	}
	if req.RebalanceTimeout >= 0 {
		n.rebalanceTimeout = req.RebalanceTimeout
	}
	n.topics, n.regex = sortedNames(sub.topics), ""
	n.clientID, n.clientHost = req.ClientID, req.ClientHost
	n.classic = &classicMembership{sessionTimeout: req.SessionTimeout, protocols: req.Protocols}
	return &n
}

// classicMember is the member of a group of the consumer protocol that a
// request of the classic one comes from.
func (g *consumer) classicMember(id string, instanceID *string, generation int32) (*consumerMember, error) {
	m := g.members[id]
	if instanceID != nil {
		m = g.static(*instanceID)
		if err := g.checkStatic(m, id, *instanceID); err != nil {
			return nil, err
		}
	}
	switch {
	case m == nil || m.classic == nil:
		return nil, kafka.ErrUnknownMemberID
	case generation != m.epoch:
		return nil, kafka.ErrIllegalGeneration
	}
	return m, nil
}

// syncMixed serves SyncGroup to a classic member of a group of the consumer
// protocol: its assignment is there already.
func (c consumerGroups) syncMixed(g *consumer, req SyncRequest, done func(SyncResult, error)) {
	m, err := g.classicMember(req.MemberID, req.InstanceID, req.GenerationID)
	switch {
	case err != nil:
	case req.ProtocolType != nil && *req.ProtocolType != consumerProtocol,
		req.ProtocolName != nil && *req.ProtocolName != m.classic.protocols[0].Name:
		err = kafka.ErrInconsistentGroupProtocol
	case g.targetEpoch > m.epoch && m.state != memberUnrevoked:
		c.expectClassic(g.id, m, joinTimer)
		err = kafka.ErrRebalanceInProgress
	}
	if err != nil {
		done(SyncResult{}, err)
		return
	}
	sub, err := decodeSubscription(m.classic.protocols[0].Metadata)
	if err != nil {
		done(SyncResult{}, err)
		return
	}
	c.whenReplicated(func(err error) {
		if err != nil {
			done(SyncResult{}, err)
			return
		}
		c.timers.stop(memberTimer{g.id, m.id, syncTimer})
		c.expectMember(g.id, m.id, m.classic.sessionTimeout)
		done(SyncResult{
			ProtocolType: req.ProtocolType, ProtocolName: req.ProtocolName,
			Assignment: encodeEmbeddedAssignment(sub.version, described(sortedPartitions(m.assigned), c.env.Topics)),
		}, nil)
	})
}

// heartbeatMixed serves Heartbeat to a classic member of a group of the
// consumer protocol. It is to join again when there is a new target, when it
// has partitions to give up, and when those that it waits for are free.
func (c consumerGroups) heartbeatMixed(g *consumer, req HeartbeatRequest) error {
	m, err := g.classicMember(req.MemberID, req.InstanceID, req.GenerationID)
	if err != nil {
		return err
	}
	c.expectMember(g.id, m.id, m.classic.sessionTimeout)
	if m.epoch < g.targetEpoch || m.state == memberUnrevoked || m.state == memberUnreleased && !g.waits(m) {
		if c.timers[memberTimer{g.id, m.id, joinTimer}] == nil {
			c.expectClassic(g.id, m, joinTimer)
		}
		return kafka.ErrRebalanceInProgress
	}
	return nil
}

// waits says whether others still have something of a member's target.
func (g *consumer) waits(m *consumerMember) bool {
	for p := range g.target[m.id] {
		if _, has := m.assigned[p]; !has && g.ownedByOthers(p, m.id) {
			return true
		}
	}
	return false
}
