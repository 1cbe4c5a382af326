package consumer

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/embedded"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Members of the classic protocol in a group of the consumer protocol. To them
// the member epoch is the generation, and REBALANCE_IN_PROGRESS says that there
// is another one to come for; nobody waits for others, and nobody leads.

// JoinMixed serves JoinGroup to a group of the consumer protocol that has
// members.
func (p Protocol) JoinMixed(g *Group, req group.JoinRequest, done func(group.JoinResult, error)) {
	refuse := func(err error) { done(group.RefusedJoin(req.MemberID), err) }
	if p.Config.ConsumerMigrationPolicy == group.MigrationDisabled {
		refuse(kafka.ErrInconsistentGroupProtocol)
		return
	}
	id, fresh := req.MemberID, req.MemberID == ""
	if fresh {
		id = p.memberID()
	}
	if err := g.acceptsMember(id, req.InstanceID, p.Config.ConsumerMaxSize); err != nil {
		refuse(err)
		return
	}
	if !g.supportsClassic(req.ProtocolType, req.Protocols) {
		refuse(kafka.ErrInconsistentGroupProtocol)
		return
	}
	if fresh && req.InstanceID == nil && req.RequireKnownMemberID {
		done(group.RefusedJoin(id), kafka.ErrMemberIDRequired)
		return
	}
	sub, err := embedded.DecodeSubscription(req.Protocols[0].Metadata)
	if err != nil {
		refuse(kafka.ErrInconsistentGroupProtocol)
		return
	}
	p.enterMixed(g, id, fresh, req, sub, done)
}

// enterMixed takes a classic member a step nearer to its target, and answers
// when that is replicated.
func (p Protocol) enterMixed(g *Group, id string, fresh bool, req group.JoinRequest, sub embedded.Subscription, done func(group.JoinResult, error)) {
	refuse := func(err error) { done(group.RefusedJoin(req.MemberID), err) }
	d := &draft{Group: g}
	before, err := d.enterClassic(id, req.InstanceID, fresh)
	if err != nil {
		refuse(err)
		return
	}
	after := before.updateClassic(req, sub)
	changed, err := p.subscribe(d, before, after, nil)
	if err != nil {
		refuse(err)
		return
	}
	replacesLast := p.downgrades(d.Group, nil) // the last member of the consumer protocol
	if !replacesLast {
		p.computeTarget(d)
	}
	stale := d.targetEpoch < d.epoch
	if !replacesLast || !stale {
		if after, err = p.reconcile(d, after, changed, assignment.FromNames(sub.Owned, p.Env.Topics)); err != nil {
			refuse(err)
			return
		}
	}
	if replacesLast {
		p.downgrade(d, nil, stale)
	}
	protocolType := group.ConsumerProtocol
	p.WriteChanges(d.Changes, func(err error) {
		if err != nil {
			refuse(err)
			return
		}
		p.Timers.Stop(shard.Timer{Group: g.id, Member: id, Kind: shard.JoinTimer})
		if _, still := p.Groups[g.id].(*Group); still {
			p.expectMember(g.id, id, req.SessionTimeout)
			p.expectClassic(g.id, after, shard.SyncTimer)
		}
		done(group.JoinResult{MemberID: id, GenerationID: after.Epoch, ProtocolType: &protocolType, ProtocolName: &req.Protocols[0].Name}, nil)
	})
}

// supportsClassic says whether a classic member with these protocols could take
// part.
func (g *Group) supportsClassic(protocolType string, protocols []group.Protocol) bool {
	if protocolType != group.ConsumerProtocol || len(protocols) == 0 {
		return false
	}
	return slices.ContainsFunc(protocols, func(p group.Protocol) bool {
		for _, m := range g.members {
			if m.classic != nil && !slices.ContainsFunc(m.classic.protocols, func(o group.Protocol) bool { return o.Name == p.Name }) {
				return false
			}
		}
		return true
	})
}

