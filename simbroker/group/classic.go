package group

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// predecessors is the table of legal transitions of classic groups: from which
// states each state may be entered.
var predecessors = [...][]State{
	Empty:               {PreparingRebalance},
	PreparingRebalance:  {Stable, CompletingRebalance, Empty},
	CompletingRebalance: {PreparingRebalance},
	Stable:              {CompletingRebalance},
	Dead:                {Stable, PreparingRebalance, CompletingRebalance, Empty, Dead},
}

// mayFollow says whether the table allows the step from one state to another.
func mayFollow(to, from State) bool { return slices.Contains(predecessors[to], from) }

// classic is a group of the classic protocol, or a simple group: one without a
// protocol type, which only keeps offsets. It knows its members and the rules
// about them; package-level timing (sessions, rebalances) is the coordinator's.
type classic struct {
	id       string
	state    State
	previous State
	since    int64 // of the state, in milliseconds; noTime in very old records

	protocolType string // "" of a simple group
	protocol     *string
	number       int32 // of the generation
	leader       string
	members      []*member // in the order in which they joined
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

// newClassic is an Empty group that nobody has joined.
func newClassic(id string, now int64) *classic {
	return &classic{
		id:          id,
		state:       Empty,
		previous:    Dead,
		since:       now,
		pendingJoin: make(map[string]*clock.Timer),
		pendingSync: make(map[string]bool),
	}
}

// restored is a Stable group of members that come from another protocol, at a
// generation, under the protocol that they vote for.
func restored(id string, number int32, members []*member, now int64) *classic {
	c := newClassic(id, now)
	c.state, c.number = Stable, number
	for _, m := range members {
		c.add(m)
	}
	chosen := c.vote()
	c.protocol = &chosen
	return c
}

// move is the only way from state to state.
func (c *classic) move(to State, now int64) {
	if !mayFollow(to, c.state) {
		panic(fmt.Sprintf("group %s: step to %s from %s", c.id, to, c.state))
	}
	c.previous, c.state, c.since = c.state, to, now
}

// kill ends a group in memory: nothing that waits or runs for it goes on.
func (c *classic) kill(now int64) {
	c.move(Dead, now)
	c.joinTimer.Stop()
	c.syncTimer.Stop()
	for _, t := range c.pendingJoin {
		t.Stop()
	}
	for _, m := range c.members {
		m.session.Stop()
	}
	c.sendAway(kafka.ErrNotCoordinator)
}

// sendAway answers those who wait with an error.
func (c *classic) sendAway(err error) {
	for _, m := range slices.Clone(c.members) {
		m.answerJoin(refusedJoin(m.id), err)
		m.answerSync(SyncResult{}, err)
	}
}

// member is the member of an id, nil if there is none.
func (c *classic) member(id string) *member {
	for _, m := range c.members {
		if m.id == id {
			return m
		}
	}
	return nil
}

// static is the static member of an instance id, nil if there is none.
func (c *classic) static(instanceID string) *member {
	for _, m := range c.members {
		if m.instanceID != nil && *m.instanceID == instanceID {
			return m
		}
	}
	return nil
}

// waiting is how many members wait for the generation.
func (c *classic) waiting() int {
	n := 0
	for _, m := range c.members {
		if m.join != nil {
			n++
		}
	}
	return n
}

// allJoined says whether nobody has to be waited for.
func (c *classic) allJoined() bool { return c.waiting() == len(c.members) && len(c.pendingJoin) == 0 }

// rebalanceTimeout is the longest of the members.
func (c *classic) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range c.members {
		longest = max(longest, m.rebalanceTimeout)
	}
	return longest
}

// isConsumer says whether the members are consumers.
func (c *classic) isConsumer() bool { return c.protocolType == consumerProtocol }

// add takes a member in; the first one is the leader.
func (c *classic) add(m *member) {
	if len(c.members) == 0 {
		c.protocolType = m.protocolType
	}
	if c.leader == "" {
		c.leader = m.id
	}
	c.members = append(c.members, m)
	c.dropPending(m.id)
}

