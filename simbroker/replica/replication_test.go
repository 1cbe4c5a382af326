package replica

import (
	"fmt"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

func both() []kafka.BrokerID { return []kafka.BrokerID{0, 1} }

// minISR2 is min.insync.replicas=2.
func minISR2(cfg *TopicConfig) { cfg.MinInsyncReplicas = 2 }

func acksAll(tp kafka.TopicPartition, b ProduceRequest) ProduceRequest {
	b.Acks = -1
	return b
}

// isr expects leader, leader epoch and ISR.
func (c *cluster) isr(tp kafka.TopicPartition, want string) {
	c.t.Helper()
	s := c.states[tp]
	c.expect(tp.String(), want, fmt.Sprintf("leader %d epoch %d ISR %v", s.Leader, s.LeaderEpoch, s.ISR))
}

// debug expects LATEST of replica id -2 at any broker.
func (c *cluster) debug(id kafka.BrokerID, tp kafka.TopicPartition, want kafka.Offset) {
	c.t.Helper()
	o, err := c.nodes[id].ListOffsets(ListOffsetsRequest{ReplicaID: DebugReplica, Partition: tp, CurrentLeaderEpoch: -1, Timestamp: Latest})
	if err != nil {
		c.t.Fatal(err)
	}
	c.expect(fmt.Sprintf("log end at broker %d", id), fmt.Sprint(want), fmt.Sprint(o.Offset))
}

// fence takes a dead broker out of every ISR as a controller does (rule F4).
func (c *cluster) fence(id kafka.BrokerID) {
	c.fenced[id] = true
	for tp, s := range c.states {
		var isr []kafka.BrokerID
		for _, r := range s.ISR {
			if r != id {
				isr = append(isr, r)
			}
		}
		if len(isr) == len(s.ISR) {
			continue
		}
		leader := s.Leader
		if leader == id {
			leader = kafka.NoBroker
			if len(isr) > 0 {
				leader = isr[0]
			}
		}
		c.change(tp, func(s *PartitionState) { s.ISR, s.Leader = isr, leader })
	}
	c.settle()
}

func TestL26StuckPartition(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T2", both(), minISR2)
	c.produce(tp, T(1, 0, 0, 2), "ok @0")
	c.settle()
	c.offsets(tp, "2/2/0")
	c.kill(1)
	c.fence(1)
	c.isr(tp, "leader 0 epoch 0 ISR [0]")
	c.mark(tp, true, 1, 1, 0, 2, "NOT_ENOUGH_REPLICAS")
	c.offsets(tp, "2/2/0")
	c.producers(0, tp, "P1 epoch 0 seq 1 ce -1 start 0")
	c.produce(tp, N(1), "ok @2")
	c.offsets(tp, "3/2/0")
	c.expect("acks=-1", "NOT_ENOUGH_REPLICAS", c.send(acksAll(tp, request(tp, N(1)))))
	c.fenced[1] = false
	c.start(1, false)
	c.settle()
	c.mark(tp, true, 1, 1, 0, 2, "ok")
	c.offsets(tp, "4/4/4")
	c.rc(tp, 0, "T(1,0,0,2)@0-1 N(1)@2 C(1,1)@3 ab=[] (HWM 4 LSO 4 start 0)")
}

func TestL30PausedFollower(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	c.produce(tp, N(5), "ok @0")
	c.settle()
	c.offsets(tp, "5/5/5")
	c.debug(1, tp, 5)
	c.list(1, latest(tp, Latest, ReadUncommitted), "NOT_LEADER_OR_FOLLOWER")
	c.producers(1, tp, "none")
	c.nodes[1].host.Pause()
	c.produce(tp, N(5), "ok @5")
	c.settle()
	c.offsets(tp, "10/5/5")
	c.rc(tp, 5, "empty ab=[] (HWM 5 LSO 5 start 0)")
	c.await("the ISR shrinks", func() bool { return len(c.states[tp].ISR) == 1 })
	if lag := c.loop.Now().Sub(start); lag < 30*time.Second || lag > 50*time.Second {
		t.Fatalf("the ISR shrank %v after the start", lag)
	}
	c.settle()
	c.offsets(tp, "10/10/10")
	c.nodes[1].host.Resume()
	c.settle()
	c.isr(tp, "leader 0 epoch 0 ISR [0 1]")
	c.debug(1, tp, 10)
}

// A follower gives a fetch up on which nothing is heard for
// replica.socket.timeout.ms, or when there is another partition to follow, and takes
// no answer to it. What the leader finds in its socket are the fetches as they were.
func TestFollowerGivesAFetchUp(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	c.produce(tp, N(5), "ok @0")
	c.settle()
	c.nodes[0].host.Pause()
	c.loop.Advance(DefaultConfig().ReplicaSocketTimeout + time.Second)
	other := c.topic("T2", both()) // the leader learns of it with the fetches
	c.nodes[0].host.Resume()
	c.settle()
	c.produce(tp, N(3), "ok @5")
	c.produce(other, N(2), "ok @0")
	c.settle()
	c.offsets(tp, "8/8/8")
	c.debug(1, tp, 8)
	c.offsets(other, "2/2/2")
	c.debug(1, other, 2)
	c.isr(tp, "leader 0 epoch 0 ISR [0 1]")
}

func TestL31MarkerOnTheLeaderOnly(t *testing.T) {
	for _, commit := range []bool{true, false} {
		c := newCluster(t, 2)
		tp := c.topic("T1", both())
		c.produce(tp, T(1, 0, 0, 3), "ok @0")
		c.settle()
		c.offsets(tp, "3/3/0")
		c.nodes[1].host.Pause()
		c.mark(tp, commit, 1, 1, 0, 2, "waiting")
		c.settle()
		c.offsets(tp, "4/3/0")
		c.rc(tp, 0, "empty ab=[] (HWM 3 LSO 0 start 0)")
		c.producers(0, tp, "P1 epoch 1 seq -1 ce 0 start -1")
		c.produce(tp, N(2), "ok @4")
		c.offsets(tp, "6/3/0")
		c.nodes[1].host.Resume()
		c.settle()
		c.offsets(tp, "6/6/6")
		want := "T(1,0,0,3)@0-2 C(1,1)@3 N(2)@4-5 ab=[] (HWM 6 LSO 6 start 0)"
		if !commit {
			want = "T(1,0,0,3)@0-2 A(1,1)@3 N(2)@4-5 ab=[(1,0)] (HWM 6 LSO 6 start 0)"
		}
		c.rc(tp, 0, want)
	}
}

func TestL32UnreplicatedTransaction(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	c.produce(tp, N(5), "ok @0")
	c.settle()
	c.nodes[1].host.Pause()
	c.produce(tp, T(1, 0, 0, 2), "ok @5")
	c.offsets(tp, "7/5/5")
	c.nodes[1].host.Resume()
	c.settle()
	c.offsets(tp, "7/7/5")
}

func TestL33MarkersAcknowledgedOneByOne(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	c.produce(tp, T(1, 0, 0, 2), "ok @0")
	c.produce(tp, T(2, 0, 0, 2), "ok @2")
	c.settle()
	c.offsets(tp, "4/4/0")
	c.nodes[1].host.Pause()
	c.mark(tp, true, 1, 1, 0, 2, "waiting")
	c.offsets(tp, "5/4/0")
	c.nodes[1].host.Resume()
	c.settle()
	c.offsets(tp, "5/5/2")
	c.nodes[1].host.Pause()
	c.mark(tp, false, 2, 1, 0, 2, "waiting")
	c.offsets(tp, "6/5/2")
	c.rc(tp, 0, "T(1,0,0,2)@0-1 ab=[(2,2)] (HWM 5 LSO 2 start 0)")
	c.nodes[1].host.Resume()
	c.settle()
	c.offsets(tp, "6/6/6")
}

func TestL34FailoverBeforeTheMarkerIsReplicated(t *testing.T) {
	c := newCluster(t, 2)
	tp, other := c.topic("T1", both()), c.topic("T2", both())
	c.produce(tp, T(1, 0, 0, 3), "ok @0")
	c.settle()
	c.offsets(tp, "3/3/0")
	// A record elsewhere uses up the fetch that the paused follower holds.
	c.nodes[1].host.Pause()
	c.produce(other, N(1), "ok @0")
	c.loop.Advance(10 * time.Millisecond)
	c.mark(tp, false, 1, 1, 0, 2, "waiting")
	c.settle()
	c.offsets(tp, "4/3/0")
	c.kill(0)
	c.nodes[1].host.Resume()
	c.fence(0)
	c.isr(tp, "leader 1 epoch 1 ISR [1]")
	c.offsets(tp, "3/3/0")
	fenced := latest(tp, Latest, ReadUncommitted)
	fenced.CurrentLeaderEpoch = 0
	c.list(1, fenced, "FENCED_LEADER_EPOCH")
	c.rc(tp, 0, "empty ab=[] (HWM 3 LSO 0 start 0)")
	c.producers(1, tp, "P1 epoch 0 seq 2 ce -1 start 0")
	c.mark(tp, false, 1, 1, 0, 2, "ok")
	c.offsets(tp, "4/4/4")
	c.rc(tp, 0, "T(1,0,0,3)@0-2 A(1,1)@3 ab=[(1,0)] (HWM 4 LSO 4 start 0)")
	c.fenced[0] = false
	c.start(0, false)
	c.settle()
	c.isr(tp, "leader 1 epoch 1 ISR [1 0]")
	c.debug(0, tp, 4)
	c.producers(0, tp, "P1 epoch 1 seq -1 ce 0 start -1")
	c.producers(1, tp, "P1 epoch 1 seq -1 ce 0 start -1")
}

func TestL34DeposedLeaderTruncatesItsMarker(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	c.produce(tp, T(1, 0, 0, 3), "ok @0")
	c.settle()
	c.nodes[1].host.Pause()
	c.produce(c.topic("T2", both()), N(1), "ok @0")
	c.mark(tp, false, 1, 1, 0, 2, "waiting")
	// Metadata reaches the leader first; it follows with its marker still there.
	c.change(tp, func(s *PartitionState) { s.Leader = 1 })
	c.settle()
	c.producers(0, tp, "P1 epoch 1 seq -1 ce 0 start -1")
	c.nodes[1].host.Resume()
	c.settle()
	c.debug(0, tp, 3)
	c.producers(0, tp, "P1 epoch 0 seq 2 ce -1 start 0")
	c.offsets(tp, "3/3/0")
}

func TestL35NewLeaderWithAnOldHighWatermark(t *testing.T) {
	c := newCluster(t, 3)
	tp := c.topic("T1", []kafka.BrokerID{0, 1, 2})
	c.produce(tp, N(8), "ok @0")
	c.settle()
	c.offsets(tp, "8/8/8")
	c.produce(tp, N(2), "ok @8")
	c.await("both followers have 10", func() bool {
		return c.nodes[1].Log(tp).LogEndOffset() == 10 && c.nodes[2].Log(tp).LogEndOffset() == 10
	})
	c.kill(0)
	for _, id := range []kafka.BrokerID{1, 2} {
		c.expect("high watermark of a follower", "8", fmt.Sprint(c.nodes[id].Log(tp).HighWatermark()))
	}
	c.nodes[2].host.Pause()
	c.fence(0)
	c.isr(tp, "leader 1 epoch 1 ISR [1 2]")
	c.offsets(tp, "10/OFFSET_NOT_AVAILABLE/OFFSET_NOT_AVAILABLE")
	c.rc(tp, 0, "N(8)@0-7 ab=[] (HWM 8 LSO 8 start 0)")
	c.rc(tp, 9, "empty ab=[] (HWM 8 LSO 8 start 0)")
	c.list(1, latest(tp, Earliest, ReadUncommitted), "0 ts -1 epoch 0")
	c.list(1, latest(tp, start.UnixMilli()+1, ReadUncommitted), "OFFSET_NOT_AVAILABLE")
	c.nodes[2].host.Resume()
	c.settle()
	c.offsets(tp, "10/10/10")
	c.isr(tp, "leader 1 epoch 1 ISR [1 2]")
}

func TestL36UncleanElection(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	c.produce(tp, N(6), "ok @0")
	c.settle()
	c.offsets(tp, "6/6/6")
	c.kill(1)
	c.produce(tp, N(4), "ok @6")
	c.offsets(tp, "10/6/6")
	c.fence(1)
	c.offsets(tp, "10/10/10")
	c.kill(0)
	c.start(1, false)
	c.change(tp, func(s *PartitionState) { s.Leader, s.ISR = kafka.NoBroker, nil })
	c.settle()
	c.isr(tp, "leader -1 epoch 1 ISR []")
	c.list(1, latest(tp, Latest, ReadUncommitted), "NOT_LEADER_OR_FOLLOWER")
	c.fenced[1] = false
	c.change(tp, func(s *PartitionState) { s.Leader, s.ISR = 1, one(1) })
	c.settle()
	c.isr(tp, "leader 1 epoch 2 ISR [1]")
	c.offsets(tp, "6/6/6")
	c.rc(tp, 10, "OFFSET_OUT_OF_RANGE")
	c.start(0, false)
	c.settle()
	c.debug(0, tp, 6)
	c.isr(tp, "leader 1 epoch 2 ISR [1 0]")
	c.offsets(tp, "6/6/6")
}

func TestS06AcksAllWithAPausedFollower(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both(), minISR2)
	c.nodes[1].host.Pause()
	r := acksAll(tp, request(tp, I(1, 0, 0, 1)))
	r.Timeout = 500 * time.Millisecond
	c.expect("acks=-1, 500 ms", "REQUEST_TIMED_OUT base 0", c.send(r))
	c.offsets(tp, "1/0/0")
	c.await("the laggard is about to leave", func() bool { return c.loop.Now().Sub(start) > 29*time.Second })
	c.expect("acks=-1, ISR shrinks meanwhile", "REQUEST_TIMED_OUT base 1", c.send(acksAll(tp, request(tp, I(1, 0, 1, 1)))))
	c.isr(tp, "leader 0 epoch 0 ISR [0]")
	c.expect("acks=-1", "NOT_ENOUGH_REPLICAS", c.send(acksAll(tp, request(tp, I(1, 0, 2, 1)))))
	c.offsets(tp, "2/0/0")
	c.nodes[1].host.Resume()
	c.settle()
	c.offsets(tp, "2/2/2")
	c.expect("again", "ok @0", c.send(acksAll(tp, request(tp, I(1, 0, 0, 1)))))
	c.expect("again", "ok @1", c.send(acksAll(tp, request(tp, I(1, 0, 1, 1)))))
	c.offsets(tp, "2/2/2")
}

