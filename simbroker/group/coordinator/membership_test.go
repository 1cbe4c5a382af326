package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// consumers are the members of a group, as clients.
type consumers struct {
	cl           *cluster
	group        string
	protocolType string
	topics       []string
	session      time.Duration
	members      []string // ids, "" before the first join
	instances    []*string
	generation   int32
	leader       string
}

// consumers are n dynamic members that have not joined.
func (cl *cluster) consumers(groupID string, n int) *consumers {
	return &consumers{cl: cl, group: groupID, protocolType: "consumer", topics: []string{"orders"}, session: 10 * time.Second,
		members: make([]string, n), instances: make([]*string, n)}
}

// stable is a group of one member that has its assignment.
func (cl *cluster) stable(groupID string) *consumers {
	cl.t.Helper()
	return cl.stableFor(groupID, 10*time.Second)
}

// stableFor is the same with a session timeout.
func (cl *cluster) stableFor(groupID string, session time.Duration) *consumers {
	cl.t.Helper()
	c := cl.consumers(groupID, 1)
	c.session = session
	c.joinAll()
	c.syncAll()
	cl.expectState("after sync", groupID, group.Stable)
	return c
}

// joining is a JoinGroup that may be answered later.
type joining struct {
	group.JoinResult
	err      error
	answered bool
}

// request is what a member asks.
func (c *consumers) request(i int) group.JoinRequest {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Topics = c.topics
	return group.JoinRequest{
		GroupID: c.group, MemberID: c.members[i], InstanceID: c.instances[i],
		ClientID: fmt.Sprintf("client-%d", i), ClientHost: "/127.0.0.1",
		ProtocolType: c.protocolType, Protocols: []group.Protocol{{Name: "range", Metadata: meta.AppendTo(nil)}},
		SessionTimeout: c.session, RebalanceTimeout: time.Minute, RequireKnownMemberID: true,
	}
}

// send sends one JoinGroup.
func (c *consumers) send(req group.JoinRequest) *joining {
	j := new(joining)
	c.cl.loop.Do(func() {
		c.cl.Join(req, func(r group.JoinResult, err error) { j.JoinResult, j.err, j.answered = r, err, true })
	})
	return j
}

// join joins as a client does, coming back with the id it is given.
func (c *consumers) join(i int) *joining {
	j := c.send(c.request(i))
	if j.err == kafka.ErrMemberIDRequired {
		c.members[i] = j.MemberID
		j = c.send(c.request(i))
	}
	return j
}

// joinAll lets all members join and waits for the generation.
func (c *consumers) joinAll() []*joining {
	c.cl.t.Helper()
	var joins []*joining
	for i := range c.members {
		joins = append(joins, c.join(i))
	}
	c.cl.pass(10 * time.Second)
	for i, j := range joins {
		if !j.answered || j.err != nil {
			c.cl.t.Fatalf("member %d: answered %t, %v", i, j.answered, j.err)
		}
		c.members[i], c.generation, c.leader = j.MemberID, j.GenerationID, j.Leader
	}
	return joins
}

// syncing is a SyncGroup that may be answered later.
type syncing struct {
	group.SyncResult
	err      error
	answered bool
}

// sync syncs one member; the leader gives everybody an assignment of the
// member's own id.
func (c *consumers) sync(i int) *syncing {
	req := group.SyncRequest{GroupID: c.group, GenerationID: c.generation, MemberID: c.members[i], InstanceID: c.instances[i]}
	if c.members[i] == c.leader {
		for _, id := range c.members {
			req.Assignments = append(req.Assignments, group.MemberAssignment{MemberID: id, Assignment: []byte(id)})
		}
	}
	return c.sendSync(req)
}

func (c *consumers) sendSync(req group.SyncRequest) *syncing {
	s := new(syncing)
	c.cl.loop.Do(func() {
		c.cl.Sync(req, func(r group.SyncResult, err error) { s.SyncResult, s.err, s.answered = r, err, true })
	})
	return s
}

