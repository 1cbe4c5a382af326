package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/consumer"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// beater is a member of the consumer protocol, as a client: it has what it was
// assigned last, and gives up at once what it is to give up.
type beater struct {
	cl       *cluster
	group    string
	id       string
	epoch    int32
	instance *string
	topics   []string
	regex    *string
	assignor *string
	owned    []group.AssignedTopic
	slow     bool // it keeps what it is to give up
}

// beater is a member that has not joined.
func (cl *cluster) beater(groupID, id string, topics ...string) *beater {
	return &beater{cl: cl, group: groupID, id: id, topics: topics}
}

// joined is a member that has.
func (cl *cluster) joined(groupID, id string, topics ...string) *beater {
	cl.t.Helper()
	b := cl.beater(groupID, id, topics...)
	b.mustBeat()
	return b
}

// request is the member's next heartbeat: all there is to say when it joins,
// later only what it has.
func (b *beater) request() group.ConsumerHeartbeatRequest {
	req := group.ConsumerHeartbeatRequest{
		GroupID: b.group, MemberID: b.id, MemberEpoch: b.epoch, InstanceID: b.instance,
		ClientID: "client-" + b.id, ClientHost: "/127.0.0.1", RebalanceTimeout: -time.Millisecond,
		Owned: slices.Clone(b.owned), RequireMemberID: true,
	}
	if b.epoch == group.JoinEpoch {
		req.RebalanceTimeout = time.Minute
		req.SubscribedTopics = append([]string{}, b.topics...)
		req.SubscribedRegex, req.ServerAssignor = b.regex, b.assignor
		req.Owned = []group.AssignedTopic{}
	}
	return req
}

// heartbeat sends one heartbeat and waits for its answer.
func (cl *cluster) heartbeat(req group.ConsumerHeartbeatRequest) (result group.ConsumerHeartbeatResult, err error) {
	cl.t.Helper()
	answered := false
	cl.loop.Do(func() {
		cl.ConsumerHeartbeat(req, func(r group.ConsumerHeartbeatResult, e error) { result, err, answered = r, e, true })
	})
	cl.answered(&answered)
	return result, err
}

// beat sends the member's next heartbeat and takes the answer in.
func (b *beater) beat() error {
	b.cl.t.Helper()
	r, err := b.cl.heartbeat(b.request())
	if err != nil {
		return err
	}
	b.epoch = r.MemberEpoch
	if r.Assignment != nil && !b.slow {
		b.owned = r.Assignment
	}
	return nil
}

func (b *beater) mustBeat() {
	b.cl.t.Helper()
	if err := b.beat(); err != nil {
		b.cl.t.Fatalf("heartbeat of %s in %s at %d: %v", b.id, b.group, b.epoch, err)
	}
}

// leave sends the heartbeat of a member that leaves.
func (b *beater) leave(epoch int32) error {
	b.cl.t.Helper()
	req := b.request()
	req.MemberEpoch, req.Owned = epoch, nil
	r, err := b.cl.heartbeat(req)
	if err == nil && (r.MemberEpoch != epoch || r.Interval != 0 || r.Assignment != nil) {
		b.cl.t.Errorf("answer to %s leaving at %d: %+v", b.id, epoch, r)
	}
	b.epoch, b.owned = group.JoinEpoch, nil
	return err
}

// has is what the member has, as "orders: 0 1".
func (b *beater) has() string { return b.cl.showAssigned(b.owned) }

