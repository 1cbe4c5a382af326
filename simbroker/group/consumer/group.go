// Package consumer is the consumer protocol (KIP-848, rule H3). Its groups
// change by their records alone; a heartbeat makes a draft of the group, writes
// the records that it takes, and answers once they are replicated. A group's
// state is what its epochs amount to:
//
//	group epoch ─(a target assignment)─► target epoch ─(each member, once it has
//	given up what others are to have)─► member epoch
//
//	no members: Empty │ group epoch ahead: Assigning │ members behind or waiting:
//	Reconciling │ all there: Stable
//
// Members of the classic protocol may be in such a group, and a group changes
// between the two protocols while it has members, as
// group.consumer.migration.policy allows.
package consumer

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

// Group is a group of the consumer protocol (KIP-848, rule H3). It changes by
// its records and by nothing else, so that a loaded group is what its writer had
// in memory. Members never change; a change makes a new value.
type Group struct {
	id           string
	epoch        int32 // of the group: rises with what members subscribe to and with topics
	metadataHash uint64
	// targetEpoch is the group epoch for which target was computed; -1 once its
	// record was deleted.
	targetEpoch int32
	targetAt    int64 // when, in milliseconds; 0 before the first
	members     map[string]*member
	target      map[string]assignment.Set // by member id
	regexes     map[string]resolvedRegex
}

// New is a group that nobody has joined.
func New(id string) *Group {
	return &Group{
		id: id, epoch: group.InitialEpoch, targetEpoch: group.InitialEpoch,
		members: make(map[string]*member),
		target:  make(map[string]assignment.Set),
		regexes: make(map[string]resolvedRegex),
	}
}

// clone is a copy that can change on its own.
func (g *Group) clone() *Group {
	c := *g
	c.members, c.target, c.regexes = maps.Clone(g.members), maps.Clone(g.target), maps.Clone(g.regexes)
	return &c
}

// state follows from members and epochs.
func (g *Group) state() group.State {
	switch {
	case len(g.members) == 0:
		return group.Empty
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

// static is the static member of an instance id, nil if there is none.
func (g *Group) static(instanceID string) *member {
	for _, m := range g.members {
		if m.instanceID != nil && *m.instanceID == instanceID {
			return m
		}
	}
	return nil
}

// subscribedTo is the topic names that a member subscribes to, by name and by
// what its regular expression has been resolved to.
func (g *Group) subscribedTo(m *member) []string {
	if m.regex == "" || len(g.regexes[m.regex].topics) == 0 {
		return m.topics
	}
	names := slices.Concat(m.topics, g.regexes[m.regex].topics)
	slices.Sort(names)
	return slices.Compact(names)
}

// allTopics is the topic names that anybody subscribes to, sorted.
func (g *Group) allTopics() []string {
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
func (g *Group) regexSubscribers() map[string]int {
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
func (g *Group) preferredAssignor(fallback string) string {
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
func (g *Group) ownedByOthers(p assignment.Partition, memberID string) bool {
	for id, m := range g.members {
		if id != memberID && m.Owns(p) {
			return true
		}
	}
	return false
}

// Kind is Consumer.
func (g *Group) Kind() group.Kind { return group.Consumer }

// Listing is how ListGroups shows the group.
func (g *Group) Listing() group.Listing {
	return group.Listing{GroupID: g.id, ProtocolType: group.ConsumerProtocol, State: g.state(), Kind: group.Consumer}
}

// Subscribes says whether members consume a topic.
func (g *Group) Subscribes(topic string) bool { return slices.Contains(g.allTopics(), topic) }

// ExpiresFrom is rule H11: from each commit, unless members subscribe to the
// topic.
func (g *Group) ExpiresFrom(topic string, stored *offsets.Commit) (int64, bool) {
	return stored.At, !g.Subscribes(topic)
}

// ValidateOffsetDelete allows it, also while there are members.
func (g *Group) ValidateOffsetDelete() error { return nil }

// ValidateCommit is rules H4 and H5 for members of the consumer protocol, and
// for those of the classic one beside them.
func (g *Group) ValidateCommit(a shard.CommitAttempt) (shard.CommitCheck, error) {
	if a.Epoch < 0 && len(g.members) == 0 || a.Transactional && a.Anonymous() {
		return nil, nil
	}
	m, err := g.member(a.MemberID)
	if err != nil {
		return nil, err
	}
	if !a.Transactional && m.classic == nil && !a.KnowsEpochs {
		return nil, group.Refuse(kafka.ErrUnsupportedVersion, "OffsetCommit version 9 or above must be used by members using the consumer group protocol")
	}
	switch {
	case a.Epoch == m.Epoch:
		return nil, nil
	case a.Epoch > m.Epoch:
		return nil, m.stale("Received %s %d is newer than current member epoch %d.", m.epochName(), a.Epoch, m.Epoch)
	}
	// An older epoch is good for partitions that the member has had since then
	// (KIP-1251).
	return func(p assignment.Partition) error {
		since, ok := m.Assigned[p]
		if !ok {
			since, ok = m.Revoking[p]
		}
		switch {
		case !ok:
			return m.stale("Partition %d is not assigned or pending revocation for member.", p.Number)
		case a.Epoch < since:
			return m.stale("Received %s %d is older than assignment epoch %d for partition %d.", m.epochName(), a.Epoch, since, p.Number)
		}
		return nil
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
	if err != nil {
		return err
	}
	if epoch != m.Epoch {
		return m.stale("The received %s %d does not match the expected member epoch %d.", m.epochName(), epoch, m.Epoch)
	}
	return nil
}

// member is a member by id, or UNKNOWN_MEMBER_ID.
func (g *Group) member(id string) (*member, error) {
	if m := g.members[id]; m != nil {
		return m, nil
	}
	return nil, group.Refuse(kafka.ErrUnknownMemberID, "Member %s is not a member of group %s.", id, g.id)
}

// String is the group in one line: G1 Stable epoch 3 [a@3 b@3].
func (g *Group) String() string {
	var members []string
	for _, m := range g.sorted() {
		members = append(members, fmt.Sprintf("%s@%d", m.id, m.Epoch))
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