// Acknowledgement takes a waiting fetch's answer and the next fetch: two or
// three messages, not replica.fetch.wait.max.ms (rule F3).
func TestF3AcksAllTakesARoundTrip(t *testing.T) {
	c := newCluster(t, 3)
	tp := c.topic("T1", []kafka.BrokerID{0, 1, 2})
	before := c.loop.Now()
	c.expect("acks=-1", "ok @0", c.send(acksAll(tp, request(tp, N(1)))))
	if took := c.loop.Now().Sub(before); took > 3*latency {
		t.Fatalf("acks=-1 took %v", took)
	}
	c.expect("high watermark at the follower", "0", fmt.Sprint(c.nodes[1].Log(tp).HighWatermark()))
	c.settle()
	c.expect("high watermark at the follower", "1", fmt.Sprint(c.nodes[1].Log(tp).HighWatermark()))
}

// The high watermark waits for a replica that is about to join the ISR again
// (rule F1).
func TestF1CaughtUpReplicaOutsideTheISRHoldsTheHighWatermark(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	c.produce(tp, N(1), "ok @0")
	c.settle()
	c.nodes[1].host.Pause()
	c.change(tp, func(s *PartitionState) { s.ISR = one(0) })
	c.loop.Advance(10 * time.Millisecond)
	c.produce(tp, N(1), "ok @1")
	c.offsets(tp, "2/1/1")
	c.fenced[1] = true
	c.produce(tp, N(1), "ok @2")
	c.offsets(tp, "3/3/3")
}