func (cl *cluster) showAssigned(topics []group.AssignedTopic) string {
	var parts []string
	for _, t := range topics {
		known, _ := cl.topics.TopicByID(t.TopicID)
		parts = append(parts, fmt.Sprintf("%s: %s", known.Name, strings.Trim(fmt.Sprint(t.Partitions), "[]")))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// tick lets the assignment interval pass, and a second more.
func (cl *cluster) tick() { cl.pass(cl.settings.ConsumerAssignmentInterval) }

// rounds lets members send heartbeats in turn, n times.
func rounds(n int, members ...*beater) {
	for range n {
		for _, m := range members {
			m.mustBeat()
		}
	}
}

// expectGroup compares a group's description with a text: state, epochs,
// assignor, and each member's epoch and partitions, with its target if it is
// another.
func (cl *cluster) expectGroup(what, groupID, want string) {
	cl.t.Helper()
	var got string
	cl.loop.Do(func() { got = cl.drawConsumer(cl.DescribeConsumers([]string{groupID})[0]) })
	if got != want {
		cl.t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func (cl *cluster) drawConsumer(d group.ConsumerDescription) string {
	if d.Err != nil {
		return d.Err.Error()
	}
	parts := []string{fmt.Sprintf("%s %d/%d %s", d.State, d.Epoch, d.AssignmentEpoch, d.Assignor)}
	for _, m := range d.Members {
		part := fmt.Sprintf("%s@%d[%s]", m.MemberID, m.MemberEpoch, cl.showAssigned(m.Assignment))
		if target := cl.showAssigned(m.Target); target != cl.showAssigned(m.Assignment) {
			part += "→[" + target + "]"
		}
		if m.Classic {
			part += " classic"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// Rule H3: the first member of a group, and its last.
func TestH3JoinAndLeave(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 3)
	b := cl.beater("G1", "a", "orders")
	r, err := cl.heartbeat(b.request())
	if err != nil || r.MemberID != "a" || r.MemberEpoch != 2 || r.Interval != 5*time.Second || cl.showAssigned(r.Assignment) != "orders: 0 1 2" {
		t.Errorf("joined: %+v, %v", r, err)
	}
	cl.expectGroup("joined", "G1", "Stable 2/2 uniform a@2[orders: 0 1 2]")
	b.epoch, b.owned = r.MemberEpoch, r.Assignment
	r, err = cl.heartbeat(b.request())
	if err != nil || r.MemberEpoch != 2 || r.Assignment != nil {
		t.Errorf("nothing new: %+v, %v", r, err)
	}
	before := cl.leo(cl.PartitionFor("G1"))
	b.mustBeat()
	if after := cl.leo(cl.PartitionFor("G1")); after != before {
		t.Errorf("a heartbeat that says nothing wrote %d records", after-before)
	}
	full := b.request()
	full.RebalanceTimeout, full.SubscribedTopics = time.Minute, b.topics
	if r, err = cl.heartbeat(full); err != nil || cl.showAssigned(r.Assignment) != "orders: 0 1 2" {
		t.Errorf("a member that says all is told all: %+v, %v", r, err)
	}
	expectErr(t, "leave", b.leave(group.LeaveEpoch), nil)
	cl.expectGroup("left", "G1", "Empty 3/2 uniform")
	expectErr(t, "leave twice", b.leave(group.LeaveEpoch), kafka.ErrUnknownMemberID)
	b.mustBeat()
	cl.expectGroup("came back at once", "G1", "Assigning 4/2 uniform a@2[]")
	cl.tick()
	b.mustBeat()
	cl.expectGroup("and was assigned after the interval", "G1", "Stable 4/4 uniform a@4[orders: 0 1 2]")
}

// Rule H3: what no member may say.
func TestH3HeartbeatRefusals(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 1)
	cl.joined("G1", "a", "orders")
	cl.joined("G1", "b", "orders").instance = nil
	static := cl.beater("G1", "s", "orders")
	static.instance = new("i")
	static.mustBeat()
	cl.stable("classic")
	joining := cl.beater("G1", "c", "orders").request()
	staying := joining
	staying.MemberID, staying.MemberEpoch, staying.RebalanceTimeout, staying.SubscribedTopics = "a", 2, -1, nil
	for _, test := range []struct {
		name string
		req  group.ConsumerHeartbeatRequest
		edit func(*group.ConsumerHeartbeatRequest)
		want kafka.Error
	}{
		{"no member id", joining, func(r *group.ConsumerHeartbeatRequest) { r.MemberID = "" }, kafka.ErrInvalidRequest},
		{"no group", joining, func(r *group.ConsumerHeartbeatRequest) { r.GroupID = " " }, kafka.ErrInvalidRequest},
		{"empty instance id", joining, func(r *group.ConsumerHeartbeatRequest) { r.InstanceID = new("") }, kafka.ErrInvalidRequest},
		{"empty rack", joining, func(r *group.ConsumerHeartbeatRequest) { r.RackID = new("") }, kafka.ErrInvalidRequest},
		{"no rebalance timeout", joining, func(r *group.ConsumerHeartbeatRequest) { r.RebalanceTimeout = -1 }, kafka.ErrInvalidRequest},
		{"joins without saying what it has", joining, func(r *group.ConsumerHeartbeatRequest) { r.Owned = nil }, kafka.ErrInvalidRequest},
		{"joins with partitions", joining, func(r *group.ConsumerHeartbeatRequest) { r.Owned = []group.AssignedTopic{{}} }, kafka.ErrInvalidRequest},
		{"subscribes to nothing", joining, func(r *group.ConsumerHeartbeatRequest) { r.SubscribedTopics = nil }, kafka.ErrInvalidRequest},
		{"epoch -3", joining, func(r *group.ConsumerHeartbeatRequest) { r.MemberEpoch = -3 }, kafka.ErrInvalidRequest},
		{"epoch -2 without an instance id", joining, func(r *group.ConsumerHeartbeatRequest) { r.MemberEpoch = -2 }, kafka.ErrInvalidRequest},
		{"assignor", joining, func(r *group.ConsumerHeartbeatRequest) { r.ServerAssignor = new("sticky") }, kafka.ErrUnsupportedAssignor},
		{"regular expression", joining, func(r *group.ConsumerHeartbeatRequest) { r.SubscribedRegex = new("or(") }, kafka.ErrInvalidRegularExpression},
		{"unknown group", staying, func(r *group.ConsumerHeartbeatRequest) { r.GroupID = "G9" }, kafka.ErrGroupIDNotFound},
		{"unknown group, leaving", staying, func(r *group.ConsumerHeartbeatRequest) { r.GroupID, r.MemberEpoch = "G9", -1 }, kafka.ErrGroupIDNotFound},
		{"classic group", staying, func(r *group.ConsumerHeartbeatRequest) { r.GroupID = "classic" }, kafka.ErrGroupIDNotFound},
		{"classic group, leaving", staying, func(r *group.ConsumerHeartbeatRequest) { r.GroupID, r.MemberEpoch = "classic", -1 }, kafka.ErrGroupIDNotFound},
		{"unknown member", staying, func(r *group.ConsumerHeartbeatRequest) { r.MemberID = "x" }, kafka.ErrUnknownMemberID},
		{"unknown member, leaving", staying, func(r *group.ConsumerHeartbeatRequest) { r.MemberID, r.MemberEpoch = "x", -1 }, kafka.ErrUnknownMemberID},
		{"unknown instance", staying, func(r *group.ConsumerHeartbeatRequest) { r.InstanceID = new("j") }, kafka.ErrUnknownMemberID},
		{"another's instance", staying, func(r *group.ConsumerHeartbeatRequest) { r.InstanceID = new("i") }, kafka.ErrFencedInstanceID},
		{"another's instance, leaving", staying, func(r *group.ConsumerHeartbeatRequest) { r.InstanceID, r.MemberEpoch = new("i"), -2 }, kafka.ErrFencedInstanceID},
		{"instance that is in use", joining, func(r *group.ConsumerHeartbeatRequest) { r.InstanceID = new("i") }, kafka.ErrUnreleasedInstanceID},
		{"epoch from the future", staying, func(r *group.ConsumerHeartbeatRequest) { r.MemberEpoch = 9 }, kafka.ErrFencedMemberEpoch},
		{"epoch of long ago", staying, func(r *group.ConsumerHeartbeatRequest) { r.MemberEpoch = 1 }, kafka.ErrFencedMemberEpoch},
	} {
		req := test.req
		test.edit(&req)
		var before, after string
		cl.loop.Do(func() { before = cl.Coordinator.String() })
		_, err := cl.heartbeat(req)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
		if cl.loop.Do(func() { after = cl.Coordinator.String() }); before != after {
			t.Errorf("%s: changed %s to %s", test.name, before, after)
		}
	}
}

// Rule H3: an older client gets its member id from the coordinator.
func TestH3MemberIDOfVersion0(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 1)
	req := cl.beater("G1", "", "orders").request()
	req.RequireMemberID = false
	r, err := cl.heartbeat(req)
	if err != nil || len(r.MemberID) != 22 || r.MemberEpoch != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// Rule H3: a member gets a partition only after its old owner has reported that
// it gave it up.
func TestH3RevocationBeforeAssignment(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 4)
	a := cl.joined("G1", "a", "orders")
	a.slow = true
	cl.tick()
	b := cl.joined("G1", "b", "orders")
	if b.has() != "" || b.epoch != 3 {
		t.Errorf("the new member has %q at %d", b.has(), b.epoch)
	}
	cl.expectGroup("a new target", "G1", "Reconciling 3/3 uniform a@2[orders: 0 1 2 3]→[orders: 0 1] b@3[]→[orders: 2 3]")
	r, err := cl.heartbeat(a.request())
	if err != nil || r.MemberEpoch != 2 || cl.showAssigned(r.Assignment) != "orders: 0 1" {
		t.Errorf("the old one is to give up: %+v, %v", r, err)
	}
	rounds(2, b, a)
	if b.has() != "" || a.epoch != 2 {
		t.Errorf("before it does, the new one has %q, the old one is at %d", b.has(), a.epoch)
	}
	cl.expectGroup("described with what is to go", "G1", "Reconciling 3/3 uniform a@2[orders: 0 1 2 3]→[orders: 0 1] b@3[]→[orders: 2 3]")
	a.slow, a.owned = false, r.Assignment
	a.mustBeat()
	cl.expectGroup("given up", "G1", "Reconciling 3/3 uniform a@3[orders: 0 1] b@3[]→[orders: 2 3]")
	b.mustBeat()
	cl.expectGroup("taken over", "G1", "Stable 3/3 uniform a@3[orders: 0 1] b@3[orders: 2 3]")
	if b.has() != "orders: 2 3" || b.epoch != 3 {
		t.Errorf("the new member has %q at %d", b.has(), b.epoch)
	}
}

// Rule H3: a member that missed an answer may come with its previous epoch, if
// it has nothing beyond its assignment.
func TestH3PreviousEpoch(t *testing.T) {
	cl := newCluster(t)
	id := cl.topic("orders", 2)
	a := cl.joined("G1", "a", "orders")
	cl.tick()
	cl.joined("G1", "b", "orders")
	a.mustBeat() // told to give up
	a.mustBeat() // has
	old := a.request()
	old.MemberEpoch = 2
	if r, err := cl.heartbeat(old); err != nil || r.MemberEpoch != 3 {
		t.Errorf("previous epoch: %+v, %v", r, err)
	}
	for name, owned := range map[string][]group.AssignedTopic{
		"with more than it has": {{TopicID: id, Partitions: []int32{0, 1}}}, "without saying what it has": nil,
	} {
		old.Owned = owned
		_, err := cl.heartbeat(old)
		expectErr(t, "previous epoch "+name, err, kafka.ErrFencedMemberEpoch)
	}
}

// Rule H3: a static member that left with -2 keeps its place and partitions for
// the next one with its instance id, and nobody else moves.
func TestH3StaticMember(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 2)
	s := cl.beater("G1", "s1", "orders")
	s.instance = new("i")
	s.mustBeat()
	cl.tick()
	other := cl.joined("G1", "z", "orders")
	rounds(2, s, other)
	cl.expectGroup("both", "G1", "Stable 3/3 uniform s1@3[orders: 0] z@3[orders: 1]")
	expectErr(t, "static leave", s.leave(group.StaticLeaveEpoch), nil)
	cl.expectGroup("away", "G1", "Reconciling 3/3 uniform s1@-2[orders: 0] z@3[orders: 1]")
	other.mustBeat()
	back := cl.beater("G1", "s2", "orders")
	back.instance = new("i")
	back.mustBeat()
	cl.expectGroup("back under another id", "G1", "Stable 3/3 uniform s2@3[orders: 0] z@3[orders: 1]")
	if back.has() != "orders: 0" {
		t.Errorf("it has %q", back.has())
	}
	expectErr(t, "the one before", s.leave(group.StaticLeaveEpoch), kafka.ErrFencedInstanceID)
	expectErr(t, "away again", back.leave(group.StaticLeaveEpoch), nil)
	cl.pass(45 * time.Second)
	cl.expectGroup("away for too long; the other's session is over as well", "G1", "Empty 5/3 uniform")
}

// Rule H3: sessions are the broker's (group.consumer.session.timeout.ms), or the
// group's own.
func TestH3SessionTimeout(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 2)
	cl.settings.ConsumerSessionTimeout = 50 * time.Second
	a := cl.joined("G1", "a", "orders")
	cl.tick()
	b := cl.joined("G1", "b", "orders")
	rounds(1, a)
	cl.pass(49 * time.Second)
	rounds(1, a)
	cl.expectGroup("one second to go", "G1", "Reconciling 3/3 uniform a@3[orders: 0] b@3[]→[orders: 1]")
	cl.pass(time.Second)
	cl.expectGroup("b's session is over", "G1", "Assigning 4/3 uniform a@3[orders: 0]")
	a.mustBeat()
	cl.expectGroup("assigned anew", "G1", "Stable 4/4 uniform a@4[orders: 0 1]")
	expectErr(t, "b", b.beat(), kafka.ErrUnknownMemberID)
}

// Rule H3: a member that does not give partitions up within its rebalance
// timeout is out, however often it shows that it lives.
func TestH3RebalanceTimeout(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 2)
	a := cl.joined("G1", "a", "orders")
	a.slow = true
	cl.tick()
	b := cl.joined("G1", "b", "orders")
	a.mustBeat()
	for range 3 {
		cl.pass(19 * time.Second)
		rounds(1, a, b)
	}
	cl.expectGroup("three seconds to go", "G1", "Reconciling 3/3 uniform a@2[orders: 0 1]→[orders: 0] b@3[]→[orders: 1]")
	cl.pass(3 * time.Second)
	b.mustBeat()
	cl.expectGroup("over", "G1", "Stable 4/4 uniform b@4[orders: 0 1]")
	expectErr(t, "a", a.beat(), kafka.ErrUnknownMemberID)
}

// Rule H3: members choose among the server's assignors; the majority counts.
func TestH3Assignors(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 3)
	cl.topic("sales", 1)
	cl.settings.ConsumerAssignmentInterval = 0
	var members []*beater
	for i, assignor := range []string{"range", "range", "uniform"} {
		b := cl.beater("G1", string(rune('a'+i)), "orders", "sales")
		b.assignor = new(assignor)
		b.mustBeat()
		members = append(members, b)
	}
	rounds(3, members...)
	cl.expectGroup("range", "G1", "Stable 4/4 range a@4[orders: 0, sales: 0] b@4[orders: 1] c@4[orders: 2]")
	expectErr(t, "leave", members[0].leave(group.LeaveEpoch), nil)
	expectErr(t, "leave", members[1].leave(group.LeaveEpoch), nil)
	rounds(2, members[2])
	cl.expectGroup("uniform", "G1", "Stable 6/6 uniform c@6[orders: 0 1 2, sales: 0]")
}

