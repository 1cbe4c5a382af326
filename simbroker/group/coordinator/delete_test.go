package coordinator

import (
	"errors"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Rule H11: OffsetDelete.
func TestH11DeleteOffsets(t *testing.T) {
	cl := newCluster(t)
	orders := group.FetchTopic{Topic: "orders", Partitions: []int32{0, 9}}
	expectErr(t, "missing group", cl.deleteOffsets("G1", orders), kafka.ErrGroupIDNotFound)
	expectErr(t, "no group", cl.deleteOffsets("", orders), kafka.ErrInvalidGroupID)
	cl.simple("G1", 5, 6)
	expectErr(t, "simple group", cl.deleteOffsets("G1", orders), nil)
	cl.expectFetch("the other one stays", "G1", true, "orders-1=6")
	records := cl.leo(cl.PartitionFor("G1"))
	expectErr(t, "nothing to delete", cl.deleteOffsets("G1", orders), nil)
	if cl.leo(cl.PartitionFor("G1")) != records {
		t.Error("a tombstone for nothing was written")
	}
	c := cl.stable("G2")
	expectErr(t, "subscribed topic", cl.deleteOffsets("G2", orders), kafka.ErrGroupSubscribedToTopic)
	expectErr(t, "other topic", cl.deleteOffsets("G2", group.FetchTopic{Topic: "sales", Partitions: []int32{0}}), nil)
	c.leave(0)
	expectErr(t, "topic of a group without members", cl.deleteOffsets("G2", orders), nil)

	connect := cl.consumers("G3", 1)
	connect.protocolType = "connect"
	connect.joinAll()
	expectErr(t, "members that are no consumers", cl.deleteOffsets("G3", orders), kafka.ErrNonEmptyGroup)
}

// Rule H11: DeleteGroups.
func TestH11DeleteGroups(t *testing.T) {
	cl := newCluster(t)
	p := producerOf(1, 0)
	cl.simple("G1", 5)
	cl.pending("G1", p, 8, 9)
	c := cl.stable("G2")
	errs := cl.deleteGroups("G1", "G2", "G9")
	expectErr(t, "simple group with pending offsets", errs[0], nil)
	expectErr(t, "group with members", errs[1], kafka.ErrNonEmptyGroup)
	expectErr(t, "missing group", errs[2], kafka.ErrGroupIDNotFound)
	cl.mark("G1", p, true)
	cl.expectFetch("the later commit revives nothing", "G1", true, "orders-0=-1 orders-1=-1", 0, 1)
	if d := cl.Describe([]string{"G1"})[0]; d.State != group.Dead || !errors.Is(d.Err, kafka.ErrGroupIDNotFound) || d.Err.Error() != "Group G1 not found." {
		t.Errorf("described as %+v", d)
	}
	c.leave(0)
	expectErr(t, "group whose members left", cl.deleteGroups("G2")[0], nil)
	if got := cl.deleteGroups(); len(got) > 0 {
		t.Errorf("no groups: %v", got)
	}
	cl.restart(cl.broker.Config)
	if list, _ := cl.List(group.ListRequest{}); len(list) > 0 {
		t.Errorf("loaded groups %v", list)
	}
	cl.simple("G1", 5)
	cl.appendErr = kafka.ErrNotEnoughReplicas
	expectErr(t, "log refuses", cl.deleteGroups("G1")[0], kafka.ErrCoordinatorNotAvailable)
	cl.appendErr = nil
	cl.expectFetch("log refuses", "G1", true, "orders-0=5")
}

// Rule H11: what expires, and from when.
func TestH11Retention(t *testing.T) {
	const day = 24 * time.Hour
	t.Run("a simple group counts from each commit", func(t *testing.T) {
		cl := newCluster(t)
		cl.simple("G1", 5, 6)
		cl.pass(4 * day)
		cl.simple("G1", 7)
		cl.pass(4 * day)
		cl.expectFetch("eight days", "G1", true, "orders-0=7")
		cl.pass(4 * day)
		cl.expectFetch("twelve days", "G1", true, "")
		cl.expectState("with its last offset", "G1", group.Dead)
	})
	t.Run("a group with members counts from when it is empty", func(t *testing.T) {
		cl := newCluster(t)
		c := cl.stableFor("G1", 30*time.Minute)
		expectErr(t, "commit", cl.commit(group.CommitRequest{GroupID: "G1", MemberID: c.members[0], Generation: 1, Retention: -1, Topics: offsetsOf(5)}), nil)
		c.keepAlive(8 * day)
		cl.expectFetch("eight days with a member", "G1", true, "orders-0=5")
		c.leave(0)
		cl.pass(6 * day)
		cl.expectFetch("six days without", "G1", true, "orders-0=5")
		cl.pass(2 * day)
		cl.expectState("eight days without", "G1", group.Dead)
	})
	t.Run("a topic that is consumed no longer counts from the commit", func(t *testing.T) {
		cl := newCluster(t)
		c := cl.stableFor("G1", 30*time.Minute)
		topics := []group.CommitTopic{{Topic: "sales", Partitions: []group.CommittedOffset{{Offset: 3, LeaderEpoch: -1}}}}
		expectErr(t, "commit", cl.commit(group.CommitRequest{GroupID: "G1", MemberID: c.members[0], Generation: 1, Retention: -1, Topics: append(topics, offsetsOf(5)...)}), nil)
		c.keepAlive(8 * day)
		cl.expectFetch("eight days", "G1", true, "orders-0=5")
		cl.expectState("its member is there", "G1", group.Stable)
	})
	t.Run("members that are no consumers keep everything", func(t *testing.T) {
		cl := newCluster(t)
		c := cl.consumers("G1", 1)
		c.protocolType, c.session = "connect", 30*time.Minute
		c.joinAll()
		c.syncAll()
		expectErr(t, "commit", cl.commit(group.CommitRequest{GroupID: "G1", MemberID: c.members[0], Generation: 1, Retention: -1, Topics: offsetsOf(5)}), nil)
		c.keepAlive(8 * day)
		cl.expectFetch("eight days", "G1", true, "orders-0=5")
	})
	t.Run("a pending offset keeps the stable one", func(t *testing.T) {
		cl := newCluster(t)
		cl.simple("G1", 5, 6)
		cl.pending("G1", producerOf(1, 0), 8)
		cl.pass(8 * day)
		cl.expectFetch("eight days", "G1", false, "orders-0=5")
		cl.mark("G1", producerOf(1, 0), false)
		cl.pass(time.Hour)
		cl.expectState("after the abort", "G1", group.Dead)
	})
	t.Run("a group of nothing but an aborted commit goes", func(t *testing.T) {
		cl := newCluster(t)
		cl.pending("G1", producerOf(1, 0), 8)
		cl.pass(time.Hour)
		cl.expectState("while pending", "G1", group.Empty)
		cl.mark("G1", producerOf(1, 0), false)
		cl.pass(time.Hour)
		cl.expectState("after the abort", "G1", group.Dead)
	})
	t.Run("a commit may have a retention of its own", func(t *testing.T) {
		cl := newCluster(t)
		expectErr(t, "commit", cl.commit(group.CommitRequest{GroupID: "G1", Generation: -1, Retention: time.Hour, Topics: offsetsOf(5)}), nil)
		cl.pass(50 * time.Minute)
		cl.expectFetch("50 minutes", "G1", true, "orders-0=5")
		cl.pass(20 * time.Minute)
		cl.expectFetch("70 minutes", "G1", true, "")
	})
	t.Run("what the log refuses is tried again", func(t *testing.T) {
		cl := newCluster(t)
		cl.simple("G1", 5)
		cl.appendErr = kafka.ErrNotEnoughReplicas
		cl.pass(8 * day)
		cl.expectFetch("log refuses", "G1", true, "orders-0=5")
		cl.appendErr = nil
		cl.pass(time.Hour)
		cl.expectState("at last", "G1", group.Dead)
	})
}

// A deleted topic takes its commits along, by id where they know one.
func TestTopicsDeleted(t *testing.T) {
	cl := newCluster(t)
	one, two := kafka.TopicID{1}, kafka.TopicID{2}
	topics := offsetsOf(5)
	topics[0].TopicID = two
	expectErr(t, "commit", cl.commit(group.CommitRequest{GroupID: "G1", Generation: -1, Retention: -1, Topics: topics}), nil)
	cl.simple("G2", 6, 7)
	cl.pending("G3", producerOf(1, 0), 8)
	cl.loop.Do(func() { cl.TopicsDeleted([]group.DeletedTopic{{Name: "sales", ID: one}}) })
	cl.settle()
	cl.expectFetch("another topic", "G2", true, "orders-0=6 orders-1=7")
	cl.loop.Do(func() { cl.TopicsDeleted([]group.DeletedTopic{{Name: "orders", ID: one}}) })
	cl.settle()
	cl.expectFetch("a newer topic of that name", "G1", true, "orders-0=5")
	cl.expectFetch("commits that know no id", "G2", true, "")
	cl.expectFetch("pending ones", "G3", true, "orders-0=-1", 0)
	cl.loop.Do(func() { cl.TopicsDeleted([]group.DeletedTopic{{Name: "orders", ID: two}}) })
	cl.settle()
	cl.expectFetch("the topic itself", "G1", true, "")
}
