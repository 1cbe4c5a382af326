package consumer

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/classic"
	"github.com/lso-exporter/lso-exporter/simbroker/group/embedded"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// upgrade makes a classic group with members one of the consumer protocol: its
// members go on with the classic protocol in it, at the generation that they
// have, and those who wait are told to come again.
func (p Protocol) upgrade(g *classic.Group) (*draft, error) {
	switch {
	case !p.Config.ConsumerMigrationPolicy.Upgrades():
		return nil, group.Refuse(kafka.ErrGroupIDNotFound, "Cannot upgrade classic group %s to consumer group because online upgrade is disabled.", g.ID)
	case !g.IsConsumer():
		return nil, group.Refuse(kafka.ErrGroupIDNotFound, "Cannot upgrade classic group %s to consumer group because the group does not use the consumer embedded protocol.", g.ID)
	case len(g.Members) > p.Config.ConsumerMaxSize:
		return nil, group.Refuse(kafka.ErrGroupIDNotFound, "Cannot upgrade classic group %s to consumer group because the group size exceeds the consumer group maximum size.", g.ID)
	}
	upgraded := New(g.ID)
	upgraded.epoch, upgraded.targetEpoch = g.Number, g.Number
	for _, m := range g.Members {
		converted, err := p.upgradedMember(g, m)
		if err != nil {
			return nil, err
		}
		upgraded.members[m.ID] = converted
		upgraded.target[m.ID] = assignment.SetOfKeys(converted.Assigned)
	}
	upgraded.metadataHash = assignment.Hash(upgraded.allTopics(), p.Env.Topics)
	g.SendAway(kafka.ErrRebalanceInProgress)
	d := &draft{Group: New(g.ID), copied: true, Changes: shard.Changes{Records: g.Tombstones()}}
	for _, r := range upgraded.Snapshot() {
		d.emit(r)
	}
	for _, m := range d.sorted() {
		p.expectMember(g.ID, m.id, m.classic.sessionTimeout)
	}
	return d, nil
}

// upgradedMember is a classic member as the group of the consumer protocol
// takes it over.
func (p Protocol) upgradedMember(g *classic.Group, m *classic.Member) (*member, error) {
	malformed := group.Refuse(kafka.ErrGroupIDNotFound, "Cannot upgrade classic group %s to consumer group because the embedded consumer protocol is malformed.", g.ID)
	metadata := m.Protocols[0].Metadata
	if g.Protocol != nil {
		metadata = *m.Metadata(*g.Protocol)
	}
	sub, err := embedded.DecodeSubscription(metadata)
	if err != nil {
		return nil, malformed
	}
	topics, custom, err := embedded.DecodeAssignment(m.Assignment)
	switch {
	case err != nil:
		return nil, malformed
	case custom:
		return nil, group.Refuse(kafka.ErrGroupIDNotFound, "Cannot upgrade classic group %s to consumer group because an unsupported custom assignor is in use. "+
			"Please refer to the documentation or switch to a default assignor before re-attempting the upgrade.", g.ID)
	}
	converted := &member{
		id: m.ID, Holding: assignment.Holding[assignment.Partition]{Epoch: g.Number, Previous: g.Number, Assigned: make(assignment.Ownership)},
		instanceID: m.InstanceID, rackID: sub.RackID, rebalanceTimeout: m.RebalanceTimeout,
		clientID: m.ClientID, clientHost: m.ClientHost, topics: group.SortedNames(sub.Topics),
		classic: &classicMembership{sessionTimeout: m.SessionTimeout, protocols: m.Protocols},
	}
	for partition := range assignment.FromNames(topics, p.Env.Topics) {
		converted.Assigned[partition] = g.Number
	}
	return converted, nil
}

// draftGroup begins with the group as it is, with a new one, or with what
// becomes of a classic group when a member of the consumer protocol joins it.
func (p Protocol) draftGroup(id string, create bool) (*draft, error) {
	switch g := p.Groups[id].(type) {
	case *Group:
		return &draft{Group: g}, nil
	case nil:
		if !create {
			return nil, group.Refuse(kafka.ErrGroupIDNotFound, "Consumer group %s not found.", id)
		}
		return &draft{Group: New(id), copied: true}, nil
	case *classic.Group:
		if !create {
			return nil, group.NotA("consumer", id)
		}
		if g.Listing().State == group.Empty {
			return &draft{Group: New(id), copied: true, Changes: shard.Changes{Records: g.Tombstones()}}, nil
		}
		return p.upgrade(g)
	}
	return nil, group.NotA("consumer", id)
}