func (c *consumers) syncAll() {
	c.cl.t.Helper()
	var syncs []*syncing
	for i := range c.members {
		syncs = append(syncs, c.sync(i))
	}
	c.cl.settle()
	for i, s := range syncs {
		if !s.answered || s.err != nil || string(s.Assignment) != c.members[i] {
			c.cl.t.Fatalf("member %d: answered %t, %v, assignment %q", i, s.answered, s.err, s.Assignment)
		}
	}
}

func (c *consumers) heartbeat(i int) error {
	return c.cl.Heartbeat(group.HeartbeatRequest{GroupID: c.group, GenerationID: c.generation, MemberID: c.members[i], InstanceID: c.instances[i]})
}

// keepAlive lets time pass in which all members send heartbeats.
func (c *consumers) keepAlive(d time.Duration) {
	for ; d > 0; d -= c.session / 2 {
		c.cl.pass(min(d, c.session/2))
		c.cl.loop.Do(func() {
			for i := range c.members {
				c.heartbeat(i)
			}
		})
	}
}

// leave sends one LeaveGroup and waits for its answer.
func (cl *cluster) leave(req group.LeaveRequest) (left []group.LeftMember, err error) {
	cl.t.Helper()
	answered := false
	cl.loop.Do(func() { cl.Leave(req, func(l []group.LeftMember, e error) { left, err, answered = l, e, true }) })
	cl.pass(latency)
	if !answered {
		cl.t.Fatal("LeaveGroup was not answered")
	}
	return left, err
}

// leave takes a member out by its own wish.
func (c *consumers) leave(i int) error {
	c.cl.t.Helper()
	left, err := c.cl.leave(group.LeaveRequest{GroupID: c.group, Members: []group.LeavingMember{{MemberID: c.members[i], InstanceID: c.instances[i]}}})
	if err != nil {
		c.cl.t.Fatal(err)
	}
	return left[0].Err
}

// Rule H2: from the first join to an assignment.
func TestH2FirstGeneration(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 2)
	first := c.send(c.request(0))
	if first.err != kafka.ErrMemberIDRequired || first.MemberID != "client-0-"+uuid(1) || first.GenerationID != -1 {
		t.Fatalf("without an id: %+v", first)
	}
	cl.expectState("ids are given out", "G1", group.Empty)
	c.members[0] = first.MemberID
	j := c.send(c.request(0))
	cl.expectState("a member", "G1", group.PreparingRebalance)
	cl.pass(2 * time.Second)
	k := c.join(1)
	cl.pass(900 * time.Millisecond)
	if j.answered {
		t.Error("answered within group.initial.rebalance.delay.ms")
	}
	cl.pass(100*time.Millisecond + 3*time.Second) // a second member extends the delay once
	cl.expectState("joined", "G1", group.CompletingRebalance)
	if j.GenerationID != 1 || k.GenerationID != 1 || *j.ProtocolType != "consumer" || *j.ProtocolName != "range" {
		t.Errorf("generation %+v, %+v", j.JoinResult, k.JoinResult)
	}
	if j.Leader != j.MemberID || k.Leader != j.MemberID || len(j.Members) != 2 || len(k.Members) != 0 {
		t.Errorf("leader %q and %q, told of %d and %d members", j.Leader, k.Leader, len(j.Members), len(k.Members))
	}
	c.members, c.generation, c.leader = []string{j.MemberID, k.MemberID}, 1, j.Leader
	follower := c.sync(1)
	cl.settle()
	if follower.answered {
		t.Error("a follower was answered before the leader came")
	}
	leader := c.sync(0)
	if leader.answered {
		t.Error("the leader was answered before its assignment was replicated")
	}
	cl.settle()
	cl.expectState("synced", "G1", group.Stable)
	if string(leader.Assignment) != j.MemberID || string(follower.Assignment) != k.MemberID {
		t.Errorf("assignments %q and %q", leader.Assignment, follower.Assignment)
	}
	again := c.sync(1)
	if !again.answered || string(again.Assignment) != k.MemberID {
		t.Errorf("a second sync: %+v", again)
	}
}