// Rule H3: new partitions, and topics that go, are a new assignment for those
// who subscribe to them.
func TestH3TopicsChange(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 1)
	a := cl.joined("G1", "a", "orders", "later")
	b := cl.joined("G2", "b", "sales")
	cl.tick()
	cl.topic("orders", 3)
	rounds(1, a, b)
	cl.expectGroup("more partitions", "G1", "Stable 3/3 uniform a@3[orders: 0 1 2]")
	cl.expectGroup("no business of others", "G2", "Stable 2/2 uniform b@2[]")
	cl.tick()
	cl.topic("later", 1)
	rounds(1, a, b)
	cl.expectGroup("a topic that members waited for", "G1", "Stable 4/4 uniform a@4[later: 0, orders: 0 1 2]")
	cl.tick()
	cl.topics.all = slices.DeleteFunc(cl.topics.all, func(t group.Topic) bool { return t.Name == "orders" })
	rounds(2, a, b)
	cl.expectGroup("a topic that went", "G1", "Stable 5/5 uniform a@5[later: 0]")
}

// Rule H3: a member that changes its subscription gives up what it no longer
// subscribes to without waiting for the next target.
func TestH3SubscriptionChange(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 1)
	cl.topic("sales", 1)
	a := cl.joined("G1", "a", "orders")
	req := a.request()
	req.SubscribedTopics = []string{"sales"}
	r, err := cl.heartbeat(req)
	if err != nil || r.MemberEpoch != 2 || r.Assignment == nil || len(r.Assignment) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	cl.expectGroup("the next target has to wait", "G1", "Assigning 3/2 uniform a@2[orders: 0]")
	a.owned = r.Assignment
	cl.tick()
	a.mustBeat()
	cl.expectGroup("changed", "G1", "Stable 3/3 uniform a@3[sales: 0]")
}

