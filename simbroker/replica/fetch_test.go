package replica

import (
	"fmt"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// waiting starts a fetch that may wait and returns where its answer will be.
func (c *cluster) waiting(r FetchRequest) *string {
	got := new(string)
	c.loop.Do(func() {
		c.leader(r.Partitions[0].Partition).Broker.Fetch(r, func(res FetchResult) {
			for _, p := range res.Partitions {
				*got += fetched(p) + ";"
			}
		})
	})
	return got
}

// Waiting readers wake when what they may read grows: read_committed ones only
// when the last stable offset moves (rule D7).
func TestD7WaitersWakeByTheirBound(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 0, 1), "ok @0")
	committed, uncommitted := fetchFrom(tp, 0, ReadCommitted), fetchFrom(tp, 1, ReadUncommitted)
	committed.MaxWait, uncommitted.MaxWait = time.Minute, time.Minute
	rc, ru := c.waiting(committed), c.waiting(uncommitted)
	c.expect("nothing yet", "|", *rc+"|"+*ru)
	c.produce(tp, N(1), "ok @1")
	c.expect("read_committed", "", *rc)
	c.expect("read_uncommitted", "N(1)@1 ab=null (HWM 2 LSO 0 start 0);", *ru)
	c.mark(tp, false, 1, 1, 0, 2, "ok")
	c.expect("read_committed", "T(1,0,0,1)@0 N(1)@1 A(1,1)@2 ab=[(1,0)] (HWM 3 LSO 3 start 0);", *rc)
}

func TestD7WaitEnds(t *testing.T) {
	c := newCluster(t, 1)
	tp, second := c.topic("T1", one(0)), c.topic("T2", one(0))
	r := fetchFrom(tp, 0, ReadUncommitted)
	r.MaxWait = time.Second
	got := c.waiting(r)
	c.loop.Advance(time.Second)
	c.expect("time is up", "empty ab=null (HWM 0 LSO 0 start 0);", *got)

	r.MaxWait, r.MinBytes = time.Minute, 2*len(N(1).Raw)
	r.Partitions = append(r.Partitions, fetchFrom(second, 0, ReadUncommitted).Partitions...)
	got = c.waiting(r)
	c.produce(tp, N(1), "ok @0")
	c.expect("too few bytes", "", *got)
	c.produce(second, N(1), "ok @0")
	c.expect("enough in two partitions", "N(1)@0 ab=null (HWM 1 LSO 1 start 0);N(1)@0 ab=null (HWM 1 LSO 1 start 0);", *got)

	r.Partitions[0].Offset, r.Partitions[1].Offset = 1, 1
	got = c.waiting(r)
	c.change(tp, func(s *PartitionState) { s.Leader = kafka.NoBroker })
	c.settle()
	c.expect("no error for a consumer that any replica may serve", "", *got)
	r.FromFollowers = false
	got = new(string)
	c.loop.Do(func() {
		c.nodes[0].Broker.Fetch(r, func(res FetchResult) { *got = fmt.Sprint(res.Partitions[0].Err, " ", res.Partitions[0].Leader) })
	})
	c.expect("the leader is gone", "NOT_LEADER_OR_FOLLOWER -1", *got)
}

// A read of a full segment does not wait for more (case F of Kafka's
// DelayedFetch).
func TestD7BoundInALaterSegmentEndsTheWait(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0), func(cfg *TopicConfig) { cfg.Log.SegmentBytes = 100 })
	r := fetchFrom(tp, 0, ReadUncommitted)
	r.MaxWait, r.MinBytes = time.Minute, 1<<20
	got := c.waiting(r)
	c.produce(tp, N(1), "ok @0")
	c.expect("one segment", "", *got)
	c.produce(tp, N(1), "ok @1")
	c.expect("two segments", "N(1)@0 ab=null (HWM 2 LSO 2 start 0);", *got)
}

