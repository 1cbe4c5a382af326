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

// sharer is a member of a share group, as a client.
type sharer struct {
	cl     *cluster
	group  string
	id     string
	epoch  int32
	topics []string
	has    string
}

func (cl *cluster) sharer(groupID, id string, topics ...string) *sharer {
	return &sharer{cl: cl, group: groupID, id: id, topics: topics}
}

func (cl *cluster) shareBeat(req group.ShareHeartbeatRequest) (result group.ShareHeartbeatResult, err error) {
	cl.t.Helper()
	answered := false
	cl.loop.Do(func() {
		cl.ShareHeartbeat(req, func(r group.ShareHeartbeatResult, e error) { result, err, answered = r, e, true })
	})
	cl.answered(&answered)
	return result, err
}

func (s *sharer) request() group.ShareHeartbeatRequest {
	req := group.ShareHeartbeatRequest{GroupID: s.group, MemberID: s.id, MemberEpoch: s.epoch, ClientID: "client-" + s.id, ClientHost: "/127.0.0.1"}
	if s.epoch == group.JoinEpoch {
		req.SubscribedTopics = s.topics
	}
	return req
}

func (s *sharer) beat() error {
	s.cl.t.Helper()
	r, err := s.cl.shareBeat(s.request())
	if err != nil {
		return err
	}
	s.epoch = r.MemberEpoch
	if r.Assignment != nil {
		s.has = s.cl.showAssigned(r.Assignment)
	}
	return nil
}

func (s *sharer) mustBeat() {
	s.cl.t.Helper()
	if err := s.beat(); err != nil {
		s.cl.t.Fatalf("heartbeat of %s in %s at %d: %v", s.id, s.group, s.epoch, err)
	}
}

func (s *sharer) leave() error {
	s.cl.t.Helper()
	req := s.request()
	req.MemberEpoch, req.SubscribedTopics = group.LeaveEpoch, nil
	s.epoch, s.has = group.JoinEpoch, ""
	_, err := s.cl.shareBeat(req)
	return err
}