// The records that a classic group writes over its life, as kmsg reads them.
func TestH2Records(t *testing.T) {
	cl := newCluster(t)
	c := cl.stable("G1")
	c.leave(0)
	cl.settle()
	var lines []string
	for _, e := range cl.entries[cl.PartitionFor("G1")] {
		v := kmsg.NewGroupMetadataValue()
		if err := v.ReadFrom(e.Value); err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%q gen %d", v.ProtocolType, v.Generation)
		for _, m := range v.Members {
			line += fmt.Sprintf(" %s %s %s session %d rebalance %d assigned %q", m.MemberID, m.ClientID, m.ClientHost,
				m.SessionTimeoutMillis, m.RebalanceTimeoutMillis, m.Assignment)
		}
		lines = append(lines, line)
	}
	want := []string{
		`"" gen 0`,
		fmt.Sprintf(`"consumer" gen 1 client-0-%s client-0 /127.0.0.1 session 10000 rebalance 60000 assigned "client-0-%[1]s"`, uuid(1)),
		`"consumer" gen 2`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("records:\n%s\nwant:\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// Rule H2: what JoinGroup refuses.
func TestH2RefusedJoins(t *testing.T) {
	cl := newCluster(t)
	cfg := group.DefaultConfig()
	cfg.MaxSize = 1
	cl.Configure(cfg)
	c := cl.stable("G1")
	for _, test := range []struct {
		name   string
		change func(*group.JoinRequest)
		want   error
	}{
		{"no group", func(r *group.JoinRequest) { r.GroupID = "" }, kafka.ErrInvalidGroupID},
		{"session too short", func(r *group.JoinRequest) { r.SessionTimeout = 6*time.Second - 1 }, kafka.ErrInvalidSessionTimeout},
		{"session too long", func(r *group.JoinRequest) { r.SessionTimeout = 30*time.Minute + 1 }, kafka.ErrInvalidSessionTimeout},
		{"a member id in a new group", func(r *group.JoinRequest) { r.GroupID = "G2" }, kafka.ErrUnknownMemberID},
		{"another protocol type", func(r *group.JoinRequest) { r.ProtocolType = "connect" }, kafka.ErrInconsistentGroupProtocol},
		{"another protocol", func(r *group.JoinRequest) { r.Protocols = []group.Protocol{{Name: "sticky"}} }, kafka.ErrInconsistentGroupProtocol},
		{"an instance that is unknown", func(r *group.JoinRequest) { r.InstanceID = new("i") }, kafka.ErrUnknownMemberID},
		{"a full group", func(r *group.JoinRequest) { r.MemberID = "" }, kafka.ErrGroupMaxSizeReached},
		{"a full group, with an id", func(r *group.JoinRequest) { r.MemberID = "x" }, kafka.ErrGroupMaxSizeReached},
	} {
		req := c.request(0)
		test.change(&req)
		j := c.send(req)
		expectErr(t, test.name, j.err, test.want)
		if j.GenerationID != -1 {
			t.Errorf("%s: generation %d", test.name, j.GenerationID)
		}
	}
	cl.expectState("after all that", "G1", group.Stable)
	cfg.MaxSize = 9
	cl.Configure(cfg)
	req := c.request(0)
	req.MemberID = "x"
	expectErr(t, "an unknown member id", c.send(req).err, kafka.ErrUnknownMemberID)
}

// Rule H2: a protocol without a name or type cannot begin a group, which is
// made all the same.
func TestH2JoinWithoutProtocol(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 1)
	req := c.request(0)
	req.Protocols = nil
	expectErr(t, "no protocols", c.send(req).err, kafka.ErrInconsistentGroupProtocol)
	req = c.request(0)
	req.ProtocolType = ""
	expectErr(t, "no type", c.send(req).err, kafka.ErrInconsistentGroupProtocol)
	cl.expectState("made", "G1", group.Empty)
}

// Rule H2: what Heartbeat and SyncGroup say to whom.
func TestH2Validation(t *testing.T) {
	cl := newCluster(t)
	expectErr(t, "no group", cl.Heartbeat(group.HeartbeatRequest{}), kafka.ErrInvalidGroupID)
	expectErr(t, "missing group", cl.Heartbeat(group.HeartbeatRequest{GroupID: "G1"}), kafka.ErrUnknownMemberID)
	cl.simple("G1", 5)
	expectErr(t, "simple group", cl.Heartbeat(group.HeartbeatRequest{GroupID: "G1"}), kafka.ErrUnknownMemberID)
	c := cl.consumers("G1", 1)
	c.instances[0] = new("i1")
	c.joinAll()
	c.syncAll()
	tests := []struct {
		name       string
		member     string
		instance   *string
		generation int32
		want       error
	}{
		{"the member", c.members[0], nil, 1, nil},
		{"the static member", c.members[0], new("i1"), 1, nil},
		{"another member", "x", nil, 1, kafka.ErrUnknownMemberID},
		{"another generation", c.members[0], nil, 2, kafka.ErrIllegalGeneration},
		{"a superseded static member", "i1-old", new("i1"), 1, kafka.ErrFencedInstanceID},
		{"an unknown instance", c.members[0], new("i2"), 1, kafka.ErrUnknownMemberID},
	}
	for _, test := range tests {
		err := cl.Heartbeat(group.HeartbeatRequest{GroupID: "G1", MemberID: test.member, InstanceID: test.instance, GenerationID: test.generation})
		expectErr(t, "Heartbeat, "+test.name, err, test.want)
		sync := c.sendSync(group.SyncRequest{GroupID: "G1", MemberID: test.member, InstanceID: test.instance, GenerationID: test.generation})
		expectErr(t, "SyncGroup, "+test.name, sync.err, test.want)
	}
	for _, differs := range []group.SyncRequest{{ProtocolType: new("connect")}, {ProtocolName: new("sticky")}} {
		differs.GroupID, differs.MemberID, differs.GenerationID = "G1", c.members[0], 1
		expectErr(t, "SyncGroup, another protocol", c.sendSync(differs).err, kafka.ErrInconsistentGroupProtocol)
	}
}

// Rule H2: a member that falls silent is removed, and the others rebalance.
func TestH2SessionExpires(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 2)
	c.joinAll()
	c.syncAll()
	for range 3 {
		cl.pass(5 * time.Second)
		err := c.heartbeat(1)
		if err != nil && err != kafka.ErrRebalanceInProgress {
			t.Fatal(err)
		}
	}
	cl.expectState("after the first member's session", "G1", group.PreparingRebalance)
	expectErr(t, "the survivor", c.heartbeat(1), kafka.ErrRebalanceInProgress)
	expectErr(t, "the silent one", c.heartbeat(0), kafka.ErrUnknownMemberID)
	j := c.join(1)
	if !j.answered || j.err != nil || j.GenerationID != 2 || j.Leader != c.members[1] || len(j.Members) != 1 {
		t.Errorf("the survivor's generation: %+v", j)
	}
}

// Rule H2: an id that was given out and never used expires too; it does not
// hold up the others for longer.
func TestH2UnusedMemberID(t *testing.T) {
	cl := newCluster(t)
	c := cl.stable("G1")
	stranger := cl.consumers("G1", 1)
	expectErr(t, "stranger", stranger.send(stranger.request(0)).err, kafka.ErrMemberIDRequired)
	j := c.join(0) // the leader wants a rebalance
	if j.answered {
		t.Error("the generation did not wait for the id that was given out")
	}
	cl.pass(10 * time.Second)
	if !j.answered || j.err != nil || j.GenerationID != 2 {
		t.Errorf("after the id's session: %+v", j)
	}
}

// Rule H2: who does not join again within the rebalance timeout is out.
func TestH2RebalanceTimeout(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 2)
	c.session = 2 * time.Minute
	c.joinAll()
	c.syncAll()
	j := c.join(0)
	cl.pass(59 * time.Second)
	if j.answered {
		t.Fatal("the generation did not wait for the other member")
	}
	cl.pass(2 * time.Second)
	if !j.answered || j.GenerationID != 2 || len(j.Members) != 1 {
		t.Errorf("without the other member: %+v", j)
	}
	expectErr(t, "the other member", c.heartbeat(1), kafka.ErrUnknownMemberID)
}

