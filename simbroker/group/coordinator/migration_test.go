package coordinator

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/embedded"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Rule H3: a group without members changes its type with the first member of
// the other protocol, and keeps its offsets.
func TestH3EmptyGroupChangesType(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 1)
	cl.simple("G1", 5)
	b := cl.joined("G1", "a", "orders")
	cl.expectGroup("simple to consumer", "G1", "Stable 2/2 uniform a@2[orders: 0]")
	cl.expectFetch("simple to consumer", "G1", false, "orders-0=5")
	expectErr(t, "leave", b.leave(group.LeaveEpoch), nil)
	c := cl.consumers("G1", 1)
	c.joinAll()
	c.syncAll()
	cl.expectState("consumer to classic", "G1", group.Stable)
	cl.expectFetch("consumer to classic", "G1", false, "orders-0=5")
	cl.restart(cl.broker.Config)
	cl.expectState("loaded", "G1", group.Stable)
	expectErr(t, "leave", c.leave(0), nil)
	cl.settle()
	rounds(1, b)
	cl.expectGroup("classic to consumer", "G1", "Stable 2/2 uniform a@2[orders: 0]")
	cl.expectFetch("classic to consumer", "G1", false, "orders-0=5")
	cl.restart(cl.broker.Config)
	cl.expectGroup("loaded", "G1", "Stable 2/2 uniform a@2[orders: 0]")
	cl.expectFetch("loaded", "G1", false, "orders-0=5")
}

// classics are consumers of the classic protocol with an assignment that a
// consumer can read, of orders-0, orders-1, … in turn.
func (cl *cluster) classics(groupID string, n int) *consumers {
	cl.t.Helper()
	c := cl.consumers(groupID, n)
	c.joinAll()
	for i, id := range c.members {
		if id != c.leader {
			continue
		}
		req := group.SyncRequest{GroupID: groupID, GenerationID: c.generation, MemberID: id}
		for j, member := range c.members {
			req.Assignments = append(req.Assignments, group.MemberAssignment{
				MemberID: member, Assignment: embedded.EncodeAssignment(1, []group.AssignedTopic{{Topic: "orders", Partitions: []int32{int32(j)}}}),
			})
		}
		s := c.sendSync(req)
		cl.settle()
		expectErr(cl.t, fmt.Sprint("sync of member ", i), s.err, nil)
	}
	cl.expectState("classic", groupID, group.Stable)
	return c
}

// owning is a member's JoinGroup that says what it has.
func (c *consumers) owning(i int, partitions ...int32) group.JoinRequest {
	req := c.request(i)
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version, meta.Topics = 1, c.topics
	if len(partitions) > 0 {
		owned := kmsg.NewConsumerMemberMetadataOwnedPartition()
		owned.Topic, owned.Partitions = "orders", partitions
		meta.OwnedPartitions = append(meta.OwnedPartitions, owned)
	}
	req.Protocols[0].Metadata = meta.AppendTo(nil)
	return req
}

// rejoins joins a group of the consumer protocol as a classic member that has
// some partitions, syncs, and gives its assignment.
func (c *consumers) rejoins(i int, partitions ...int32) string {
	c.cl.t.Helper()
	j := c.send(c.owning(i, partitions...))
	c.cl.settle()
	if j.err != nil || !j.answered {
		c.cl.t.Fatalf("member %d rejoins: answered %t, %v", i, j.answered, j.err)
	}
	c.generation = j.GenerationID
	return c.synced(i)
}

// synced is the assignment that a member is given.
func (c *consumers) synced(i int) string {
	c.cl.t.Helper()
	s := c.sendSync(group.SyncRequest{GroupID: c.group, GenerationID: c.generation, MemberID: c.members[i]})
	c.cl.settle()
	if s.err != nil || !s.answered {
		c.cl.t.Fatalf("member %d syncs: answered %t, %v", i, s.answered, s.err)
	}
	topics, _, err := embedded.DecodeAssignment(s.Assignment)
	if err != nil {
		c.cl.t.Fatal(err)
	}
	text := ""
	for _, topic := range topics {
		text += fmt.Sprint(topic.Topic, topic.Partitions)
	}
	return text
}