func (cl *cluster) expectShare(what, groupID, want string) {
	cl.t.Helper()
	var got string
	cl.loop.Do(func() {
		d := cl.DescribeShares([]string{groupID})[0]
		if d.Err != nil {
			got = d.Err.Error()
			return
		}
		parts := []string{fmt.Sprintf("%s %d/%d %s", d.State, d.Epoch, d.AssignmentEpoch, d.Assignor)}
		for _, m := range d.Members {
			parts = append(parts, fmt.Sprintf("%s@%d[%s]", m.MemberID, m.MemberEpoch, cl.showAssigned(m.Assignment)))
		}
		got = strings.Join(parts, " ")
	})
	if got != want {
		cl.t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// Members of a share group are assigned what share state has been set up for,
// and share it.
func TestShareGroup(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 2)
	cl.settings.ShareAssignmentInterval = 0
	a, b := cl.sharer("G1", "a", "orders"), cl.sharer("G1", "b", "orders")
	r, err := cl.shareBeat(a.request())
	if err != nil || r.MemberID != "a" || r.MemberEpoch != 2 || r.Interval != 5*time.Second || r.Assignment == nil || len(r.Assignment) != 0 {
		t.Errorf("joined: %+v, %v", r, err)
	}
	a.epoch = r.MemberEpoch
	cl.expectShare("joined", "G1", "Stable 2/2 simple a@2[]")
	cl.settle()
	if want := []string{"G1 2: orders: 0 1"}; !slices.Equal(cl.shared, want) {
		t.Errorf("set up: %q", cl.shared)
	}
	a.mustBeat()
	cl.expectShare("set up", "G1", "Stable 3/3 simple a@3[orders: 0 1]")
	b.mustBeat()
	a.mustBeat()
	cl.expectShare("two members", "G1", "Stable 4/4 simple a@4[orders: 0] b@4[orders: 1]")
	before := cl.leo(cl.PartitionFor("G1"))
	b.mustBeat()
	if cl.leo(cl.PartitionFor("G1")) != before {
		t.Error("a heartbeat that says nothing wrote records")
	}
	if old := a.request(); old.MemberEpoch != 4 {
		t.Errorf("a is at %d", old.MemberEpoch)
	} else if old.MemberEpoch = 3; true {
		_, err := cl.shareBeat(old)
		expectErr(t, "the epoch before", err, nil)
	}
	third := cl.sharer("G1", "c", "orders")
	third.mustBeat()
	cl.expectShare("more members than partitions", "G1", "Stable 5/5 simple a@4[orders: 0] b@4[orders: 1] c@5[orders: 0]")
	expectErr(t, "leave", third.leave(), nil)
	expectErr(t, "leave", b.leave(), nil)
	expectErr(t, "leave twice", b.leave(), kafka.ErrUnknownMemberID)
	cl.topic("orders", 3)
	a.mustBeat()
	cl.settle()
	a.mustBeat()
	cl.expectShare("more partitions", "G1", "Stable 9/9 simple a@9[orders: 0 1 2]")
	var shared []group.AssignedTopic
	cl.loop.Do(func() { shared, err = cl.SharedPartitions("G1") })
	if err != nil || cl.showAssigned(shared) != "orders: 0 1 2" {
		t.Errorf("shared partitions %+v, %v", shared, err)
	}
}

// What no member of a share group may say.
func TestShareRefusals(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 1)
	cl.sharer("G1", "a", "orders").mustBeat()
	cl.joined("consumer", "a", "orders")
	cl.simple("simple", 5)
	joining := cl.sharer("G1", "b", "orders").request()
	staying := group.ShareHeartbeatRequest{GroupID: "G1", MemberID: "a", MemberEpoch: 2}
	cfg := cl.broker.Config
	cfg.ShareMaxSize = 1
	cl.Configure(cfg)
	for _, test := range []struct {
		name string
		req  group.ShareHeartbeatRequest
		edit func(*group.ShareHeartbeatRequest)
		want kafka.Error
	}{
		{"no member id", joining, func(r *group.ShareHeartbeatRequest) { r.MemberID = "" }, kafka.ErrInvalidRequest},
		{"no group", joining, func(r *group.ShareHeartbeatRequest) { r.GroupID = "" }, kafka.ErrInvalidRequest},
		{"empty rack", joining, func(r *group.ShareHeartbeatRequest) { r.RackID = new("") }, kafka.ErrInvalidRequest},
		{"no topics", joining, func(r *group.ShareHeartbeatRequest) { r.SubscribedTopics = nil }, kafka.ErrInvalidRequest},
		{"epoch -2", joining, func(r *group.ShareHeartbeatRequest) { r.MemberEpoch = -2 }, kafka.ErrInvalidRequest},
		{"group is full", joining, func(*group.ShareHeartbeatRequest) {}, kafka.ErrGroupMaxSizeReached},
		{"a group of the consumer protocol", joining, func(r *group.ShareHeartbeatRequest) { r.GroupID = "consumer" }, kafka.ErrGroupIDNotFound},
		{"a simple group", joining, func(r *group.ShareHeartbeatRequest) { r.GroupID = "simple" }, kafka.ErrGroupIDNotFound},
		{"unknown group", staying, func(r *group.ShareHeartbeatRequest) { r.GroupID = "G9" }, kafka.ErrGroupIDNotFound},
		{"unknown group, leaving", staying, func(r *group.ShareHeartbeatRequest) { r.GroupID, r.MemberEpoch = "G9", -1 }, kafka.ErrGroupIDNotFound},
		{"a group of another kind, leaving", staying, func(r *group.ShareHeartbeatRequest) { r.GroupID, r.MemberEpoch = "consumer", -1 }, kafka.ErrGroupIDNotFound},
		{"unknown member", staying, func(r *group.ShareHeartbeatRequest) { r.MemberID = "x" }, kafka.ErrGroupMaxSizeReached},
		{"epoch from the future", staying, func(r *group.ShareHeartbeatRequest) { r.MemberEpoch = 9 }, kafka.ErrFencedMemberEpoch},
		{"epoch of long ago", staying, func(r *group.ShareHeartbeatRequest) { r.MemberEpoch = 1 }, kafka.ErrFencedMemberEpoch},
	} {
		req := test.req
		test.edit(&req)
		_, err := cl.shareBeat(req)
		expectErr(t, test.name, err, test.want)
	}
	cl.Configure(group.DefaultConfig())
	staying.MemberID = "x"
	_, err := cl.shareBeat(staying)
	expectErr(t, "unknown member", err, kafka.ErrUnknownMemberID)
	expectErr(t, "a consumer in a share group", cl.beater("G1", "c", "orders").beat(), kafka.ErrGroupIDNotFound)
	expectErr(t, "a classic consumer in a share group", cl.consumers("G1", 1).join(0).err, kafka.ErrInconsistentGroupProtocol)
	expectErr(t, "a classic heartbeat in a share group", cl.Heartbeat(group.HeartbeatRequest{GroupID: "G1", MemberID: "a", GenerationID: 2}), kafka.ErrUnknownMemberID)
}