// Rule H2: who does not sync within the rebalance timeout is out.
func TestH2SyncTimeout(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 2)
	c.session = 2 * time.Minute
	c.joinAll()
	follower := c.sync(1)
	cl.pass(time.Minute)
	expectErr(t, "the follower", follower.err, kafka.ErrRebalanceInProgress)
	expectErr(t, "the leader that did not come", c.heartbeat(0), kafka.ErrUnknownMemberID)
	cl.expectState("without a leader", "G1", group.PreparingRebalance)
	if j := c.join(1); !j.answered || j.Leader != c.members[1] {
		t.Errorf("the follower's next generation: %+v", j)
	}
}

// Rule H2: joining again.
func TestH2Rejoin(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 2)
	c.joinAll()
	missed := c.join(0)
	if !missed.answered || missed.GenerationID != 1 || len(missed.Members) != 2 {
		t.Errorf("the leader, while completing, with nothing new: %+v", missed)
	}
	c.syncAll()
	same := c.join(1)
	if !same.answered || same.GenerationID != 1 || len(same.Members) != 0 {
		t.Errorf("a follower with nothing new: %+v", same)
	}
	cl.expectState("nothing new", "G1", group.Stable)
	c.topics = []string{"sales"}
	changed := c.join(1)
	cl.expectState("a follower with another subscription", "G1", group.PreparingRebalance)
	if d := cl.Describe([]string{"G1"})[0]; d.Protocol != "" || string(d.Members[0].Assignment) != c.members[0] || len(d.Members[0].Metadata) > 0 {
		t.Errorf("described as %+v", d)
	}
	sync := c.sync(0)
	expectErr(t, "SyncGroup while preparing", sync.err, kafka.ErrRebalanceInProgress)
	c.join(0)
	if !changed.answered || changed.GenerationID != 2 {
		t.Errorf("the follower: %+v", changed)
	}
}

