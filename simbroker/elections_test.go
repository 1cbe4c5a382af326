package simbroker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// replicated has its internal topics on all three brokers.
var replicated = with(small, map[string]string{
	"offsets.topic.replication.factor":         "3",
	"transaction.state.log.replication.factor": "3",
	"auto.leader.rebalance.enable":             "false",
})

// list is what a broker's ListTransactions answers.
func (s *story) list(broker kafka.BrokerID) string {
	s.t.Helper()
	got := ask[*kmsg.ListTransactionsResponse](s, broker, kmsg.NewPtrListTransactionsRequest(), 2)
	if got.ErrorCode != 0 {
		return kerr.ErrorForCode(got.ErrorCode).(*kerr.Error).Message
	}
	text := "listed:"
	for _, t := range got.TransactionStates {
		text += " " + t.TransactionalID + " " + t.TransactionState
	}
	return text
}

// stateLog is the partition that keeps a transactional id.
func stateLog(id string) int32 { return kafka.PartitionFor(id, 5) }

// elect asks for a preferred election of an internal partition.
func (s *story) elect(topic string, partition int32) string {
	s.t.Helper()
	req := kmsg.NewPtrElectLeadersRequest()
	req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: topic, Partitions: []int32{partition}}}
	got := ask[*kmsg.ElectLeadersResponse](s, 1, req, 2).Topics[0].Partitions[0]
	if err := kerr.ErrorForCode(got.ErrorCode); err != nil {
		return err.(*kerr.Error).Message
	}
	return "elected"
}

// reassign moves an internal partition to one broker.
func (s *story) reassign(topic string, partition int32, to kafka.BrokerID) {
	s.t.Helper()
	req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	req.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: topic, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{
		{Partition: partition, Replicas: []int32{int32(to)}},
	}}}
	got := ask[*kmsg.AlterPartitionAssignmentsResponse](s, 1, req, 1)
	s.none(got.ErrorCode)
	s.none(got.Topics[0].Partitions[0].ErrorCode)
}

// While a coordinator fails over there is a time in which every broker answers
// without an error and nobody knows the id, and then one in which the new
// coordinator loads: what a real cluster shows over a planned stop.
func TestFailoverAsClientsSeeIt(t *testing.T) {
	s := simulated(t, replicated)
	p := s.begin("x", 10*time.Minute)
	s.createTopic("t", int32(p.coordinator%3+1))
	s.mustProduce(p.coordinator%3+1, "t", -1, 1, p)
	old := p.coordinator
	s.Install(simbroker.DelayLoading{Topic: kafka.TransactionStateTopic, Unaware: 140 * time.Millisecond, Loading: 60 * time.Millisecond})

	s.must(s.Stop(old))
	stopped := s.Now()
	p.coordinator = s.coordinatorFrom(old%3+1, "x")
	if p.coordinator == old {
		t.Fatalf("the coordinator is still %d", old)
	}
	for _, step := range []struct {
		after          time.Duration
		describe, list string
	}{
		{10 * time.Millisecond, "NOT_COORDINATOR", "listed:"},
		{130 * time.Millisecond, "NOT_COORDINATOR", "listed:"},
		{160 * time.Millisecond, "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_LOAD_IN_PROGRESS"},
		{190 * time.Millisecond, "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_LOAD_IN_PROGRESS"},
		{220 * time.Millisecond, "Ongoing t[0]", "listed: x Ongoing"},
	} {
		s.Advance(stopped.Add(step.after).Sub(s.Now()))
		if got := s.describe(p); got != step.describe {
			t.Errorf("after %v DescribeTransactions: %s, want %s", step.after, got, step.describe)
		}
		if got := s.list(p.coordinator); got != step.list {
			t.Errorf("after %v ListTransactions: %s, want %s", step.after, got, step.list)
		}
		other := 6 - old - p.coordinator
		if got := s.list(other); got != "listed:" && got != "COORDINATOR_LOAD_IN_PROGRESS" {
			t.Errorf("after %v ListTransactions of the third broker: %s", step.after, got)
		}
	}
}

// coordinatorFrom asks one broker for the coordinator.
func (s *story) coordinatorFrom(broker kafka.BrokerID, id string) kafka.BrokerID {
	s.t.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKeys = 1, []string{id}
	got := ask[*kmsg.FindCoordinatorResponse](s, broker, req, 6).Coordinators[0]
	s.none(got.ErrorCode)
	return kafka.BrokerID(got.NodeID)
}

