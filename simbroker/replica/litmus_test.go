package replica

import (
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// The tests of this file follow the litmus tests of section K: each step and
// its outcome are what a running Kafka 4.3.1 printed, as far as the log of one
// replica decides it.

func latest(tp kafka.TopicPartition, timestamp int64, level IsolationLevel) ListOffsetsRequest {
	return ListOffsetsRequest{ReplicaID: ConsumerReplica, Isolation: level, Partition: tp, CurrentLeaderEpoch: -1, Timestamp: timestamp}
}

func TestL01EmptyLogAndSpecialTimestamps(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.offsets(tp, "0/0/0")
	for timestamp, want := range map[int64]string{
		Latest: "0 ts -1 epoch 0", Earliest: "0 ts -1 epoch 0", MaxTimestamp: "-1 ts -1 epoch -1", EarliestLocal: "0 ts -1 epoch 0",
		LatestTiered: "-1 ts -1 epoch -1", EarliestPendingUpload: "-1 ts -1 epoch -1", -7: "UNSUPPORTED_VERSION",
	} {
		c.list(0, latest(tp, timestamp, ReadUncommitted), want)
	}
	c.produce(tp, N(3), "ok @0")
	c.offsets(tp, "3/3/3")
}

func TestL02Commit(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 0, 3), "ok @0")
	c.offsets(tp, "3/3/0")
	c.mark(tp, true, 1, 1, 0, 2, "ok")
	c.offsets(tp, "4/4/4")
	c.rc(tp, 0, "T(1,0,0,3)@0-2 C(1,1)@3 ab=[] (HWM 4 LSO 4 start 0)")
	c.producers(0, tp, "P1 epoch 1 seq -1 ce 0 start -1")
}

func TestL03Abort(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 0, 3), "ok @0")
	c.mark(tp, false, 1, 1, 0, 2, "ok")
	c.offsets(tp, "4/4/4")
	c.rc(tp, 0, "T(1,0,0,3)@0-2 A(1,1)@3 ab=[(1,0)] (HWM 4 LSO 4 start 0)")
	c.rc(tp, 3, "A(1,1)@3 ab=[(1,0)] (HWM 4 LSO 4 start 0)")
	c.rc(tp, 4, "empty ab=[] (HWM 4 LSO 4 start 0)")
	c.rc(tp, 5, "OFFSET_OUT_OF_RANGE")
	c.read(fetchFrom(tp, 0, ReadUncommitted), "T(1,0,0,3)@0-2 A(1,1)@3 ab=null (HWM 4 LSO 4 start 0)")
}

func TestL04TwoProducersFirstCommits(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 0, 2), "ok @0")
	c.produce(tp, T(2, 0, 0, 2), "ok @2")
	c.offsets(tp, "4/4/0")
	c.produce(tp, T(1, 0, 2, 1), "ok @4")
	c.mark(tp, true, 1, 1, 0, 2, "ok")
	c.offsets(tp, "6/6/2")
	c.rc(tp, 0, "T(1,0,0,2)@0-1 ab=[] (HWM 6 LSO 2 start 0)")
	c.mark(tp, false, 2, 1, 0, 2, "ok")
	c.offsets(tp, "7/7/7")
	c.rc(tp, 0, "T(1,0,0,2)@0-1 T(2,0,0,2)@2-3 T(1,0,2,1)@4 C(1,1)@5 A(2,1)@6 ab=[(2,2)] (HWM 7 LSO 7 start 0)")
}

func TestL05SecondAbortsFirst(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 0, 2), "ok @0")
	c.produce(tp, T(2, 0, 0, 2), "ok @2")
	c.mark(tp, false, 2, 1, 0, 2, "ok")
	c.offsets(tp, "5/5/0")
	c.rc(tp, 0, "empty ab=[] (HWM 5 LSO 0 start 0)")
	c.mark(tp, true, 1, 1, 0, 2, "ok")
	c.offsets(tp, "6/6/6")
	c.rc(tp, 0, "T(1,0,0,2)@0-1 T(2,0,0,2)@2-3 A(2,1)@4 C(1,1)@5 ab=[(2,2)] (HWM 6 LSO 6 start 0)")
	c.rc(tp, 4, "A(2,1)@4 C(1,1)@5 ab=[(2,2)] (HWM 6 LSO 6 start 0)")
	c.rc(tp, 5, "C(1,1)@5 ab=[] (HWM 6 LSO 6 start 0)")
}

