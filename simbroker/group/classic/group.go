// Package classic is the classic protocol (KIP-62, 345, 394): groups whose
// members join generation by generation and whose leader assigns (rule H2), and
// simple groups, which only keep offsets. Members are in memory; the log has the
// generations that were assigned.
//
//	Empty ──► PreparingRebalance ──► CompletingRebalance ──► Stable
//	  ▲          │  ▲    ▲                    │                │
//	  └──────────┘  │    └────────────────────┘                │
//	                └──────────────────────────────────────────┘
package classic

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Group is a group of the classic protocol, or a simple group: one without a
// protocol type, which only keeps offsets. It knows its members and the rules
// about them; when they come into play (sessions, rebalances) is the
// protocol's.
type Group struct {
	ID       string
	state    group.State
	previous group.State
	since    int64 // of the state, in milliseconds; group.NoTime in very old records

	protocolType string // "" of a simple group
	Protocol     *string
	Number       int32 // of the generation
	leader       string
	Members      []*Member // in the order in which they joined
	// subscribed is the topics that members subscribe to; nil if unknown.
	subscribed map[string]bool

	// pendingJoin has the ids that were given out with MEMBER_ID_REQUIRED and
	// not used yet, each with its session.
	pendingJoin map[string]*clock.Timer
	// pendingSync has the members that have joined the generation and not synced.
	pendingSync map[string]bool
	// joined says that a member joined during the initial delay, so that it may
	// be extended.
	joined    bool
	joinTimer *clock.Timer
	syncTimer *clock.Timer
}

// New is an Empty group that nobody has joined.
func New(id string, now int64) *Group {
	return &Group{
		ID:          id,
		state:       group.Empty,
		previous:    group.Dead,
		since:       now,
		pendingJoin: make(map[string]*clock.Timer),
		pendingSync: make(map[string]bool),
	}
}

// Restored is a Stable group of members that come from another protocol, at a
// generation, under the protocol that they vote for.
func Restored(id string, number int32, members []*Member, now int64) *Group {
	c := New(id, now)
	c.state, c.Number = group.Stable, number
	for _, m := range members {
		c.add(m)
	}
	chosen := c.vote()
	c.Protocol = &chosen
	return c
}

// move is the only way from state to state.
func (g *Group) move(to group.State, now int64) {
	if !mayFollow(to, g.state) {
		panic(fmt.Sprintf("group %s: step to %s from %s", g.ID, to, g.state))
	}
	g.previous, g.state, g.since = g.state, to, now
}

// Kill ends a group in memory: nothing that waits or runs for it goes on.
func (g *Group) Kill(now int64) {
	g.move(group.Dead, now)
	g.joinTimer.Stop()
	g.syncTimer.Stop()
	for _, t := range g.pendingJoin {
		t.Stop()
	}
	for _, m := range g.Members {
		m.session.Stop()
	}
	g.SendAway(kafka.ErrNotCoordinator)
}

// SendAway answers those who wait with an error.
func (g *Group) SendAway(err error) {
	for _, m := range slices.Clone(g.Members) {
		m.answerJoin(group.RefusedJoin(m.ID), err)
		m.answerSync(group.SyncResult{}, err)
	}
}

// member is the member of an id, nil if there is none.
func (g *Group) member(id string) *Member {
	for _, m := range g.Members {
		if m.ID == id {
			return m
		}
	}
	return nil
}

// static is the static member of an instance id, nil if there is none.
func (g *Group) static(instanceID string) *Member {
	for _, m := range g.Members {
		if m.InstanceID != nil && *m.InstanceID == instanceID {
			return m
		}
	}
	return nil
}

// waiting is how many members wait for the generation.
func (g *Group) waiting() int {
	n := 0
	for _, m := range g.Members {
		if m.join != nil {
			n++
		}
	}
	return n
}

// allJoined says whether nobody has to be waited for.
func (g *Group) allJoined() bool { return g.waiting() == len(g.Members) && len(g.pendingJoin) == 0 }

// rebalanceTimeout is the longest of the members.
func (g *Group) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range g.Members {
		longest = max(longest, m.RebalanceTimeout)
	}
	return longest
}