// Only the first partition with records may exceed the limit (rule D3).
func TestD3OversizedFirstBatch(t *testing.T) {
	c := newCluster(t, 1)
	empty, a, b := c.topic("T0", one(0)), c.topic("T1", one(0)), c.topic("T2", one(0))
	c.produce(a, N(3), "ok @0")
	c.produce(b, N(3), "ok @0")
	r := fetchFrom(empty, 0, ReadUncommitted)
	r.MaxBytes = 1
	r.Partitions = append(r.Partitions, fetchFrom(a, 0, ReadUncommitted).Partitions[0], fetchFrom(b, 0, ReadUncommitted).Partitions[0])
	c.expect("fetch", "empty ab=null (HWM 0 LSO 0 start 0);N(3)@0-2 ab=null (HWM 3 LSO 3 start 0);empty ab=null (HWM 3 LSO 3 start 0);", *c.waiting(r))
}

func TestFetchRefusals(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", one(0))
	c.produce(tp, N(3), "ok @0")
	epoch := func(e kafka.LeaderEpoch) FetchRequest {
		r := fetchFrom(tp, 0, ReadCommitted)
		r.Partitions[0].CurrentLeaderEpoch = e
		return r
	}
	c.change(tp, func(s *PartitionState) { s.Replicas, s.Leader, s.ISR = one(1), 1, one(1) })
	c.settle()
	c.read(epoch(0), "FENCED_LEADER_EPOCH")
	c.read(epoch(1), "empty ab=[] (HWM 0 LSO 0 start 0)")
	c.read(epoch(2), "UNKNOWN_LEADER_EPOCH")
	r := fetchFrom(tp, 0, ReadCommitted)
	r.ReplicaID = 7
	c.read(r, "NOT_LEADER_OR_FOLLOWER")
	r = fetchFrom(tp, 0, ReadCommitted)
	r.Partitions[0].TopicID = kafka.TopicID{77}
	c.read(r, "INCONSISTENT_TOPIC_ID")
	var got error
	c.nodes[0].Broker.Fetch(fetchFrom(tp, 0, ReadCommitted), func(res FetchResult) { got = res.Partitions[0].Err })
	c.expect("a broker without a replica", "NOT_LEADER_OR_FOLLOWER", fmt.Sprint(got))
	c.nodes[0].Broker.Fetch(fetchFrom(kafka.TopicPartition{Topic: "T0"}, 0, ReadCommitted), func(res FetchResult) { got = res.Partitions[0].Err })
	c.expect("an unknown topic", "UNKNOWN_TOPIC_OR_PARTITION", fmt.Sprint(got))
}

// Replica id -3 reads up to the log end (rule D1).
func TestD1FutureReplicaReadsToTheLogEnd(t *testing.T) {
	c := newCluster(t, 2)
	tp := c.topic("T1", both())
	c.nodes[1].host.Pause()
	c.produce(tp, N(1), "ok @0")
	r := fetchFrom(tp, 0, ReadCommitted)
	c.read(r, "empty ab=[] (HWM 0 LSO 0 start 0)")
	r.ReplicaID = FutureReplica
	c.read(r, "N(1)@0 ab=null (HWM 0 LSO 0 start 0)")
}

