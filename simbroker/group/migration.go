package group

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// MigrationPolicy is group.consumer.migration.policy: which groups change their
// protocol while they have members.
type MigrationPolicy string

// The policies, by Kafka's names.
const (
	MigrationBidirectional MigrationPolicy = "bidirectional"
	MigrationUpgrade       MigrationPolicy = "upgrade"
	MigrationDowngrade     MigrationPolicy = "downgrade"
	MigrationDisabled      MigrationPolicy = "disabled"
)

// upgrades says whether a classic group may become one of the consumer
// protocol.
func (p MigrationPolicy) upgrades() bool {
	return p == MigrationBidirectional || p == MigrationUpgrade
}

// downgrades says whether a group of the consumer protocol may become a classic
// one.
func (p MigrationPolicy) downgrades() bool {
	return p == MigrationBidirectional || p == MigrationDowngrade
}

// upgrade makes a classic group with members one of the consumer protocol: its
// members go on with the classic protocol in it, at the generation that they
// have, and those who wait are told to come again.
func (c *Coordinator) upgrade(s *shard, g *classic) (*consumerDraft, error) {
	switch {
	case !c.cfg.ConsumerMigrationPolicy.upgrades():
		return nil, refuse(kafka.ErrGroupIDNotFound, "Cannot upgrade classic group %s to consumer group because online upgrade is disabled.", g.id)
	case !g.isConsumer():
		return nil, refuse(kafka.ErrGroupIDNotFound, "Cannot upgrade classic group %s to consumer group because the group does not use the consumer embedded protocol.", g.id)
	case len(g.members) > c.cfg.ConsumerMaxSize:
		return nil, refuse(kafka.ErrGroupIDNotFound, "Cannot upgrade classic group %s to consumer group because the group size exceeds the consumer group maximum size.", g.id)
	}
	upgraded := newConsumer(g.id)
	upgraded.epoch, upgraded.targetEpoch = g.number, g.number
	for _, m := range g.members {
		converted, err := c.upgradedMember(g, m)
		if err != nil {
			return nil, err
		}
		upgraded.members[m.id] = converted
		upgraded.target[m.id] = setOfKeys(converted.assigned)
	}
	upgraded.metadataHash = topicsHash(upgraded.allTopics(), c.env.Topics)
	for _, m := range slices.Clone(g.members) {
		m.answerJoin(refusedJoin(m.id), kafka.ErrRebalanceInProgress)
		m.answerSync(SyncResult{}, kafka.ErrRebalanceInProgress)
	}
	d := &consumerDraft{consumer: newConsumer(g.id), copied: true, changes: changes{records: g.tombstones()}}
	for _, r := range upgraded.snapshot() {
		d.emit(r)
	}
	for _, m := range d.sorted() {
		c.expectMember(s, g.id, m.id, m.classic.sessionTimeout)
	}
	return d, nil
}

// upgradedMember is a classic member as the group of the consumer protocol
// takes it over.
func (c *Coordinator) upgradedMember(g *classic, m *member) (*consumerMember, error) {
	malformed := refuse(kafka.ErrGroupIDNotFound, "Cannot upgrade classic group %s to consumer group because the embedded consumer protocol is malformed.", g.id)
	metadata := m.protocols[0].Metadata
	if g.protocol != nil {
		metadata = *m.metadata(*g.protocol)
	}
	sub, err := decodeSubscription(metadata)
	if err != nil {
		return nil, malformed
	}
	topics, custom, err := decodeEmbeddedAssignment(m.assignment)
	switch {
	case err != nil:
		return nil, malformed
	case custom:
		return nil, refuse(kafka.ErrGroupIDNotFound, "Cannot upgrade classic group %s to consumer group because an unsupported custom assignor is in use. "+
			"Please refer to the documentation or switch to a default assignor before re-attempting the upgrade.", g.id)
	}
	converted := &consumerMember{
		id: m.id, holding: holding[idPartition]{epoch: g.number, previous: g.number, assigned: make(ownership)},
		instanceID: m.instanceID, rackID: sub.rackID, rebalanceTimeout: m.rebalanceTimeout,
		clientID: m.clientID, clientHost: m.clientHost, topics: sortedNames(sub.topics),
		classic: &classicMembership{sessionTimeout: m.sessionTimeout, protocols: m.protocols},
	}
	for p := range withIDs(topics, c.env.Topics) {
		converted.assigned[p] = g.number
	}
	return converted, nil
}

// snapshot is the records that say all that a group is.
func (g *consumer) snapshot() []Record {
	var records []Record
	for _, m := range g.sorted() {
		records = append(records, consumerMemberRecord(g.id, m))
	}
	records = append(records, consumerEpochRecord(g.id, g.epoch, g.metadataHash))
	for _, m := range g.sorted() {
		records = append(records, consumerTargetRecord(g.id, m.id, g.target[m.id]))
	}
	records = append(records, consumerTargetEpochRecord(g.id, g.targetEpoch, g.targetAt))
	for _, m := range g.sorted() {
		records = append(records, currentAssignmentRecord(g.id, m))
	}
	return records
}

// downgrades says whether a group goes back to the classic protocol when some
// members leave: all the others speak it.
func (c *Coordinator) downgrades(g *consumer, leaving []*consumerMember) bool {
	stay := 0
	for _, m := range g.members {
		if slices.Contains(leaving, m) {
			continue
		}
		if m.classic == nil {
			return false
		}
		stay++
	}
	return stay > 0 && stay <= c.cfg.MaxSize && c.cfg.ConsumerMigrationPolicy.downgrades()
}

// downgrade makes a group a classic one of the members that stay. It may have
// to rebalance once that is in the log.
func (c *Coordinator) downgrade(s *shard, d *consumerDraft, leaving []*consumerMember, rebalance bool) {
	old := d.consumer
	g := newClassic(old.id, c.now())
	g.state, g.number = Stable, old.epoch
	for _, m := range old.sorted() {
		if !slices.Contains(leaving, m) {
			g.add(&member{
				id: m.id, instanceID: m.instanceID, clientID: m.clientID, clientHost: m.clientHost,
				rebalanceTimeout: m.rebalanceTimeout, sessionTimeout: m.classic.sessionTimeout,
				protocolType: consumerProtocol, protocols: m.classic.protocols,
			})
		}
		s.stopTimers(old.id, m.id)
	}
	chosen := g.vote()
	g.protocol = &chosen
	assignment := make(map[string][]byte)
	for _, m := range g.members {
		sub, err := decodeSubscription(*m.metadata(chosen))
		if err != nil {
			sub.version = 0
		}
		assignment[m.id] = encodeEmbeddedAssignment(sub.version, described(sortedPartitions(old.target[m.id]), c.env.Topics))
	}
	d.records = append(d.records, old.tombstones()...)
	d.records = append(d.records, g.record(assignment))
	d.written = func() { c.afterDowngrade(s, g, rebalance) }
}

// afterDowngrade gives a group that has come back to the classic protocol what
// its record does not have: all of its members' protocols, and their sessions.
func (c *Coordinator) afterDowngrade(s *shard, was *classic, rebalance bool) {
	g, ok := s.groups[was.id].(*classic)
	if !ok {
		return
	}
	for _, m := range g.members {
		m.protocols = was.member(m.id).protocols
		c.expectHeartbeat(s, g, m, m.sessionTimeout)
	}
	if rebalance {
		c.prepareRebalance(s, g)
	}
}
