package classic

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/offsets"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// validate finds the member that a request comes from (rule H2).
func (g *Group) validate(id string, instanceID *string) (*Member, error) {
	if instanceID != nil {
		static := g.static(*instanceID)
		switch {
		case static == nil:
			return nil, kafka.ErrUnknownMemberID
		case static.ID != id:
			return nil, kafka.ErrFencedInstanceID
		}
	}
	m := g.member(id)
	if m == nil {
		return nil, kafka.ErrUnknownMemberID
	}
	return m, nil
}

// ValidateCommit says who may commit offsets (rules H4, H5).
func (g *Group) ValidateCommit(a shard.CommitAttempt) (shard.CommitCheck, error) {
	switch {
	case a.Epoch < 0 && g.state == group.Empty:
		return nil, nil
	case a.Epoch >= 0 || a.MemberID != "" || a.InstanceID != nil:
		if _, err := g.validate(a.MemberID, a.InstanceID); err != nil {
			return nil, err
		}
		if a.Epoch != g.Number {
			return nil, kafka.ErrIllegalGeneration
		}
	case !a.Transactional:
		return nil, kafka.ErrUnknownMemberID
	}
	if !a.Transactional && g.state == group.CompletingRebalance {
		return nil, kafka.ErrRebalanceInProgress
	}
	return nil, nil
}

// ValidateFetch lets everybody read.
func (g *Group) ValidateFetch(*string, int32) error { return nil }

// ValidateOffsetDelete refuses while there are members that are no consumers.
func (g *Group) ValidateOffsetDelete() error {
	if g.state != group.Empty && !g.IsConsumer() {
		return kafka.ErrNonEmptyGroup
	}
	return nil
}

// ExpiresFrom is rule H11: offsets of a group without members count from when
// it became Empty, those of a simple group, and of topics that a Stable group
// no longer consumes, from each commit.
func (g *Group) ExpiresFrom(topic string, stored *offsets.Commit) (int64, bool) {
	switch {
	case g.Subscribes(topic):
		return 0, false
	case g.protocolType == "":
	case g.state == group.Empty:
		if g.since != group.NoTime {
			return g.since, true
		}
	case !g.IsConsumer() || g.subscribed == nil || g.state != group.Stable:
		return 0, false
	}
	return stored.At, true
}

func (g *Group) validateSync(req group.SyncRequest) (*Member, error) {
	differs := func(asked, chosen *string) bool { return asked != nil && chosen != nil && *asked != *chosen }
	m, err := g.validate(req.MemberID, req.InstanceID)
	switch {
	case err != nil:
		return nil, err
	case req.GenerationID != g.Number:
		return nil, kafka.ErrIllegalGeneration
	case differs(req.ProtocolType, &g.protocolType), differs(req.ProtocolName, g.Protocol):
		return nil, kafka.ErrInconsistentGroupProtocol
	}
	return m, nil
}
