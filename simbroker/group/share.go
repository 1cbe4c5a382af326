package group

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// shareProtocol is the protocol type of share groups.
const shareProtocol = "share"

// share is a share group (KIP-932). It changes by its records and by nothing
// else. Its members share partitions: nobody has to give one up before another
// gets it. What was delivered is kept elsewhere (ShareStates); the group knows
// for which partitions that has been set up.
type share struct {
	id           string
	epoch        int32
	metadataHash uint64
	targetEpoch  int32
	targetAt     int64 // in milliseconds; 0 before the first
	members      map[string]*shareMember
	target       map[string]partitionSet // by member id
	initializing map[kafka.TopicID]shareTopic
	initialized  map[kafka.TopicID]shareTopic
}

func newShare(id string) *share {
	return &share{
		id:           id,
		epoch:        initialEpoch,
		targetEpoch:  initialEpoch,
		members:      make(map[string]*shareMember),
		target:       make(map[string]partitionSet),
		initializing: make(map[kafka.TopicID]shareTopic),
		initialized:  make(map[kafka.TopicID]shareTopic),
	}
}

// clone is a copy that can change on its own.
func (g *share) clone() *share {
	c := *g
	c.members, c.target = maps.Clone(g.members), maps.Clone(g.target)
	c.initializing, c.initialized = maps.Clone(g.initializing), maps.Clone(g.initialized)
	return &c
}

// state is Stable while there are members.
func (g *share) state() State {
	if len(g.members) == 0 {
		return Empty
	}
	return Stable
}

// sorted is the members in the order of their ids.
func (g *share) sorted() []*shareMember {
	return slices.SortedFunc(maps.Values(g.members), func(a, b *shareMember) int { return cmp.Compare(a.id, b.id) })
}

// allTopics is the topic names that anybody subscribes to, sorted.
func (g *share) allTopics() []string {
	var all []string
	for _, m := range g.members {
		all = append(all, m.topics...)
	}
	return sortedNames(all)
}

// assignable is the partitions that members can get of topics: those whose
// state is set up.
func (g *share) assignable(names []string) map[kafka.TopicID]int32 {
	sizes := make(map[kafka.TopicID]int32)
	for id, t := range g.initialized {
		if slices.Contains(names, t.name) {
			sizes[id] = int32(len(t.partitions)) // they come in order
		}
	}
	return sizes
}

// member is a member by id, or UNKNOWN_MEMBER_ID.
func (g *share) member(id string) (*shareMember, error) {
	if m := g.members[id]; m != nil {
		return m, nil
	}
	return nil, refuse(kafka.ErrUnknownMemberID, "Member %s is not a member of group %s.", id, g.id)
}

func (g *share) kind() Kind { return Share }

func (g *share) listing() Listing {
	return Listing{GroupID: g.id, ProtocolType: shareProtocol, State: g.state(), Kind: Share}
}

func (g *share) subscribes(topic string) bool { return slices.Contains(g.allTopics(), topic) }

// A share group has no committed offsets, and is no consumer group to those who
// ask for some.

func (g *share) validateCommit(commitAttempt) (commitCheck, error) {
	return nil, notA("consumer", g.id)
}

func (g *share) validateFetch(*string, int32) error { return nil }

func (g *share) validateOffsetDelete() error { return notA("consumer", g.id) }

func (g *share) expiresFrom(string, *commit) (int64, bool) { return 0, false }

// String is the group in one line: G1 Stable epoch 3 [a@3 b@3].
func (g *share) String() string {
	var members []string
	for _, m := range g.sorted() {
		members = append(members, fmt.Sprintf("%s@%d", m.id, m.epoch))
	}
	return fmt.Sprintf("%s %s epoch %d [%s]", g.id, g.state(), g.epoch, strings.Join(members, " "))
}
