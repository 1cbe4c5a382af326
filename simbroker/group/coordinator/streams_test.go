package coordinator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// streamer is a member of a streams group, as a client.
type streamer struct {
	cl       *cluster
	group    string
	id       string
	epoch    int32
	topology *group.Topology
	active   []group.TaskIDs
	standby  []group.TaskIDs
	endpoint *group.Endpoint
	known    int32 // epoch of endpoints
	told     string
	status   []group.StreamsStatus
	slow     bool
}

// pipeline is a topology that reads one topic.
func pipeline(topic string) *group.Topology {
	return &group.Topology{Subtopologies: []group.Subtopology{{ID: "0", SourceTopics: []string{topic}}}}
}

func (cl *cluster) streamer(groupID, id string, topology *group.Topology) *streamer {
	return &streamer{cl: cl, group: groupID, id: id, topology: topology}
}

func (cl *cluster) streamsBeat(req group.StreamsHeartbeatRequest) (result group.StreamsHeartbeatResult, err error) {
	cl.t.Helper()
	answered := false
	cl.loop.Do(func() {
		cl.StreamsHeartbeat(req, func(r group.StreamsHeartbeatResult, e error) { result, err, answered = r, e, true })
	})
	cl.answered(&answered)
	return result, err
}

func (s *streamer) request() group.StreamsHeartbeatRequest {
	req := group.StreamsHeartbeatRequest{
		GroupID: s.group, MemberID: s.id, MemberEpoch: s.epoch, ClientID: "client-" + s.id, ClientHost: "/127.0.0.1",
		RebalanceTimeout: -1, Active: append([]group.TaskIDs{}, s.active...), Standby: append([]group.TaskIDs{}, s.standby...), Warmup: []group.TaskIDs{},
		Endpoint: s.endpoint, EndpointEpoch: s.known,
	}
	if s.epoch == group.JoinEpoch {
		req.RebalanceTimeout, req.Topology, req.ProcessID, req.Active = time.Minute, s.topology, new("process-"+s.id), []group.TaskIDs{}
	}
	return req
}

func (s *streamer) beat() error {
	s.cl.t.Helper()
	r, err := s.cl.streamsBeat(s.request())
	if err != nil {
		return err
	}
	s.epoch, s.status = r.MemberEpoch, r.Status
	s.known, s.told = r.EndpointEpoch, showEndpoints(r.Endpoints)
	if r.Active != nil && !s.slow {
		s.active, s.standby = r.Active, r.Standby
	}
	return nil
}

func (s *streamer) mustBeat() {
	s.cl.t.Helper()
	if err := s.beat(); err != nil {
		s.cl.t.Fatalf("heartbeat of %s in %s at %d: %v", s.id, s.group, s.epoch, err)
	}
}

func (s *streamer) leave() error {
	s.cl.t.Helper()
	_, err := s.cl.streamsBeat(group.StreamsHeartbeatRequest{GroupID: s.group, MemberID: s.id, MemberEpoch: group.LeaveEpoch})
	s.epoch, s.active, s.standby = group.JoinEpoch, nil, nil
	return err
}

// showTasks is active tasks and, with an s, standbys.
func showTasks(active []group.TaskIDs, standby ...group.TaskIDs) string {
	var parts []string
	for i, t := range slices.Concat(active, standby) {
		for _, n := range t.Partitions {
			parts = append(parts, fmt.Sprintf("%s_%d%s", t.Subtopology, n, strings.Repeat("s", min(1, max(0, i+1-len(active))))))
		}
	}
	return strings.Join(parts, " ")
}