// enterClassic is the member that a JoinGroup comes from.
func (d *draft) enterClassic(id string, instanceID *string, fresh bool) (*member, error) {
	if instanceID == nil {
		if m := d.members[id]; m != nil {
			return m, nil
		}
		return newMember(id), nil
	}
	static := d.static(*instanceID)
	switch {
	case !fresh:
		return static, d.checkStatic(static, id, *instanceID)
	case static == nil:
		return newMember(id), nil
	}
	return d.replace(static, id), nil
}

// updateClassic is the member with what a JoinGroup says.
func (m *member) updateClassic(req group.JoinRequest, sub embedded.Subscription) *member {
	n := *m
	if req.InstanceID != nil {
		n.instanceID = req.InstanceID
	}
	if sub.RackID != nil {
		n.rackID = sub.RackID
	}
	if req.RebalanceTimeout >= 0 {
		n.rebalanceTimeout = req.RebalanceTimeout
	}
	n.topics, n.regex = group.SortedNames(sub.Topics), ""
	n.clientID, n.clientHost = req.ClientID, req.ClientHost
	n.classic = &classicMembership{sessionTimeout: req.SessionTimeout, protocols: req.Protocols}
	return &n
}

// classicMember is the member of a group of the consumer protocol that a
// request of the classic one comes from.
func (g *Group) classicMember(id string, instanceID *string, generation int32) (*member, error) {
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
	case generation != m.Epoch:
		return nil, kafka.ErrIllegalGeneration
	}
	return m, nil
}

// SyncMixed serves SyncGroup to a classic member of a group of the consumer
// protocol: its assignment is there already.
func (p Protocol) SyncMixed(g *Group, req group.SyncRequest, done func(group.SyncResult, error)) {
	m, err := g.classicMember(req.MemberID, req.InstanceID, req.GenerationID)
	switch {
	case err != nil:
	case req.ProtocolType != nil && *req.ProtocolType != group.ConsumerProtocol,
		req.ProtocolName != nil && *req.ProtocolName != m.classic.protocols[0].Name:
		err = kafka.ErrInconsistentGroupProtocol
	case g.targetEpoch > m.Epoch && m.State != assignment.Unrevoked:
		p.expectClassic(g.id, m, shard.JoinTimer)
		err = kafka.ErrRebalanceInProgress
	}
	if err != nil {
		done(group.SyncResult{}, err)
		return
	}
	sub, err := embedded.DecodeSubscription(m.classic.protocols[0].Metadata)
	if err != nil {
		done(group.SyncResult{}, err)
		return
	}
	p.WhenReplicated(func(err error) {
		if err != nil {
			done(group.SyncResult{}, err)
			return
		}
		p.Timers.Stop(shard.Timer{Group: g.id, Member: m.id, Kind: shard.SyncTimer})
		p.expectMember(g.id, m.id, m.classic.sessionTimeout)
		done(group.SyncResult{
			ProtocolType: req.ProtocolType, ProtocolName: req.ProtocolName,
			Assignment: embedded.EncodeAssignment(sub.Version, assignment.NamedTopics(assignment.Sorted(m.Assigned), p.Env.Topics)),
		}, nil)
	})
}

// HeartbeatMixed serves Heartbeat to a classic member of a group of the
// consumer protocol. It is to join again when there is a new target, when it
// has partitions to give up, and when those that it waits for are free.
func (p Protocol) HeartbeatMixed(g *Group, req group.HeartbeatRequest) error {
	m, err := g.classicMember(req.MemberID, req.InstanceID, req.GenerationID)
	if err != nil {
		return err
	}
	p.expectMember(g.id, m.id, m.classic.sessionTimeout)
	if m.Epoch < g.targetEpoch || m.State == assignment.Unrevoked || m.State == assignment.Unreleased && !g.waits(m) {
		if p.Timers[shard.Timer{Group: g.id, Member: m.id, Kind: shard.JoinTimer}] == nil {
			p.expectClassic(g.id, m, shard.JoinTimer)
		}
		return kafka.ErrRebalanceInProgress
	}
	return nil
}

// waits says whether others still have something of a member's target.
func (g *Group) waits(m *member) bool {
	for p := range g.target[m.id] {
		if _, has := m.Assigned[p]; !has && g.ownedByOthers(p, m.id) {
			return true
		}
	}
	return false
}