// IsConsumer says whether the members are consumers.
func (g *Group) IsConsumer() bool { return g.protocolType == group.ConsumerProtocol }

// add takes a member in; the first one is the leader.
func (g *Group) add(m *Member) {
	if len(g.Members) == 0 {
		g.protocolType = m.ProtocolType
	}
	if g.leader == "" {
		g.leader = m.ID
	}
	g.Members = append(g.Members, m)
	g.dropPending(m.ID)
}

// remove takes a member out, or an id that was never used; another leader takes
// over.
func (g *Group) remove(id string) {
	if m := g.member(id); m != nil {
		m.session.Stop()
		g.Members = slices.DeleteFunc(g.Members, func(other *Member) bool { return other == m })
	}
	if g.leader == id {
		g.leader = ""
		if len(g.Members) > 0 {
			g.leader = g.Members[0].ID
		}
	}
	g.dropPending(id)
	delete(g.pendingSync, id)
}

// dropPending forgets an id that was given out.
func (g *Group) dropPending(id string) {
	g.pendingJoin[id].Stop()
	delete(g.pendingJoin, id)
}

// replaceStatic gives a static member another id, and with it to another
// client; whoever waits under the old id is fenced.
func (g *Group) replaceStatic(m *Member, id string) {
	if g.leader == m.ID {
		g.leader = id
	}
	m.answerJoin(group.RefusedJoin(m.ID), kafka.ErrFencedInstanceID)
	m.answerSync(group.SyncResult{}, kafka.ErrFencedInstanceID)
	m.ID = id
}

// electJoined makes sure that the leader has joined, and reports false if
// nobody has.
func (g *Group) electJoined() bool {
	leader := g.member(g.leader)
	if leader == nil {
		return false
	}
	if leader.join != nil {
		return true
	}
	for _, m := range g.Members {
		if m.join != nil {
			g.leader = m.ID
			return true
		}
	}
	return false
}

// next begins the next generation with the members that are there.
func (g *Group) next(now int64) {
	g.Number++
	clear(g.pendingSync)
	if len(g.Members) == 0 {
		g.Protocol = nil
		g.subscribed = g.subscriptions()
		g.move(group.Empty, now)
		return
	}
	chosen := g.vote()
	g.Protocol = &chosen
	g.subscribed = g.subscriptions()
	g.move(group.CompletingRebalance, now)
}

// Kind is Classic.
func (g *Group) Kind() group.Kind { return group.Classic }

// Listing is how ListGroups shows the group.
func (g *Group) Listing() group.Listing {
	return group.Listing{GroupID: g.ID, ProtocolType: g.protocolType, State: g.state, Kind: group.Classic}
}

// accepts says whether the group's size lets a member join.
func (g *Group) accepts(id string, limit int) bool {
	m := g.member(id)
	switch g.state {
	case group.Empty, group.Dead:
		return true
	case group.PreparingRebalance:
		return m != nil && m.join != nil || g.waiting() < limit
	}
	return m != nil || len(g.Members) < limit
}

// joinResult is what a member is told of the generation; the leader learns of
// the members.
func (g *Group) joinResult(m *Member) group.JoinResult {
	r := group.JoinResult{
		GenerationID: g.Number, ProtocolType: &g.protocolType, ProtocolName: g.Protocol,
		Leader: g.leader, MemberID: m.ID,
	}
	if g.leader == m.ID {
		r.Members = g.joinMembers()
	}
	return r
}

func (g *Group) joinMembers() []group.JoinMember {
	var members []group.JoinMember
	for _, m := range g.Members {
		members = append(members, group.JoinMember{MemberID: m.ID, InstanceID: m.InstanceID, Metadata: *m.Metadata(*g.Protocol)})
	}
	return members
}

// syncResult is what a member is told of its assignment.
func (g *Group) syncResult(m *Member) group.SyncResult {
	return group.SyncResult{ProtocolType: &g.protocolType, ProtocolName: g.Protocol, Assignment: m.Assignment}
}

// String is the group in one line: G1 Stable gen 3 [a b].
func (g *Group) String() string {
	var ids []string
	for _, m := range g.Members {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return fmt.Sprintf("%s %s gen %d [%s]", g.ID, g.state, g.Number, strings.Join(ids, " "))
}