// A follower refuses, and names the leader (KIP-951).
func TestFollowersNameTheLeader(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	got := ""
	c.nodes[1].Produce(request(tp, N(1)), func(r ProduceResult) {
		got = fmt.Sprint(r.Partitions[0].Err, " leader ", r.Partitions[0].Leader, " epoch ", r.Partitions[0].LeaderEpoch)
	})
	c.expect("produce", "NOT_LEADER_OR_FOLLOWER leader 0 epoch 0", got)
}

// A deposed leader answers what waits on it (rule F8).
func TestF8WaitingAppendsLearnOfAnotherLeader(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	c.nodes[1].host.Pause()
	got := ""
	c.loop.Do(func() {
		r := acksAll(tp, request(tp, N(1)))
		c.nodes[0].Produce(r, func(r ProduceResult) { got = r.Partitions[0].Err.Error() })
	})
	c.change(tp, func(s *PartitionState) { s.Leader = 1 })
	c.settle()
	c.expect("acks=-1", "NOT_LEADER_OR_FOLLOWER", got)
}

// DeleteRecords answers when followers have raised their log start too (rules
// B8 and F9), and does not wait for a dead one.
func TestB8LowWatermarkOverLiveReplicas(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	c.produce(tp, N(1), "ok @0")
	c.produce(tp, N(1), "ok @1")
	c.settle()
	c.delete(tp, 1, "low 1")
	c.expect("log start at the follower", "1", fmt.Sprint(c.nodes[1].Log(tp).LogStartOffset()))
	c.nodes[1].host.Pause()
	c.delete(tp, 2, "REQUEST_TIMED_OUT")
	c.kill(1)
	c.fence(1)
	c.delete(tp, 2, "low 2")
}

