package witness_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/test/oracle"
	"github.com/lso-exporter/lso-exporter/test/witness"
)

// TestClientUnderWatch has a franz-go client use a cluster over watched
// connections: the record tells what it did, in numbers.
func TestClientUnderWatch(t *testing.T) {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(2))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	w := witness.New([]int32{0, 1}, oracle.Timing{}, time.Now())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	admin, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.Dialer(w.Dial))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	adm := kadm.NewClient(admin)
	if _, err := adm.CreateTopic(ctx, 1, 1, nil, "t"); err != nil {
		t.Fatal(err)
	}
	producer, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.Dialer(w.Dial),
		kgo.TransactionalID("x"), kgo.TransactionTimeout(time.Minute), kgo.DefaultProduceTopic("t"), kgo.RequiredAcks(kgo.AllISRAcks()))
	if err != nil {
		t.Fatal(err)
	}
	for _, try := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		if err := producer.ProduceSync(ctx, kgo.StringRecord("a"), kgo.StringRecord("b")).FirstErr(); err != nil {
			t.Fatal(err)
		}
		if err := producer.EndTransaction(ctx, try); err != nil {
			t.Fatal(err)
		}
	}
	producer.Close()
	offsets := kadm.Offsets{}
	offsets.AddOffset("t", 0, 5, -1)
	if err := adm.CommitAllOffsets(ctx, "g", offsets); err != nil {
		t.Fatal(err)
	}
	if _, err := adm.DeleteRecords(ctx, offsets); err != nil {
		t.Fatal(err)
	}
	if _, err := adm.DeleteGroup(ctx, "g"); err != nil {
		t.Fatal(err)
	}
	if _, err := adm.DeleteTopic(ctx, "t"); err != nil {
		t.Fatal(err)
	}

	acts := w.Acts()
	slices.SortStableFunc(acts, func(a, b oracle.Act) int { return a.Sent.Compare(b.Sent) })
	var got []string
	for _, a := range acts {
		if !a.Answered.After(a.Sent) && a.Kind != oracle.Cluster {
			t.Errorf("%s: sent %v, answered %v", a.Kind, a.Sent, a.Answered)
		}
		switch a.Kind {
		case oracle.AddPartition, oracle.CompleteTransaction:
			continue // as the client's protocol has it
		case oracle.BeginTransaction:
			got = append(got, fmt.Sprint(a.Kind, " ", a.Timeout))
			continue
		}
		got = append(got, fmt.Sprint(a.Kind, " ", a.Topic, a.Group, " ", a.Offset, " ", a.Records, " ", a.Committed))
	}
	want := []string{
		"cluster  0 0 false", "create_topic t 0 0 false", "begin_transaction 1m0s",
		"append t 0 2 false", "end_transaction  0 0 true", "append t 3 2 false", "end_transaction  0 0 false",
		"coordinator g 0 0 false", "commit_offset tg 5 0 false", "delete_records t 5 0 false", "delete_group g 0 0 false", "delete_topic t 0 0 false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("recorded\n%q, want\n%q", got, want)
	}
	if _, err := oracle.Learn(acts); err != nil {
		t.Error(err)
	}
}