// remove takes a member out, or an id that was never used; another leader takes
// over.
func (c *classic) remove(id string) {
	if m := c.member(id); m != nil {
		m.session.Stop()
		c.members = slices.DeleteFunc(c.members, func(other *member) bool { return other == m })
	}
	if c.leader == id {
		c.leader = ""
		if len(c.members) > 0 {
			c.leader = c.members[0].id
		}
	}
	c.dropPending(id)
	delete(c.pendingSync, id)
}

// dropPending forgets an id that was given out.
func (c *classic) dropPending(id string) {
	c.pendingJoin[id].Stop()
	delete(c.pendingJoin, id)
}

// replaceStatic gives a static member another id, and with it to another
// client; whoever waits under the old id is fenced.
func (c *classic) replaceStatic(m *member, id string) {
	if c.leader == m.id {
		c.leader = id
	}
	m.answerJoin(refusedJoin(m.id), kafka.ErrFencedInstanceID)
	m.answerSync(SyncResult{}, kafka.ErrFencedInstanceID)
	m.id = id
}

// electJoined makes sure that the leader has joined, and reports false if
// nobody has.
func (c *classic) electJoined() bool {
	leader := c.member(c.leader)
	if leader == nil {
		return false
	}
	if leader.join != nil {
		return true
	}
	for _, m := range c.members {
		if m.join != nil {
			c.leader = m.id
			return true
		}
	}
	return false
}

// next begins the next generation with the members that are there.
func (c *classic) next(now int64) {
	c.number++
	clear(c.pendingSync)
	if len(c.members) == 0 {
		c.protocol = nil
		c.subscribed = c.subscriptions()
		c.move(Empty, now)
		return
	}
	chosen := c.vote()
	c.protocol = &chosen
	c.subscribed = c.subscriptions()
	c.move(CompletingRebalance, now)
}

// supported says whether a member with these protocols could take part.
func (c *classic) supported(protocolType string, protocols []Protocol) bool {
	if c.state == Empty {
		return protocolType != "" && len(protocols) > 0
	}
	return protocolType == c.protocolType &&
		slices.ContainsFunc(protocols, func(p Protocol) bool { return c.everybodySupports(p.Name) })
}

func (c *classic) everybodySupports(name string) bool {
	return !slices.ContainsFunc(c.members, func(m *member) bool { return m.metadata(name) == nil })
}

// vote is the protocol that most members prefer among those that all support;
// of several, the one that was voted for first.
func (c *classic) vote() string {
	var names []string
	votes := make(map[string]int)
	for _, m := range c.members {
		for _, p := range m.protocols {
			if c.everybodySupports(p.Name) {
				names = append(names, p.Name)
				votes[p.Name]++
				break
			}
		}
	}
	if len(names) == 0 {
		panic(fmt.Sprintf("group %s: no protocol that all of %d members support", c.id, len(c.members)))
	}
	chosen := names[0]
	for _, name := range names {
		if votes[name] > votes[chosen] {
			chosen = name
		}
	}
	return chosen
}

// subscriptions is the topics that the members subscribe to, nil if the
// coordinator cannot know.
func (c *classic) subscriptions() map[string]bool {
	if !c.isConsumer() || len(c.members) > 0 && c.protocol == nil {
		return nil
	}
	all := make(map[string]bool)
	for _, m := range c.members {
		sub, err := decodeSubscription(*m.metadata(*c.protocol))
		if err != nil {
			return nil
		}
		for _, t := range sub.topics {
			all[t] = true
		}
	}
	return all
}

// subscribes says whether members consume a topic; consumers whose
// subscriptions are unknown may consume any.
func (c *classic) subscribes(topic string) bool {
	if c.subscribed == nil {
		return c.isConsumer()
	}
	return c.subscribed[topic]
}

// validate finds the member that a request comes from (rule H2).
func (c *classic) validate(id string, instanceID *string) (*member, error) {
	if instanceID != nil {
		static := c.static(*instanceID)
		switch {
		case static == nil:
			return nil, kafka.ErrUnknownMemberID
		case static.id != id:
			return nil, kafka.ErrFencedInstanceID
		}
	}
	m := c.member(id)
	if m == nil {
		return nil, kafka.ErrUnknownMemberID
	}
	return m, nil
}