// Rule H3: subscriptions by regular expressions (RE2) are resolved by the
// coordinator, of topics that the member may describe, and again when topics
// are created, at most every ten seconds.
func TestH3Regex(t *testing.T) {
	cl := newCluster(t)
	for _, name := range []string{"orders", "orders-eu", "pre-orders", "orders-secret"} {
		cl.topic(name, 1)
	}
	a := cl.beater("G1", "a")
	a.regex = new("orders.*")
	req := a.request()
	req.MayDescribe = func(topic string) bool { return topic != "orders-secret" }
	r, err := cl.heartbeat(req)
	if err != nil || r.MemberEpoch != 1 || len(r.Assignment) != 0 {
		t.Errorf("not resolved yet: %+v, %v", r, err)
	}
	a.epoch = r.MemberEpoch
	cl.tick()
	a.mustBeat()
	cl.expectGroup("resolved", "G1", "Stable 2/2 uniform a@2[orders-eu: 0, orders: 0]")
	cl.topic("orders-us", 1)
	cl.pass(8 * time.Second)
	rounds(2, a)
	cl.expectGroup("too early to look again", "G1", "Stable 2/2 uniform a@2[orders-eu: 0, orders: 0]")
	cl.pass(2 * time.Second)
	rounds(1, a)
	cl.settle()
	rounds(1, a)
	cl.expectGroup("resolved again, now by a client that may see all", "G1",
		"Stable 3/3 uniform a@3[orders-eu: 0, orders-secret: 0, orders-us: 0, orders: 0]")
	change := a.request()
	change.SubscribedRegex, change.SubscribedTopics = new(""), []string{"pre-orders"}
	cl.tick()
	r, err = cl.heartbeat(change)
	if err != nil {
		t.Fatal(err)
	}
	a.owned = r.Assignment
	rounds(1, a)
	cl.expectGroup("by name instead", "G1", "Stable 4/4 uniform a@4[pre-orders: 0]")
}

