package simbroker_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// story is a cluster on a simulated clock, asked in process.
type story struct {
	*simbroker.Cluster
	t testing.TB
	// log notes every answer with its time, for comparing whole histories.
	log strings.Builder
}

// simulated is a cluster of three brokers, closed and checked with the test.
func simulated(t testing.TB, properties map[string]string) *story {
	t.Helper()
	c, err := simbroker.Start(simbroker.Config{Brokers: 3, Properties: properties, Clock: simbroker.Simulated(epoch), Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return &story{Cluster: c, t: t}
}

// tryAsk sends a request in a version, and notes the answer.
func tryAsk[R kmsg.Response](s *story, broker kafka.BrokerID, req kmsg.Request, version int16) (R, error) {
	req.SetVersion(version)
	resp, err := s.Request(context.Background(), broker, req)
	fmt.Fprintf(&s.log, "%v broker %d %T: ", s.Now().Sub(epoch), broker, req)
	if err != nil {
		fmt.Fprintln(&s.log, err)
		var none R
		return none, err
	}
	fmt.Fprintf(&s.log, "%x\n", resp.AppendTo(nil))
	return resp.(R), nil
}

func ask[R kmsg.Response](s *story, broker kafka.BrokerID, req kmsg.Request, version int16) R {
	s.t.Helper()
	resp, err := tryAsk[R](s, broker, req, version)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp
}

// createTopic has one partition, with these replicas.
func (s *story) createTopic(topic string, replicas ...int32) {
	s.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, -1, -1
	a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
	a.Replicas = replicas
	t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	req.Topics = append(req.Topics, t)
	s.none(ask[*kmsg.CreateTopicsResponse](s, 1, req, 7).Topics[0].ErrorCode)
}

// none fails the test on an error code.
func (s *story) none(code int16) {
	s.t.Helper()
	if err := kerr.ErrorForCode(code); err != nil {
		s.t.Fatal(err)
	}
}

// produce appends records, as part of a transaction if p is not nil.
func (s *story) produce(leader kafka.BrokerID, topic string, acks int16, n int, p *transaction) (base int64, err error) {
	s.t.Helper()
	as := commitlog.Plainly()
	if p != nil {
		as = commitlog.Producing{Producer: p.producer, BaseSequence: p.sequence, Transactional: true}
	}
	var records []commitlog.Record
	for range n {
		records = append(records, commitlog.Record{TimestampMs: s.Now().UnixMilli(), Value: []byte("v")})
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 2000
	if p != nil {
		req.TransactionID = &p.id
		p.sequence += int32(n)
	}
	t := kmsg.NewProduceRequestTopic()
	t.Topic = topic
	partition := kmsg.NewProduceRequestTopicPartition()
	partition.Records = commitlog.Build(as, records).Raw
	t.Partitions = append(t.Partitions, partition)
	req.Topics = append(req.Topics, t)
	resp, err := tryAsk[*kmsg.ProduceResponse](s, leader, req, 12)
	if err != nil {
		return -1, err
	}
	got := resp.Topics[0].Partitions[0]
	return got.BaseOffset, kerr.ErrorForCode(got.ErrorCode)
}

// offset asks ListOffsets for LATEST.
func (s *story) offset(broker kafka.BrokerID, topic string, replica int32, isolation int8) string {
	s.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = replica, isolation
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.CurrentLeaderEpoch = -1, -1
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	got := ask[*kmsg.ListOffsetsResponse](s, broker, req, 10).Topics[0].Partitions[0]
	if got.ErrorCode != 0 {
		return kerr.ErrorForCode(got.ErrorCode).(*kerr.Error).Message
	}
	return fmt.Sprint(got.Offset)
}

// offsets are LEO/HWM/LSO of a topic's only partition.
func (s *story) offsets(broker kafka.BrokerID, topic string) string {
	s.t.Helper()
	return s.offset(broker, topic, -2, 0) + "/" + s.offset(broker, topic, -1, 0) + "/" + s.offset(broker, topic, -1, 1)
}

func (s *story) wantOffsets(broker kafka.BrokerID, topic, want string) {
	s.t.Helper()
	if got := s.offsets(broker, topic); got != want {
		s.t.Errorf("%s at broker %d: %s, want %s", topic, broker, got, want)
	}
}

// await lets time pass until what is asked comes out as wanted, at most a
// simulated minute.
func (s *story) await(want string, what func() string) {
	s.t.Helper()
	got := what()
	for deadline := s.Now().Add(time.Minute); got != want && s.Now().Before(deadline); got = what() {
		s.Advance(10 * time.Millisecond)
	}
	if got != want {
		s.t.Fatalf("after a minute: %s, want %s", got, want)
	}
}

func (s *story) awaitOffsets(broker kafka.BrokerID, topic, want string) {
	s.t.Helper()
	s.await(want, func() string { return s.offsets(broker, topic) })
}

// leader is a topic's leader, epoch and ISR as a broker has them.
func (s *story) leader(broker kafka.BrokerID, topic string) string {
	s.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = &topic
	req.Topics = append(req.Topics, t)
	p := ask[*kmsg.MetadataResponse](s, broker, req, 12).Topics[0].Partitions[0]
	return fmt.Sprintf("leader %d epoch %d ISR %v", p.Leader, p.LeaderEpoch, p.ISR)
}

// transaction is a transactional producer.
type transaction struct {
	id          string
	coordinator kafka.BrokerID
	producer    kafka.Producer
	sequence    int32
}

// coordinator finds the coordinator of a transactional id.
func (s *story) coordinator(id string) kafka.BrokerID {
	s.t.Helper()
	for range 100 {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorType, req.CoordinatorKeys = 1, []string{id}
		if got := ask[*kmsg.FindCoordinatorResponse](s, 1, req, 6).Coordinators[0]; got.ErrorCode == 0 {
			return kafka.BrokerID(got.NodeID)
		}
		s.Advance(10 * time.Millisecond)
	}
	s.t.Fatalf("no coordinator of %s", id)
	return kafka.NoBroker
}

// begin initialises a producer.
func (s *story) begin(id string, timeout time.Duration) *transaction {
	s.t.Helper()
	p := &transaction{id: id, coordinator: s.coordinator(id)}
	for range 100 {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID, req.TransactionTimeoutMillis = &id, int32(timeout.Milliseconds())
		resp := ask[*kmsg.InitProducerIDResponse](s, p.coordinator, req, 5)
		if resp.ErrorCode == 0 {
			p.producer = kafka.Producer{ID: kafka.ProducerID(resp.ProducerID), Epoch: kafka.ProducerEpoch(resp.ProducerEpoch)}
			return p
		}
		s.Advance(10 * time.Millisecond)
	}
	s.t.Fatalf("no producer id for %s", id)
	return nil
}

func (s *story) end(p *transaction, commit bool) error {
	s.t.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.Commit = p.id, commit
	req.ProducerID, req.ProducerEpoch = int64(p.producer.ID), int16(p.producer.Epoch)
	resp := ask[*kmsg.EndTxnResponse](s, p.coordinator, req, 5)
	p.producer, p.sequence = kafka.Producer{ID: kafka.ProducerID(resp.ProducerID), Epoch: kafka.ProducerEpoch(resp.ProducerEpoch)}, 0
	return kerr.ErrorForCode(resp.ErrorCode)
}

// describe is a transaction's state and its partitions.
func (s *story) describe(p *transaction) string {
	s.t.Helper()
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{p.id}
	got := ask[*kmsg.DescribeTransactionsResponse](s, p.coordinator, req, 0).TransactionStates[0]
	if got.ErrorCode != 0 {
		return kerr.ErrorForCode(got.ErrorCode).(*kerr.Error).Message
	}
	text := got.State
	for _, t := range got.Topics {
		text += fmt.Sprintf(" %s%v", t.Topic, t.Partitions)
	}
	return text
}

// must fails the test on an error.
func (s *story) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *story) mustProduce(leader kafka.BrokerID, topic string, acks int16, n int, p *transaction) {
	s.t.Helper()
	_, err := s.produce(leader, topic, acks, n, p)
	s.must(err)
}

// A paused follower holds the high watermark for as long as its session lasts,
// then leaves the ISR (rules F1, F4), and comes back.
func TestPausedFollower(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("t", 1, 2)
	s.mustProduce(1, "t", -1, 5, nil)
	s.wantOffsets(1, "t", "5/5/5")
	s.must(s.Pause(2))
	paused := s.Now()
	s.mustProduce(1, "t", 1, 5, nil)
	s.wantOffsets(1, "t", "10/5/5")
	if got, err := s.produce(1, "t", -1, 1, nil); !errors.Is(err, kerr.RequestTimedOut) || got != 10 {
		t.Errorf("acks=-1: base %d, %v", got, err)
	}
	s.await("leader 1 epoch 0 ISR [1]", func() string { return s.leader(1, "t") })
	if held := s.Now().Sub(paused); held < 7*time.Second || held > 9100*time.Millisecond {
		t.Errorf("left the ISR after %v, session is 9s and heartbeats come each 2s", held)
	}
	s.awaitOffsets(1, "t", "11/11/11")
	if !s.Fenced(2) {
		t.Error("broker 2 is not fenced")
	}
	s.must(s.Resume(2))
	s.await("leader 1 epoch 0 ISR [1 2]", func() string { return s.leader(2, "t") })
	if got := s.offset(2, "t", -2, 0); got != "11" {
		t.Errorf("follower's log ends at %s", got)
	}
}

// What a deposed leader alone had is lost, and it follows from where it departs
// (rule F5).
func TestFailoverTruncatesTheDeposedLeader(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("t", 1, 2)
	s.mustProduce(1, "t", -1, 3, nil)
	s.must(s.Pause(2))
	s.mustProduce(1, "t", 1, 4, nil)
	// The answer to the fetch that was under way is in the follower's socket.
	s.mustProduce(1, "t", 1, 4, nil)
	s.wantOffsets(1, "t", "11/3/3")
	s.must(s.Kill(1))
	s.must(s.Resume(2))
	s.await("leader 2 epoch 1 ISR [2]", func() string { return s.leader(2, "t") })
	s.awaitOffsets(2, "t", "7/7/7")
	s.mustProduce(2, "t", -1, 1, nil)
	s.must(s.Start(1))
	s.await("leader 2 epoch 1 ISR [2 1]", func() string { return s.leader(1, "t") })
	if got := s.offset(1, "t", -2, 0); got != "8" {
		t.Errorf("deposed leader's log ends at %s, want 8", got)
	}
	if got := s.offset(1, "t", -1, 0); got != "NOT_LEADER_FOR_PARTITION" {
		t.Errorf("deposed leader answers %s", got)
	}
}

// A deposed leader whose own records end amid the batch in which the new leader's log
// starts cannot follow it: it is left out, and the others go on (rule F9).
func TestDeposedLeaderThatCannotFollow(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("t", 1, 2, 3)
	s.must(s.Pause(1))
	if _, err := s.produce(1, "t", 1, 3, nil); !errors.Is(err, simbroker.ErrTimeout) {
		t.Fatalf("produce to a paused broker: %v", err)
	}
	s.await("leader 2 epoch 1 ISR [2 3]", func() string { return s.leader(2, "t") })
	s.mustProduce(2, "t", -1, 4, nil)
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 10_000
	topic := kmsg.NewDeleteRecordsRequestTopic()
	topic.Topic = "t"
	partition := kmsg.NewDeleteRecordsRequestTopicPartition()
	partition.Offset = 3
	topic.Partitions = append(topic.Partitions, partition)
	req.Topics = append(req.Topics, topic)
	s.none(ask[*kmsg.DeleteRecordsResponse](s, 2, req, 2).Topics[0].Partitions[0].ErrorCode)
	s.must(s.Resume(1)) // finds the records in its socket, and takes itself for the leader
	s.Advance(time.Minute)
	s.mustProduce(2, "t", -1, 1, nil)
	if got := s.leader(1, "t"); got != "leader 2 epoch 1 ISR [2 3]" {
		t.Error(got)
	}
	for broker, end := range map[kafka.BrokerID]string{1: "3", 2: "5", 3: "5"} {
		if got := s.offset(broker, "t", -2, 0); got != end {
			t.Errorf("log ends at %s at broker %d, want %s", got, broker, end)
		}
	}
}

// A marker that only the old leader had is written again by the coordinator
// (litmus test 34).
func TestMarkerLostInFailoverIsWrittenAgain(t *testing.T) {
	s := simulated(t, small)
	p := s.begin("x", time.Minute)
	leader := p.coordinator%3 + 1 // another broker than the coordinator
	follower := leader%3 + 1
	if follower == p.coordinator {
		follower = follower%3 + 1
	}
	s.createTopic("t", int32(leader), int32(follower))
	s.mustProduce(leader, "t", -1, 3, p)
	s.must(s.Pause(follower))
	s.mustProduce(leader, "t", 1, 1, p) // uses up the fetch that was under way
	s.must(s.end(p, false))
	s.awaitOffsets(leader, "t", "5/3/0")
	s.must(s.Kill(leader))
	s.must(s.Resume(follower))
	s.await(fmt.Sprintf("leader %d epoch 1 ISR [%d]", follower, follower), func() string { return s.leader(follower, "t") })
	s.awaitOffsets(follower, "t", "5/5/5")
	s.await("CompleteAbort", func() string { return s.describe(p) })
	s.must(s.Start(leader))
	s.await("5", func() string { return s.offset(leader, "t", -2, 0) })
}

// A broker that is shut down in the controlled way hands over what it leads
// before, so that nobody sees a partition without a leader.
func TestControlledShutdown(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("t", 1, 2)
	s.mustProduce(1, "t", -1, 3, nil)
	s.must(s.Stop(1))
	if got := s.State(1); got != simbroker.Stopped {
		t.Errorf("broker 1 is %v", got)
	}
	if got := s.leader(2, "t"); got != "leader 2 epoch 1 ISR [2]" {
		t.Error(got)
	}
	s.wantOffsets(2, "t", "3/3/3")
	s.must(s.Start(1))
	s.await("leader 2 epoch 1 ISR [2 1]", func() string { return s.leader(2, "t") })
	s.Advance(6 * time.Minute) // leader.imbalance.check.interval.seconds
	if got := s.leader(2, "t"); got != "leader 1 epoch 2 ISR [2 1]" {
		t.Errorf("no preferred election: %s", got)
	}
}

// An abandoned transaction is aborted by the scan after its timeout (rule G16).
func TestTransactionTimesOut(t *testing.T) {
	s := simulated(t, small)
	s.createTopic("t", 1)
	p := s.begin("x", 30*time.Second)
	s.mustProduce(1, "t", -1, 3, p)
	s.wantOffsets(1, "t", "3/3/0")
	s.Advance(29 * time.Second)
	s.wantOffsets(1, "t", "3/3/0")
	if got := s.describe(p); got != "Ongoing t[0]" {
		t.Error(got)
	}
	s.Advance(12 * time.Second)
	s.wantOffsets(1, "t", "4/4/4")
	if got := s.describe(p); got != "CompleteAbort" {
		t.Error(got)
	}
}

// A producer may begin its next transaction as soon as the end of the last one
// is answered: the broker itself waits for the markers (KIP-890, rule G4).
func TestNextTransactionFollowsAtOnce(t *testing.T) {
	s := simulated(t, small)
	p := s.begin("x", time.Minute)
	leader := p.coordinator%3 + 1
	s.createTopic("t", int32(leader), int32(p.coordinator))
	for round := range 5 {
		s.mustProduce(leader, "t", -1, 1, p)
		s.must(s.end(p, round%2 == 0))
	}
	s.awaitOffsets(leader, "t", "10/10/10")
}

// The coordinator of a transaction dies with it; the one that takes over still
// knows it (rule G18).
func TestCoordinatorFailsOver(t *testing.T) {
	properties := map[string]string{}
	for name, value := range small {
		properties[name] = value
	}
	properties["transaction.state.log.replication.factor"] = "3"
	s := simulated(t, properties)
	p := s.begin("x", time.Minute)
	leader := p.coordinator%3 + 1
	s.createTopic("t", int32(leader))
	s.mustProduce(leader, "t", -1, 3, p)
	old := p.coordinator
	s.must(s.Kill(old))
	if _, err := tryAsk[*kmsg.DescribeTransactionsResponse](s, old, kmsg.NewPtrDescribeTransactionsRequest(), 0); !errors.Is(err, simbroker.ErrConnectionRefused) {
		t.Errorf("the dead coordinator answers: %v", err)
	}
	p.coordinator = leader
	s.Advance(10 * time.Second)
	find := kmsg.NewPtrFindCoordinatorRequest()
	find.CoordinatorType, find.CoordinatorKeys = 1, []string{"x"}
	found := ask[*kmsg.FindCoordinatorResponse](s, leader, find, 6).Coordinators[0]
	p.coordinator = kafka.BrokerID(found.NodeID)
	if found.ErrorCode != 0 || p.coordinator == old {
		t.Fatalf("coordinator is %d, error %d", p.coordinator, found.ErrorCode)
	}
	s.await("Ongoing t[0]", func() string { return s.describe(p) })
	s.must(s.end(p, true))
	s.awaitOffsets(leader, "t", "4/4/4")
}

// The same seed and the same requests make the same history, to the byte.
func TestHistoriesReplay(t *testing.T) {
	history := func() string {
		s := simulated(t, small)
		s.createTopic("t", 1, 2, 3)
		p := s.begin("x", time.Minute)
		s.mustProduce(1, "t", -1, 3, p)
		s.must(s.Pause(3))
		s.mustProduce(1, "t", 1, 2, nil)
		s.Advance(20 * time.Second)
		s.must(s.Kill(1))
		s.Advance(20 * time.Second)
		s.must(s.Resume(3))
		s.must(s.Start(1))
		s.Advance(time.Second)
		s.leader(2, "t")
		s.offsets(2, "t")
		s.describe(p)
		return s.log.String()
	}
	first, second := strings.Split(history(), "\n"), strings.Split(history(), "\n")
	for i := range min(len(first), len(second)) {
		if first[i] != second[i] {
			t.Fatalf("line %d of the history was\n%s\nand is\n%s", i, first[i], second[i])
		}
	}
	if len(first) != len(second) || len(first) < 10 {
		t.Errorf("histories of %d and %d lines", len(first), len(second))
	}
}

func TestRequestErrors(t *testing.T) {
	s := simulated(t, small)
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Version = 12
	if _, err := s.Request(context.Background(), 4, metadata); !errors.Is(err, simbroker.ErrUnknownBroker) {
		t.Errorf("unknown broker: %v", err)
	}
	metadata.Version = 99
	if _, err := s.Request(context.Background(), 1, metadata); err == nil {
		t.Error("version 99 was answered")
	}
	metadata.Version = 12
	s.must(s.Pause(1))
	before := s.Now()
	if _, err := s.Request(context.Background(), 1, metadata); !errors.Is(err, simbroker.ErrTimeout) {
		t.Errorf("paused broker: %v", err)
	}
	if waited := s.Now().Sub(before); waited != simbroker.DefaultRequestTimeout {
		t.Errorf("waited %v for a paused broker", waited)
	}
	s.must(s.Kill(1))
	if _, err := s.Request(context.Background(), 1, metadata); !errors.Is(err, simbroker.ErrConnectionRefused) {
		t.Errorf("dead broker: %v", err)
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Request(cancelled, 2, metadata); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled context: %v", err)
	}
	produce := kmsg.NewPtrProduceRequest()
	produce.Version, produce.Acks = 12, 0
	if _, err := s.Request(context.Background(), 2, produce); !errors.Is(err, simbroker.ErrNoAnswer) {
		t.Errorf("acks=0: %v", err)
	}
}

func TestStatesAndWhatTheyAllow(t *testing.T) {
	s := simulated(t, small)
	for _, step := range []struct {
		name string
		act  func(kafka.BrokerID) error
		want error
		then simbroker.State
	}{
		{"resume running", s.Resume, simbroker.ErrState, simbroker.Running},
		{"start running", s.Start, simbroker.ErrState, simbroker.Running},
		{"pause", s.Pause, nil, simbroker.Paused},
		{"pause paused", s.Pause, simbroker.ErrState, simbroker.Paused},
		{"stop paused", s.Stop, simbroker.ErrState, simbroker.Paused},
		{"kill paused", s.Kill, nil, simbroker.Killed},
		{"kill dead", s.Kill, simbroker.ErrState, simbroker.Killed},
		{"resume dead", s.Resume, simbroker.ErrState, simbroker.Killed},
		{"start", s.Cluster.Start, nil, simbroker.Running},
		{"stop", s.Stop, nil, simbroker.Stopped},
		{"stop stopped", s.Stop, simbroker.ErrState, simbroker.Stopped},
		{"start again", s.Cluster.Start, nil, simbroker.Running},
	} {
		if err := step.act(2); !errors.Is(err, step.want) || step.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", step.name, err, step.want)
		}
		if got := s.State(2); got != step.then {
			t.Errorf("%s: broker is %v, want %v", step.name, got, step.then)
		}
	}
	if err := s.Pause(9); !errors.Is(err, simbroker.ErrUnknownBroker) {
		t.Errorf("unknown broker: %v", err)
	}
	if got := s.State(9).String(); got != "unknown" {
		t.Errorf("broker 9 is %s", got)
	}
}