func TestL06AbortThenCommitByOneProducer(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 0, 2), "ok @0")
	c.mark(tp, false, 1, 1, 0, 2, "ok")
	c.produce(tp, T(1, 1, 0, 2), "ok @3")
	c.offsets(tp, "5/5/3")
	c.mark(tp, true, 1, 2, 0, 2, "ok")
	c.rc(tp, 0, "T(1,0,0,2)@0-1 A(1,1)@2 T(1,1,0,2)@3-4 C(1,2)@5 ab=[(1,0)] (HWM 6 LSO 6 start 0)")
	c.rc(tp, 3, "T(1,1,0,2)@3-4 C(1,2)@5 ab=[] (HWM 6 LSO 6 start 0)")
}

func TestL07PlainRecordsBehindAnOpenTransaction(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 0, 2), "ok @0")
	c.produce(tp, N(10), "ok @2")
	c.offsets(tp, "12/12/0")
	c.rc(tp, 0, "empty ab=[] (HWM 12 LSO 0 start 0)")
	c.mark(tp, true, 1, 1, 0, 2, "ok")
	c.offsets(tp, "13/13/13")
}

func TestL08AbortBehindAnOpenTransaction(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, N(2), "ok @0")
	c.produce(tp, T(1, 0, 0, 1), "ok @2")
	c.produce(tp, T(2, 0, 0, 2), "ok @3")
	c.mark(tp, false, 2, 1, 0, 2, "ok")
	c.offsets(tp, "6/6/2")
	c.rc(tp, 0, "N(2)@0-1 ab=[(2,3)] (HWM 6 LSO 2 start 0)")
	for _, offset := range []kafka.Offset{2, 3, 5} {
		c.rc(tp, offset, "empty ab=[] (HWM 6 LSO 2 start 0)")
	}
}

func TestL09ThreeAbortedTransactions(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	for e := range kafka.ProducerEpoch(3) {
		c.send(request(tp, T(1, e, 0, 1)))
		c.mark(tp, false, 1, e+1, 0, 2, "ok")
	}
	c.rc(tp, 0, "T(1,0,0,1)@0 A(1,1)@1 T(1,1,0,1)@2 A(1,2)@3 T(1,2,0,1)@4 A(1,3)@5 ab=[(1,0) (1,2) (1,4)] (HWM 6 LSO 6 start 0)")
	c.rc(tp, 2, "T(1,1,0,1)@2 A(1,2)@3 T(1,2,0,1)@4 A(1,3)@5 ab=[(1,2) (1,4)] (HWM 6 LSO 6 start 0)")
	c.rc(tp, 3, "A(1,2)@3 T(1,2,0,1)@4 A(1,3)@5 ab=[(1,2) (1,4)] (HWM 6 LSO 6 start 0)")
	r := fetchFrom(tp, 0, ReadCommitted)
	r.Partitions[0].MaxBytes = 1
	c.read(r, "T(1,0,0,1)@0 ab=[(1,0) (1,2) (1,4)] (HWM 6 LSO 6 start 0)")
}

func TestL10TransactionOverThreeSegments(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0), func(cfg *TopicConfig) { cfg.Log.SegmentTime = time.Hour })
	ms := start.UnixMilli()
	hour := time.Hour.Milliseconds()
	c.produce(tp, T(1, 0, 0, 2, ms-3*hour, ms-3*hour), "ok @0")
	c.produce(tp, N(2, ms-hour-60_000, ms-hour-60_000), "ok @2")
	c.mark(tp, false, 1, 1, 0, 2, "ok")
	c.offsets(tp, "5/5/5")
	c.rc(tp, 0, "T(1,0,0,2)@0-1 ab=[(1,0)] (HWM 5 LSO 5 start 0)")
	c.rc(tp, 2, "N(2)@2-3 ab=[(1,0)] (HWM 5 LSO 5 start 0)")
	c.rc(tp, 4, "A(1,1)@4 ab=[(1,0)] (HWM 5 LSO 5 start 0)")
}

