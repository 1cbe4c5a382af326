package consumer

import (
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// acceptsMember says whether the group's size lets a member in.
func (g *Group) acceptsMember(id string, instanceID *string, limit int) error {
	if instanceID != nil && g.static(*instanceID) != nil || g.members[id] != nil || len(g.members) < limit {
		return nil
	}
	return group.Refuse(kafka.ErrGroupMaxSizeReached, "The consumer group has reached its maximum capacity of %d members.", limit)
}

// enter is the member that a heartbeat of the consumer protocol comes from: an
// old one, a new one, or one that takes the place of a static member.
func (d *draft) enter(id string, instanceID *string, epoch int32, owned []group.AssignedTopic) (*member, error) {
	if instanceID == nil {
		m := d.members[id]
		if m == nil && epoch == group.JoinEpoch {
			return newMember(id), nil
		}
		if m == nil {
			_, err := d.member(id)
			return nil, err
		}
		return m, m.acceptsEpoch(epoch, owned)
	}
	static := d.static(*instanceID)
	if epoch != group.JoinEpoch {
		if err := d.checkStatic(static, id, *instanceID); err != nil {
			return nil, err
		}
		return static, static.acceptsEpoch(epoch, owned)
	}
	switch {
	case static == nil && d.members[id] != nil:
		return d.members[id], nil
	case static == nil:
		return newMember(id), nil
	case static.classic == nil && static.Epoch != group.StaticLeaveEpoch:
		return nil, group.Refuse(kafka.ErrUnreleasedInstanceID, "Static member %s with instance id %s cannot join the group because the instance id is owned by %s member.",
			id, *instanceID, static.id)
	}
	return d.replace(static, id), nil
}

// checkStatic says whether a request comes from the present holder of an
// instance id.
func (g *Group) checkStatic(static *member, id, instanceID string) error {
	switch {
	case static == nil:
		return group.Refuse(kafka.ErrUnknownMemberID, "Instance id %s is unknown.", instanceID)
	case static.id != id:
		return group.Refuse(kafka.ErrFencedInstanceID, "Static member %s with instance id %s was fenced by member %s.", id, instanceID, static.id)
	}
	return nil
}

// acceptsEpoch says whether a member may come with an epoch. The previous one
// is good if the member has nothing beyond its assignment: it missed the answer
// that told it of the present one.
func (m *member) acceptsEpoch(epoch int32, owned []group.AssignedTopic) error {
	switch {
	case epoch == group.JoinEpoch || epoch == m.Epoch:
		return nil
	case epoch > m.Epoch:
		return group.Refuse(kafka.ErrFencedMemberEpoch, "The consumer group member has a greater member epoch (%d) than the one known by the group coordinator (%d). "+
			"The member must abandon all its partitions and rejoin.", epoch, m.Epoch)
	case epoch == m.Previous && owned != nil && m.covers(assignment.FromTopics(owned)):
		return nil
	}
	return group.Refuse(kafka.ErrFencedMemberEpoch, "The consumer group member has a smaller member epoch (%d) than the one known by the group coordinator (%d). "+
		"The member must abandon all its partitions and rejoin.", epoch, m.Epoch)
}

// covers says whether all of some partitions are assigned to the member.
func (m *member) covers(partitions assignment.Set) bool {
	for p := range partitions {
		if _, ok := m.Assigned[p]; !ok {
			return false
		}
	}
	return true
}

// memberID is an id for a member that has none, in the form of Kafka's Uuid.
func (p Protocol) memberID() string {
	raw, err := hex.DecodeString(strings.ReplaceAll(p.Env.UUID(), "-", ""))
	if err != nil {
		panic("member id: the environment gave no UUID: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}