// showEndpoints is what a member was told of endpoints, - if nothing.
func showEndpoints(endpoints []group.EndpointPartitions) string {
	if endpoints == nil {
		return "-"
	}
	var parts []string
	for _, e := range endpoints {
		part := fmt.Sprintf("%s:%d", e.Host, e.Port)
		for _, t := range e.Active {
			part += fmt.Sprintf(" %s%v", t.Topic, t.Partitions)
		}
		for _, t := range e.Standby {
			part += fmt.Sprintf(" standby %s%v", t.Topic, t.Partitions)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

func (cl *cluster) expectStreams(what, groupID, want string) {
	cl.t.Helper()
	var got string
	cl.loop.Do(func() {
		d := cl.DescribeStreams([]string{groupID})[0]
		if d.Err != nil {
			got = d.Err.Error()
			return
		}
		parts := []string{fmt.Sprintf("%s %d/%d", d.State, d.Epoch, d.AssignmentEpoch)}
		for _, m := range d.Members {
			has := showTasks(m.Active, m.Standby...)
			part := fmt.Sprintf("%s@%d[%s]", m.MemberID, m.MemberEpoch, has)
			if target := showTasks(m.Target, m.TargetStandby...); target != has {
				part += "→[" + target + "]"
			}
			parts = append(parts, part)
		}
		got = strings.Join(parts, " ")
	})
	if got != want {
		cl.t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

func (cl *cluster) noStreamsDelay() {
	cl.settings.StreamsInitialDelay, cl.settings.StreamsAssignmentInterval = 0, 0
}

// Members of a streams group are assigned tasks, one for each partition of what
// their topology reads, and give them up before others get them.
func TestStreamsGroup(t *testing.T) {
	cl := newCluster(t)
	cl.noStreamsDelay()
	cl.topic("orders", 4)
	a, b := cl.streamer("G1", "a", pipeline("orders")), cl.streamer("G1", "b", pipeline("orders"))
	r, err := cl.streamsBeat(a.request())
	if err != nil || r.MemberID != "a" || r.MemberEpoch != 2 || r.Interval != 5*time.Second || showTasks(r.Active) != "0_0 0_1 0_2 0_3" || len(r.Status) > 0 {
		t.Errorf("joined: %+v, %v", r, err)
	}
	a.epoch, a.active, a.slow = r.MemberEpoch, r.Active, true
	b.mustBeat()
	a.mustBeat()
	b.mustBeat()
	cl.expectStreams("to be given up", "G1", "Reconciling 3/3 a@2[0_0 0_1] b@3[]→[0_2 0_3]")
	a.slow, a.active = false, []group.TaskIDs{{Subtopology: "0", Partitions: []int32{0, 1}}}
	a.mustBeat()
	b.mustBeat()
	cl.expectStreams("given up", "G1", "Stable 3/3 a@3[0_0 0_1] b@3[0_2 0_3]")
	before := cl.leo(cl.PartitionFor("G1"))
	b.mustBeat()
	if cl.leo(cl.PartitionFor("G1")) != before {
		t.Error("a heartbeat that says nothing wrote records")
	}
	old := a.request()
	old.MemberEpoch = 2
	_, err = cl.streamsBeat(old)
	expectErr(t, "the epoch before", err, nil)
	expectErr(t, "leave", a.leave(), nil)
	expectErr(t, "leave twice", a.leave(), kafka.ErrUnknownMemberID)
	cl.topic("orders", 5)
	b.mustBeat()
	cl.expectStreams("more partitions", "G1", "Stable 5/5 b@5[0_0 0_1 0_2 0_3 0_4]")
	var before2 string
	cl.loop.Do(func() { before2 = cl.Coordinator.String() })
	cl.restart(cl.broker.Config)
	cl.loop.Do(func() {
		if after := cl.Coordinator.String(); after != before2 {
			t.Errorf("loaded: %s, was %s", after, before2)
		}
	})
	cl.expectStreams("loaded", "G1", "Stable 5/5 b@5[0_0 0_1 0_2 0_3 0_4]")
	cl.appendErr = kafka.ErrNotLeaderOrFollower
	cl.pass(45 * time.Second)
	cl.appendErr = nil
	cl.pass(shard.ExpulsionBackoff)
	cl.expectStreams("nobody came back", "G1", "Empty 6/5")
}

// newStandbyCluster has topics for tasks with state, with one standby each.
func newStandbyCluster(t *testing.T) *cluster {
	cl := newCluster(t)
	cl.noStreamsDelay()
	cl.settings.StreamsStandbys = 1
	for topic, partitions := range map[string]int32{"orders": 2, "labels": 1, "store": 2} {
		cl.topic(topic, partitions)
	}
	return cl
}

// Standbys (streams.num.standby.replicas) are with another process than their active
// task, which is given up before its process becomes a standby, and the other way
// round. Tasks without state have none.
func TestStreamsStandbys(t *testing.T) {
	cl := newStandbyCluster(t)
	topology := &group.Topology{Subtopologies: []group.Subtopology{
		{ID: "0", SourceTopics: []string{"orders"}, Changelogs: []group.InternalTopic{{Name: "store"}}}, {ID: "1", SourceTopics: []string{"labels"}},
	}}
	a, b := cl.streamer("G1", "a", topology), cl.streamer("G1", "b", topology)
	a.mustBeat()
	cl.expectStreams("alone", "G1", "Stable 2/2 a@2[0_0 0_1 1_0]")
	b.mustBeat()
	cl.expectStreams("the other comes", "G1", "Reconciling 3/3 a@2[0_0 0_1 1_0]→[0_0 1_0 0_1s] b@3[0_0s]→[0_1 0_0s]")
	a.slow = true
	a.mustBeat()
	b.mustBeat()
	cl.expectStreams("to be given up", "G1", "Reconciling 3/3 a@2[0_0 1_0]→[0_0 1_0 0_1s] b@3[0_0s]→[0_1 0_0s]")
	a.slow, a.active = false, []group.TaskIDs{{Subtopology: "0", Partitions: []int32{0}}, {Subtopology: "1", Partitions: []int32{0}}}
	a.mustBeat()
	cl.expectStreams("given up", "G1", "Reconciling 3/3 a@3[0_0 1_0]→[0_0 1_0 0_1s] b@3[0_0s]→[0_1 0_0s]")
	for range 2 {
		b.mustBeat()
		a.mustBeat()
	}
	cl.expectStreams("both", "G1", "Stable 3/3 a@3[0_0 1_0 0_1s] b@3[0_1 0_0s]")
	if got := showTasks(a.active, a.standby...); got != "0_0 1_0 0_1s" {
		t.Errorf("a was told %s", got)
	}
	expectErr(t, "leave", a.leave(), nil)
	b.mustBeat()
	cl.expectStreams("a standby takes over", "G1", "Reconciling 4/4 b@3[0_1]→[0_0 0_1 1_0]")
	b.mustBeat()
	cl.expectStreams("no standby any more", "G1", "Reconciling 4/4 b@4[0_1 1_0]→[0_0 0_1 1_0]")
	b.mustBeat()
	cl.expectStreams("it has", "G1", "Stable 4/4 b@4[0_0 0_1 1_0]")
	cl.settings.StreamsStandbys = 2
	b.mustBeat()
	cl.expectStreams("more than there are processes for", "G1", "Stable 5/5 b@5[0_0 0_1 1_0]")
}

// Members are told each other's endpoints, and what is to be had there, until they
// know the latest ones.
func TestStreamsEndpoints(t *testing.T) {
	cl := newStandbyCluster(t)
	topology := &group.Topology{Subtopologies: []group.Subtopology{
		{ID: "0", SourceTopics: []string{"labels", "orders"}, Changelogs: []group.InternalTopic{{Name: "store"}}},
	}}
	a, b, c := cl.streamer("G1", "a", topology), cl.streamer("G1", "b", topology), cl.streamer("G1", "c", topology)
	a.endpoint, b.endpoint = &group.Endpoint{Host: "a", Port: 1}, &group.Endpoint{Host: "b", Port: 2}
	expect := func(what string, s *streamer, known int32, told string) {
		t.Helper()
		if s.mustBeat(); s.known != known || s.told != told {
			t.Errorf("%s: %s was told %q at %d, want %q at %d", what, s.id, s.told, s.known, told, known)
		}
	}
	expect("a group that is made", a, 0, "a:1 labels[0] orders[0 1]")
	expect("nothing has changed", a, 0, "-")
	expect("another one", b, 1, "a:1 labels[0] orders[0 1], b:2 standby labels[0] standby orders[0]")
	expect("it knows", b, 1, "-")
	expect("it gives up", a, 2, "b:2 standby labels[0] standby orders[0], a:1 labels[0] orders[0]")
	expect("it has given up", a, 2, "-")
	expect("it gets", b, 3, "a:1 labels[0] orders[0], b:2 labels[1] orders[1] standby labels[0] standby orders[0]")
	expect("one without an endpoint", c, 3, "a:1 labels[0] orders[0], b:2 labels[1] orders[1] standby labels[0] standby orders[0]")
	fresh := cl.streamer("G2", "d", pipeline("missing"))
	fresh.endpoint = a.endpoint
	expect("topics that are missing", fresh, 0, "")
}

// The first assignment waits for more members
// (group.streams.initial.rebalance.delay.ms).
func TestStreamsInitialDelay(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 2)
	a, b := cl.streamer("G1", "a", pipeline("orders")), cl.streamer("G1", "b", pipeline("orders"))
	a.mustBeat()
	if len(a.status) != 1 || a.status[0].Code != group.StatusAssignmentDelayed {
		t.Errorf("status %+v", a.status)
	}
	b.mustBeat()
	cl.expectStreams("waiting", "G1", "Assigning 3/1 a@1[] b@1[]")
	cl.pass(3 * time.Second)
	a.mustBeat()
	b.mustBeat()
	cl.expectStreams("over", "G1", "Stable 3/3 a@3[0_0] b@3[0_1]")
	c := cl.streamer("G1", "c", pipeline("orders"))
	c.mustBeat()
	if len(c.status) != 1 || !strings.Contains(c.status[0].Detail, "assignment interval") {
		t.Errorf("within the assignment interval: %+v", c.status)
	}
	alone := cl.streamer("G2", "a", pipeline("orders"))
	alone.mustBeat()
	cl.pass(4 * time.Second)
	cl.expectStreams("nobody came back to the new group", "G2", "Assigning 2/1 a@1[]")
	alone.mustBeat()
	cl.expectStreams("who does gets everything", "G2", "Stable 2/2 a@2[0_0 0_1]")
}

// A topology whose topics are missing has to wait for them; internal ones are
// created, with as many partitions as what they stand behind.
func TestStreamsTopology(t *testing.T) {
	cl := newCluster(t)
	cl.noStreamsDelay()
	topology := &group.Topology{Epoch: 0, Subtopologies: []group.Subtopology{
		{ID: "0", SourceTopics: []string{"orders"}, RepartitionSinks: []string{"rp"}},
		{ID: "1", RepartitionSources: []group.InternalTopic{{Name: "rp"}}, Changelogs: []group.InternalTopic{{Name: "cl", ReplicationFactor: 1}}},
	}}
	a := cl.streamer("G1", "a", topology)
	a.mustBeat()
	if want := []group.StreamsStatus{{Code: group.StatusMissingSourceTopics, Detail: "Source topics orders are missing."}}; !slices.Equal(a.status, want) {
		t.Errorf("status %+v", a.status)
	}
	cl.expectStreams("no source", "G1", "NotReady 2/2 a@2[]")
	cl.topic("orders", 2)
	r, err := cl.streamsBeat(a.request())
	if err != nil || len(r.Status) != 1 || r.Status[0] != (group.StreamsStatus{Code: group.StatusMissingInternalTopics, Detail: "Internal topics are missing: cl, rp"}) {
		t.Errorf("%+v, %v", r, err)
	}
	if len(r.Create) != 2 || r.Create[0].Name != "cl" || r.Create[0].Partitions != 2 || r.Create[1].Name != "rp" || r.Create[1].Partitions != 2 {
		t.Errorf("to create: %+v", r.Create)
	}
	a.epoch = r.MemberEpoch
	cl.topic("cl", 2)
	cl.topic("rp", 3)
	a.mustBeat()
	if len(a.status) != 1 || a.status[0] != (group.StreamsStatus{Code: group.StatusIncorrectPartitions, Detail: "Existing topic rp has different number of partitions: expected 2, found 3"}) {
		t.Errorf("status %+v", a.status)
	}
	cl.topic("rp", 2)
	a.mustBeat()
	cl.expectStreams("all there", "G1", "Stable 5/5 a@5[0_0 0_1 1_0 1_1]")
	var d group.StreamsDescription
	cl.loop.Do(func() { d = cl.DescribeStreams([]string{"G1"})[0] })
	if got := d.Topology.Subtopologies[1].Changelogs[0]; got.Partitions != 2 {
		t.Errorf("described changelog %+v", got)
	}
	changed := cl.streamer("G1", "b", pipeline("orders"))
	expectErr(t, "another topology", changed.beat(), kafka.ErrInvalidRequest)
}

// What no member of a streams group may say.
func TestStreamsRefusals(t *testing.T) {
	cl := newCluster(t)
	cl.noStreamsDelay()
	cl.topic("orders", 1)
	cl.streamer("G1", "a", pipeline("orders")).mustBeat()
	cl.joined("consumer", "a", "orders")
	joining := cl.streamer("G1", "b", pipeline("orders")).request()
	staying := group.StreamsHeartbeatRequest{GroupID: "G1", MemberID: "a", MemberEpoch: 2, RebalanceTimeout: -1}
	for _, test := range []struct {
		name string
		req  group.StreamsHeartbeatRequest
		edit func(*group.StreamsHeartbeatRequest)
		want kafka.Error
	}{
		{"static", joining, func(r *group.StreamsHeartbeatRequest) { r.InstanceID = new("i") }, kafka.ErrInvalidRequest},
		{"warm-ups", joining, func(r *group.StreamsHeartbeatRequest) { r.Warmup = []group.TaskIDs{{}} }, kafka.ErrInvalidRequest},
		{"regular expression", joining, func(r *group.StreamsHeartbeatRequest) {
			r.Topology = &group.Topology{Subtopologies: []group.Subtopology{{SourceRegexes: []string{"x"}}}}
		}, kafka.ErrInvalidRequest},
		{"no member id", joining, func(r *group.StreamsHeartbeatRequest) { r.MemberID = "" }, kafka.ErrInvalidRequest},
		{"no group", joining, func(r *group.StreamsHeartbeatRequest) { r.GroupID = "" }, kafka.ErrInvalidRequest},
		{"empty rack", joining, func(r *group.StreamsHeartbeatRequest) { r.RackID = new("") }, kafka.ErrInvalidRequest},
		{"epoch -2", joining, func(r *group.StreamsHeartbeatRequest) { r.MemberEpoch = -2 }, kafka.ErrInvalidRequest},
		{"epoch -3", joining, func(r *group.StreamsHeartbeatRequest) { r.MemberEpoch = -3 }, kafka.ErrInvalidRequest},
		{"some tasks only", staying, func(r *group.StreamsHeartbeatRequest) { r.Active = []group.TaskIDs{} }, kafka.ErrInvalidRequest},
		{"topology while it stays", staying, func(r *group.StreamsHeartbeatRequest) { r.Topology = pipeline("orders") }, kafka.ErrInvalidRequest},
		{"no rebalance timeout", joining, func(r *group.StreamsHeartbeatRequest) { r.RebalanceTimeout = -1 }, kafka.ErrInvalidRequest},
		{"joins with tasks", joining, func(r *group.StreamsHeartbeatRequest) {
			r.Active = []group.TaskIDs{{Subtopology: "0", Partitions: []int32{0}}}
		}, kafka.ErrInvalidRequest},
		{"no topology", joining, func(r *group.StreamsHeartbeatRequest) { r.Topology = nil }, kafka.ErrInvalidRequest},
		{"changelog with partitions", joining, func(r *group.StreamsHeartbeatRequest) {
			r.Topology = &group.Topology{Subtopologies: []group.Subtopology{{Changelogs: []group.InternalTopic{{Name: "cl", Partitions: 1}}}}}
		}, kafka.ErrStreamsInvalidTopology},
		{"a group of another kind", joining, func(r *group.StreamsHeartbeatRequest) { r.GroupID = "consumer" }, kafka.ErrGroupIDNotFound},
		{"unknown group", staying, func(r *group.StreamsHeartbeatRequest) { r.GroupID = "G9" }, kafka.ErrGroupIDNotFound},
		{"unknown group, leaving", staying, func(r *group.StreamsHeartbeatRequest) { r.GroupID, r.MemberEpoch = "G9", -1 }, kafka.ErrGroupIDNotFound},
		{"unknown member", staying, func(r *group.StreamsHeartbeatRequest) { r.MemberID = "x" }, kafka.ErrUnknownMemberID},
		{"unknown task", staying, func(r *group.StreamsHeartbeatRequest) {
			r.Active, r.Standby, r.Warmup = []group.TaskIDs{{Subtopology: "0", Partitions: []int32{7}}}, []group.TaskIDs{}, []group.TaskIDs{}
		}, kafka.ErrInvalidRequest},
		{"epoch from the future", staying, func(r *group.StreamsHeartbeatRequest) { r.MemberEpoch = 9 }, kafka.ErrFencedMemberEpoch},
		{"epoch of long ago", staying, func(r *group.StreamsHeartbeatRequest) { r.MemberEpoch = 1 }, kafka.ErrFencedMemberEpoch},
	} {
		req := test.req
		test.edit(&req)
		_, err := cl.streamsBeat(req)
		expectErr(t, test.name, err, test.want)
	}
	cfg := cl.broker.Config
	cfg.StreamsMaxSize = 1
	cl.Configure(cfg)
	_, err := cl.streamsBeat(joining)
	expectErr(t, "group is full", err, kafka.ErrGroupMaxSizeReached)
}

// Streams groups commit offsets as groups of the consumer protocol do, and are
// told apart by those who ask.
func TestStreamsGroupAndOffsets(t *testing.T) {
	cl := newCluster(t)
	cl.noStreamsDelay()
	id := cl.topic("orders", 2)
	cl.simple("G1", 3)
	a, b := cl.streamer("G1", "a", pipeline("orders")), cl.streamer("G1", "b", pipeline("orders"))
	a.mustBeat()
	b.mustBeat()
	a.mustBeat()
	a.mustBeat()
	b.mustBeat() // a has partition 0 since 2, b has partition 1 since 3
	listings, err := cl.List(group.ListRequest{Types: []string{"streams"}})
	if want := []group.Listing{{GroupID: "G1", ProtocolType: "streams", State: group.Stable, Kind: group.Streams}}; err != nil || !slices.Equal(listings, want) {
		t.Errorf("listed %+v, %v", listings, err)
	}
	if d := cl.Describe([]string{"G1"})[0]; !errors.Is(d.Err, kafka.ErrGroupIDNotFound) {
		t.Errorf("DescribeGroups: %+v", d)
	}
	cl.expectGroup("as a consumer group", "G1", "Group G1 is not a consumer group.")
	cl.expectStreams("unknown", "G9", "Group G9 not found.")
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
		{"older epoch, its own since then", commit("a", 2, 0), nil},
		{"older epoch, of before it was its own", commit("b", 2, 1), kafka.ErrStaleMemberEpoch},
		{"newer epoch", commit("a", 4, 0), kafka.ErrStaleMemberEpoch},
		{"unknown member", commit("x", 3, 0), kafka.ErrUnknownMemberID},
	} {
		expectErr(t, test.name, cl.commit(test.req), test.want)
	}
	old := commit("a", 3, 0)
	old.GroupIDNotFoundSupported = false
	expectErr(t, "OffsetCommit before v9", cl.commit(old), kafka.ErrUnsupportedVersion)
	cl.expectFetch("offsets", "G1", false, "orders-0=5")
	for member, want := range map[string]string{
		"a": "The received member epoch 9 does not match the expected member epoch 3.", "x": "Member x is not a member of group G1.",
	} {
		if got := cl.fetchRequest(group.FetchRequest{GroupID: "G1", MemberID: &member, MemberEpoch: 9}); got != want {
			t.Errorf("OffsetFetch as %s: %q", member, got)
		}
	}
	expectErr(t, "OffsetDelete", cl.deleteOffsets("G1", group.FetchTopic{Topic: "orders", Partitions: []int32{0}}), kafka.ErrGroupSubscribedToTopic)
	expectErr(t, "a classic member", cl.consumers("G1", 1).join(0).err, kafka.ErrInconsistentGroupProtocol)
	expectErr(t, "DeleteGroups, with members", cl.deleteGroups("G1")[0], kafka.ErrNonEmptyGroup)
	expectErr(t, "leave", a.leave(), nil)
	expectErr(t, "leave", b.leave(), nil)
	c := cl.consumers("G1", 1)
	c.joinAll()
	c.syncAll()
	cl.expectState("an empty one becomes classic", "G1", group.Stable)
	cl.expectFetch("with its offsets", "G1", false, "orders-0=5")
}

// A member that does not give tasks up in time is out.
func TestStreamsRebalanceTimeout(t *testing.T) {
	cl := newCluster(t)
	cl.noStreamsDelay()
	cl.topic("orders", 2)
	cl.settings.StreamsSessionTimeout = time.Hour
	a, b := cl.streamer("G1", "a", pipeline("orders")), cl.streamer("G1", "b", pipeline("orders"))
	a.mustBeat()
	a.slow = true
	b.mustBeat()
	a.mustBeat()
	cl.restart(cl.broker.Config) // the new coordinator waits as well
	cl.settle()
	cl.pass(59 * time.Second)
	a.mustBeat()
	cl.pass(2 * time.Second)
	b.mustBeat()
	cl.expectStreams("out", "G1", "Stable 4/4 b@4[0_0 0_1]")
}