// TestCommitsByTheirAnswers: a commit that was refused is no act, unless the answer
// leaves open whether it was written.
func TestCommitsByTheirAnswers(t *testing.T) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = "g"
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 1, Offset: 5}}}}
	sent := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	answered := sent.Add(time.Second)
	act := oracle.Act{Kind: oracle.CommitOffset, Sent: sent, Group: "g", Topic: "t", Partition: 1, Offset: 5}
	certain, maybe := act, act
	certain.Answered = answered
	maybe.Answered, maybe.Maybe = answered, true
	for _, tt := range []struct {
		name string
		code int16
		want []oracle.Act
	}{
		{"granted", 0, []oracle.Act{certain}},
		{"COORDINATOR_LOAD_IN_PROGRESS", 14, nil},
		{"COORDINATOR_NOT_AVAILABLE", 15, []oracle.Act{maybe}},
		{"NOT_COORDINATOR", 16, []oracle.Act{maybe}},
		{"UNKNOWN_MEMBER_ID", 25, nil},
		{"no answer", -1, []oracle.Act{act}},
	} {
		w := witness.New([]int32{1}, oracle.Timing{}, sent)
		if tt.code < 0 {
			w.Exchange(sent, answered, req, nil)
		} else {
			resp := kmsg.NewPtrOffsetCommitResponse()
			resp.Topics = []kmsg.OffsetCommitResponseTopic{{Topic: "t", Partitions: []kmsg.OffsetCommitResponseTopicPartition{{Partition: 1, ErrorCode: tt.code}}}}
			w.Exchange(sent, answered, req, resp)
		}
		if got := w.Acts()[1:]; !reflect.DeepEqual(got, tt.want) && len(got)+len(tt.want) > 0 {
			t.Errorf("%s: recorded %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestBatchesByTheirAnswers: a batch that was refused is no act, unless the answer
// leaves open whether it was appended.
func TestBatchesByTheirAnswers(t *testing.T) {
	sent := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	answered := sent.Add(time.Second)
	for _, tt := range []struct {
		name string
		acks int16
		code int16
		want string
	}{
		{"acknowledged", -1, 0, "at 7 by 1s"},
		{"UNKNOWN_TOPIC_OR_PARTITION", -1, 3, "none"},
		{"NOT_LEADER_OR_FOLLOWER to who waits for replicas", -1, 6, "at -1"},
		{"NOT_LEADER_OR_FOLLOWER to who does not", 1, 6, "none"},
		{"REQUEST_TIMED_OUT", -1, 7, "at -1"},
		{"NOT_ENOUGH_REPLICAS", -1, 19, "none"},
		{"NOT_ENOUGH_REPLICAS_AFTER_APPEND", -1, 20, "at -1"},
	} {
		req, resp := kmsg.NewPtrProduceRequest(), kmsg.NewPtrProduceResponse()
		req.Acks = tt.acks
		req.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Records: make([]byte, 61)}}}}
		resp.Topics = []kmsg.ProduceResponseTopic{{Topic: "t", Partitions: []kmsg.ProduceResponseTopicPartition{{ErrorCode: tt.code, BaseOffset: 7}}}}
		w := witness.New([]int32{1}, oracle.Timing{}, sent)
		w.Exchange(sent, answered, req, resp)
		got := "none"
		for _, a := range w.Acts()[1:] {
			got = fmt.Sprint("at ", a.Offset)
			if !a.Answered.IsZero() {
				got += fmt.Sprint(" by ", a.Answered.Sub(sent))
			}
		}
		if got != tt.want {
			t.Errorf("%s: recorded %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestElectionsByTheirAnswers: an election that was not held is no act.
func TestElectionsByTheirAnswers(t *testing.T) {
	sent := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	answered := sent.Add(time.Second)
	act := oracle.Act{Kind: oracle.ElectLeader, Sent: sent, Topic: "t", Partition: 1}
	held := act
	held.Answered = answered
	for _, tt := range []struct {
		name string
		code int16
		want []oracle.Act
	}{
		{"held", 0, []oracle.Act{held}},
		{"ELECTION_NOT_NEEDED", 84, nil},
		{"REQUEST_TIMED_OUT", 7, []oracle.Act{act}},
		{"no answer", -1, []oracle.Act{act}},
	} {
		req, resp := kmsg.NewPtrElectLeadersRequest(), kmsg.NewPtrElectLeadersResponse()
		req.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "t", Partitions: []int32{1}}}
		resp.Topics = []kmsg.ElectLeadersResponseTopic{{Topic: "t", Partitions: []kmsg.ElectLeadersResponseTopicPartition{{Partition: 1, ErrorCode: tt.code}}}}
		w := witness.New([]int32{1}, oracle.Timing{}, sent)
		if tt.code < 0 {
			w.Exchange(sent, answered, req, nil)
		} else {
			w.Exchange(sent, answered, req, resp)
		}
		if got := w.Acts()[1:]; !reflect.DeepEqual(got, tt.want) && len(got)+len(tt.want) > 0 {
			t.Errorf("%s: recorded %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestDeletionsByTheirAnswers: records were deleted everywhere, by their leader alone,
// perhaps, or not at all.
func TestDeletionsByTheirAnswers(t *testing.T) {
	sent := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	answered := sent.Add(time.Second)
	everywhere := oracle.Act{Kind: oracle.DeleteRecords, Sent: sent, Answered: answered, Topic: "t", Partition: 1, Offset: 8}
	perhaps, alone, sight := everywhere, everywhere, everywhere
	perhaps.Answered = time.Time{}
	alone.Kind = oracle.LogStart
	sight.Kind, sight.Offset = oracle.LogStart, 9
	for _, tt := range []struct {
		name string
		to   int64
		code int16 // −1: no answer
		low  int64
		want []oracle.Act
	}{
		{"deleted", 8, 0, 8, []oracle.Act{everywhere}},
		{"deleted up to the high watermark", -1, 0, 8, []oracle.Act{everywhere}},
		{"more was deleted before", 8, 0, 9, []oracle.Act{sight}},
		{"OFFSET_OUT_OF_RANGE", 8, 1, -1, nil},
		{"NOT_LEADER_OR_FOLLOWER", 8, 6, -1, []oracle.Act{perhaps}},
		{"NOT_LEADER_OR_FOLLOWER, up to the high watermark", -1, 6, -1, nil},
		{"REQUEST_TIMED_OUT", 8, 7, 0, []oracle.Act{alone}},
		{"no answer", 8, -1, 0, []oracle.Act{perhaps}},
	} {
		req, resp := kmsg.NewPtrDeleteRecordsRequest(), kmsg.NewPtrDeleteRecordsResponse()
		req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 1, Offset: tt.to}}}}
		resp.Topics = []kmsg.DeleteRecordsResponseTopic{{Topic: "t", Partitions: []kmsg.DeleteRecordsResponseTopicPartition{{Partition: 1, ErrorCode: tt.code, LowWatermark: tt.low}}}}
		w := witness.New([]int32{1}, oracle.Timing{}, sent)
		if tt.code < 0 {
			w.Exchange(sent, answered, req, nil)
		} else {
			w.Exchange(sent, answered, req, resp)
		}
		if got := w.Acts()[1:]; !reflect.DeepEqual(got, tt.want) && len(got)+len(tt.want) > 0 {
			t.Errorf("%s: recorded %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

// TestSightsOfLogStarts: what a leader says of its log start is true of the partition,
// what a replica says may be of that alone.
func TestSightsOfLogStarts(t *testing.T) {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(second int) time.Time { return begin.Add(time.Duration(second) * time.Second) }
	w := witness.New([]int32{1, 2}, oracle.Timing{}, begin)
	list := func(second int, replica int32, start int64) {
		req, resp := kmsg.NewPtrListOffsetsRequest(), kmsg.NewPtrListOffsetsResponse()
		req.ReplicaID = replica
		req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsRequestTopicPartition{{Timestamp: -2}}}}
		resp.Topics = []kmsg.ListOffsetsResponseTopic{{Topic: "t", Partitions: []kmsg.ListOffsetsResponseTopicPartition{{Offset: start}}}}
		w.Exchange(at(second), at(second+1), req, resp)
	}
	fetch := func(second int, version int16, start int64) {
		req, resp := kmsg.NewPtrFetchRequest(), kmsg.NewPtrFetchResponse()
		req.SetVersion(version)
		resp.Topics = []kmsg.FetchResponseTopic{{Topic: "t", Partitions: []kmsg.FetchResponseTopicPartition{{LogStartOffset: start}}}}
		w.Exchange(at(second), at(second+1), req, resp)
	}
	list(0, -1, 0)   // as it was created
	fetch(10, 12, 5) // perhaps by a follower
	fetch(11, 12, 5) // the same again
	list(12, -2, 5)  // by a follower
	list(20, -1, 3)  // by the leader
	fetch(30, 10, 5) // by the leader
	list(40, -1, 4)  // by another leader
	want := []oracle.Act{
		{Sent: at(0), Offset: 5},
		{Sent: at(0), Answered: at(21), Offset: 3},
		{Sent: at(20), Answered: at(31), Offset: 5},
		{Sent: at(30), Answered: at(41), Offset: 4},
	}
	for i := range want {
		want[i].Kind, want[i].Topic = oracle.LogStart, "t"
	}
	if got := w.Acts()[1:]; !reflect.DeepEqual(got, want) {
		t.Errorf("recorded\n%+v, want\n%+v", got, want)
	}
}