// Two members that share a regular expression have one resolution, which goes
// with the last of them.
func TestH3SharedRegex(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 2)
	cl.settings.ConsumerAssignmentInterval = 0
	a, b := cl.beater("G1", "a"), cl.beater("G1", "b")
	a.regex, b.regex = new("ord.*"), new("ord.*")
	rounds(2, a)
	rounds(3, b, a)
	cl.expectGroup("shared", "G1", "Stable 3/3 uniform a@3[orders: 0] b@3[orders: 1]")
	expectErr(t, "leave", a.leave(group.LeaveEpoch), nil)
	rounds(2, b)
	cl.expectGroup("one left", "G1", "Stable 4/4 uniform b@4[orders: 0 1]")
	expectErr(t, "leave", b.leave(group.LeaveEpoch), nil)
	for _, r := range cl.shards[cl.PartitionFor("G1")].Groups["G1"].Tombstones() {
		if record.KindOf(r.Key) == record.ConsumerRegex {
			t.Errorf("left behind: %x", r.Key)
		}
	}
}

// Rule H4: who may commit for a group of the consumer protocol, and by which
// epochs. An older one is good for what the member has had since then.
func TestH4ConsumerCommit(t *testing.T) {
	cl := newCluster(t)
	id := cl.topic("orders", 2)
	a := cl.joined("G1", "a", "orders")
	cl.tick()
	b := cl.joined("G1", "b", "orders")
	rounds(2, a, b) // a has partition 0 since 2, b has partition 1 since 3, both are at 3
	commit := func(member string, epoch, partition int32) group.CommitRequest {
		return group.CommitRequest{GroupID: "G1", MemberID: member, Generation: epoch, Retention: -1, GroupIDNotFoundSupported: true,
			Topics: []group.CommitTopic{{Topic: "orders", TopicID: id, Partitions: []group.CommittedOffset{{Partition: partition, Offset: 5}}}}}
	}
	for _, test := range []struct {
		name string
		req  group.CommitRequest
		want error
	}{
		{"present epoch", commit("a", 3, 0), nil},
		{"present epoch, a partition of another's", commit("a", 3, 1), nil},
		{"older epoch, its own since then", commit("a", 2, 0), nil},
		{"older epoch, of before it was its own", commit("b", 2, 1), kafka.ErrStaleMemberEpoch},
		{"older epoch, not its own", commit("a", 2, 1), kafka.ErrStaleMemberEpoch},
		{"newer epoch", commit("a", 4, 0), kafka.ErrStaleMemberEpoch},
		{"unknown member", commit("x", 3, 0), kafka.ErrUnknownMemberID},
		{"an administrator", commit("", -1, 0), kafka.ErrUnknownMemberID},
	} {
		expectErr(t, test.name, cl.commit(test.req), test.want)
		txn := group.TxnCommitRequest{GroupID: "G1", MemberID: test.req.MemberID, Generation: test.req.Generation, Topics: test.req.Topics, Producer: producerOf(1, 0)}
		want := test.want
		switch {
		case want == error(kafka.ErrStaleMemberEpoch):
			want = kafka.ErrIllegalGeneration // all that transactional producers know
		case test.req.MemberID == "":
			want = nil
		}
		expectErr(t, test.name+", in a transaction", cl.txnCommit(txn), want)
	}
	old := commit("a", 3, 0)
	old.GroupIDNotFoundSupported = false
	expectErr(t, "OffsetCommit before v9", cl.commit(old), kafka.ErrUnsupportedVersion)
	expectErr(t, "leave", a.leave(group.LeaveEpoch), nil)
	expectErr(t, "leave", b.leave(group.LeaveEpoch), nil)
	expectErr(t, "an administrator, once it is empty", cl.commit(commit("", -1, 0)), nil)
}

