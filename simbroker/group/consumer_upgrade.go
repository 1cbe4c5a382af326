package group

import (
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// upgrade makes a classic group with members one of the consumer protocol: its
// members go on with the classic protocol in it, at the generation that they
// have, and those who wait are told to come again.
func (c consumerGroups) upgrade(g *classic) (*consumerDraft, error) {
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
	g.sendAway(kafka.ErrRebalanceInProgress)
	d := &consumerDraft{consumer: newConsumer(g.id), copied: true, changes: changes{records: g.tombstones()}}
	for _, r := range upgraded.snapshot() {
		d.emit(r)
	}
	for _, m := range d.sorted() {
		c.expectMember(g.id, m.id, m.classic.sessionTimeout)
	}
	return d, nil
}

// upgradedMember is a classic member as the group of the consumer protocol
// takes it over.
func (c consumerGroups) upgradedMember(g *classic, m *member) (*consumerMember, error) {
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

// draftConsumer begins with the group as it is, with a new one, or with what
// becomes of a classic group when a member of the consumer protocol joins it.
func (c consumerGroups) draftConsumer(id string, create bool) (*consumerDraft, error) {
	switch g := c.groups[id].(type) {
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
		if g.listing().State == Empty {
			return &consumerDraft{consumer: newConsumer(id), copied: true, changes: changes{records: g.tombstones()}}, nil
		}
		return c.upgrade(g)
	}
	return nil, notA("consumer", id)
}
