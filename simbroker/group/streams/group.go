// Package streams is the protocol of streams groups (KIP-1071): members bring a
// topology and are assigned its tasks. Groups change by their records, as those
// of the consumer protocol do, and have the same states, and NotReady while
// topics that the topology needs are missing.
package streams

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/offsets"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// protocolType is the protocol type of streams groups.
const protocolType = "streams"

// Group is a group of the streams protocol (KIP-1071). It changes by its
// records, and by nothing else unless a field says so. There are no warm-ups:
// Kafka 4.3 assigns none.
type Group struct {
	id           string
	epoch        int32
	metadataHash uint64
	// validated is the epoch of the topology whose topics were all there; -1 if
	// some are missing.
	validated   int32
	standbys    string // num.standby.replicas as it was last taken into account
	targetEpoch int32
	targetAt    int64 // in milliseconds; 0 before the first
	topology    *group.Topology
	members     map[string]*member
	target      map[string]map[task]bool // by member id
	// configured says that a heartbeat came to the group as it is in memory; it is
	// in no record. Like Kafka, which only then knows what the topology amounts to,
	// the first assignment waits for it.
	configured bool
	// endpointEpoch counts the changes of what members with an endpoint have. It is
	// in no record either.
	endpointEpoch int32
}

// New is a group that nobody has joined.
func New(id string) *Group {
	return &Group{
		id: id, epoch: group.InitialEpoch, targetEpoch: group.InitialEpoch,
		members: make(map[string]*member),
		target:  make(map[string]map[task]bool),
	}
}

// clone is a copy that can change on its own.
func (g *Group) clone() *Group {
	c := *g
	c.members, c.target = maps.Clone(g.members), maps.Clone(g.target)
	return &c
}

// state follows from topology, members and epochs.
func (g *Group) state() group.State {
	switch {
	case len(g.members) == 0:
		return group.Empty
	case g.topology == nil || g.topology.Epoch != g.validated:
		return group.NotReady
	case g.epoch > g.targetEpoch:
		return group.Assigning
	}
	for _, m := range g.members {
		if !m.ReconciledTo(g.targetEpoch) {
			return group.Reconciling
		}
	}
	return group.Stable
}

// sorted is the members in the order of their ids.
func (g *Group) sorted() []*member {
	return slices.SortedFunc(maps.Values(g.members), func(a, b *member) int { return cmp.Compare(a.id, b.id) })
}

// member is a member by id, or UNKNOWN_MEMBER_ID.
func (g *Group) member(id string) (*member, error) {
	if m := g.members[id]; m != nil {
		return m, nil
	}
	return nil, group.Refuse(kafka.ErrUnknownMemberID, "Member %s is not a member of group %s.", id, g.id)
}

// taken says whether a member has to wait for a task: for an active one, until
// nobody works on it any more, and for either until its own process has it in no
// role.
func (g *Group) taken(t task, m *member) bool {
	for _, other := range g.members {
		same := other.processID == m.processID
		if (same || !t.standby) && other.Owns(t.as(false)) || same && other.Owns(t.as(true)) {
			return true
		}
	}
	return false
}

// Kind is Streams.
func (g *Group) Kind() group.Kind { return group.Streams }

// Listing is how ListGroups shows the group.
func (g *Group) Listing() group.Listing {
	return group.Listing{GroupID: g.id, ProtocolType: protocolType, State: g.state(), Kind: group.Streams}
}

// Subscribes says whether members consume a topic.
func (g *Group) Subscribes(topic string) bool {
	return len(g.members) > 0 && g.topology != nil && slices.Contains(g.topology.SourceTopics(), topic)
}

// ExpiresFrom is rule H11: from each commit, unless members read the topic.
func (g *Group) ExpiresFrom(topic string, stored *offsets.Commit) (int64, bool) {
	return stored.At, !g.Subscribes(topic)
}

// ValidateOffsetDelete allows it, also while there are members.
func (g *Group) ValidateOffsetDelete() error { return nil }

// ValidateCommit is rules H4 and H5 for members of the streams protocol.
func (g *Group) ValidateCommit(a shard.CommitAttempt) (shard.CommitCheck, error) {
	if a.Epoch < 0 && len(g.members) == 0 || a.Transactional && a.Anonymous() {
		return nil, nil
	}
	m, err := g.member(a.MemberID)
	switch {
	case err != nil:
		return nil, err
	case !a.Transactional && !a.KnowsEpochs:
		return nil, group.Refuse(kafka.ErrUnsupportedVersion, "OffsetCommit version 9 or above must be used by members using the streams group protocol")
	case a.Epoch == m.Epoch:
		return nil, nil
	case a.Epoch > m.Epoch:
		return nil, group.Refuse(kafka.ErrStaleMemberEpoch, "Received member epoch %d is newer than current member epoch %d.", a.Epoch, m.Epoch)
	}
	// An older epoch is good for partitions of tasks that the member has had
	// since then (KIP-1251).
	return func(p assignment.Partition) error {
		for t, since := range only(m.Assigned, false) {
			if t.partition == p.Number && since <= a.Epoch {
				return nil
			}
		}
		for t, since := range only(m.Revoking, false) {
			if t.partition == p.Number && since <= a.Epoch {
				return nil
			}
		}
		return group.Refuse(kafka.ErrStaleMemberEpoch, "Received member epoch %d is older than the assignment of partition %d.", a.Epoch, p.Number)
	}, nil
}

// ValidateFetch holds a client that names itself to its member's epoch.
func (g *Group) ValidateFetch(memberID *string, epoch int32) error {
	if memberID == nil && epoch < 0 {
		return nil
	}
	id := ""
	if memberID != nil {
		id = *memberID
	}
	m, err := g.member(id)
	if err == nil && epoch != m.Epoch {
		err = group.Refuse(kafka.ErrStaleMemberEpoch, "The received member epoch %d does not match the expected member epoch %d.", epoch, m.Epoch)
	}
	return err
}

// String is the group in one line: G1 Stable epoch 3 [a@3 b@3].
func (g *Group) String() string {
	var members []string
	for _, m := range g.sorted() {
		members = append(members, fmt.Sprintf("%s@%d", m.id, m.Epoch))
	}
	return fmt.Sprintf("%s %s epoch %d [%s]", g.id, g.state(), g.epoch, strings.Join(members, " "))
}