// Rule H2: a member with something new while the others sync sends them back.
func TestH2RejoinWhileCompleting(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 2)
	c.joinAll()
	follower := c.sync(1)
	c.topics = []string{"sales"}
	c.join(0)
	expectErr(t, "the follower that waited", follower.err, kafka.ErrRebalanceInProgress)
	cl.expectState("another subscription", "G1", group.PreparingRebalance)
}

// An assignment that cannot be written sends everybody back.
func TestH2AssignmentIsNotWritten(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 2)
	c.joinAll()
	cl.appendErr = kafka.ErrNotEnoughReplicas
	follower, leader := c.sync(1), c.sync(0)
	expectErr(t, "leader", leader.err, kafka.ErrCoordinatorNotAvailable)
	expectErr(t, "follower", follower.err, kafka.ErrCoordinatorNotAvailable)
	cl.expectState("not written", "G1", group.PreparingRebalance)

	cl.appendErr = nil
	c.join(0)
	j := c.join(1)
	c.generation = j.GenerationID
	cl.stalled = true
	leader = c.sync(0)
	cl.pass(4 * time.Second)
	if leader.answered {
		t.Error("answered before the assignment was replicated")
	}
	cl.pass(time.Second)
	expectErr(t, "unreplicated", leader.err, kafka.ErrCoordinatorNotAvailable)
}

// A group whose first record cannot be written is none.
func TestH2GroupIsNotWritten(t *testing.T) {
	cl := newCluster(t)
	cl.appendErr = kafka.ErrNotEnoughReplicas
	c := cl.consumers("G1", 1)
	c.join(0)
	cl.expectState("not written", "G1", group.Dead)
	cl.appendErr = nil
	cl.stalled = true
	cfg := group.DefaultConfig()
	cfg.InitialRebalanceDelay = 10 * time.Second
	cl.Configure(cfg)
	req := c.request(0)
	req.MemberID, req.RequireKnownMemberID = "", false
	j := c.send(req)
	cl.pass(5 * time.Second)
	expectErr(t, "unreplicated", j.err, kafka.ErrCoordinatorNotAvailable)
	cl.expectState("unreplicated, but in the log", "G1", group.PreparingRebalance)
}