// A classic group into which a member of the consumer protocol comes becomes
// one of that protocol, with its classic members and all that they have; it
// goes back when the last member of the consumer protocol leaves.
func TestOnlineMigration(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 2)
	c := cl.classics("G1", 2)
	expectErr(t, "the classic members' commit", cl.commit(group.CommitRequest{GroupID: "G1", MemberID: c.members[0], Generation: 1, Retention: -1, Topics: offsetsOf(5)}), nil)
	b := cl.joined("G1", "x", "orders")
	first, second := c.members[0], c.members[1]
	cl.expectGroup("upgraded", "G1", fmt.Sprintf("Reconciling 2/2 uniform %s@1[orders: 0] classic %s@1[orders: 1] classic x@2[]", first, second))
	for i := range c.members {
		expectErr(t, fmt.Sprintf("heartbeat of classic member %d", i), c.heartbeat(i), kafka.ErrRebalanceInProgress)
	}
	if got := c.rejoins(0, 0); got != "orders[0]" {
		t.Errorf("first member: %s", got)
	}
	if got := c.rejoins(1, 1); got != "orders[1]" {
		t.Errorf("second member: %s", got)
	}
	rounds(1, b)
	cl.expectGroup("all at the new epoch", "G1", fmt.Sprintf("Stable 2/2 uniform %s@2[orders: 0] classic %s@2[orders: 1] classic x@2[]", first, second))
	for i := range c.members {
		expectErr(t, fmt.Sprintf("heartbeat of classic member %d", i), c.heartbeat(i), nil)
	}
	cl.expectFetch("its offsets are there", "G1", false, "orders-0=5")
	cl.restart(cl.broker.Config)
	cl.expectGroup("loaded", "G1", fmt.Sprintf("Stable 2/2 uniform %s@2[orders: 0] classic %s@2[orders: 1] classic x@2[]", first, second))
	expectErr(t, "a classic member leaves", c.leave(1), nil)
	cl.tick()
	rounds(1, b)
	cl.expectGroup("one classic member left", "G1", fmt.Sprintf("Reconciling 3/3 uniform %s@2[orders: 0] classic x@3[orders: 1]", first))
	expectErr(t, "the last of the consumer protocol leaves", b.leave(group.LeaveEpoch), nil)
	cl.expectGroup("downgraded", "G1", "Group G1 is not a consumer group.")
	cl.expectState("downgraded", "G1", group.PreparingRebalance)
	cl.expectFetch("its offsets are there", "G1", false, "orders-0=5")
}

// A classic member in a group of the consumer protocol has to give up before
// another gets, as any.
func TestMixedRevocation(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 2)
	cl.settings.ConsumerAssignmentInterval = 0
	b := cl.joined("G1", "x", "orders")
	c := cl.consumers("G1", 1)
	j := c.join(0)
	cl.settle()
	if j.err != nil || j.GenerationID != 3 || *j.ProtocolType != "consumer" || *j.ProtocolName != "range" || j.Leader != "" {
		t.Fatalf("%+v", j)
	}
	c.generation = 3
	if got := c.synced(0); got != "" {
		t.Errorf("before the other gives up: %s", got)
	}
	expectErr(t, "it waits", c.heartbeat(0), nil)
	rounds(2, b)
	expectErr(t, "it is free", c.heartbeat(0), kafka.ErrRebalanceInProgress)
	if got := c.rejoins(0); got != "orders[1]" {
		t.Errorf("after: %s", got)
	}
	expectErr(t, "it has", c.heartbeat(0), nil)
	cl.topic("orders", 6)
	d := cl.joined("G1", "y", "orders")
	expectErr(t, "a new target", c.heartbeat(0), kafka.ErrRebalanceInProgress)
	if got := c.rejoins(0, 1); got != "orders[1 2]" {
		t.Errorf("it has nothing to give up: %s", got)
	}
	rounds(3, b, d)
	id := c.members[0]
	cl.expectGroup("spread", "G1", fmt.Sprintf("Stable 4/4 uniform %s@4[orders: 1 2] classic x@4[orders: 0 3] y@4[orders: 4 5]", id))
	expectErr(t, "leave", d.leave(group.LeaveEpoch), nil)
	expectErr(t, "leave", b.leave(group.LeaveEpoch), nil)
}