// A follower whose log ends before the leader's starts begins anew there, even
// where that is amid a batch (rules F7 and F9).
func TestF9FollowerBehindTheLeadersLogStart(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 0, 5), "ok @0")
	c.produce(tp, N(5), "ok @5")
	c.delete(tp, 7, "low 7")
	c.change(tp, func(s *PartitionState) { s.Replicas = both() })
	c.settle()
	c.isr(tp, "leader 0 epoch 0 ISR [0 1]")
	log := c.nodes[1].Log(tp)
	c.expect("follower", "7..10/10/10", fmt.Sprintf("%d..%d/%d/%d", log.LogStartOffset(), log.LogEndOffset(), log.HighWatermark(), log.LastStableOffset()))
	c.producers(1, tp, "none")
}

// Any replica serves consumers up to its own high watermark from Fetch v11 on
// (rule D1).
func TestD1ConsumersReadFromFollowers(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	c.produce(tp, N(2), "ok @0")
	c.settle()
	r := fetchFrom(tp, 0, ReadUncommitted)
	got := ""
	read := func() {
		c.nodes[1].Broker.Fetch(r, func(res FetchResult) { got = fetched(res.Partitions[0]) })
	}
	read()
	c.expect("fetch v11", "N(2)@0-1 ab=null (HWM 2 LSO 2 start 0)", got)
	r.FromFollowers = false
	read()
	c.expect("fetch v10", "NOT_LEADER_OR_FOLLOWER", got)
}