func TestL11TimestampsAroundAnOpenTransaction(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0), func(cfg *TopicConfig) { cfg.Log.RetentionTime = -1 })
	c.produce(tp, N(5, 1000, 1001, 1002, 1003, 1004), "ok @0")
	c.produce(tp, T(1, 0, 0, 3, 1005, 1006, 1007), "ok @5")
	c.produce(tp, N(2, 1008, 1009), "ok @8")
	c.offsets(tp, "10/10/5")
	for _, step := range []struct {
		level     IsolationLevel
		timestamp int64
		want      string
	}{
		{ReadCommitted, 1004, "4 ts 1004 epoch 0"},
		{ReadCommitted, 1006, "-1 ts -1 epoch -1"},
		{ReadCommitted, MaxTimestamp, "-1 ts -1 epoch -1"},
		{ReadCommitted, 2000, "-1 ts -1 epoch -1"},
		{ReadUncommitted, 1004, "4 ts 1004 epoch 0"},
		{ReadUncommitted, 1006, "6 ts 1006 epoch 0"},
		{ReadUncommitted, MaxTimestamp, "9 ts 1009 epoch 0"},
		{ReadUncommitted, 2000, "-1 ts -1 epoch -1"},
	} {
		c.list(0, latest(tp, step.timestamp, step.level), step.want)
	}
	c.rc(tp, 7, "empty ab=[] (HWM 10 LSO 5 start 0)")
	c.rc(tp, 10, "empty ab=[] (HWM 10 LSO 5 start 0)")
	c.rc(tp, 11, "OFFSET_OUT_OF_RANGE")
	c.mark(tp, true, 1, 1, 0, 2, "ok")
	c.list(0, latest(tp, 1006, ReadCommitted), "6 ts 1006 epoch 0")
	c.list(0, latest(tp, MaxTimestamp, ReadCommitted), "10 ts 1700000001200 epoch 0")
}

func TestL12PlainBatchInsideOnesOwnTransaction(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 0, 1), "ok @0")
	c.produce(tp, I(1, 0, 1, 1), "INVALID_TXN_STATE")
	c.offsets(tp, "1/1/0")
	c.produce(tp, T(1, 0, 1, 1), "ok @1")
	c.offsets(tp, "2/2/0")
}

func TestL13DuplicatesAndGaps(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, I(1, 0, 0, 3), "ok @0")
	c.produce(tp, I(1, 0, 3, 2), "ok @3")
	c.produce(tp, I(1, 0, 3, 2), "ok @3")
	c.produce(tp, I(1, 0, 7, 1), "OUT_OF_ORDER_SEQUENCE_NUMBER")
	c.produce(tp, I(1, 0, 3, 1), "OUT_OF_ORDER_SEQUENCE_NUMBER")
	c.produce(tp, I(1, 0, 4, 1), "OUT_OF_ORDER_SEQUENCE_NUMBER")
	c.offsets(tp, "5/5/5")
}

func TestL14FiveCachedBatches(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	for seq := range int32(6) {
		c.send(request(tp, I(1, 0, seq, 1)))
	}
	c.produce(tp, I(1, 0, 0, 1), "OUT_OF_ORDER_SEQUENCE_NUMBER")
	c.produce(tp, I(1, 0, 1, 1), "ok @1")
	c.produce(tp, I(1, 0, 5, 1), "ok @5")
	c.offsets(tp, "6/6/6")
}

func TestL15SequenceWrapAndFirstSequence(t *testing.T) {
	c := newCluster(t, 1)
	t1, t2 := c.topic("T1", one(0)), c.topic("T2", one(0))
	c.produce(t1, I(1, 0, 2147483646, 4), "ok @0")
	c.producers(0, t1, "P1 epoch 0 seq 1 ce -1 start -1")
	c.produce(t1, I(1, 0, 2147483646, 4), "ok @0")
	c.produce(t1, I(1, 0, 2, 1), "ok @4")
	c.produce(t2, I(2, 0, 5, 1), "ok @0")
	c.produce(t2, I(2, 0, 7, 1), "OUT_OF_ORDER_SEQUENCE_NUMBER")
	c.produce(t2, I(2, 0, 6, 1), "ok @1")
	c.producers(0, t2, "P2 epoch 0 seq 6 ce -1 start -1")
}

func TestL16EpochBumpRestartsSequences(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, I(1, 0, 0, 2), "ok @0")
	c.produce(tp, I(1, 1, 2, 1), "OUT_OF_ORDER_SEQUENCE_NUMBER")
	c.produce(tp, I(1, 1, 0, 1), "ok @2")
	c.produce(tp, I(1, 0, 2, 1), "INVALID_PRODUCER_EPOCH")
	c.offsets(tp, "3/3/3")
	c.producers(0, tp, "P1 epoch 1 seq 0 ce -1 start -1")
}

