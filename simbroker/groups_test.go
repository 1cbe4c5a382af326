package simbroker_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// brisk are the properties of a cluster whose groups of the newer protocols
// come to rest quickly.
func brisk() map[string]string {
	properties := maps.Clone(small)
	for _, kind := range []string{"consumer", "share", "streams"} {
		properties["group."+kind+".heartbeat.interval.ms"] = "50"
		properties["group."+kind+".min.heartbeat.interval.ms"] = "50"
		properties["group."+kind+".assignment.interval.ms"] = "0"
	}
	return properties
}

// nextGen is a consumer of the consumer protocol (KIP-848).
func nextGen(t *testing.T, c *simbroker.Cluster, group string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	return client(t, c, append([]kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()), kgo.MetadataMinAge(50 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(),
	}, opts...)...)
}

// describeConsumer asks the coordinator for a group of the consumer protocol.
func describeConsumer(ctx context.Context, cl *kgo.Client, group string) (kmsg.ConsumerGroupDescribeResponseGroup, error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		return kmsg.ConsumerGroupDescribeResponseGroup{}, err
	}
	return resp.Groups[0], kerr.ErrorForCode(resp.Groups[0].ErrorCode)
}

// awaitSpread waits until a group is Stable and its members have so many
// partitions each, the fewest first.
func awaitSpread(t *testing.T, ctx context.Context, cl *kgo.Client, group string, want ...int) kmsg.ConsumerGroupDescribeResponseGroup {
	t.Helper()
	for {
		g, err := describeConsumer(ctx, cl, group)
		var spread []int
		for _, m := range g.Members {
			n := 0
			for _, topic := range m.Assignment.TopicPartitions {
				n += len(topic.Partitions)
			}
			spread = append(spread, n)
		}
		slices.Sort(spread)
		if err == nil && g.State == "Stable" && slices.Equal(spread, want) {
			return g
		}
		if ctx.Err() != nil {
			t.Fatalf("group %s is %s with %v, want %v; %v", group, g.State, spread, want, err)
		}
		time.Sleep(10 * time.Millisecond) // the other side is a real client, on real time
	}
}