// Rule H2: a static member that comes back takes its place without a
// rebalance; its predecessor is fenced, and closing does not leave.
func TestH2StaticMember(t *testing.T) {
	for _, skips := range []bool{true, false} {
		cl := newCluster(t)
		c := cl.consumers("G1", 2)
		c.instances = []*string{new("i1"), new("i2")}
		c.joinAll()
		c.syncAll()
		old := c.members[0]
		req := c.request(0)
		req.MemberID, req.SupportsSkipAssignment = "", skips
		j := c.send(req)
		if j.answered {
			t.Error("answered before the new id was replicated")
		}
		cl.settle()
		if !j.answered || j.err != nil || j.GenerationID != 1 || j.MemberID == old || !strings.HasPrefix(j.MemberID, "i1-") {
			t.Fatalf("the one that came back: %+v", j)
		}
		if skips && (!j.SkipAssignment || j.Leader != j.MemberID || len(j.Members) != 2) {
			t.Errorf("a leader that knows of skipping: %+v", j.JoinResult)
		}
		if !skips && (j.SkipAssignment || j.Leader != old || len(j.Members) != 0) {
			t.Errorf("a leader that does not: %+v", j.JoinResult)
		}
		cl.expectState("no rebalance", "G1", group.Stable)
		expectErr(t, "the other member", c.heartbeat(1), nil)
		expectErr(t, "the predecessor", c.heartbeat(0), kafka.ErrFencedInstanceID)
		req.MemberID = old
		expectErr(t, "the predecessor joins", c.send(req).err, kafka.ErrFencedInstanceID)
		c.members[0] = j.MemberID
		sync := c.sync(0)
		if string(sync.Assignment) != old {
			t.Errorf("assignment %q, want that of the predecessor", sync.Assignment)
		}
		memory := cl.String()
		cl.restart(cl.broker.Config)
		if loaded := cl.String(); loaded != memory {
			t.Errorf("loaded %s, was %s", loaded, memory)
		}
	}
}

// Rule H2: a static member that comes back otherwise.
func TestH2StaticMemberRebalances(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 2)
	c.instances = []*string{new("i1"), new("i2")}
	waiting := c.join(0)
	again := c.join(0)
	expectErr(t, "a twin while the group waits", waiting.err, kafka.ErrFencedInstanceID)
	k := c.join(1)
	cl.pass(10 * time.Second)
	if again.GenerationID != 1 || k.GenerationID != 1 || again.Leader != again.MemberID {
		t.Fatalf("generation %+v, %+v", again, k)
	}
	c.members, c.generation, c.leader = []string{again.MemberID, k.MemberID}, 1, again.Leader
	c.sync(1)
	req := c.request(0)
	req.MemberID = ""
	j := c.send(req)
	cl.expectState("a twin while the others sync", "G1", group.PreparingRebalance)
	k = c.join(1)
	if !j.answered || !k.answered || j.GenerationID != 2 {
		t.Fatalf("generation %+v, %+v", j, k)
	}
	c.members, c.generation, c.leader = []string{j.MemberID, k.MemberID}, 2, j.Leader
	c.syncAll()
	req.Protocols = []group.Protocol{{Name: "sticky", Metadata: req.Protocols[0].Metadata}, req.Protocols[0]}
	c.send(req)
	cl.settle()
	cl.expectState("the preference of one of two does not change the protocol", "G1", group.Stable)
}

// Rule H2: a static member that does not join again stays until its session
// ends, but does not lead; while nobody joins, the group goes on waiting.
func TestH2StaticLeaderIsAway(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 2)
	c.session = 5 * time.Minute
	c.instances = []*string{new("i1"), new("i2")}
	c.joinAll()
	c.syncAll()
	c.topics = []string{"sales"}
	j := c.join(1)
	cl.pass(time.Minute)
	if !j.answered || j.GenerationID != 2 || j.Leader != c.members[1] || len(j.Members) != 2 {
		t.Errorf("without the leader: %+v", j)
	}
	c.generation, c.leader = 2, j.Leader
	c.sync(1)
	cl.pass(time.Minute)
	expectErr(t, "the leader that did not sync either", c.heartbeat(0), kafka.ErrUnknownMemberID)

	cl.expectState("a member was removed", "G1", group.PreparingRebalance)
	cl.pass(3 * time.Minute)
	cl.expectState("nobody joins", "G1", group.PreparingRebalance)
	cl.pass(3 * time.Minute)
	cl.expectState("and the last session ends", "G1", group.Empty)
}