// What classic members may not do in a group of the consumer protocol.
func TestMixedRefusals(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 1)
	cl.settings.ConsumerAssignmentInterval = 0
	b := cl.joined("G1", "x", "orders")
	c := cl.consumers("G1", 1)
	c.join(0)
	cl.settle()
	c.generation = 3
	expectErr(t, "heartbeat of a member of the consumer protocol", cl.Heartbeat(group.HeartbeatRequest{GroupID: "G1", MemberID: "x", GenerationID: b.epoch}), kafka.ErrUnknownMemberID)
	expectErr(t, "wrong generation", cl.Heartbeat(group.HeartbeatRequest{GroupID: "G1", MemberID: c.members[0], GenerationID: 9}), kafka.ErrIllegalGeneration)
	expectErr(t, "unknown instance", cl.Heartbeat(group.HeartbeatRequest{GroupID: "G1", MemberID: c.members[0], InstanceID: new("i"), GenerationID: 3}), kafka.ErrUnknownMemberID)
	sync := c.sendSync(group.SyncRequest{GroupID: "G1", MemberID: c.members[0], GenerationID: 3, ProtocolName: new("other")})
	expectErr(t, "other protocol", sync.err, kafka.ErrInconsistentGroupProtocol)
	connect := c.request(0)
	connect.ProtocolType = "connect"
	expectErr(t, "no consumer", c.send(connect).err, kafka.ErrInconsistentGroupProtocol)
	other := c.request(0)
	other.Protocols[0].Name = "sticky"
	expectErr(t, "no protocol in common", c.send(other).err, kafka.ErrInconsistentGroupProtocol)
	malformed := c.request(0)
	malformed.Protocols[0].Metadata = []byte{0}
	expectErr(t, "malformed subscription", c.send(malformed).err, kafka.ErrInconsistentGroupProtocol)
	left, err := cl.leave(group.LeaveRequest{GroupID: "G1", Members: []group.LeavingMember{{MemberID: "?"}, {InstanceID: new("i")}}})
	if err != nil || len(left) != 2 {
		t.Fatalf("%+v, %v", left, err)
	}
	expectErr(t, "unknown member leaves", left[0].Err, kafka.ErrUnknownMemberID)
	expectErr(t, "unknown instance leaves", left[1].Err, kafka.ErrUnknownMemberID)
	cfg := cl.broker.Config
	cfg.ConsumerMigrationPolicy = group.MigrationDisabled
	cl.Configure(cfg)
	expectErr(t, "migration disabled", c.send(c.request(0)).err, kafka.ErrInconsistentGroupProtocol)
	expectErr(t, "leave", b.leave(group.LeaveEpoch), nil)
	cl.expectGroup("no downgrade", "G1", fmt.Sprintf("Assigning 4/3 uniform %s@3[] classic", c.members[0]))
}

// Which classic groups are not upgraded.
func TestUpgradeRefusals(t *testing.T) {
	for _, test := range []struct {
		name    string
		prepare func(*cluster)
	}{
		{"migration disabled", func(cl *cluster) {
			cl.classics("G1", 1)
			cfg := cl.broker.Config
			cfg.ConsumerMigrationPolicy = group.MigrationDowngrade
			cl.Configure(cfg)
		}},
		{"too many members", func(cl *cluster) {
			cl.classics("G1", 2)
			cfg := cl.broker.Config
			cfg.ConsumerMaxSize = 1
			cl.Configure(cfg)
		}},
		{"no consumers", func(cl *cluster) {
			c := cl.consumers("G1", 1)
			c.protocolType = "connect"
			c.joinAll()
			c.syncAll()
		}},
		{"an assignment that no consumer could read", func(cl *cluster) { cl.stable("G1") }},
		{"a custom assignor", func(cl *cluster) {
			c := cl.consumers("G1", 1)
			c.joinAll()
			assignment := append(embedded.EncodeAssignment(0, nil)[:6], 0, 0, 0, 1, 'x')
			c.sendSync(group.SyncRequest{GroupID: "G1", GenerationID: c.generation, MemberID: c.members[0],
				Assignments: []group.MemberAssignment{{MemberID: c.members[0], Assignment: assignment}}})
			cl.settle()
		}},
	} {
		cl := newCluster(t)
		cl.topic("orders", 1)
		test.prepare(cl)
		expectErr(t, test.name, cl.beater("G1", "x", "orders").beat(), kafka.ErrGroupIDNotFound)
		cl.expectState(test.name, "G1", group.Stable)
	}
}

// A classic member that is told to rejoin and does not is out after its
// rebalance timeout, and so is one that rejoins and does not sync.
func TestMixedTimeouts(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 2)
	cl.settings.ConsumerAssignmentInterval = 0
	b := cl.joined("G1", "x", "orders")
	c := cl.consumers("G1", 2)
	c.session = 10 * time.Minute
	for i := range c.members {
		c.join(i)
		cl.settle()
	}
	cl.settings.ConsumerSessionTimeout = time.Hour
	rounds(2, b)
	c.generation = 3
	c.sendSync(group.SyncRequest{GroupID: "G1", GenerationID: 3, MemberID: c.members[0]})
	c.heartbeat(0) // there is a later target: it is to rejoin
	cl.pass(59 * time.Second)
	cl.expectMembers("before", "G1", 3)
	cl.pass(2 * time.Second)
	cl.expectMembers("neither rejoined nor synced", "G1", 1)
}