// Share groups keep no offsets, and are told apart by those who ask.
func TestShareGroupAndOffsets(t *testing.T) {
	cl := newCluster(t)
	id := cl.topic("orders", 1)
	a := cl.sharer("G1", "a", "orders")
	a.mustBeat()
	cl.settle()
	listings, err := cl.List(group.ListRequest{Types: []string{"SHARE"}})
	if want := []group.Listing{{GroupID: "G1", ProtocolType: "share", State: group.Stable, Kind: group.Share}}; err != nil || !slices.Equal(listings, want) {
		t.Errorf("listed %+v, %v", listings, err)
	}
	if d := cl.Describe([]string{"G1"})[0]; !errors.Is(d.Err, kafka.ErrGroupIDNotFound) {
		t.Errorf("DescribeGroups: %+v", d)
	}
	cl.expectGroup("as a consumer group", "G1", "Group G1 is not a consumer group.")
	cl.joined("consumer", "a", "orders")
	cl.expectShare("a consumer group", "consumer", "Group consumer is not a share group.")
	cl.expectShare("unknown", "G9", "Group G9 not found.")
	cl.expectFetch("offsets", "G1", false, "")
	cl.expectFetch("offsets by name", "G1", false, "orders-0=-1", 0)
	expectErr(t, "OffsetCommit", cl.commit(group.CommitRequest{GroupID: "G1", Generation: -1, Retention: -1, Topics: offsetsOf(5)}), kafka.ErrGroupIDNotFound)
	expectErr(t, "TxnOffsetCommit", cl.txnCommit(group.TxnCommitRequest{GroupID: "G1", Generation: -1, Topics: offsetsOf(5), Producer: producerOf(1, 0)}), kafka.ErrGroupIDNotFound)
	expectErr(t, "OffsetDelete", cl.deleteOffsets("G1", group.FetchTopic{Topic: "orders", Partitions: []int32{0}}), kafka.ErrGroupIDNotFound)
	expectErr(t, "DeleteGroups, with members", cl.deleteGroups("G1")[0], kafka.ErrNonEmptyGroup)
	cl.loop.Do(func() { cl.TopicsDeleted([]group.DeletedTopic{{Name: "orders", ID: id}}) })
	cl.settle()
	if shared, err := cl.SharedPartitions("G1"); err != nil || len(shared) != 0 {
		t.Errorf("after the topic: %+v, %v", shared, err)
	}
	expectErr(t, "leave", a.leave(), nil)
	cl.pass(8 * 24 * time.Hour)
	cl.expectShare("share groups do not expire", "G1", "Empty 3/2 simple")
	cl.sharesErr = kafka.ErrCoordinatorNotAvailable
	expectErr(t, "DeleteGroups, while the share coordinator is away", cl.deleteGroups("G1")[0], kafka.ErrCoordinatorNotAvailable)
	cl.sharesErr = nil
	expectErr(t, "DeleteGroups", cl.deleteGroups("G1")[0], nil)
	cl.restart(cl.broker.Config)
	cl.expectShare("deleted", "G1", "Group G1 not found.")
}