// A leader sends a consumer to the best follower in its rack, if it is told to
// (KIP-392).
func TestRackAwareFetch(t *testing.T) {
	all := []kafka.BrokerID{0, 1, 2, 3}
	for _, aware := range []bool{true, false} {
		c := newCluster(t, 4, func(cfg *Config) { cfg.RackAware = aware })
		c.racks = map[kafka.BrokerID]string{0: "a", 1: "b", 2: "b", 3: "c"}
		tp := c.topic("T1", all)
		c.produce(tp, N(1), "ok @0")
		c.settle()
		from := func(rack string, offset kafka.Offset) string {
			r := fetchFrom(tp, offset, ReadCommitted)
			r.Rack, r.MaxWait = rack, time.Minute
			got := "waits"
			c.loop.Do(func() {
				c.leader(tp).Broker.Fetch(r, func(res FetchResult) {
					got = fmt.Sprint(res.Partitions[0].Preferred, " ", fetched(res.Partitions[0]))
				})
			})
			return got
		}
		here := "-1 N(1)@0 ab=[] (HWM 1 LSO 1 start 0)"
		want := func(preferred, otherwise string) string {
			if aware {
				return preferred
			}
			return otherwise
		}
		there := " empty ab=null (HWM 1 LSO 1 start 0)"
		c.expect("no rack", here, from("", 0))
		c.expect("the leader's rack", here, from("a", 0))
		c.expect("a rack with nobody in it", here, from("d", 0))
		c.expect("one follower", want("3"+there, here), from("c", 0))
		c.expect("two followers", want("2"+there, here), from("b", 0))
		c.expect("nothing to read yet", want("2"+there, "waits"), from("b", 1))
		c.expect("what nobody has", "-1 OFFSET_OUT_OF_RANGE", from("b", 2))
		c.fence(2)
		c.expect("one of them is dead", want("1"+there, here), from("b", 0))
	}
}

// S02: leader epochs at ListOffsets and OffsetForLeaderEpoch (rules E4, E5).
func TestE4LeaderEpochs(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, N(3), "ok @0")
	for epoch, want := range map[kafka.LeaderEpoch]string{-1: "3 ts -1 epoch 0", 0: "3 ts -1 epoch 0", 5: "UNKNOWN_LEADER_EPOCH"} {
		r := latest(tp, Latest, ReadUncommitted)
		r.CurrentLeaderEpoch = epoch
		c.list(0, r, want)
	}
	for requested, want := range map[kafka.LeaderEpoch]string{0: "{0 3} <nil>", 1: "{-1 -1} <nil>"} {
		end, err := c.nodes[0].OffsetForLeaderEpoch(tp, -1, requested)
		c.expect("OffsetForLeaderEpoch", want, fmt.Sprint(end, err))
	}
	_, err := c.nodes[0].OffsetForLeaderEpoch(tp, 5, 0)
	c.expect("OffsetForLeaderEpoch", "UNKNOWN_LEADER_EPOCH", fmt.Sprint(err))
}

// S04: what DeleteRecords refuses (rule B8).
func TestB8DeleteRecordsRefusals(t *testing.T) {
	c := newCluster(t, 1)
	compacted := c.topic("T1", one(0), func(cfg *TopicConfig) { cfg.Log.Compact, cfg.Log.Delete = true, false })
	internal, tp := c.topic(kafka.ConsumerOffsetsTopic, one(0)), c.topic("T2", one(0))
	c.delete(compacted, 0, "POLICY_VIOLATION")
	c.delete(internal, 0, "INVALID_TOPIC_EXCEPTION")
	c.produce(tp, N(5), "ok @0")
	c.delete(tp, 6, "OFFSET_OUT_OF_RANGE")
	c.delete(tp, -3, "OFFSET_OUT_OF_RANGE")
	c.delete(tp, 2, "low 2")
	c.delete(tp, 1, "low 2")
	c.rc(tp, 1, "OFFSET_OUT_OF_RANGE")
}

// A killed broker finds the high watermark of its last checkpoint, one that was
// stopped the last it had (rule C12).
func TestC12HighWatermarkCheckpoint(t *testing.T) {
	for _, clean := range []bool{true, false} {
		c := newCluster(t, 2)
		tp := c.topic("T1", both())
		c.produce(tp, N(3), "ok @0")
		c.loop.Advance(6 * time.Second)
		c.produce(tp, N(2), "ok @3")
		c.settle()
		c.kill(1)
		c.nodes[1].down = false
		c.nodes[1].Restart(clean)
		want := "3"
		if clean {
			want = "5"
		}
		c.expect("high watermark", want, fmt.Sprint(c.nodes[1].Log(tp).HighWatermark()))
	}
}