func TestL17SequencesContinueOverTransactions(t *testing.T) {
	steps := func(t *testing.T, c *cluster) kafka.TopicPartition {
		tp := c.topic("T1", one(0))
		c.produceAs(GenericErrorSupported, tp, T(1, 0, 0, 3), "ok @0")
		c.mark(tp, true, 1, 0, 0, 0, "ok")
		c.produceAs(GenericErrorSupported, tp, T(1, 0, 0, 1), "OUT_OF_ORDER_SEQUENCE_NUMBER")
		c.produceAs(GenericErrorSupported, tp, T(1, 0, 0, 3), "ok @0")
		c.offsets(tp, "4/4/4")
		return tp
	}
	t.Run("verified, a rejected batch leaves its sequence as the lowest", func(t *testing.T) {
		c := newCluster(t, 1)
		tp := steps(t, c)
		c.produceAs(GenericErrorSupported, tp, T(1, 0, 3, 1), "OUT_OF_ORDER_SEQUENCE_NUMBER")
		c.offsets(tp, "4/4/4")
		c.mark(tp, true, 1, 0, 0, 0, "ok")
		c.offsets(tp, "5/5/5")
		c.producers(0, tp, "P1 epoch 0 seq 2 ce 0 start -1")
		c.produceAs(GenericErrorSupported, tp, T(1, 0, 3, 1), "ok @5")
	})
	t.Run("not verified", func(t *testing.T) {
		c := newCluster(t, 1, unverified)
		tp := steps(t, c)
		c.produceAs(GenericErrorSupported, tp, T(1, 0, 3, 1), "ok @4")
		c.offsets(tp, "5/5/4")
		c.mark(tp, true, 1, 0, 0, 0, "ok")
		c.offsets(tp, "6/6/6")
		c.producers(0, tp, "P1 epoch 0 seq 3 ce 0 start -1")
	})
}

func TestL18MarkerEpochChecks(t *testing.T) {
	c := newCluster(t, 1, unverified)
	tp := c.topic("T1", one(0))
	c.produceAs(GenericErrorSupported, tp, T(1, 3, 0, 2), "ok @0")
	c.mark(tp, false, 1, 2, 5, 1, "INVALID_PRODUCER_EPOCH")
	c.mark(tp, false, 1, 3, 5, 2, "INVALID_PRODUCER_EPOCH")
	c.offsets(tp, "2/2/0")
	c.mark(tp, false, 1, 3, 5, 1, "ok")
	c.produceAs(GenericErrorSupported, tp, T(1, 3, 2, 1), "ok @3")
	c.mark(tp, false, 1, 3, 4, 1, "TRANSACTION_COORDINATOR_FENCED")
	c.offsets(tp, "4/4/3")
	c.mark(tp, false, 1, 4, 5, 2, "ok")
	c.mark(tp, false, 1, 4, 5, 2, "ok")
	c.offsets(tp, "6/6/6")
	c.rc(tp, 0, "T(1,3,0,2)@0-1 A(1,3)@2 T(1,3,2,1)@3 A(1,4)@4 A(1,4)@5 ab=[(1,0) (1,3)] (HWM 6 LSO 6 start 0)")
	c.rc(tp, 5, "A(1,4)@5 ab=[] (HWM 6 LSO 6 start 0)")
	c.producers(0, tp, "P1 epoch 4 seq -1 ce 5 start -1")
}

func TestL19MarkerOfAnUnknownProducer(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.mark(tp, false, 1, 7, 0, 1, "ok")
	c.offsets(tp, "1/1/1")
	c.rc(tp, 0, "A(1,7)@0 ab=[] (HWM 1 LSO 1 start 0)")
	c.producers(0, tp, "P1 epoch 7 seq -1 ce 0 start -1")
}

func TestL27HangingTransaction(t *testing.T) {
	c := newCluster(t, 1, unverified)
	tp := c.topic("T1", one(0))
	c.produceAs(GenericErrorSupported, tp, T(1, 0, 0, 2), "ok @0")
	c.mark(tp, false, 1, 0, 0, 0, "ok")
	c.produceAs(GenericErrorSupported, tp, T(1, 0, 2, 1), "ok @3")
	c.produce(tp, N(3), "ok @4")
	c.offsets(tp, "7/7/3")
	c.producers(0, tp, "P1 epoch 0 seq 2 ce 0 start 3")
	c.mark(tp, false, 1, 0, 0, 1, "ok")
	c.offsets(tp, "8/8/8")
	c.rc(tp, 0, "T(1,0,0,2)@0-1 A(1,0)@2 T(1,0,2,1)@3 N(3)@4-6 A(1,0)@7 ab=[(1,0) (1,3)] (HWM 8 LSO 8 start 0)")
	c.rc(tp, 3, "T(1,0,2,1)@3 N(3)@4-6 A(1,0)@7 ab=[(1,3)] (HWM 8 LSO 8 start 0)")
}