func (cl *cluster) expectMembers(what, groupID string, want int) {
	cl.t.Helper()
	cl.loop.Do(func() {
		if d := cl.DescribeConsumers([]string{groupID})[0]; len(d.Members) != want {
			cl.t.Errorf("%s: %s", what, cl.drawConsumer(d))
		}
	})
}

// What consumers embed in the classic protocol is read and written as kmsg does.
func TestEmbeddedProtocol(t *testing.T) {
	for version := range int16(4) {
		meta := kmsg.NewConsumerMemberMetadata()
		meta.Version, meta.Topics, meta.UserData, meta.Generation, meta.Rack = version, []string{"orders", "sales"}, []byte("whatever"), 7, new("r")
		owned := kmsg.NewConsumerMemberMetadataOwnedPartition()
		owned.Topic, owned.Partitions = "orders", []int32{1, 2}
		meta.OwnedPartitions = append(meta.OwnedPartitions, owned)
		b := meta.AppendTo(nil)
		s, err := embedded.DecodeSubscription(b)
		if err != nil || s.Version != version || len(s.Topics) != 2 || (len(s.Owned) == 1) != (version >= 1) || (s.RackID != nil) != (version >= 3) {
			t.Errorf("subscription v%d: %+v, %v", version, s, err)
		}
		if _, err := embedded.DecodeSubscription(b[:len(b)-1]); err == nil {
			t.Errorf("subscription v%d, truncated, was accepted", version)
		}
		topics := []group.AssignedTopic{{Topic: "orders", Partitions: []int32{1, 2}}}
		want := kmsg.NewConsumerMemberAssignment()
		if err := want.ReadFrom(embedded.EncodeAssignment(version, topics)); err != nil || want.Version != version || len(want.Topics) != 1 || want.UserData != nil {
			t.Errorf("assignment v%d: %+v, %v", version, want, err)
		}
		got, custom, err := embedded.DecodeAssignment(want.AppendTo(nil))
		if err != nil || custom || len(got) != 1 || got[0].Topic != "orders" || len(got[0].Partitions) != 2 {
			t.Errorf("assignment v%d: %+v, %t, %v", version, got, custom, err)
		}
	}
}

// A static member keeps its partitions over a change of its protocol; the last
// one of the consumer protocol takes the group back with it.
func TestMixedStaticMembers(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 2)
	cl.settings.ConsumerAssignmentInterval = 0
	b := cl.joined("G1", "x", "orders")
	c := cl.consumers("G1", 1)
	c.instances[0] = new("i")
	c.members[0] = ""
	first := c.send(c.request(0))
	cl.settle()
	expectErr(t, "a static member needs no id first", first.err, nil)
	rounds(2, b)
	c.members[0] = first.MemberID
	if got := c.rejoins(0); got != "orders[1]" {
		t.Errorf("static member: %s", got)
	}
	c.members[0] = ""
	second := c.send(c.request(0))
	cl.settle()
	expectErr(t, "it starts anew", second.err, nil)
	if second.MemberID == first.MemberID {
		t.Errorf("it keeps the id %s", second.MemberID)
	}
	c.members[0] = first.MemberID
	old := c.send(c.request(0))
	cl.settle()
	expectErr(t, "the one before", old.err, kafka.ErrFencedInstanceID)
	c.members[0] = second.MemberID
	if got := c.rejoins(0, 1); got != "orders[1]" {
		t.Errorf("the new one: %s", got)
	}
	connect := c.request(0)
	connect.ProtocolType = "connect"
	refused := c.send(connect)
	cl.settle()
	expectErr(t, "a member of Kafka Connect", refused.err, kafka.ErrInconsistentGroupProtocol)
	malformed := c.request(0)
	malformed.Protocols[0].Metadata = []byte{0}
	refused = c.send(malformed)
	cl.settle()
	expectErr(t, "a subscription that is none", refused.err, kafka.ErrInconsistentGroupProtocol)
	stale := cl.commit(group.CommitRequest{GroupID: "G1", MemberID: second.MemberID, Generation: 9, Retention: -1, Topics: offsetsOf(5)})
	expectErr(t, "its commit in another generation", stale, kafka.ErrIllegalGeneration)
	expectErr(t, "the last of the consumer protocol leaves", b.leave(group.LeaveEpoch), nil)
	cl.expectGroup("downgraded", "G1", "Group G1 is not a consumer group.")
}
