package coordinator

import (
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Rule H4: who may commit, and what a group that does not exist means.
func TestH4UnknownGroup(t *testing.T) {
	cl := newCluster(t)
	commit := func(generation int32, v9 bool) error {
		return cl.commit(group.CommitRequest{GroupID: "G1", Generation: generation, MemberID: "m", Retention: -1, Topics: offsetsOf(5), GroupIDNotFoundSupported: v9})
	}
	expectErr(t, "generation 0, v8", commit(0, false), kafka.ErrIllegalGeneration)
	expectErr(t, "generation 0, v9", commit(0, true), kafka.ErrGroupIDNotFound)
	expectErr(t, "generation 0, transactional", cl.txnCommit(group.TxnCommitRequest{GroupID: "G1", Generation: 0, Topics: offsetsOf(5)}), kafka.ErrIllegalGeneration)
	if list, _ := cl.List(group.ListRequest{}); len(list) > 0 {
		t.Errorf("a refused commit made groups %v", list)
	}
	expectErr(t, "generation -1", commit(-1, true), nil)
	if list, err := cl.List(group.ListRequest{}); err != nil || len(list) != 1 || list[0] != (group.Listing{GroupID: "G1", State: group.Empty, Kind: group.Classic}) {
		t.Errorf("groups %v, %v", list, err)
	}
	if n := cl.leo(cl.PartitionFor("G1")); n != 1 {
		t.Errorf("%d records, want the commit's alone", n)
	}
	expectErr(t, "generation 0 of a simple group", commit(0, true), kafka.ErrUnknownMemberID)
	expectErr(t, "generation 0 of a simple group, transactional",
		cl.txnCommit(group.TxnCommitRequest{GroupID: "G1", Generation: 0, MemberID: "m", Topics: offsetsOf(5)}), kafka.ErrUnknownMemberID)
}

// Rules H4 and H5 on a group with members.
func TestH4LiveGroup(t *testing.T) {
	cl := newCluster(t)
	c := cl.stable("G1")
	id, static := c.members[0], "i1"
	tests := []struct {
		name       string
		member     string
		instance   *string
		generation int32
		plain, txn error
	}{
		{"the member", id, nil, 1, nil, nil},
		{"nobody", "", nil, -1, kafka.ErrUnknownMemberID, nil},
		{"another member", "x", nil, 1, kafka.ErrUnknownMemberID, kafka.ErrUnknownMemberID},
		{"an old generation", id, nil, 0, kafka.ErrIllegalGeneration, kafka.ErrIllegalGeneration},
		{"a future generation", id, nil, 2, kafka.ErrIllegalGeneration, kafka.ErrIllegalGeneration},
		{"the member without a generation", id, nil, -1, kafka.ErrIllegalGeneration, kafka.ErrIllegalGeneration},
		{"an unknown instance", id, &static, 1, kafka.ErrUnknownMemberID, kafka.ErrUnknownMemberID},
	}
	for _, test := range tests {
		err := cl.commit(group.CommitRequest{GroupID: "G1", MemberID: test.member, InstanceID: test.instance, Generation: test.generation, Retention: -1, Topics: offsetsOf(5)})
		expectErr(t, test.name, err, test.plain)
		err = cl.txnCommit(group.TxnCommitRequest{GroupID: "G1", MemberID: test.member, InstanceID: test.instance, Generation: test.generation, Topics: offsetsOf(6)})
		expectErr(t, test.name+", transactional", err, test.txn)
	}
}

// Rule H4: between joining and syncing a commit has to wait, one in a
// transaction has not.
func TestH4CompletingRebalance(t *testing.T) {
	cl := newCluster(t)
	c := cl.consumers("G1", 1)
	c.joinAll()
	cl.expectState("before the assignment", "G1", group.CompletingRebalance)
	err := cl.commit(group.CommitRequest{GroupID: "G1", MemberID: c.members[0], Generation: 1, Retention: -1, Topics: offsetsOf(5)})
	expectErr(t, "OffsetCommit", err, kafka.ErrRebalanceInProgress)
	err = cl.txnCommit(group.TxnCommitRequest{GroupID: "G1", MemberID: c.members[0], Generation: 1, Topics: offsetsOf(5)})
	expectErr(t, "TxnOffsetCommit", err, nil)
}

// A commit is a sign of life.
func TestH4CommitKeepsTheSession(t *testing.T) {
	cl := newCluster(t)
	c := cl.stable("G1")
	for range 5 {
		cl.pass(8 * time.Second)
		expectErr(t, "OffsetCommit", cl.commit(group.CommitRequest{GroupID: "G1", MemberID: c.members[0], Generation: 1, Retention: -1, Topics: offsetsOf(5)}), nil)
	}
	cl.expectState("after 40 s of commits", "G1", group.Stable)
	cl.pass(10 * time.Second)
	cl.expectState("after a session of nothing", "G1", group.Empty)
}

func TestOffsetMetadataTooLarge(t *testing.T) {
	cl := newCluster(t)
	topics := offsetsOf(5, 6)
	topics[0].Partitions[0].Metadata = strings.Repeat("é", 4096)
	topics[0].Partitions[1].Metadata = strings.Repeat("é", 4095) + "𝄞" // two characters for Java
	err := cl.commit(group.CommitRequest{GroupID: "G1", Generation: -1, Retention: -1, Topics: topics})
	expectErr(t, "one partition", err, kafka.ErrOffsetMetadataTooLarge)
	cl.expectFetch("the other is committed", "G1", false, "orders-0=5")
	err = cl.commit(group.CommitRequest{GroupID: "G2", Generation: -1, Retention: -1, Topics: []group.CommitTopic{{Topic: "orders", Partitions: topics[0].Partitions[1:]}}})
	expectErr(t, "nothing left to commit", err, kafka.ErrOffsetMetadataTooLarge)
}

// What the log refuses, or does not replicate, as the client sees it.
func TestCommitLogErrors(t *testing.T) {
	for log, want := range map[kafka.Error]kafka.Error{
		kafka.ErrNotEnoughReplicas:         kafka.ErrCoordinatorNotAvailable,
		kafka.ErrUnknownTopicOrPartition:   kafka.ErrCoordinatorNotAvailable,
		kafka.ErrNotLeaderOrFollower:       kafka.ErrNotCoordinator,
		kafka.ErrKafkaStorageError:         kafka.ErrNotCoordinator,
		kafka.ErrMessageTooLarge:           kafka.ErrUnknownServerError,
		kafka.ErrCoordinatorLoadInProgress: kafka.ErrCoordinatorLoadInProgress,
	} {
		cl := newCluster(t)
		cl.simple("G1", 5)
		cl.appendErr = log
		err := cl.commit(group.CommitRequest{GroupID: "G1", Generation: -1, Retention: -1, Topics: offsetsOf(9)})
		expectErr(t, log.Error(), err, want)
		cl.expectFetch("after "+log.Error(), "G1", true, "orders-0=5")
		err = cl.txnCommit(group.TxnCommitRequest{GroupID: "G2", Generation: -1, Topics: offsetsOf(9)})
		expectErr(t, "transactional "+log.Error(), err, want)
		if list, _ := cl.List(group.ListRequest{}); len(list) != 1 {
			t.Errorf("%s: groups %v", log, list)
		}
	}
}

// A commit that is not replicated in time is answered with 15 and may come
// true later; until then readers do not see it (plain reads) or wait (stable
// ones).
func TestCommitIsSeenWhenReplicated(t *testing.T) {
	cl := newCluster(t)
	cl.simple("G1", 5)
	cl.stalled = true
	err := cl.commit(group.CommitRequest{GroupID: "G1", Generation: -1, Retention: -1, Topics: offsetsOf(9)})
	expectErr(t, "OffsetCommit", err, kafka.ErrCoordinatorNotAvailable)
	cl.expectFetch("unreplicated", "G1", false, "orders-0=5")
	cl.expectFetch("unreplicated, named", "G1", false, "orders-0=5", 0)
	cl.expectFetch("unreplicated for five seconds", "G1", true, "NOT_COORDINATOR")

	var got string
	cl.loop.Do(func() {
		cl.FetchOffsets(group.FetchRequest{GroupID: "G1", RequireStable: true}, func(topics []group.FetchedTopic, err error) {
			got = "answered"
			if err == nil && topics[0].Partitions[0].Offset == 9 {
				got = "9"
			}
		})
	})
	if got != "" {
		t.Errorf("a stable read did not wait: %s", got)
	}
	cl.resume()
	cl.simple("G1", 10) // any append that is replicated tells the coordinator
	if got != "9" {
		t.Errorf("the stable read: %q", got)
	}
	cl.expectFetch("replicated", "G1", false, "orders-0=10")
}