func TestL28LateRecordAdoptedByTheNextTransaction(t *testing.T) {
	c := newCluster(t, 1, unverified)
	tp := c.topic("T1", one(0))
	c.produceAs(GenericErrorSupported, tp, T(1, 0, 0, 2), "ok @0")
	c.mark(tp, false, 1, 0, 0, 0, "ok")
	c.produceAs(GenericErrorSupported, tp, T(1, 0, 2, 1), "ok @3")
	c.produceAs(GenericErrorSupported, tp, T(1, 0, 3, 1), "ok @4")
	c.mark(tp, true, 1, 0, 0, 0, "ok")
	c.rc(tp, 0, "T(1,0,0,2)@0-1 A(1,0)@2 T(1,0,2,1)@3 T(1,0,3,1)@4 C(1,0)@5 ab=[(1,0)] (HWM 6 LSO 6 start 0)")
}

func TestL37DeleteRecordsInsideAnOpenTransaction(t *testing.T) {
	c := newCluster(t, 1)
	tp := c.topic("T1", one(0))
	c.produce(tp, T(1, 0, 0, 5), "ok @0")
	for range 5 {
		c.send(request(tp, N(1)))
	}
	c.offsets(tp, "10/10/0")
	c.delete(tp, 6, "low 6")
	c.offsets(tp, "10/10/6")
	c.list(0, latest(tp, Earliest, ReadUncommitted), "6 ts -1 epoch 0")
	c.delete(tp, 11, "OFFSET_OUT_OF_RANGE")
	c.mark(tp, false, 1, 1, 0, 2, "ok")
	c.offsets(tp, "11/11/11")
	c.rc(tp, 0, "OFFSET_OUT_OF_RANGE")
	c.rc(tp, 6, "N(1)@6 N(1)@7 N(1)@8 N(1)@9 A(1,1)@10 ab=[(1,0)] (HWM 11 LSO 11 start 6)")
	c.producers(0, tp, "P1 epoch 1 seq -1 ce 0 start -1")

	amid := c.topic("T2", one(0))
	c.produce(amid, T(2, 0, 0, 5), "ok @0")
	c.produce(amid, N(5), "ok @5")
	c.delete(amid, 6, "low 6")
	c.offsets(amid, "10/10/5")
	c.rc(amid, 6, "empty ab=[] (HWM 10 LSO 5 start 6)")
	c.delete(amid, -1, "low 10")
	c.offsets(amid, "10/10/10")
}

func TestL38RetentionUnderAnOpenTransaction(t *testing.T) {
	scans := func(cfg *Config) { cfg.LogRetentionCheckInterval = time.Second }
	old := start.UnixMilli() - (2 * time.Hour).Milliseconds()
	expire := func(c *cluster, tp kafka.TopicPartition) {
		c.produce(tp, T(1, 0, 0, 2, old, old), "ok @0")
		c.produce(tp, N(2, old, old), "ok @2")
		c.offsets(tp, "4/4/0")
		c.change(tp, func(s *PartitionState) {
			s.Config = DefaultTopicConfig()
			s.Config.Log.RetentionTime = time.Hour
		})
		c.settle()
		c.offsets(tp, "4/4/4")
		c.list(c.states[tp].Leader, latest(tp, Earliest, ReadUncommitted), "4 ts -1 epoch 0")
		c.producers(c.states[tp].Leader, tp, "P1 epoch 0 seq 1 ce -1 start 0")
	}
	t.Run("open transaction goes on; a new replica does not know it", func(t *testing.T) {
		c := newCluster(t, 2, scans)
		tp := c.topic("T1", one(0))
		expire(c, tp)
		c.produce(tp, N(3), "ok @4")
		c.offsets(tp, "7/7/4")
		c.change(tp, func(s *PartitionState) { s.Replicas = []kafka.BrokerID{0, 1} })
		c.settle()
		c.change(tp, func(s *PartitionState) { s.Replicas, s.ISR, s.Leader = one(1), one(1), 1 })
		c.settle()
		c.offsets(tp, "7/7/7")
		c.mark(tp, true, 1, 1, 0, 2, "ok")
		c.offsets(tp, "8/8/8")
		c.producers(0, tp, "NOT_LEADER_OR_FOLLOWER")
	})
	for name, clean := range map[string]bool{"clean restart forgets it": true, "kill forgets it": false} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1, scans)
			tp := c.topic("T1", one(0))
			expire(c, tp)
			c.kill(0)
			c.start(0, clean)
			c.offsets(tp, "4/4/4")
			c.producers(0, tp, "none")
			c.produce(tp, N(3), "ok @4")
			c.offsets(tp, "7/7/7")
		})
	}
}