// A static member's new id that cannot be written is taken back.
func TestH2StaticMemberIsNotWritten(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 1)
	c.instances[0] = new("i1")
	c.joinAll()
	c.syncAll()
	cl.appendErr = kafka.ErrNotEnoughReplicas
	req := c.request(0)
	req.MemberID = ""
	expectErr(t, "the twin", c.send(req).err, kafka.ErrCoordinatorNotAvailable)
	expectErr(t, "the member", c.heartbeat(0), nil)
}

// Rule H2: LeaveGroup.
func TestH2Leave(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 3)
	c.instances[2] = new("i3")
	c.joinAll()
	c.syncAll()
	_, err := cl.leave(group.LeaveRequest{})
	expectErr(t, "no group", err, kafka.ErrInvalidGroupID)
	left, _ := cl.leave(group.LeaveRequest{GroupID: "G9", Members: []group.LeavingMember{{MemberID: "m"}}})
	expectErr(t, "missing group", left[0].Err, kafka.ErrUnknownMemberID)
	pending := cl.consumers("G1", 1)
	id := pending.send(pending.request(0)).MemberID
	left, err = cl.leave(group.LeaveRequest{GroupID: "G1", Members: []group.LeavingMember{
		{MemberID: "x"},
		{MemberID: "i3-old", InstanceID: new("i3")},
		{InstanceID: new("i9")},
		{MemberID: id},
		{InstanceID: new("i3")},
		{MemberID: c.members[0]},
	}})
	if err != nil || len(left) != 6 {
		t.Fatalf("%v, %v", left, err)
	}
	for i, want := range []error{kafka.ErrUnknownMemberID, kafka.ErrFencedInstanceID, kafka.ErrUnknownMemberID, nil, nil, nil} {
		expectErr(t, fmt.Sprint("leaving member ", i), left[i].Err, want)
	}
	cl.expectState("two have left", "G1", group.PreparingRebalance)
	if j := c.join(1); !j.answered || len(j.Members) != 1 {
		t.Errorf("the last one's generation: %+v", j)
	}
	expectErr(t, "the last one", c.leave(1), nil)
	cl.settle()
	cl.expectState("nobody is left", "G1", group.Empty)
}

// A member that leaves while it waits is told so.
func TestH2LeaveWhileWaiting(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 2)
	j, k := c.join(0), c.join(1)
	expectErr(t, "leave", c.leave(0), nil)
	expectErr(t, "its JoinGroup", j.err, kafka.ErrUnknownMemberID)
	cl.pass(10 * time.Second)
	if !k.answered || len(k.Members) != 1 || k.Leader != k.MemberID {
		t.Errorf("the other: %+v", k)
	}
	c.members, c.generation = []string{"", k.MemberID}, k.GenerationID
	sync := c.sync(1)
	c.leave(1)
	expectErr(t, "SyncGroup", sync.err, kafka.ErrUnknownMemberID)
}

// Rule H2: a member that waits for its first generation is not expired by its
// session, but for ever it does not wait.
func TestH2NewMemberWaits(t *testing.T) {
	cl := newCluster(t)
	cfg := group.DefaultConfig()
	cfg.InitialRebalanceDelay = 10 * time.Minute
	cl.Configure(cfg)
	c := cl.consumers("G1", 1)
	j := c.join(0)
	cl.pass(4 * time.Minute)
	if j.answered {
		t.Errorf("within four minutes: %+v", j)
	}
	cl.pass(2 * time.Minute)
	expectErr(t, "after five", j.err, kafka.ErrUnknownMemberID)
}

