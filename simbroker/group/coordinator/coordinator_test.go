package coordinator

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// latency is how long the doubles take to answer.
const latency = time.Millisecond

// cluster is what a coordinator sees of the rest, in memory: a log that
// survives coordinators, and a transaction coordinator.
type cluster struct {
	t    *testing.T
	loop *clock.Loop
	host *clock.Host // of the broker's present life

	entries   map[int32][]group.Entry
	hwm       map[int32]kafka.Offset
	stalled   bool // the high watermark stands still
	instant   bool // appends are replicated, and answered, before they return
	waiting   []wait
	appendErr error // of the next appends, which then leave nothing

	verifyErr error
	verified  []group.Verification
	uuids     int
	topics    *topics
	settings  group.Settings

	sharesErr error    // of the next answers of the share coordinator
	shared    []string // what it was asked, as "G1 3: orders 0 1"

	*Coordinator
}

// wait is an append that waits for its replication.
type wait struct {
	partition int32
	until     kafka.Offset
	done      func(error)
}

// newCluster has one broker that leads every partition of __consumer_offsets.
func newCluster(t *testing.T) *cluster {
	cl := &cluster{
		t:       t,
		loop:    clock.NewSimulated(time.UnixMilli(1_000_000)),
		entries: make(map[int32][]group.Entry),
		hwm:     make(map[int32]kafka.Offset),
		topics:  &topics{},
	}
	cl.settings = group.DefaultSettings()
	cl.restart(group.DefaultConfig())
	return cl
}

// restart kills the broker and gives it a new coordinator that leads
// everything.
func (cl *cluster) restart(cfg group.Config) {
	if cl.host != nil {
		cl.host.Kill()
	}
	cl.host = clock.NewHost(cl.loop)
	cl.Coordinator = New(1, cl.host, cfg, group.Environment{
		Log: cl, Verifier: cl, Topics: cl.topics, Shares: cl, UUID: cl.uuid,
		Settings: func(string) group.Settings { return cl.settings },
	})
	for p := range cfg.Partitions {
		cl.Load(p, 0)
	}
	cl.pass(0)
}

func (cl *cluster) pass(d time.Duration) { cl.loop.Advance(d) }

func (cl *cluster) uuid() string {
	cl.uuids++
	return uuid(cl.uuids)
}