// Rule H9: OffsetFetch may name a member of the consumer protocol, which must
// then be one.
func TestH9ConsumerFetch(t *testing.T) {
	cl := newCluster(t)
	id := cl.topic("orders", 1)
	a := cl.joined("G1", "a", "orders")
	expectErr(t, "commit", cl.commit(group.CommitRequest{GroupID: "G1", MemberID: "a", Generation: a.epoch, Retention: -1, GroupIDNotFoundSupported: true,
		Topics: []group.CommitTopic{{Topic: "orders", TopicID: id, Partitions: []group.CommittedOffset{{Offset: 5}}}}}), nil)
	for _, test := range []struct {
		name   string
		member *string
		epoch  int32
		want   string
	}{
		{"nobody", nil, -1, "orders-0=5"},
		{"the member", new("a"), 2, "orders-0=5"},
		{"another epoch", new("a"), 1, "The received member epoch 1 does not match the expected member epoch 2."},
		{"another member", new("x"), 2, "Member x is not a member of group G1."},
		{"an epoch without a member", nil, 2, "Member  is not a member of group G1."},
	} {
		if got := cl.fetchRequest(group.FetchRequest{GroupID: "G1", MemberID: test.member, MemberEpoch: test.epoch}); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// Rules H10, H11: how a group of the consumer protocol is listed, described,
// deleted from and deleted.
func TestH11ConsumerGroup(t *testing.T) {
	cl := newCluster(t)
	id := cl.topic("orders", 1)
	a := cl.joined("G1", "a", "orders")
	commit := group.CommitRequest{GroupID: "G1", MemberID: "a", Generation: a.epoch, Retention: -1, GroupIDNotFoundSupported: true,
		Topics: []group.CommitTopic{{Topic: "orders", TopicID: id, Partitions: []group.CommittedOffset{{Offset: 5}}},
			{Topic: "sales", Partitions: []group.CommittedOffset{{Offset: 6}}}}}
	expectErr(t, "commit", cl.commit(commit), nil)
	for _, filter := range []group.ListRequest{{}, {Types: []string{"Consumer"}}, {States: []string{"sTABLE "}}} {
		listings, err := cl.List(filter)
		if want := []group.Listing{{GroupID: "G1", ProtocolType: "consumer", State: group.Stable, Kind: group.Consumer}}; err != nil || !slices.Equal(listings, want) {
			t.Errorf("%+v: %+v, %v", filter, listings, err)
		}
	}
	for _, filter := range []group.ListRequest{{Types: []string{"classic", "share"}}, {States: []string{"Empty"}}} {
		if listings, _ := cl.List(filter); len(listings) > 0 {
			t.Errorf("%+v: %+v", filter, listings)
		}
	}
	if d := cl.Describe([]string{"G1"})[0]; !errors.Is(d.Err, kafka.ErrGroupIDNotFound) || d.State != group.Dead || d.Err.Error() != "Group G1 is not a classic group." {
		t.Errorf("DescribeGroups: %+v", d)
	}
	cl.expectGroup("unknown", "G9", "Group G9 not found.")
	cl.stable("classic")
	cl.expectGroup("classic", "classic", "Group classic is not a consumer group.")
	expectErr(t, "OffsetDelete, subscribed", cl.deleteOffsets("G1", group.FetchTopic{Topic: "orders", Partitions: []int32{0}}), kafka.ErrGroupSubscribedToTopic)
	expectErr(t, "OffsetDelete", cl.deleteOffsets("G1", group.FetchTopic{Topic: "sales", Partitions: []int32{0}}), nil)
	cl.expectFetch("one deleted", "G1", false, "orders-0=5")
	expectErr(t, "DeleteGroups, with members", cl.deleteGroups("G1")[0], kafka.ErrNonEmptyGroup)
	expectErr(t, "leave", a.leave(group.LeaveEpoch), nil)
	expectErr(t, "DeleteGroups", cl.deleteGroups("G1")[0], nil)
	cl.expectGroup("deleted", "G1", "Group G1 not found.")
	cl.expectFetch("deleted", "G1", false, "")
	cl.restart(cl.broker.Config)
	cl.expectGroup("deleted for good", "G1", "Group G1 not found.")
}

// Rule H11: offsets of a group of the consumer protocol expire from each
// commit, unless members subscribe to the topic; then the group.
func TestH11ConsumerExpiry(t *testing.T) {
	cl := newCluster(t)
	id := cl.topic("orders", 1)
	a := cl.joined("G1", "a", "orders")
	expectErr(t, "commit", cl.commit(group.CommitRequest{GroupID: "G1", MemberID: "a", Generation: a.epoch, Retention: -1, GroupIDNotFoundSupported: true,
		Topics: []group.CommitTopic{{Topic: "orders", TopicID: id, Partitions: []group.CommittedOffset{{Offset: 5}}},
			{Topic: "sales", Partitions: []group.CommittedOffset{{Offset: 6}}}}}), nil)
	cl.settings.ConsumerSessionTimeout = 30 * 24 * time.Hour
	a.mustBeat()
	cl.pass(7*24*time.Hour + 20*time.Minute)
	cl.expectFetch("the other topic's", "G1", false, "orders-0=5")
	expectErr(t, "leave", a.leave(group.LeaveEpoch), nil)
	cl.pass(20 * time.Minute)
	cl.expectGroup("all", "G1", "Group G1 not found.")
}

// A coordinator that loads a partition has the groups that were there, and
// waits for their members.
func TestH3Failover(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 4)
	a := cl.joined("G1", "a", "orders")
	a.slow = true
	cl.tick()
	b := cl.joined("G1", "b", "orders")
	b.regex = new("or.*")
	r := b.request()
	r.SubscribedRegex = b.regex
	if _, err := cl.heartbeat(r); err != nil {
		t.Fatal(err)
	}
	a.mustBeat()
	var before string
	var state *consumer.Group
	cl.loop.Do(func() {
		before = cl.Coordinator.String()
		state = cl.shards[cl.PartitionFor("G1")].Groups["G1"].(*consumer.Group)
	})
	cl.restart(cl.broker.Config)
	cl.loop.Do(func() {
		if after := cl.Coordinator.String(); after != before {
			t.Errorf("after: %s\nbefore: %s", after, before)
		}
		loaded := cl.shards[cl.PartitionFor("G1")].Groups["G1"].(*consumer.Group)
		if got, want := snapshotText(loaded), snapshotText(state); got != want {
			t.Errorf("after:\n%s\nbefore:\n%s", got, want)
		}
	})
	b.mustBeat()
	cl.pass(44 * time.Second)
	rounds(1, b)
	cl.pass(time.Second)
	rounds(3, b)
	cl.expectGroup("who did not come back is out", "G1", "Stable 5/5 uniform b@5[orders: 0 1 2 3]")
}

func snapshotText(g *consumer.Group) string {
	var lines []string
	for _, r := range g.Snapshot() {
		lines = append(lines, fmt.Sprintf("%x=%x", r.Key, r.Value))
	}
	return strings.Join(lines, "\n")
}

// What cannot be written has not happened: the member comes again.
func TestH3AppendFails(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 1)
	b := cl.beater("G1", "a", "orders")
	cl.appendErr = kafka.ErrNotLeaderOrFollower
	expectErr(t, "join", b.beat(), kafka.ErrNotCoordinator)
	cl.expectGroup("nothing", "G1", "Group G1 not found.")
	cl.appendErr = nil
	b.mustBeat()
	cl.appendErr = kafka.ErrNotLeaderOrFollower
	cl.pass(45 * time.Second)
	cl.expectGroup("its session is over, and that cannot be written", "G1", "Stable 2/2 uniform a@2[orders: 0]")
	cl.appendErr = nil
	cl.pass(shard.ExpulsionBackoff)
	cl.expectGroup("now it is", "G1", "Empty 3/2 uniform")
}