// Role changes are told once each, with the log ready.
func TestRoleChangesAreTold(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	c.change(tp, func(s *PartitionState) { s.ISR = one(0) })
	c.change(tp, func(s *PartitionState) { s.Leader = 1 })
	c.settle()
	c.change(tp, func(s *PartitionState) { s.Replicas = one(1) })
	c.settle()
	c.expect("broker 0", "[{T1-0 leader 0} {T1-0 follower 1} {T1-0 not-hosted 1}]", fmt.Sprint(c.nodes[0].roles))
	c.expect("broker 1", "[{T1-0 follower 0} {T1-0 leader 1}]", fmt.Sprint(c.nodes[1].roles))
	if got := c.nodes[0].Partitions(); len(got) != 0 {
		t.Fatalf("broker 0 still hosts %v", got)
	}
}

func TestBrokersPrintThemselves(t *testing.T) {
	c := newCluster(t, 2)
	second, first := c.topic("T2", one(1)), c.topic("T1", both())
	c.produce(first, T(1, 0, 0, 2), "ok @0")
	c.produce(second, N(1), "ok @0")
	c.settle()
	c.expect("broker 0", "broker 0: T1-0 leader leader 0 epoch 0/0 ISR [0 1] epoch start 0 followers [1@2] proposed [] "+
		"log 0..2/2/0 segments 1 epochs [0@0] producers [(1,0) seq 1 ce -1 start 0] ongoing [1:0--1] unreplicated []", c.nodes[0].String())
	c.expect("broker 1", "broker 1: T1-0 follower leader 0 epoch 0/0 ISR [0 1] log 0..2/2/0 segments 1 epochs [0@0] "+
		"producers [(1,0) seq 1 ce -1 start 0] ongoing [1:0--1] unreplicated []; "+
		"T2-0 leader leader 1 epoch 0/0 ISR [1] epoch start 0 followers [] proposed [] "+
		"log 0..1/1/1 segments 1 epochs [0@0] producers [] ongoing [] unreplicated []", c.nodes[1].String())
}

// A topic created again under its name starts with an empty log.
func TestRecreatedTopicHasAnotherLog(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, N(3), "ok @0")
	c.change(tp, func(s *PartitionState) { s.TopicID = kafka.TopicID{99} })
	c.settle()
	c.offsets(tp, "0/0/0")
}