// A coordinator that loads a partition has the share groups that were there; a
// member that does not come back is out after its session, and what could not
// be set up is tried again.
func TestShareFailover(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 1)
	cl.sharesErr = kafka.ErrCoordinatorNotAvailable
	a, b := cl.sharer("G1", "a", "orders"), cl.sharer("G1", "b", "orders")
	a.mustBeat()
	b.mustBeat()
	cl.settle()
	cl.sharesErr = nil
	cl.pass(time.Second)
	a.mustBeat()
	cl.settle()
	if want := []string{"G1 2: orders: 0", "G1 3: orders: 0"}; !slices.Equal(cl.shared, want) {
		t.Errorf("set up: %q", cl.shared)
	}
	cl.pass(time.Second)
	a.mustBeat()
	cl.expectShare("before", "G1", "Stable 4/4 simple a@4[orders: 0] b@2[]")
	before := cl.sharesText("G1")
	cl.restart(cl.broker.Config)
	if after := cl.sharesText("G1"); after != before {
		t.Errorf("after: %s\nbefore: %s", after, before)
	}
	cl.pass(44 * time.Second)
	a.mustBeat()
	cl.appendErr = kafka.ErrNotLeaderOrFollower
	cl.pass(time.Second)
	cl.appendErr = nil
	cl.pass(shard.ExpulsionBackoff)
	cl.expectShare("b did not come back", "G1", "Stable 5/4 simple a@4[orders: 0]")
}

// sharesText is all that can be seen of a share group.
func (cl *cluster) sharesText(groupID string) (text string) {
	cl.loop.Do(func() {
		partitions, err := cl.SharedPartitions(groupID)
		text = fmt.Sprintf("%s %+v %+v %v", cl.Coordinator, cl.DescribeShares([]string{groupID}), partitions, err)
	})
	return text
}

// What is being set up for too long is set up again.
func TestShareInitializeRetry(t *testing.T) {
	cl := newCluster(t)
	cl.topic("orders", 1)
	a := cl.sharer("G1", "a", "orders")
	cl.loop.Do(func() { cl.ShareHeartbeat(a.request(), func(group.ShareHeartbeatResult, error) {}) })
	cl.restart(cl.broker.Config) // nobody is there to be told that it is set up
	cl.settle()
	a.mustBeat()
	cl.pass(29 * time.Second)
	a.mustBeat()
	if len(cl.shared) != 1 {
		t.Errorf("too early: %q", cl.shared)
	}
	cl.pass(time.Second)
	a.mustBeat()
	if len(cl.shared) != 2 {
		t.Errorf("not again: %q", cl.shared)
	}
}

// A share group is not deleted from under those who come while what it was
// delivered is being forgotten.
func TestShareDeleteRaces(t *testing.T) {
	for _, c := range []struct {
		name      string
		meanwhile func(*cluster)
		want      error
	}{
		{"nothing happens", func(*cluster) {}, nil},
		{"a member comes", func(cl *cluster) {
			cl.ShareHeartbeat(cl.sharer("G1", "b", "orders").request(), func(group.ShareHeartbeatResult, error) {})
		}, kafka.ErrNonEmptyGroup},
		{"the coordinator moves", func(cl *cluster) { cl.Unload(cl.PartitionFor("G1")) }, kafka.ErrNotCoordinator},
	} {
		t.Run(c.name, func(t *testing.T) {
			cl := newCluster(t)
			cl.topic("orders", 1)
			a := cl.sharer("G1", "a", "orders")
			a.mustBeat()
			cl.settle()
			expectErr(t, "leave", a.leave(), nil)
			var errs []error
			cl.loop.Do(func() {
				cl.DeleteGroups([]string{"G1"}, func(e []error) { errs = e })
				c.meanwhile(cl)
			})
			cl.pass(time.Second)
			if len(errs) != 1 {
				t.Fatal("no answer")
			}
			expectErr(t, "DeleteGroups", errs[0], c.want)
		})
	}
	cl := newCluster(t)
	cl.topic("orders", 1)
	a := cl.sharer("G1", "a", "orders")
	a.mustBeat()
	cl.settle()
	expectErr(t, "leave", a.leave(), nil)
	var first, second []error
	cl.loop.Do(func() {
		cl.DeleteGroups([]string{"G1"}, func(e []error) { first = e })
		cl.DeleteGroups([]string{"G1"}, func(e []error) { second = e })
	})
	cl.pass(time.Second)
	expectErr(t, "DeleteGroups", errors.Join(first...), nil)
	expectErr(t, "DeleteGroups of what another one deletes", errors.Join(second...), kafka.ErrGroupIDNotFound)
}