// An answer waits until what it tells of is replicated.
func TestH3AnswerWaitsForReplication(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 1)
	a := cl.joined("G1", "a", "orders")
	cl.stalled = true
	answered := 0
	cl.loop.Do(func() {
		cl.ConsumerHeartbeat(cl.beater("G1", "b", "orders").request(), func(group.ConsumerHeartbeatResult, error) { answered++ })
		cl.ConsumerHeartbeat(a.request(), func(group.ConsumerHeartbeatResult, error) { answered++ })
	})
	cl.pass(time.Second)
	if answered != 0 {
		t.Errorf("%d answers before", answered)
	}
	cl.resume()
	if answered != 2 {
		t.Errorf("%d answers after", answered)
	}
}

// Rule H3: the size of a group (group.consumer.max.size).
func TestH3MaxSize(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 1)
	cfg := cl.broker.Config
	cfg.ConsumerMaxSize = 1
	cl.Configure(cfg)
	s := cl.beater("G1", "s1", "orders")
	s.instance = new("i")
	s.mustBeat()
	s.mustBeat()
	expectErr(t, "one too many", cl.beater("G1", "b", "orders").beat(), kafka.ErrGroupMaxSizeReached)
	expectErr(t, "static leave", s.leave(group.StaticLeaveEpoch), nil)
	s.id = "s2"
	s.mustBeat()
}