// A preferred election and a reassignment move a coordinator of living brokers.
// The one that has lost the partition knows nothing of its ids any more.
func TestCoordinatorMoves(t *testing.T) {
	s := simulated(t, replicated)
	p := s.begin("x", 10*time.Minute)
	s.createTopic("t", 1)
	s.mustProduce(1, "t", -1, 1, p)
	preferred := p.coordinator
	s.must(s.Kill(preferred))
	s.Advance(10 * time.Second)
	s.must(s.Start(preferred))
	s.Advance(5 * time.Second) // until it is in sync
	p.coordinator = s.coordinator("x")
	if p.coordinator == preferred {
		t.Fatal("the coordinator is back before an election")
	}
	temporary := p.coordinator

	if got := s.elect(kafka.TransactionStateTopic, stateLog("x")); got != "elected" {
		t.Fatal(got)
	}
	p.coordinator = preferred
	s.await("Ongoing t[0]", func() string { return s.describe(p) })
	if got := s.coordinator("x"); got != preferred {
		t.Errorf("after the election the coordinator is %d, want %d", got, preferred)
	}
	if got := s.list(temporary); got != "listed:" {
		t.Errorf("the one before lists %q", got)
	}
	if got := s.elect(kafka.TransactionStateTopic, stateLog("x")); got != "ELECTION_NOT_NEEDED" {
		t.Errorf("a second election: %s", got)
	}

	s.reassign(kafka.TransactionStateTopic, stateLog("x"), temporary)
	p.coordinator = temporary
	s.await("Ongoing t[0]", func() string { return s.describe(p) })
	p.coordinator = preferred
	if got := s.describe(p); got != "NOT_COORDINATOR" {
		t.Errorf("the one before answers %s", got)
	}
	p.coordinator = temporary
	s.must(s.end(p, true))
	s.awaitOffsets(1, "t", "2/2/2")
}

// A coordinator that is moved while it waits for one marker sends all of them
// again under its new epoch, so that the partitions that had theirs get another
// (rule G18); one of the old epoch that was on its way comes too late.
func TestMarkersAreSentAgainAfterAMove(t *testing.T) {
	s := simulated(t, replicated)
	p := s.begin("x", 10*time.Minute)
	s.createTopic("done", 1)
	s.createTopic("late", 1)
	s.mustProduce(1, "done", -1, 1, p)
	p.sequence = 0
	s.mustProduce(1, "late", -1, 1, p)
	release := s.Install(simbroker.HoldMarkers{Topic: "late"})
	s.must(s.end(p, true))
	s.awaitOffsets(1, "done", "2/2/2")
	s.wantOffsets(1, "late", "1/1/0")
	s.Advance(time.Second) // by now its marker is held

	to := p.coordinator%3 + 1
	s.reassign(kafka.TransactionStateTopic, stateLog("x"), to)
	p.coordinator = to
	s.await("PrepareCommit late[0]", func() string { return s.describe(p) })
	s.awaitOffsets(1, "done", "3/3/3")
	s.wantOffsets(1, "late", "1/1/0")
	s.Advance(time.Second)
	release()
	s.await("CompleteCommit", func() string { return s.describe(p) })
	// The marker of the old epoch was on its way first, and arrives first.
	s.wantOffsets(1, "done", "3/3/3")
	s.wantOffsets(1, "late", "3/3/3")
}

// A group coordinator moves in the same way; commits come with it.
func TestGroupCoordinatorMoves(t *testing.T) {
	s := simulated(t, replicated)
	s.createTopic("t", 1)
	coordinator := func() kafka.BrokerID {
		for range 100 {
			find := kmsg.NewPtrFindCoordinatorRequest()
			find.CoordinatorKeys = []string{"g"}
			if got := ask[*kmsg.FindCoordinatorResponse](s, 1, find, 6).Coordinators[0]; got.ErrorCode == 0 {
				return kafka.BrokerID(got.NodeID)
			}
			s.Advance(10 * time.Millisecond)
		}
		t.Fatal("no coordinator")
		return kafka.NoBroker
	}
	at := coordinator()
	commit := func() string {
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.Generation = "g", -1
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 7, LeaderEpoch: -1}}}}
		return fmt.Sprint(ask[*kmsg.OffsetCommitResponse](s, at, req, 9).Topics[0].Partitions[0].ErrorCode)
	}
	s.await("0", commit)
	fetch := func() string {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g", MemberEpoch: -1, Topics: []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", Partitions: []int32{0}}}}}
		got := ask[*kmsg.OffsetFetchResponse](s, at, req, 9).Groups[0]
		if got.ErrorCode != 0 {
			return kerr.ErrorForCode(got.ErrorCode).(*kerr.Error).Message
		}
		return fmt.Sprint(got.Topics[0].Partitions[0].Offset)
	}
	if got := fetch(); got != "7" {
		t.Fatal(got)
	}
	s.Install(simbroker.DelayLoading{Topic: kafka.ConsumerOffsetsTopic, Loading: time.Second})
	before := at
	at = before%3 + 1
	s.reassign(kafka.ConsumerOffsetsTopic, kafka.PartitionFor("g", 5), at)
	s.await("COORDINATOR_LOAD_IN_PROGRESS", fetch)
	s.await("7", fetch)
	at = before
	if got := fetch(); got != "NOT_COORDINATOR" {
		t.Errorf("the one before: %s", got)
	}
}
