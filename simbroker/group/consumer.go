package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// consumer is a group of the consumer protocol (KIP-848, rule H3). It changes
// by its records and by nothing else, so that a loaded group is what its writer
// had in memory. Members never change; a change makes a new value.
type consumer struct {
	id           string
	epoch        int32 // of the group: rises with what members subscribe to and with topics
	metadataHash uint64
	// targetEpoch is the group epoch for which target was computed; -1 once its
	// record was deleted.
	targetEpoch int32
	targetAt    int64 // when, in milliseconds; 0 before the first
	members     map[string]*consumerMember
	target      map[string]partitionSet // by member id
	regexes     map[string]resolvedRegex
}

func newConsumer(id string) *consumer {
	return &consumer{
		id: id, epoch: initialEpoch, targetEpoch: initialEpoch,
		members: make(map[string]*consumerMember),
		target:  make(map[string]partitionSet),
		regexes: make(map[string]resolvedRegex),
	}
}

// clone is a copy that can change on its own.
func (g *consumer) clone() *consumer {
	c := *g
	c.members, c.target, c.regexes = maps.Clone(g.members), maps.Clone(g.target), maps.Clone(g.regexes)
	return &c
}

// state follows from members and epochs.
func (g *consumer) state() State {
	switch {
	case len(g.members) == 0:
		return Empty
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
func (g *consumer) sorted() []*consumerMember {
	return slices.SortedFunc(maps.Values(g.members), func(a, b *consumerMember) int { return cmp.Compare(a.id, b.id) })
}

// static is the static member of an instance id, nil if there is none.
func (g *consumer) static(instanceID string) *consumerMember {
	for _, m := range g.members {
		if m.instanceID != nil && *m.instanceID == instanceID {
			return m
		}
	}
	return nil
}

// subscribedTo is the topic names that a member subscribes to, by name and by
// what its regular expression has been resolved to.
func (g *consumer) subscribedTo(m *consumerMember) []string {
	if m.regex == "" || len(g.regexes[m.regex].topics) == 0 {
		return m.topics
	}
	names := slices.Concat(m.topics, g.regexes[m.regex].topics)
	slices.Sort(names)
	return slices.Compact(names)
}

// allTopics is the topic names that anybody subscribes to, sorted.
func (g *consumer) allTopics() []string {
	all := make(map[string]bool)
	for _, m := range g.members {
		for _, name := range m.topics {
			all[name] = true
		}
	}
	for _, r := range g.regexes {
		for _, name := range r.topics {
			all[name] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// regexSubscribers is how many members subscribe by each regular expression.
func (g *consumer) regexSubscribers() map[string]int {
	counts := make(map[string]int)
	for _, m := range g.members {
		if m.regex != "" {
			counts[m.regex]++
		}
	}
	return counts
}

// preferredAssignor is the server-side assignor that most members ask for, of
// several the first by name; fallback if nobody asks.
func (g *consumer) preferredAssignor(fallback string) string {
	counts := make(map[string]int)
	for _, m := range g.members {
		if m.assignor != nil {
			counts[*m.assignor]++
		}
	}
	chosen := fallback
	for i, name := range slices.Sorted(maps.Keys(counts)) {
		if i == 0 || counts[name] > counts[chosen] {
			chosen = name
		}
	}
	return chosen
}

// ownedByOthers says whether a partition is still with another member.
func (g *consumer) ownedByOthers(p idPartition, memberID string) bool {
	for id, m := range g.members {
		if id != memberID && m.owns(p) {
			return true
		}
	}
	return false
}

func (g *consumer) kind() Kind { return Consumer }

func (g *consumer) listing() Listing {
	return Listing{GroupID: g.id, ProtocolType: consumerProtocol, State: g.state(), Kind: Consumer}
}

func (g *consumer) subscribes(topic string) bool { return slices.Contains(g.allTopics(), topic) }

func (g *consumer) expiresFrom(topic string, stored *commit) (int64, bool) {
	return stored.at, !g.subscribes(topic)
}

func (g *consumer) validateOffsetDelete() error { return nil }

// validateCommit is rules H4 and H5 for members of the consumer protocol, and
// for those of the classic one beside them.
func (g *consumer) validateCommit(a commitAttempt) (commitCheck, error) {
	if a.epoch < 0 && len(g.members) == 0 || a.transactional && a.anonymous() {
		return nil, nil
	}
	m, err := g.member(a.memberID)
	if err != nil {
		return nil, err
	}
	if !a.transactional && m.classic == nil && !a.knowsEpochs {
		return nil, refuse(kafka.ErrUnsupportedVersion, "OffsetCommit version 9 or above must be used by members using the consumer group protocol")
	}
	switch {
	case a.epoch == m.epoch:
		return nil, nil
	case a.epoch > m.epoch:
		return nil, m.stale("Received %s %d is newer than current member epoch %d.", m.epochName(), a.epoch, m.epoch)
	}
	// An older epoch is good for partitions that the member has had since then
	// (KIP-1251).
	return func(p idPartition) error {
		since, ok := m.assigned[p]
		if !ok {
			since, ok = m.revoking[p]
		}
		switch {
		case !ok:
			return m.stale("Partition %d is not assigned or pending revocation for member.", p.partition)
		case a.epoch < since:
			return m.stale("Received %s %d is older than assignment epoch %d for partition %d.", m.epochName(), a.epoch, since, p.partition)
		}
		return nil
	}, nil
}

func (g *consumer) validateFetch(memberID *string, epoch int32) error {
	if memberID == nil && epoch < 0 {
		return nil
	}
	id := ""
	if memberID != nil {
		id = *memberID
	}
	m, err := g.member(id)
	if err != nil {
		return err
	}
	if epoch != m.epoch {
		return m.stale("The received %s %d does not match the expected member epoch %d.", m.epochName(), epoch, m.epoch)
	}
	return nil
}

// member is a member by id, or UNKNOWN_MEMBER_ID.
func (g *consumer) member(id string) (*consumerMember, error) {
	if m := g.members[id]; m != nil {
		return m, nil
	}
	return nil, refuse(kafka.ErrUnknownMemberID, "Member %s is not a member of group %s.", id, g.id)
}

// String is the group in one line: G1 Stable epoch 3 [a@3 b@3].
func (g *consumer) String() string {
	var members []string
	for _, m := range g.sorted() {
		members = append(members, fmt.Sprintf("%s@%d", m.id, m.epoch))
	}
	return fmt.Sprintf("%s %s epoch %d [%s]", g.id, g.state(), g.epoch, strings.Join(members, " "))
}

// resolvedRegex is the topics that matched a regular expression, by the
// metadata of a certain version, which the first member of the group to ask may
// describe.
type resolvedRegex struct {
	topics  []string // sorted
	version int64
	at      int64 // in milliseconds
}