// A failover: the next coordinator knows the members, who know nothing of it.
func TestH2Failover(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 2)
	c.joinAll()
	c.syncAll()
	cl.restart(cl.broker.Config)
	cl.expectState("loaded", "G1", group.Stable)
	expectErr(t, "a member", c.heartbeat(0), nil)
	if d := cl.Describe([]string{"G1"})[0]; d.Protocol != "range" || len(d.Members) != 2 || string(d.Members[1].Assignment) != c.members[1] ||
		d.Members[0].ClientID != "client-0" || d.Members[0].ClientHost != "/127.0.0.1" || d.ProtocolType != "consumer" {
		t.Errorf("described as %+v", d)
	}
	cl.pass(9 * time.Second)
	c.heartbeat(0)
	cl.pass(2 * time.Second)
	expectErr(t, "a member that stayed silent", c.heartbeat(1), kafka.ErrUnknownMemberID)

	waiting := c.join(0)
	cl.Unload(cl.PartitionFor("G1"))
	if waiting.err != nil && waiting.err != kafka.ErrNotCoordinator {
		t.Errorf("waiting member: %v", waiting.err)
	}
}

// A coordinator that gives up its partition tells those who wait.
func TestUnloadTellsThoseWhoWait(t *testing.T) {
	cl := newCluster(t)
	a, b := cl.consumers("G1", 1), cl.consumers("G2", 2)
	b.joinAll()
	sync := b.sync(1)
	join := a.join(0)
	cl.simple("G3", 5)
	cl.stalled = true
	var read error
	cl.loop.Do(func() {
		cl.Commit(group.CommitRequest{GroupID: "G3", Generation: -1, Retention: -1, Topics: offsetsOf(6)}, func([]group.TopicResult, error) {})
		cl.FetchOffsets(group.FetchRequest{GroupID: "G3", RequireStable: true}, func(_ []group.FetchedTopic, err error) { read = err })
		for _, group := range []string{"G1", "G2", "G3"} {
			cl.Unload(cl.PartitionFor(group))
		}
	})
	expectErr(t, "JoinGroup", join.err, kafka.ErrNotCoordinator)
	expectErr(t, "SyncGroup", sync.err, kafka.ErrNotCoordinator)
	expectErr(t, "OffsetFetch", read, kafka.ErrNotCoordinator)
	cl.pass(time.Hour) // no timer of a group that is gone does anything
}

// A loaded group that is larger than it may be has to rebalance.
func TestLoadedGroupIsTooLarge(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 2)
	c.joinAll()
	c.syncAll()
	cfg := group.DefaultConfig()
	cfg.MaxSize = 1
	cl.restart(cfg)
	cl.expectState("loaded", "G1", group.PreparingRebalance)
	_, second := c.join(0), c.join(1)
	expectErr(t, "the second one", second.err, kafka.ErrGroupMaxSizeReached)
}

// Rule H10: what ListGroups selects.
func TestH10ListGroups(t *testing.T) {
	cl := newCluster(t)
	cl.stable("G1")
	cl.simple("G2", 5)
	for _, test := range []struct {
		states, types []string
		want          string
	}{
		{nil, nil, "G1/consumer/Stable/classic G2//Empty/classic"},
		{[]string{"stable"}, nil, "G1/consumer/Stable/classic"},
		{[]string{"EMPTY", " Dead"}, nil, "G2//Empty/classic"},
		{nil, []string{"Classic"}, "G1/consumer/Stable/classic G2//Empty/classic"},
		{nil, []string{"consumer"}, ""},
		{[]string{"Stable"}, []string{"classic"}, "G1/consumer/Stable/classic"},
	} {
		list, err := cl.List(group.ListRequest{States: test.states, Types: test.types})
		var lines []string
		for _, l := range list {
			lines = append(lines, fmt.Sprintf("%s/%s/%s/%s", l.GroupID, l.ProtocolType, l.State, l.Kind))
		}
		if got := strings.Join(lines, " "); got != test.want || err != nil {
			t.Errorf("states %q, types %q: %q, %v, want %q", test.states, test.types, got, err, test.want)
		}
	}
}