// uuid is the nth that a cluster draws.
func uuid(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", n) }

// topics is the metadata that the coordinator sees.
type topics struct {
	all     []group.Topic
	version int64
}

func (t *topics) Topic(name string) (group.Topic, bool) {
	i := slices.IndexFunc(t.all, func(t group.Topic) bool { return t.Name == name })
	if i < 0 {
		return group.Topic{}, false
	}
	return t.all[i], true
}

func (t *topics) TopicByID(id kafka.TopicID) (group.Topic, bool) {
	i := slices.IndexFunc(t.all, func(t group.Topic) bool { return t.ID == id })
	if i < 0 {
		return group.Topic{}, false
	}
	return t.all[i], true
}

func (t *topics) Names() []string {
	var names []string
	for _, topic := range t.all {
		names = append(names, topic.Name)
	}
	slices.Sort(names)
	return names
}

func (t *topics) Version() int64 { return t.version }

// topic creates a topic, or gives one more partitions.
func (cl *cluster) topic(name string, partitions int32) kafka.TopicID {
	cl.topics.version++
	if i := slices.IndexFunc(cl.topics.all, func(t group.Topic) bool { return t.Name == name }); i >= 0 {
		cl.topics.all[i].Partitions = partitions
		return cl.topics.all[i].ID
	}
	id := kafka.TopicID{0: byte(len(cl.topics.all) + 1), 15: byte(cl.topics.version)}
	cl.topics.all = append(cl.topics.all, group.Topic{Name: name, ID: id, Partitions: partitions})
	cl.loop.Do(cl.TopicsCreated)
	return id
}

func (cl *cluster) Append(p int32, b group.Batch, done func(error)) (kafka.Offset, error) {
	if cl.appendErr != nil {
		return kafka.NoOffset, cl.appendErr
	}
	base := cl.leo(p)
	for i, r := range b.Records {
		cl.entries[p] = append(cl.entries[p], group.Entry{Offset: base + kafka.Offset(i), Producer: b.Producer, Record: r})
	}
	cl.replicate(p, b.Timeout, done)
	return base, nil
}

func (cl *cluster) AppendMarker(p int32, m group.Marker, done func(kafka.Offset, error)) {
	if cl.appendErr != nil {
		done(kafka.NoOffset, cl.appendErr)
		return
	}
	at := cl.leo(p)
	cl.entries[p] = append(cl.entries[p], group.Entry{Offset: at, Producer: m.Producer, Marker: true, Commit: m.Commit})
	cl.replicate(p, m.Timeout, func(err error) { done(at, err) })
}

// replicate answers when the high watermark has passed the log's end.
func (cl *cluster) replicate(p int32, timeout time.Duration, done func(error)) {
	if cl.instant {
		cl.hwm[p] = cl.leo(p)
		done(nil)
		return
	}
	answered := false
	once := func(err error) {
		if !answered {
			answered = true
			done(err)
		}
	}
	cl.waiting = append(cl.waiting, wait{p, cl.leo(p), once})
	cl.loop.After(latency, cl.follow)
	cl.loop.After(timeout, func() { once(kafka.ErrRequestTimedOut) })
}

// follow lets the followers catch up, unless they are stalled.
func (cl *cluster) follow() {
	if cl.stalled {
		return
	}
	waiting := cl.waiting
	cl.waiting = nil
	for _, w := range waiting {
		cl.hwm[w.partition] = max(cl.hwm[w.partition], w.until)
		w.done(nil)
	}
}

// resume ends a stall.
func (cl *cluster) resume() {
	cl.stalled = false
	cl.loop.Do(cl.follow)
}

func (cl *cluster) leo(p int32) kafka.Offset { return kafka.Offset(len(cl.entries[p])) }

func (cl *cluster) HighWatermark(p int32) kafka.Offset { return cl.hwm[p] }

func (cl *cluster) Entries(p int32) iter.Seq[group.Entry] { return slices.Values(cl.entries[p]) }

func (cl *cluster) Verify(v group.Verification, done func(producer.Guard, error)) {
	cl.verified = append(cl.verified, v)
	cl.loop.After(latency, func() { done(producer.Guard{}, cl.verifyErr) })
}

func (cl *cluster) Initialize(groupID string, partitions []group.SharePartition, epoch int32, done func(error)) {
	set := make(assignment.Set)
	for _, p := range partitions {
		set[assignment.Partition{Topic: p.TopicID, Number: p.Partition}] = true
	}
	cl.shared = append(cl.shared, fmt.Sprintf("%s %d: %s", groupID, epoch, cl.showAssigned(assignment.ToTopics(assignment.Sorted(set)))))
	cl.loop.After(latency, func() { done(cl.sharesErr) })
}

func (cl *cluster) DeleteTopics(groupID string, topics []kafka.TopicID, done func(error)) {
	cl.shared = append(cl.shared, fmt.Sprintf("%s forgets %d", groupID, len(topics)))
	cl.loop.After(latency, func() { done(cl.sharesErr) })
}

func (cl *cluster) Delete(groupID string, done func(error)) {
	cl.shared = append(cl.shared, groupID+" deleted")
	cl.loop.After(latency, func() { done(cl.sharesErr) })
}

// answered runs events until an answer has come.
func (cl *cluster) answered(done *bool) {
	cl.t.Helper()
	if !cl.loop.RunUntil(func() bool { return *done }, cl.loop.Now().Add(time.Minute)) {
		cl.t.Fatal("no answer")
	}
}

// settle lets everything that was appended be replicated.
func (cl *cluster) settle() { cl.pass(2 * latency) }

// offsetsOf are the offsets of a commit for partitions 0, 1, … of orders.
func offsetsOf(offsets ...kafka.Offset) []group.CommitTopic {
	topic := group.CommitTopic{Topic: "orders"}
	for i, o := range offsets {
		topic.Partitions = append(topic.Partitions, group.CommittedOffset{Partition: int32(i), Offset: o, LeaderEpoch: -1})
	}
	return []group.CommitTopic{topic}
}

// commit commits offsets and gives the error of all, or the first of a
// partition.
func (cl *cluster) commit(req group.CommitRequest) (err error) {
	cl.t.Helper()
	answered := false
	cl.loop.Do(func() {
		cl.Commit(req, func(topics []group.TopicResult, e error) { err, answered = firstError(topics, e), true })
	})
	cl.answered(&answered)
	return err
}

// simple commits offsets as an administrator does.
func (cl *cluster) simple(groupID string, offsets ...kafka.Offset) {
	cl.t.Helper()
	if err := cl.commit(group.CommitRequest{GroupID: groupID, Generation: -1, Retention: -1, Topics: offsetsOf(offsets...)}); err != nil {
		cl.t.Fatalf("OffsetCommit %s: %v", groupID, err)
	}
}

func (cl *cluster) txnCommit(req group.TxnCommitRequest) (err error) {
	cl.t.Helper()
	answered := false
	cl.loop.Do(func() {
		cl.TxnCommit(req, func(topics []group.TopicResult, e error) { err, answered = firstError(topics, e), true })
	})
	cl.answered(&answered)
	return err
}

// pending commits offsets in a transaction of a producer.
func (cl *cluster) pending(groupID string, p kafka.Producer, offsets ...kafka.Offset) {
	cl.t.Helper()
	req := group.TxnCommitRequest{GroupID: groupID, TransactionalID: "X", Producer: p, Generation: -1, Topics: offsetsOf(offsets...), Mode: group.AddPartition}
	if err := cl.txnCommit(req); err != nil {
		cl.t.Fatalf("TxnOffsetCommit %s: %v", groupID, err)
	}
}

// mark writes an end marker where a group's offsets are.
func (cl *cluster) mark(groupID string, p kafka.Producer, commit bool) (err error) {
	cl.t.Helper()
	answered := false
	m := group.Marker{Producer: p, Commit: commit, TransactionVersion: 2, Timeout: 5 * time.Second}
	cl.loop.Do(func() {
		cl.CompleteTransaction(cl.PartitionFor(groupID), m, func(e error) { err, answered = e, true })
	})
	cl.answered(&answered)
	return err
}

// fetch is what OffsetFetch says, as "orders-0=5 orders-1=-1(88)".
func (cl *cluster) fetch(groupID string, stable bool, partitions ...int32) string {
	cl.t.Helper()
	req := group.FetchRequest{GroupID: groupID, MemberEpoch: -1, RequireStable: stable}
	if len(partitions) > 0 {
		req.Topics = []group.FetchTopic{{Topic: "orders", Partitions: partitions}}
	}
	return cl.fetchRequest(req)
}

func (cl *cluster) fetchRequest(req group.FetchRequest) string {
	cl.t.Helper()
	var lines []string
	answered := false
	cl.loop.Do(func() {
		cl.FetchOffsets(req, func(topics []group.FetchedTopic, err error) {
			answered = true
			if err != nil {
				lines = []string{err.Error()}
			}
			for _, t := range topics {
				for _, p := range t.Partitions {
					line := fmt.Sprintf("%s-%d=%d", t.Topic, p.Partition, p.Offset)
					if p.Err == kafka.ErrUnstableOffsetCommit {
						line += "(88)"
					}
					lines = append(lines, line)
				}
			}
		})
	})
	cl.answered(&answered)
	return strings.Join(lines, " ")
}

func (cl *cluster) expectFetch(what, groupID string, stable bool, want string, partitions ...int32) {
	cl.t.Helper()
	if got := cl.fetch(groupID, stable, partitions...); got != want {
		cl.t.Errorf("%s: OffsetFetch %s stable=%t: %q, want %q", what, groupID, stable, got, want)
	}
}

func (cl *cluster) deleteOffsets(groupID string, topics ...group.FetchTopic) (err error) {
	cl.t.Helper()
	answered := false
	cl.loop.Do(func() {
		cl.DeleteOffsets(group.DeleteOffsetsRequest{GroupID: groupID, Topics: topics},
			func(topics []group.TopicResult, e error) { err, answered = firstError(topics, e), true })
	})
	cl.answered(&answered)
	return err
}

func (cl *cluster) deleteGroups(groups ...string) (errs []error) {
	cl.t.Helper()
	answered := false
	cl.loop.Do(func() { cl.DeleteGroups(groups, func(e []error) { errs, answered = e, true }) })
	cl.answered(&answered)
	return errs
}

func firstError(topics []group.TopicResult, err error) error {
	for _, t := range topics {
		for _, p := range t.Partitions {
			if err == nil {
				err = p.Err
			}
		}
	}
	return err
}

// stateOf is a group's state as DescribeGroups shows it.
func (cl *cluster) stateOf(groupID string) group.State {
	return cl.Describe([]string{groupID})[0].State
}

func (cl *cluster) expectState(what, groupID string, want group.State) {
	cl.t.Helper()
	if got := cl.stateOf(groupID); got != want {
		cl.t.Errorf("%s: %s is %s, want %s", what, groupID, got, want)
	}
}

func expectErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func producerOf(id, epoch int) kafka.Producer {
	return kafka.Producer{ID: kafka.ProducerID(id), Epoch: kafka.ProducerEpoch(epoch)}
}

// What is asked of a broker that does not coordinate the group, or loads it.
func TestNotTheCoordinator(t *testing.T) {
	for _, loading := range []bool{false, true} {
		cl := newCluster(t)
		cl.simple("G1", 5)
		want := error(kafka.ErrNotCoordinator)
		cl.Unload(cl.PartitionFor("G1"))
		if loading {
			want = kafka.ErrCoordinatorLoadInProgress
			cl.Load(cl.PartitionFor("G1"), 1)
		}
		refused := 0
		check := func(what string, err, want error) {
			t.Helper()
			expectErr(t, what, err, want)
			refused++
		}
		cl.Commit(group.CommitRequest{GroupID: "G1", Generation: -1, Topics: offsetsOf(1)}, func(_ []group.TopicResult, err error) { check("OffsetCommit", err, want) })
		cl.TxnCommit(group.TxnCommitRequest{GroupID: "G1", Generation: -1}, func(_ []group.TopicResult, err error) { check("TxnOffsetCommit", err, want) })
		cl.FetchOffsets(group.FetchRequest{GroupID: "G1"}, func(_ []group.FetchedTopic, err error) { check("OffsetFetch", err, want) })
		cl.DeleteOffsets(group.DeleteOffsetsRequest{GroupID: "G1"}, func(_ []group.TopicResult, err error) { check("OffsetDelete", err, want) })
		cl.DeleteGroups([]string{"G1"}, func(errs []error) { check("DeleteGroups", errs[0], want) })
		cl.Join(group.JoinRequest{GroupID: "G1", SessionTimeout: 10 * time.Second}, func(_ group.JoinResult, err error) { check("JoinGroup", err, want) })
		cl.Sync(group.SyncRequest{GroupID: "G1"}, func(_ group.SyncResult, err error) { check("SyncGroup", err, want) })
		cl.Leave(group.LeaveRequest{GroupID: "G1"}, func(_ []group.LeftMember, err error) { check("LeaveGroup", err, want) })
		check("DescribeGroups", cl.Describe([]string{"G1"})[0].Err, want)
		cl.CompleteTransaction(cl.PartitionFor("G1"), group.Marker{}, func(err error) { check("marker", err, kafka.ErrNotLeaderOrFollower) })
		if loading {
			want = nil // the member is not to be alarmed
		}
		check("Heartbeat", cl.Heartbeat(group.HeartbeatRequest{GroupID: "G1"}), want)
		if _, err := cl.List(group.ListRequest{}); loading {
			check("ListGroups", err, kafka.ErrCoordinatorLoadInProgress)
		} else {
			check("ListGroups", err, nil)
		}
		if refused != 12 {
			t.Errorf("loading %t: %d of 12 answers", loading, refused)
		}
	}
}

// A log that answers before its append returns: the answer goes out only after
// the records have taken effect.
func TestInstantLog(t *testing.T) {
	cl := newCluster(t)
	cl.instant = true
	var seen []group.FetchedTopic
	cl.loop.Do(func() {
		cl.Commit(group.CommitRequest{GroupID: "G1", Generation: -1, Retention: -1, Topics: offsetsOf(5)}, func([]group.TopicResult, error) {
			cl.FetchOffsets(group.FetchRequest{GroupID: "G1"}, func(topics []group.FetchedTopic, _ error) { seen = topics })
		})
	})
	if len(seen) != 1 || seen[0].Partitions[0].Offset != 5 {
		t.Errorf("seen with the answer: %+v", seen)
	}
	cl.pending("G1", producerOf(1, 0), 8)
	cl.mark("G1", producerOf(1, 0), true)
	cl.expectFetch("committed", "G1", true, "orders-0=8")
	c := cl.stable("G2")
	cl.expectState("synced", "G2", group.Stable)
	expectErr(t, "heartbeat", c.heartbeat(0), nil)
	cl.appendErr = kafka.ErrNotLeaderOrFollower
	other := cl.consumers("G3", 1)
	expectErr(t, "refused", other.join(0).err, kafka.ErrNotCoordinator)
}

func TestString(t *testing.T) {
	cl := newCluster(t)
	cl.simple("G2", 5, 6)
	cl.pending("G2", producerOf(7, 0), 8)
	cl.pending("G1", producerOf(7, 0), 8)
	for p := range cl.broker.Config.Partitions {
		if p != cl.PartitionFor("G1") && p != cl.PartitionFor("G2") {
			cl.Unload(p)
		}
	}
	cl.Load(49, 1)
	const want = "1: [" +
		"__consumer_offsets-0: G1 Empty gen 0 [] {orders-0: none pending 1} | " +
		"__consumer_offsets-1: G2 Empty gen 0 [] {orders-0: 5 pending 1, orders-1: 6} | " +
		"__consumer_offsets-49: loading]"
	if got := cl.String(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