// validateCommit says who may commit offsets (rules H4, H5).
func (c *classic) validateCommit(a commitAttempt) (commitCheck, error) {
	switch {
	case a.epoch < 0 && c.state == Empty:
		return nil, nil
	case a.epoch >= 0 || a.memberID != "" || a.instanceID != nil:
		if _, err := c.validate(a.memberID, a.instanceID); err != nil {
			return nil, err
		}
		if a.epoch != c.number {
			return nil, kafka.ErrIllegalGeneration
		}
	case !a.transactional:
		return nil, kafka.ErrUnknownMemberID
	}
	if !a.transactional && c.state == CompletingRebalance {
		return nil, kafka.ErrRebalanceInProgress
	}
	return nil, nil
}

// validateFetch lets everybody read.
func (c *classic) validateFetch(*string, int32) error { return nil }

// validateOffsetDelete refuses while there are members that are no consumers.
func (c *classic) validateOffsetDelete() error {
	if c.state != Empty && !c.isConsumer() {
		return kafka.ErrNonEmptyGroup
	}
	return nil
}

// expiresFrom is rule H11: offsets of a group without members count from when
// it became Empty, those of a simple group, and of topics that a Stable group
// no longer consumes, from each commit.
func (c *classic) expiresFrom(topic string, stored *commit) (int64, bool) {
	switch {
	case c.subscribes(topic):
		return 0, false
	case c.protocolType == "":
	case c.state == Empty:
		if c.since != noTime {
			return c.since, true
		}
	case !c.isConsumer() || c.subscribed == nil || c.state != Stable:
		return 0, false
	}
	return stored.at, true
}

func (c *classic) kind() Kind { return Classic }

func (c *classic) listing() Listing {
	return Listing{GroupID: c.id, ProtocolType: c.protocolType, State: c.state, Kind: Classic}
}

func (c *classic) tombstones() []Record { return []Record{{Key: encodeGroupKey(c.id)}} }

// accepts says whether the group's size lets a member join.
func (c *classic) accepts(id string, limit int) bool {
	m := c.member(id)
	switch c.state {
	case Empty, Dead:
		return true
	case PreparingRebalance:
		return m != nil && m.join != nil || c.waiting() < limit
	}
	return m != nil || len(c.members) < limit
}

// record is the group's record with an assignment for each member.
func (c *classic) record(assignment map[string][]byte) Record {
	g := generation{protocolType: c.protocolType, number: c.number, protocol: c.protocol, since: c.since}
	if c.leader != "" {
		g.leader = &c.leader
	}
	for _, m := range c.members {
		g.members = append(g.members, generationMember{
			id: m.id, instanceID: m.instanceID, clientID: m.clientID, clientHost: m.clientHost,
			rebalanceTimeout: m.rebalanceTimeout, sessionTimeout: m.sessionTimeout,
			subscription: *m.metadata(*c.protocol), assignment: assignment[m.id],
		})
	}
	return Record{Key: encodeGroupKey(c.id), Value: encodeGeneration(g)}
}

// joinResult is what a member is told of the generation; the leader learns of
// the members.
func (c *classic) joinResult(m *member) JoinResult {
	r := JoinResult{
		GenerationID: c.number, ProtocolType: &c.protocolType, ProtocolName: c.protocol,
		Leader: c.leader, MemberID: m.id,
	}
	if c.leader == m.id {
		r.Members = c.joinMembers()
	}
	return r
}

func (c *classic) joinMembers() []JoinMember {
	var members []JoinMember
	for _, m := range c.members {
		members = append(members, JoinMember{MemberID: m.id, InstanceID: m.instanceID, Metadata: *m.metadata(*c.protocol)})
	}
	return members
}

// syncResult is what a member is told of its assignment.
func (c *classic) syncResult(m *member) SyncResult {
	return SyncResult{ProtocolType: &c.protocolType, ProtocolName: c.protocol, Assignment: m.assignment}
}

// String is the group in one line: G1 Stable gen 3 [a b].
func (c *classic) String() string {
	var ids []string
	for _, m := range c.members {
		ids = append(ids, m.id)
	}
	slices.Sort(ids)
	return fmt.Sprintf("%s %s gen %d [%s]", c.id, c.state, c.number, strings.Join(ids, " "))
}
