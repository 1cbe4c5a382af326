package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// streamsProtocol is the protocol type of streams groups.
const streamsProtocol = "streams"

// streams is a group of the streams protocol (KIP-1071). It changes by its
// records, and by nothing else unless a field says so. Active tasks only are assigned: standbys and
// warm-ups have no part in what is committed.
type streams struct {
	id           string
	epoch        int32
	metadataHash uint64
	// validated is the epoch of the topology whose topics were all there; -1 if
	// some are missing.
	validated   int32
	standbys    string // num.standby.replicas as it was last taken into account
	targetEpoch int32
	targetAt    int64 // in milliseconds; 0 before the first
	topology    *Topology
	members     map[string]*streamsMember
	target      map[string]map[task]bool // by member id
	// configured says that a heartbeat came to the group as it is in memory; it is
	// in no record. Like Kafka, which only then knows what the topology amounts to,
	// the first assignment waits for it.
	configured bool
}

func newStreams(id string) *streams {
	return &streams{
		id: id, epoch: initialEpoch, targetEpoch: initialEpoch,
		members: make(map[string]*streamsMember),
		target:  make(map[string]map[task]bool),
	}
}

// clone is a copy that can change on its own.
func (g *streams) clone() *streams {
	c := *g
	c.members, c.target = maps.Clone(g.members), maps.Clone(g.target)
	return &c
}

// state follows from topology, members and epochs.
func (g *streams) state() State {
	switch {
	case len(g.members) == 0:
		return Empty
	case g.topology == nil || g.topology.Epoch != g.validated:
		return NotReady
	case g.epoch > g.targetEpoch:
		return Assigning
	}
	for _, m := range g.members {
		if !m.reconciledTo(g.targetEpoch) {
			return Reconciling
		}
	}
	return Stable
}

// sorted is the members in the order of their ids.
func (g *streams) sorted() []*streamsMember {
	return slices.SortedFunc(maps.Values(g.members), func(a, b *streamsMember) int { return cmp.Compare(a.id, b.id) })
}

// member is a member by id, or UNKNOWN_MEMBER_ID.
func (g *streams) member(id string) (*streamsMember, error) {
	if m := g.members[id]; m != nil {
		return m, nil
	}
	return nil, refuse(kafka.ErrUnknownMemberID, "Member %s is not a member of group %s.", id, g.id)
}

// ownedByOthers says whether a task is still with another process: members of
// one process hand tasks over among themselves.
func (g *streams) ownedByOthers(t task, m *streamsMember) bool {
	for _, other := range g.members {
		if other.processID != m.processID && other.owns(t) {
			return true
		}
	}
	return false
}

func (g *streams) kind() Kind { return Streams }

func (g *streams) listing() Listing {
	return Listing{GroupID: g.id, ProtocolType: streamsProtocol, State: g.state(), Kind: Streams}
}

func (g *streams) subscribes(topic string) bool {
	return len(g.members) > 0 && g.topology != nil && slices.Contains(g.topology.sourceTopics(), topic)
}

func (g *streams) expiresFrom(topic string, stored *commit) (int64, bool) {
	return stored.at, !g.subscribes(topic)
}

func (g *streams) validateOffsetDelete() error { return nil }

// validateCommit is rules H4 and H5 for members of the streams protocol.
func (g *streams) validateCommit(a commitAttempt) (commitCheck, error) {
	if a.epoch < 0 && len(g.members) == 0 || a.transactional && a.anonymous() {
		return nil, nil
	}
	m, err := g.member(a.memberID)
	switch {
	case err != nil:
		return nil, err
	case !a.transactional && !a.knowsEpochs:
		return nil, refuse(kafka.ErrUnsupportedVersion, "OffsetCommit version 9 or above must be used by members using the streams group protocol")
	case a.epoch == m.epoch:
		return nil, nil
	case a.epoch > m.epoch:
		return nil, refuse(kafka.ErrStaleMemberEpoch, "Received member epoch %d is newer than current member epoch %d.", a.epoch, m.epoch)
	}
	// An older epoch is good for partitions of tasks that the member has had
	// since then (KIP-1251).
	return func(p idPartition) error {
		for t, since := range m.assigned {
			if t.partition == p.partition && since <= a.epoch {
				return nil
			}
		}
		for t, since := range m.revoking {
			if t.partition == p.partition && since <= a.epoch {
				return nil
			}
		}
		return refuse(kafka.ErrStaleMemberEpoch, "Received member epoch %d is older than the assignment of partition %d.", a.epoch, p.partition)
	}, nil
}

func (g *streams) validateFetch(memberID *string, epoch int32) error {
	if memberID == nil && epoch < 0 {
		return nil
	}
	id := ""
	if memberID != nil {
		id = *memberID
	}
	m, err := g.member(id)
	if err == nil && epoch != m.epoch {
		err = refuse(kafka.ErrStaleMemberEpoch, "The received member epoch %d does not match the expected member epoch %d.", epoch, m.epoch)
	}
	return err
}

// String is the group in one line: G1 Stable epoch 3 [a@3 b@3].
func (g *streams) String() string {
	var members []string
	for _, m := range g.sorted() {
		members = append(members, fmt.Sprintf("%s@%d", m.id, m.epoch))
	}
	return fmt.Sprintf("%s %s epoch %d [%s]", g.id, g.state(), g.epoch, strings.Join(members, " "))
}
