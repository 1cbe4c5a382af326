// Package share is the protocol of share groups (KIP-932): who is in a group and
// which partitions its members share. A group is Empty or Stable, and changes by
// its records alone. What was delivered to it is not known here, but behind
// group.ShareStates.
package share

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

// protocolType is the protocol type of share groups.
const protocolType = "share"

// Group is a share group (KIP-932). It changes by its records and by nothing
// else. Its members share partitions: nobody has to give one up before another
// gets it. What was delivered is kept elsewhere (ShareStates); the group knows
// for which partitions that has been set up.
type Group struct {
	id           string
	epoch        int32
	metadataHash uint64
	targetEpoch  int32
	targetAt     int64 // in milliseconds; 0 before the first
	members      map[string]*member
	target       map[string]assignment.Set // by member id
	initializing map[kafka.TopicID]sharedTopic
	initialized  map[kafka.TopicID]sharedTopic
}

// New is a group that nobody has joined.
func New(id string) *Group {
	return &Group{
		id:           id,
		epoch:        group.InitialEpoch,
		targetEpoch:  group.InitialEpoch,
		members:      make(map[string]*member),
		target:       make(map[string]assignment.Set),
		initializing: make(map[kafka.TopicID]sharedTopic),
		initialized:  make(map[kafka.TopicID]sharedTopic),
	}
}

// clone is a copy that can change on its own.
func (g *Group) clone() *Group {
	c := *g
	c.members, c.target = maps.Clone(g.members), maps.Clone(g.target)
	c.initializing, c.initialized = maps.Clone(g.initializing), maps.Clone(g.initialized)
	return &c
}

// state is Stable while there are members.
func (g *Group) state() group.State {
	if len(g.members) == 0 {
		return group.Empty
	}
	return group.Stable
}

// sorted is the members in the order of their ids.
func (g *Group) sorted() []*member {
	return slices.SortedFunc(maps.Values(g.members), func(a, b *member) int { return cmp.Compare(a.id, b.id) })
}

// allTopics is the topic names that anybody subscribes to, sorted.
func (g *Group) allTopics() []string {
	var all []string
	for _, m := range g.members {
		all = append(all, m.topics...)
	}
	return group.SortedNames(all)
}

// assignable is the partitions that members can get of topics: those whose
// state is set up.
func (g *Group) assignable(names []string) map[kafka.TopicID]int32 {
	sizes := make(map[kafka.TopicID]int32)
	for id, t := range g.initialized {
		if slices.Contains(names, t.name) {
			sizes[id] = int32(len(t.partitions)) // they come in order
		}
	}
	return sizes
}

// member is a member by id, or UNKNOWN_MEMBER_ID.
func (g *Group) member(id string) (*member, error) {
	if m := g.members[id]; m != nil {
		return m, nil
	}
	return nil, group.Refuse(kafka.ErrUnknownMemberID, "Member %s is not a member of group %s.", id, g.id)
}

// Kind is Share.
func (g *Group) Kind() group.Kind { return group.Share }

// Listing is how ListGroups shows the group.
func (g *Group) Listing() group.Listing {
	return group.Listing{GroupID: g.id, ProtocolType: protocolType, State: g.state(), Kind: group.Share}
}

// Subscribes says whether members consume a topic.
func (g *Group) Subscribes(topic string) bool { return slices.Contains(g.allTopics(), topic) }

// A share group has no committed offsets, and is no consumer group to those who
// ask for some.

// ValidateCommit refuses.
func (g *Group) ValidateCommit(shard.CommitAttempt) (shard.CommitCheck, error) {
	return nil, group.NotA("consumer", g.id)
}

// ValidateFetch lets everybody read, and there is nothing.
func (g *Group) ValidateFetch(*string, int32) error { return nil }

// ValidateOffsetDelete refuses.
func (g *Group) ValidateOffsetDelete() error { return group.NotA("consumer", g.id) }

// ExpiresFrom is never: there are no offsets.
func (g *Group) ExpiresFrom(string, *offsets.Commit) (int64, bool) { return 0, false }

// String is the group in one line: G1 Stable epoch 3 [a@3 b@3].
func (g *Group) String() string {
	var members []string
	for _, m := range g.sorted() {
		members = append(members, fmt.Sprintf("%s@%d", m.id, m.epoch))
	}
	return fmt.Sprintf("%s %s epoch %d [%s]", g.id, g.state(), g.epoch, strings.Join(members, " "))
}