// franz-go's consumers of the consumer protocol share a topic, get new
// partitions, commit, leave, and live through the move of their coordinator.
func TestConsumerProtocolOverTCP(t *testing.T) {
	c := overTCP(t, brisk())
	ctx := within(t, 60*time.Second)
	createTopic(t, ctx, c, "orders", 4, 3)
	admin := client(t, c, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MetadataMinAge(50*time.Millisecond))
	first := nextGen(t, c, "g", kgo.ConsumeTopics("orders"))
	awaitSpread(t, ctx, admin, "g", 4)
	second := nextGen(t, c, "g", kgo.ConsumeTopics("orders"))
	g := awaitSpread(t, ctx, admin, "g", 2, 2)
	if g.AssignorName != "range" || g.Members[0].MemberType != 1 || g.Members[0].ClientHost != "/127.0.0.1" || g.Epoch != g.AssignmentEpoch {
		t.Errorf("described as %+v", g)
	}
	if _, err := kadm.NewClient(admin).UpdatePartitions(ctx, 6, "orders"); err != nil {
		t.Fatal(err)
	}
	awaitSpread(t, ctx, admin, "g", 3, 3)
	for p := range int32(6) {
		r := &kgo.Record{Topic: "orders", Partition: p, Value: []byte(fmt.Sprint(p))}
		if err := admin.ProduceSync(ctx, r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	got := append(values(t, ctx, first, 3), values(t, ctx, second, 3)...)
	slices.Sort(got)
	if want := []string{"0", "1", "2", "3", "4", "5"}; !slices.Equal(got, want) {
		t.Errorf("consumed %v", got)
	}
	for _, cl := range []*kgo.Client{first, second} {
		if err := cl.CommitUncommittedOffsets(ctx); err != nil {
			t.Errorf("commit: %v", err)
		}
	}
	expectCommitted(t, ctx, admin, "g", 6)
	moveCoordinator(t, ctx, c, "g")
	awaitSpread(t, ctx, admin, "g", 3, 3)
	first.Close()
	awaitSpread(t, ctx, admin, "g", 6)
	if err := admin.ProduceSync(ctx, &kgo.Record{Topic: "orders", Partition: 0, Value: []byte("6")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if got := values(t, ctx, second, 1); got[0] != "6" {
		t.Errorf("read %v", got)
	}
}

// expectCommitted sums up what a group has committed.
func expectCommitted(t *testing.T, ctx context.Context, cl *kgo.Client, group string, want int64) {
	t.Helper()
	committed, err := kadm.NewClient(cl).FetchOffsets(ctx, group)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	committed.Each(func(o kadm.OffsetResponse) { sum += max(o.At, 0) })
	if sum != want {
		t.Errorf("%s has committed %d, want %d: %v", group, sum, want, committed)
	}
}

// moveCoordinator restarts the broker that coordinates a group.
func moveCoordinator(t *testing.T, ctx context.Context, c *simbroker.Cluster, group string) {
	t.Helper()
	cl := client(t, c)
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKeys = []string{group}
	resp, err := req.RequestWith(ctx, cl)
	if err != nil {
		t.Fatal(err)
	}
	id := kafka.BrokerID(resp.Coordinators[0].NodeID)
	if err := c.Stop(id); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(id); err != nil {
		t.Fatal(err)
	}
}

// A subscription by a regular expression is the coordinator's to resolve.
func TestConsumerProtocolRegexOverTCP(t *testing.T) {
	c := overTCP(t, brisk())
	ctx := within(t, 30*time.Second)
	for _, topic := range []string{"orders-eu", "orders-us", "sales"} {
		createTopic(t, ctx, c, topic, 1, 1)
	}
	nextGen(t, c, "g", kgo.ConsumeRegex(), kgo.ConsumeTopics("orders-.*"))
	g := awaitSpread(t, ctx, client(t, c), "g", 2)
	if m := g.Members[0]; m.SubscribedTopicRegex == nil || m.Assignment.TopicPartitions[0].Topic != "orders-eu" || m.Assignment.TopicPartitions[1].Topic != "orders-us" {
		t.Errorf("described as %+v", m)
	}
}

// Clients of both protocols in one group: it becomes one of the consumer
// protocol when a member of that comes, and classic again when that leaves.
func TestMigrationOverTCP(t *testing.T) {
	c := overTCP(t, brisk())
	ctx := within(t, 60*time.Second)
	createTopic(t, ctx, c, "orders", 4, 1)
	admin := client(t, c)
	classic := client(t, c, kgo.ConsumerGroup("g"), kgo.ConsumeTopics("orders"), kgo.Balancers(kgo.CooperativeStickyBalancer()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.HeartbeatInterval(50*time.Millisecond))
	awaitMembers(t, ctx, kadm.NewClient(admin), 1)
	modern := nextGen(t, c, "g", kgo.ConsumeTopics("orders"))
	g := awaitSpread(t, ctx, admin, "g", 2, 2)
	types := []int8{g.Members[0].MemberType, g.Members[1].MemberType}
	if slices.Sort(types); !slices.Equal(types, []int8{0, 1}) {
		t.Errorf("members of types %v", types)
	}
	modern.Close()
	awaitMembers(t, ctx, kadm.NewClient(admin), 1)
	if err := client(t, c).ProduceSync(ctx, &kgo.Record{Topic: "orders", Value: []byte("a")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if got := values(t, ctx, classic, 1); got[0] != "a" {
		t.Errorf("read %v", got)
	}
}

// Exactly-once with a consumer of the consumer protocol: its offsets go into the
// producer's transaction.
func TestExactlyOnceConsumerProtocolOverTCP(t *testing.T) {
	c := overTCP(t, brisk())
	ctx := within(t, 30*time.Second)
	createTopic(t, ctx, c, "in", 1, 1)
	createTopic(t, ctx, c, "out", 1, 1)
	admin := client(t, c)
	if err := admin.ProduceSync(ctx, &kgo.Record{Topic: "in", Value: []byte("a")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(c.Bootstrap()...), kgo.TransactionalID("x"), kgo.ConsumerGroup("g"),
		kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()), kgo.ConsumeTopics("in"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	var in []*kgo.Record
	for len(in) == 0 {
		fetches := session.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		in = fetches.Records()
	}
	if err := session.Begin(); err != nil {
		t.Fatal(err)
	}
	if err := session.ProduceSync(ctx, &kgo.Record{Topic: "out", Value: in[0].Value}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	if committed, err := session.End(ctx, kgo.TryCommit); err != nil || !committed {
		t.Fatalf("committed %t, %v", committed, err)
	}
	reader := client(t, c, kgo.ConsumeTopics("out"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if got := values(t, ctx, reader, 1); got[0] != "a" {
		t.Errorf("read %v", got)
	}
	expectCommitted(t, ctx, admin, "g", 1)
}

// A cluster that has not finalised group.version 1 knows no consumer protocol.
func TestConsumerProtocolNeedsGroupVersion(t *testing.T) {
	c, err := simbroker.Start(simbroker.Config{Properties: small, Features: map[string]int16{"group.version": 0}, Clock: simbroker.Simulated(time.UnixMilli(0))})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	beat, describe := kmsg.NewPtrConsumerGroupHeartbeatRequest(), kmsg.NewPtrConsumerGroupDescribeRequest()
	beat.Version, beat.Group, describe.Groups = 1, "g", []string{"g"}
	resp, err := c.Request(context.Background(), 1, beat)
	if err != nil || resp.(*kmsg.ConsumerGroupHeartbeatResponse).ErrorCode != kerr.UnsupportedVersion.Code {
		t.Errorf("ConsumerGroupHeartbeat: %+v, %v", resp, err)
	}
	if resp, err = c.Request(context.Background(), 1, describe); err != nil || resp.(*kmsg.ConsumerGroupDescribeResponse).Groups[0].ErrorCode != kerr.UnsupportedVersion.Code {
		t.Errorf("ConsumerGroupDescribe: %+v, %v", resp, err)
	}
}

// Members of a streams group are told their standbys, and each other's endpoints.
func TestStreamsStandbys(t *testing.T) {
	s := simulated(t, map[string]string{
		"group.streams.num.standby.replicas": "1", "group.streams.initial.rebalance.delay.ms": "0", "group.streams.assignment.interval.ms": "0",
		"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "1",
	})
	s.createTopic("orders", 1, 2)
	var at kafka.BrokerID
	s.await("found", func() string {
		find := kmsg.NewPtrFindCoordinatorRequest()
		find.CoordinatorKeys = []string{"G1"}
		found := ask[*kmsg.FindCoordinatorResponse](s, 1, find, 6).Coordinators[0]
		if at = kafka.BrokerID(found.NodeID); found.ErrorCode != 0 {
			return "not found"
		}
		return "found"
	})
	type streamer struct {
		id       string
		epoch    int32
		known    int32
		tasks    [2][]kmsg.TaskIDs
		endpoint string
	}
	beat := func(m *streamer) *kmsg.StreamsGroupHeartbeatResponse {
		req := kmsg.NewPtrStreamsGroupHeartbeatRequest()
		req.Group, req.MemberID, req.MemberEpoch, req.EndpointInformationEpoch = "G1", m.id, m.epoch, m.known
		req.ActiveTasks, req.StandbyTasks, req.WarmupTasks = append([]kmsg.TaskIDs{}, m.tasks[0]...), append([]kmsg.TaskIDs{}, m.tasks[1]...), []kmsg.TaskIDs{}
		if m.epoch == 0 {
			req.RebalanceTimeoutMillis, req.ProcessID = 60000, &m.id
			req.Topology = &kmsg.StreamsGroupHeartbeatRequestTopology{Subtopologies: []kmsg.StreamsGroupHeartbeatRequestTopologySubtopology{{
				SubtopologyID: "0", SourceTopics: []string{"orders"}, StateChangelogTopics: []kmsg.TopicInfo{{Topic: "store", ReplicationFactor: 1}},
			}}}
			req.UserEndpoint = &kmsg.StreamsGroupHeartbeatRequestUserEndpoint{Host: m.id, Port: 1}
		}
		resp := ask[*kmsg.StreamsGroupHeartbeatResponse](s, at, req, 0)
		m.epoch, m.known = resp.MemberEpoch, resp.EndpointInformationEpoch
		if resp.ActiveTasks != nil {
			m.tasks = [2][]kmsg.TaskIDs{resp.ActiveTasks, resp.StandbyTasks}
		}
		for _, e := range resp.PartitionsByUserEndpoint {
			m.endpoint = fmt.Sprintf("%s active %d standby %d", e.UserEndpoint.Host, len(e.ActivePartitions), len(e.StandbyPartitions))
		}
		return resp
	}
	a, b := &streamer{id: "a"}, &streamer{id: "b"}
	s.await("[{0 [0] {map[]}}] []/[] [{0 [0] {map[]}}]", func() string {
		beat(a)
		beat(b)
		return fmt.Sprint(a.tasks[0], a.tasks[1], "/", b.tasks[0], b.tasks[1])
	})
	if want := "b active 0 standby 1"; b.endpoint != want {
		t.Errorf("the endpoint told last is %q, want %q", b.endpoint, want)
	}
	describe := kmsg.NewPtrStreamsGroupDescribeRequest()
	describe.Groups = []string{"G1"}
	members := ask[*kmsg.StreamsGroupDescribeResponse](s, at, describe, 0).Groups[0].Members
	if len(members) != 2 || len(members[1].Assignment.StandbyTasks) != 1 || len(members[1].TargetAssignment.StandbyTasks) != 1 || len(members[0].Assignment.StandbyTasks) != 0 {
		t.Errorf("described as %+v", members)
	}
}
