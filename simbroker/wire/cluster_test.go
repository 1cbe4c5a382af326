package wire_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// cluster is a simulated cluster that is asked in process.
type cluster struct {
	*simbroker.Cluster
	t *testing.T
}

// newCluster starts three brokers with two topics: orders-0 on brokers 1 and 2,
// orders-1 on brokers 2 and 3, single-0 on broker 2.
func newCluster(t *testing.T, properties map[string]string) *cluster {
	t.Helper()
	all := map[string]string{
		"offsets.topic.num.partitions": "3", "offsets.topic.replication.factor": "1",
		"transaction.state.log.num.partitions": "3", "transaction.state.log.replication.factor": "1",
		"group.initial.rebalance.delay.ms": "0",
	}
	for name, value := range properties {
		all[name] = value
	}
	started, err := simbroker.Start(simbroker.Config{
		Brokers: 3, Properties: all, Clock: simbroker.Simulated(time.UnixMilli(1_700_000_000_000)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{Cluster: started, t: t}
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version = 7
	for name, assignment := range map[string][]kmsg.CreateTopicsRequestTopicReplicaAssignment{
		"orders": {{Partition: 0, Replicas: []int32{1, 2}}, {Partition: 1, Replicas: []int32{2, 3}}},
		"single": {{Partition: 0, Replicas: []int32{2}}},
	} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, -1, -1
		topic.ReplicaAssignment = assignment
		create.Topics = append(create.Topics, topic)
	}
	for _, made := range ask[*kmsg.CreateTopicsResponse](c, 1, create).Topics {
		if made.ErrorCode != 0 {
			t.Fatalf("create topic %s: error %d", made.Topic, made.ErrorCode)
		}
	}
	c.Advance(time.Second)
	return c
}

// ask sends a request to a broker; its version must be set.
func ask[R kmsg.Response](c *cluster, broker kafka.BrokerID, req kmsg.Request) R {
	c.t.Helper()
	resp, err := c.Request(context.Background(), broker, req)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.GetVersion() != req.GetVersion() {
		c.t.Errorf("%T v%d answers v%d", resp, resp.GetVersion(), req.GetVersion())
	}
	return resp.(R)
}

// topicID is the id of a topic.
func (c *cluster) topicID(name string) [16]byte {
	c.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Version = 12
	req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
	return ask[*kmsg.MetadataResponse](c, 1, req).Topics[0].TopicID
}

// coordinator finds the broker that coordinates a key.
func (c *cluster) coordinator(kind int8, key string) kafka.BrokerID {
	c.t.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.Version, req.CoordinatorType, req.CoordinatorKeys = 4, kind, []string{key}
	for range 10 {
		found := ask[*kmsg.FindCoordinatorResponse](c, 1, req).Coordinators[0]
		if found.ErrorCode == 0 {
			c.Advance(time.Second) // until it has loaded
			return kafka.BrokerID(found.NodeID)
		}
		c.Advance(time.Second)
	}
	c.t.Fatalf("no coordinator for %q", key)
	return 0
}

// records are one batch of n records.
func records(n int) []byte {
	return commitlog.Build(commitlog.Plainly(), slices.Repeat([]commitlog.Record{{Value: []byte("v")}}, n)).Raw
}

func produceRequest(version int16, topic string, id [16]byte, partition int32, batch []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = version, 1, 1000
	req.Topics = []kmsg.ProduceRequestTopic{{Topic: topic, TopicID: id,
		Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: partition, Records: batch}}}}
	return req
}

func TestMetadataForms(t *testing.T) {
	c := newCluster(t, nil)
	name, missing, invalid := "orders", "missing", "no/topic"
	id := c.topicID(name)
	for _, test := range []struct {
		why     string
		version int16
		topics  []kmsg.MetadataRequestTopic
		want    []int16 // error codes, topic by topic
	}{
		{"v0: no names mean all", 0, []kmsg.MetadataRequestTopic{}, []int16{0, 0}},
		{"v1: null means all", 1, nil, []int16{0, 0}},
		{"v1: no names mean none", 1, []kmsg.MetadataRequestTopic{}, nil},
		{"a topic that does not exist", 4, []kmsg.MetadataRequestTopic{{Topic: &missing}}, []int16{3}},
		{"a name that cannot exist", 4, []kmsg.MetadataRequestTopic{{Topic: &invalid}}, []int16{17}},
		{"the same name twice", 4, []kmsg.MetadataRequestTopic{{Topic: &name}, {Topic: &name}}, []int16{0}},
		{"v12: by id", 12, []kmsg.MetadataRequestTopic{{TopicID: id}}, []int16{0}},
		{"v12: an unknown id", 12, []kmsg.MetadataRequestTopic{{TopicID: [16]byte{1}}}, []int16{100}},
		{"v11: by id is too early", 11, []kmsg.MetadataRequestTopic{{Topic: &name, TopicID: id}}, []int16{42}},
	} {
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.Topics = test.version, test.topics
		var got []int16
		for _, topic := range ask[*kmsg.MetadataResponse](c, 1, req).Topics {
			got = append(got, topic.ErrorCode)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: errors %v, want %v", test.why, got, test.want)
		}
	}
}

func TestMetadataCreatesTopicsIfAllowed(t *testing.T) {
	c := newCluster(t, map[string]string{"auto.create.topics.enable": "true", "num.partitions": "2"})
	name := "made"
	for _, test := range []struct {
		why   string
		allow bool
		want  int16
	}{
		{"the client forbids it", false, 3},
		{"still not there", true, 3}, // and made now
		{"made", false, 0},
	} {
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.AllowAutoTopicCreation = 12, test.allow
		req.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}}
		topic := ask[*kmsg.MetadataResponse](c, 1, req).Topics[0]
		if topic.ErrorCode != test.want || test.want == 0 && len(topic.Partitions) != 2 {
			t.Errorf("%s: error %d, %d partitions", test.why, topic.ErrorCode, len(topic.Partitions))
		}
		c.Advance(time.Second)
	}
}

// Under KRaft brokers name any live broker as controller, and not the same one
// all the time.
func TestAnyLiveBrokerIsNamedAsController(t *testing.T) {
	c := newCluster(t, nil)
	if err := c.Kill(1); err != nil {
		t.Fatal(err)
	}
	c.Advance(10 * time.Second)
	named := map[int32]int{}
	for range 10 {
		metadata, cluster := kmsg.NewPtrMetadataRequest(), kmsg.NewPtrDescribeClusterRequest()
		metadata.Version = 13
		named[ask[*kmsg.MetadataResponse](c, 2, metadata).ControllerID]++
		named[ask[*kmsg.DescribeClusterResponse](c, 2, cluster).ControllerID]++
	}
	if named[2] == 0 || named[3] == 0 || len(named) != 2 {
		t.Errorf("named as controller: %v, of brokers 2 and 3", named)
	}
}

// A partition whose only replica is dead has leader -1 and
// LEADER_NOT_AVAILABLE, its replica is offline, and its broker not listed.
func TestMetadataWithoutALeader(t *testing.T) {
	c := newCluster(t, nil)
	if err := c.Kill(2); err != nil {
		t.Fatal(err)
	}
	c.Advance(10 * time.Second)
	orders, single := "orders", "single"
	for _, version := range []int16{0, 1, 5, 13} {
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.Topics = version, []kmsg.MetadataRequestTopic{{Topic: &orders}, {Topic: &single}}
		resp := ask[*kmsg.MetadataResponse](c, 1, req)
		if len(resp.Brokers) != 2 || slices.ContainsFunc(resp.Brokers, func(b kmsg.MetadataResponseBroker) bool { return b.NodeID == 2 }) {
			t.Errorf("v%d: brokers %v", version, resp.Brokers)
		}
		led, leaderless := resp.Topics[0].Partitions[0], resp.Topics[1].Partitions[0]
		if leaderless.ErrorCode != 5 || leaderless.Leader != -1 || !slices.Equal(leaderless.OfflineReplicas, []int32{2}) {
			t.Errorf("v%d: without leader: %+v", version, leaderless)
		}
		replicas, code := []int32{1, 2}, int16(0)
		if version == 0 { // leaves out what is not alive
			replicas, code = []int32{1}, 9
		}
		if led.ErrorCode != code || led.Leader != 1 || !slices.Equal(led.Replicas, replicas) {
			t.Errorf("v%d: with leader: %+v", version, led)
		}
	}
}

func TestFindCoordinatorForms(t *testing.T) {
	c := newCluster(t, nil)
	if first := c.coordinator(0, "g"); first == 0 {
		t.Fatal("no coordinator")
	}
	old := kmsg.NewPtrFindCoordinatorRequest()
	old.Version, old.CoordinatorKey = 3, "g"
	if resp := ask[*kmsg.FindCoordinatorResponse](c, 1, old); resp.ErrorCode != 0 || resp.NodeID < 1 {
		t.Errorf("v3: %+v", resp)
	}
	old.CoordinatorType = 2
	if resp := ask[*kmsg.FindCoordinatorResponse](c, 1, old); resp.ErrorCode != 42 || resp.NodeID != -1 {
		t.Errorf("v3, a share coordinator: %+v", resp)
	}
	share := kmsg.NewPtrFindCoordinatorRequest()
	share.Version, share.CoordinatorType = 6, 2
	want := map[string]int16{
		"g:AAAAAAAAAAAAAAAAAAAAAQ:0": 15, "a:b:AAAAAAAAAAAAAAAAAAAAAQ==:3": 15, " :AAAAAAAAAAAAAAAAAAAAAQ:0": 42,
		"g:AAAAAAAAAAAAAAAAAAAAAQ": 42, "g:AAAA:0": 42, "g:AA/AAAAAAAAAAAAAAAAAAQ:0": 42, "g:AAAAAAAAAAAAAAAAAAAAAQ:x": 42, "": 42,
	}
	share.CoordinatorKeys = slices.Collect(maps.Keys(want))
	for _, found := range ask[*kmsg.FindCoordinatorResponse](c, 1, share).Coordinators {
		if found.ErrorCode != want[found.Key] || found.NodeID != -1 {
			t.Errorf("v6, a share coordinator: %+v", found)
		}
	}
	share.Version, share.CoordinatorKeys = 5, share.CoordinatorKeys[:1]
	if found := ask[*kmsg.FindCoordinatorResponse](c, 1, share).Coordinators[0]; found.ErrorCode != 42 {
		t.Errorf("v5, a share coordinator: %+v", found)
	}
	many := kmsg.NewPtrFindCoordinatorRequest()
	many.Version, many.CoordinatorKeys = 6, []string{"g", "h"}
	resp := ask[*kmsg.FindCoordinatorResponse](c, 2, many)
	if len(resp.Coordinators) != 2 || resp.Coordinators[0].Key != "g" || resp.Coordinators[1].Key != "h" {
		t.Errorf("v6: %+v", resp.Coordinators)
	}
}

func TestProduceForms(t *testing.T) {
	c := newCluster(t, nil)
	id := c.topicID("orders")
	c.coordinator(0, "g") // makes __consumer_offsets
	for _, test := range []struct {
		why    string
		broker kafka.BrokerID
		req    *kmsg.ProduceRequest
		code   int16
		base   int64
		leader int32 // of the response
	}{
		{"v3", 1, produceRequest(3, "orders", [16]byte{}, 0, records(2)), 0, 0, -1},
		{"v13: by id", 1, produceRequest(13, "", id, 0, records(1)), 0, 2, -1},
		{"v13: an unknown id", 1, produceRequest(13, "", [16]byte{1}, 0, records(1)), 100, -1, -1},
		{"no such topic", 1, produceRequest(12, "missing", [16]byte{}, 0, records(1)), 3, -1, -1},
		{"no such partition", 1, produceRequest(12, "orders", [16]byte{}, 7, records(1)), 3, -1, -1},
		{"a follower names the leader (KIP-951)", 2, produceRequest(10, "orders", [16]byte{}, 0, records(1)), 6, -1, 1},
		{"an internal topic", 1, produceRequest(12, "__consumer_offsets", [16]byte{}, 0, records(1)), 17, -1, -1},
		{"zstd before v7", 1, produceRequest(6, "orders", [16]byte{}, 0, withCodec(records(1), 4)), 76, -1, -1},
	} {
		resp := ask[*kmsg.ProduceResponse](c, test.broker, test.req)
		p := resp.Topics[0].Partitions[0]
		if p.ErrorCode != test.code || p.BaseOffset != test.base || p.CurrentLeader.LeaderID != test.leader {
			t.Errorf("%s: %+v", test.why, p)
		}
		if (test.leader >= 0) != (len(resp.Brokers) > 0) {
			t.Errorf("%s: endpoints %v", test.why, resp.Brokers)
		}
	}
}

// withCodec marks a batch as compressed.
func withCodec(batch []byte, codec byte) []byte {
	batch[22] = batch[22]&^0x07 | codec
	return batch
}

// Without acks there is no answer; null records are never answered (rule A5),
// unless the topic is refused before.
func TestProduceSilences(t *testing.T) {
	c := newCluster(t, nil)
	noAcks := produceRequest(12, "orders", [16]byte{}, 0, records(1))
	noAcks.Acks = 0
	if _, err := c.Request(context.Background(), 1, noAcks); !errors.Is(err, simbroker.ErrNoAnswer) {
		t.Errorf("acks=0: %v", err)
	}
	if _, err := c.Request(context.Background(), 1, produceRequest(12, "orders", [16]byte{}, 0, nil)); !errors.Is(err, simbroker.ErrTimeout) {
		t.Errorf("null records: %v", err)
	}
	resp := ask[*kmsg.ProduceResponse](c, 1, produceRequest(12, "missing", [16]byte{}, 0, nil))
	if code := resp.Topics[0].Partitions[0].ErrorCode; code != 3 {
		t.Errorf("null records for a topic that does not exist: error %d", code)
	}
	again := produceRequest(12, "orders", [16]byte{}, 0, records(1))
	for _, base := range []int64{1, 2} { // the log keeps no memory of the caller's
		if p := ask[*kmsg.ProduceResponse](c, 1, again).Topics[0].Partitions[0]; p.ErrorCode != 0 || p.BaseOffset != base {
			t.Errorf("the same request again: %+v", p)
		}
	}
}

func fetchRequest(version int16, topic string, id [16]byte, offset int64) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.ReplicaID, req.MaxBytes = version, -1, 1<<20
	p := kmsg.NewFetchRequestTopicPartition()
	p.FetchOffset, p.PartitionMaxBytes = offset, 1<<20
	req.Topics = []kmsg.FetchRequestTopic{{Topic: topic, TopicID: id, Partitions: []kmsg.FetchRequestTopicPartition{p}}}
	return req
}

func TestFetchForms(t *testing.T) {
	c := newCluster(t, nil)
	id := c.topicID("orders")
	ask[*kmsg.ProduceResponse](c, 1, produceRequest(12, "orders", [16]byte{}, 0, records(3)))
	c.Advance(time.Second)
	for _, test := range []struct {
		why    string
		broker kafka.BrokerID
		req    *kmsg.FetchRequest
		code   int16
		high   int64
		leader int32
	}{
		{"v4", 1, fetchRequest(4, "orders", [16]byte{}, 0), 0, 3, -1},
		{"v13: by id", 1, fetchRequest(13, "", id, 0), 0, 3, -1},
		{"v18", 1, fetchRequest(18, "", id, 0), 0, 3, -1},
		{"v13: an unknown id", 1, fetchRequest(13, "", [16]byte{1}, 0), 100, -1, -1},
		{"no such topic", 1, fetchRequest(12, "missing", [16]byte{}, 0), 3, -1, -1},
		{"beyond the end", 1, fetchRequest(12, "orders", [16]byte{}, 4), 1, -1, -1},
		{"v11: a follower serves (rule D1)", 2, fetchRequest(11, "orders", [16]byte{}, 0), 0, 3, -1},
		{"v10: a follower does not", 2, fetchRequest(10, "orders", [16]byte{}, 0), 6, -1, -1},
		{"v16: no replica, names the leader (KIP-951)", 3, fetchRequest(16, "", id, 0), 6, -1, 1},
	} {
		resp := ask[*kmsg.FetchResponse](c, test.broker, test.req)
		p := resp.Topics[0].Partitions[0]
		if p.ErrorCode != test.code || p.HighWatermark != test.high || p.CurrentLeader.LeaderID != test.leader {
			t.Errorf("%s: %+v", test.why, p)
		}
		if (len(p.RecordBatches) > 0) != (test.code == 0) || p.RecordBatches == nil || len(p.AbortedTransactions) != 0 || resp.SessionID != 0 {
			t.Errorf("%s: %d bytes, aborted %v, session %d", test.why, len(p.RecordBatches), p.AbortedTransactions, resp.SessionID)
		}
	}
	committed := fetchRequest(12, "orders", [16]byte{}, 0)
	committed.IsolationLevel = 1
	if p := ask[*kmsg.FetchResponse](c, 1, committed).Topics[0].Partitions[0]; p.AbortedTransactions == nil || len(p.AbortedTransactions) != 0 {
		t.Errorf("read_committed: aborted %v, want none rather than null", p.AbortedTransactions)
	}
	session := fetchRequest(12, "orders", [16]byte{}, 0)
	session.SessionID, session.SessionEpoch = 5, 1
	if resp := ask[*kmsg.FetchResponse](c, 1, session); resp.ErrorCode != 70 || len(resp.Topics) != 0 {
		t.Errorf("a session that was never made: %+v", resp)
	}
}

// initProducer initialises a transactional id at its coordinator, which has no
// producer ids to give at first (rule G0).
func initProducer(c *cluster, at kafka.BrokerID, id string) *kmsg.InitProducerIDResponse {
	c.t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.Version, req.TransactionalID, req.TransactionTimeoutMillis = 5, &id, 60_000
	req.ProducerID, req.ProducerEpoch = -1, -1
	for range 10 {
		if resp := ask[*kmsg.InitProducerIDResponse](c, at, req); resp.ErrorCode == 0 {
			return resp
		}
		c.Advance(time.Second)
	}
	c.t.Fatalf("no producer id for %q", id)
	return nil
}

// The old names of errors, for clients that do not know the new ones (rule G7).
func TestFencedProducerIsToldByVersion(t *testing.T) {
	c := newCluster(t, nil)
	at := c.coordinator(1, "x")
	id := "x"
	made := initProducer(c, at, id)
	for version, want := range map[int16]int16{3: 47, 4: 90} {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.Version, req.TransactionalID, req.TransactionTimeoutMillis = version, &id, 60_000
		req.ProducerID, req.ProducerEpoch = made.ProducerID, 9
		if resp := ask[*kmsg.InitProducerIDResponse](c, at, req); resp.ErrorCode != want || resp.ProducerID != -1 {
			t.Errorf("InitProducerId v%d: %+v, want error %d", version, resp, want)
		}
	}
	for version, want := range map[int16]int16{1: 47, 2: 90} {
		end := kmsg.NewPtrEndTxnRequest()
		end.Version, end.TransactionalID, end.ProducerID, end.ProducerEpoch = version, id, made.ProducerID, 9
		if resp := ask[*kmsg.EndTxnResponse](c, at, end); resp.ErrorCode != want {
			t.Errorf("EndTxn v%d: error %d, want %d", version, resp.ErrorCode, want)
		}
		add := kmsg.NewPtrAddPartitionsToTxnRequest()
		add.Version, add.TransactionalID, add.ProducerID, add.ProducerEpoch = version, id, made.ProducerID, 9
		add.Topics = []kmsg.AddPartitionsToTxnRequestTopic{{Topic: "orders", Partitions: []int32{0}}}
		if resp := ask[*kmsg.AddPartitionsToTxnResponse](c, at, add); resp.Topics[0].Partitions[0].ErrorCode != want {
			t.Errorf("AddPartitionsToTxn v%d: error %d, want %d", version, resp.Topics[0].Partitions[0].ErrorCode, want)
		}
		offsets := kmsg.NewPtrAddOffsetsToTxnRequest()
		offsets.Version, offsets.TransactionalID, offsets.ProducerID, offsets.ProducerEpoch, offsets.Group = version, id, made.ProducerID, 9, "g"
		if resp := ask[*kmsg.AddOffsetsToTxnResponse](c, at, offsets); resp.ErrorCode != want {
			t.Errorf("AddOffsetsToTxn v%d: error %d, want %d", version, resp.ErrorCode, want)
		}
	}
	half := kmsg.NewPtrInitProducerIDRequest()
	half.Version, half.TransactionalID, half.TransactionTimeoutMillis = 5, &id, 60_000
	half.ProducerID, half.ProducerEpoch = made.ProducerID, -1
	if resp := ask[*kmsg.InitProducerIDResponse](c, at, half); resp.ErrorCode != 42 {
		t.Errorf("a producer id without its epoch: error %d", resp.ErrorCode)
	}
}

// Verification alone adds nothing (AddPartitionsToTxn v4+, rule G10).
func TestAddPartitionsToTxnOfBrokers(t *testing.T) {
	c := newCluster(t, nil)
	at := c.coordinator(1, "x")
	id := "x"
	made := initProducer(c, at, id)
	transaction := func(verify bool) *kmsg.AddPartitionsToTxnRequest {
		req := kmsg.NewPtrAddPartitionsToTxnRequest()
		req.Version = 5
		req.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{{
			TransactionalID: id, ProducerID: made.ProducerID, ProducerEpoch: made.ProducerEpoch, VerifyOnly: verify,
			Topics: []kmsg.AddPartitionsToTxnRequestTransactionTopic{{Topic: "orders", Partitions: []int32{0, 1}}},
		}}
		return req
	}
	for _, step := range []struct {
		verify bool
		want   int16
	}{{true, 120}, {false, 0}, {true, 0}} {
		topic := ask[*kmsg.AddPartitionsToTxnResponse](c, at, transaction(step.verify)).Transactions[0].Topics[0]
		for _, p := range topic.Partitions {
			if p.ErrorCode != step.want {
				t.Errorf("verify only %v: partition %d error %d, want %d", step.verify, p.Partition, p.ErrorCode, step.want)
			}
		}
	}
}

func TestOffsetForms(t *testing.T) {
	c := newCluster(t, nil)
	id := c.topicID("orders")
	at := c.coordinator(0, "g")
	for version := int16(2); version <= 10; version++ {
		commit := kmsg.NewPtrOffsetCommitRequest()
		commit.Version, commit.Group, commit.Generation, commit.RetentionTimeMillis = version, "g", -1, -1
		topic := kmsg.NewOffsetCommitRequestTopic()
		topic.Topic, topic.TopicID = "orders", id
		for _, number := range []int32{0, 7} {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset = number, int64(version)
			topic.Partitions = append(topic.Partitions, p)
		}
		commit.Topics = []kmsg.OffsetCommitRequestTopic{topic}
		resp := ask[*kmsg.OffsetCommitResponse](c, at, commit)
		got := make(map[int32]int16)
		for _, answered := range resp.Topics {
			for _, p := range answered.Partitions {
				got[p.Partition] = p.ErrorCode
			}
		}
		if len(resp.Topics) != 1 || got[0] != 0 || got[7] != 3 {
			t.Errorf("OffsetCommit v%d: %+v", version, resp.Topics)
		}
		c.Advance(100 * time.Millisecond)
		if offset, code := fetchOffset(c, at, version, id); offset != int64(version) || code != 0 {
			t.Errorf("OffsetFetch v%d: offset %d, error %d, want %d", version, offset, code, version)
		}
	}
	unknown := kmsg.NewPtrOffsetFetchRequest()
	unknown.Version = 10
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = "g", -1
	g.Topics = []kmsg.OffsetFetchRequestGroupTopic{{TopicID: [16]byte{1}, Partitions: []int32{0}}}
	unknown.Groups = []kmsg.OffsetFetchRequestGroup{g}
	if p := ask[*kmsg.OffsetFetchResponse](c, at, unknown).Groups[0].Topics[0].Partitions[0]; p.ErrorCode != 100 || p.Offset != -1 {
		t.Errorf("OffsetFetch v10 of an unknown id: %+v", p)
	}
	other := at%3 + 1
	for _, version := range []int16{1, 2, 8} {
		if _, code := fetchOffset(c, other, version, id); code != 16 {
			t.Errorf("OffsetFetch v%d at another broker: error %d", version, code)
		}
	}
}

// fetchOffset reads the commit of orders-0 by all topics where the version has
// that, otherwise by name.
func fetchOffset(c *cluster, at kafka.BrokerID, version int16, id [16]byte) (offset int64, code int16) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group = version, "g"
	if version < 2 {
		req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "orders", Partitions: []int32{0}}}
	}
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = "g", -1
	req.Groups = []kmsg.OffsetFetchRequestGroup{g}
	resp := ask[*kmsg.OffsetFetchResponse](c, at, req)
	if version < 8 {
		if resp.ErrorCode != 0 {
			return -1, resp.ErrorCode
		}
		p := resp.Topics[0].Partitions[0]
		return p.Offset, p.ErrorCode
	}
	if resp.Groups[0].ErrorCode != 0 {
		return -1, resp.Groups[0].ErrorCode
	}
	if topic := resp.Groups[0].Topics[0]; version >= 10 && topic.TopicID != id {
		c.t.Errorf("v%d: topic id %v", version, topic.TopicID)
	}
	p := resp.Groups[0].Topics[0].Partitions[0]
	return p.Offset, p.ErrorCode
}

// A group that does not exist: Dead, and from v6 on an error (rule H10).
func TestDescribeGroupsOfNoGroup(t *testing.T) {
	c := newCluster(t, nil)
	at := c.coordinator(0, "nobody")
	for version, want := range map[int16]int16{0: 0, 5: 0, 6: 69} {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Version, req.Groups = version, []string{"nobody"}
		g := ask[*kmsg.DescribeGroupsResponse](c, at, req).Groups[0]
		if g.ErrorCode != want || g.State != "Dead" {
			t.Errorf("v%d: error %d, state %s", version, g.ErrorCode, g.State)
		}
	}
}

func TestTopicAdministration(t *testing.T) {
	c := newCluster(t, nil)
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version = 7
	for _, name := range []string{"twice", "new", "twice"} {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
		retention := "1000"
		topic.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms", Value: &retention}}
		create.Topics = append(create.Topics, topic)
	}
	created := ask[*kmsg.CreateTopicsResponse](c, 3, create)
	if len(created.Topics) != 2 || created.Topics[0].Topic != "new" || created.Topics[0].ErrorCode != 0 || created.Topics[1].ErrorCode != 42 {
		t.Fatalf("create: %+v", created.Topics)
	}
	if made := created.Topics[0]; made.TopicID == [16]byte{} || made.NumPartitions != 1 || len(made.Configs) == 0 {
		t.Errorf("create: %+v", made)
	}
	c.Advance(time.Second)

	grow := kmsg.NewPtrCreatePartitionsRequest()
	grow.Version = 3
	grow.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "new", Count: 3}, {Topic: "missing", Count: 3}}
	grown := ask[*kmsg.CreatePartitionsResponse](c, 2, grow)
	if grown.Topics[0].ErrorCode != 0 || grown.Topics[1].ErrorCode != 3 {
		t.Errorf("create partitions: %+v", grown.Topics)
	}

	name, id := "new", created.Topics[0].TopicID
	for _, test := range []struct {
		why    string
		topics []kmsg.DeleteTopicsRequestTopic
		want   []int16
	}{
		{"an unknown id", []kmsg.DeleteTopicsRequestTopic{{TopicID: [16]byte{1}}}, []int16{100}},
		{"neither name nor id", []kmsg.DeleteTopicsRequestTopic{{}}, []int16{42}},
		{"name and id", []kmsg.DeleteTopicsRequestTopic{{Topic: &name, TopicID: id}}, []int16{42}},
		{"twice: not deleted", []kmsg.DeleteTopicsRequestTopic{{Topic: &name}, {Topic: &name}}, []int16{42}},
		{"by name and again by id: not deleted", []kmsg.DeleteTopicsRequestTopic{{Topic: &name}, {TopicID: id}}, []int16{42}},
		{"by id", []kmsg.DeleteTopicsRequestTopic{{TopicID: id}}, []int16{0}},
		{"by name, deleted before", []kmsg.DeleteTopicsRequestTopic{{Topic: &name}}, []int16{3}},
	} {
		remove := kmsg.NewPtrDeleteTopicsRequest()
		remove.Version, remove.Topics = 6, test.topics
		var got []int16
		for _, topic := range ask[*kmsg.DeleteTopicsResponse](c, 2, remove).Topics {
			got = append(got, topic.ErrorCode)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("delete %s: errors %v, want %v", test.why, got, test.want)
		}
		c.Advance(time.Second)
	}
}

func TestConfigs(t *testing.T) {
	c := newCluster(t, map[string]string{"log.retention.ms": "60000"})
	value := "5000"
	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	alter.Version = 1
	resource := func(kind kmsg.ConfigResourceType, name, property string, value *string) kmsg.IncrementalAlterConfigsRequestResource {
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		r.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: property, Value: value}}
		return r
	}
	alter.Resources = []kmsg.IncrementalAlterConfigsRequestResource{
		resource(kmsg.ConfigResourceTypeTopic, "orders", "retention.ms", &value),
		resource(kmsg.ConfigResourceTypeTopic, "missing", "retention.ms", &value),
		resource(kmsg.ConfigResourceTypeTopic, "new", "retention.ms", nil),
		resource(kmsg.ConfigResourceTypeBroker, "2", "producer.id.expiration.ms", &value),
		resource(kmsg.ConfigResourceTypeBrokerLogger, "1", "x", &value),
	}
	var codes []int16
	for _, r := range ask[*kmsg.IncrementalAlterConfigsResponse](c, 1, alter).Resources {
		codes = append(codes, r.ErrorCode)
	}
	if want := []int16{0, 3, 42, 42, 40}; !slices.Equal(codes, want) {
		t.Errorf("alter: errors %v, want %v", codes, want)
	}
	c.Advance(time.Second)

	describe := kmsg.NewPtrDescribeConfigsRequest()
	describe.Version, describe.IncludeSynonyms = 4, true
	describe.Resources = []kmsg.DescribeConfigsRequestResource{
		{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "orders", ConfigNames: []string{"retention.ms"}},
		{ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "missing"},
		{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1", ConfigNames: []string{"log.retention.ms"}},
		{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "1", ConfigNames: []string{"broker.id"}},
		{ResourceType: kmsg.ConfigResourceTypeBroker, ResourceName: "2"},
	}
	described := ask[*kmsg.DescribeConfigsResponse](c, 1, describe).Resources
	retention := described[0].Configs[0]
	if *retention.Value != "5000" || retention.Source != kmsg.ConfigSourceDynamicTopicConfig || retention.ConfigType != kmsg.ConfigTypeLong || len(retention.ConfigSynonyms) < 2 {
		t.Errorf("retention.ms of orders: %+v", retention)
	}
	if broker := described[2].Configs[0]; *broker.Value != "60000" || broker.Source != kmsg.ConfigSourceStaticBrokerConfig {
		t.Errorf("log.retention.ms of broker 1: %+v", broker)
	}
	if id := described[3].Configs[0]; *id.Value != "1" || id.Source != kmsg.ConfigSourceStaticBrokerConfig {
		t.Errorf("broker.id of broker 1: %+v", id)
	}
	if described[1].ErrorCode != 3 || described[4].ErrorCode != 42 {
		t.Errorf("describe: errors %d and %d, want 3 and 42", described[1].ErrorCode, described[4].ErrorCode)
	}
}

// A broker's pools of threads become twice as large at once, or half as large,
// counted from what the broker that is asked has.
func TestThreadPoolsChangeByHalves(t *testing.T) {
	c := newCluster(t, map[string]string{"num.io.threads": "8"})
	alter := func(broker, name, value string) string {
		t.Helper()
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.Version = 1
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeBroker, broker
		config := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: name, Value: &value}
		if value == "" {
			config.Op, config.Value = kmsg.IncrementalAlterConfigOpDelete, nil
		}
		r.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{config}
		req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{r}
		answer := ask[*kmsg.IncrementalAlterConfigsResponse](c, 1, req).Resources[0]
		c.Advance(time.Second)
		if answer.ErrorCode == 0 {
			return ""
		}
		return *answer.ErrorMessage
	}
	for _, step := range []struct{ broker, name, value, reason string }{
		{"1", "num.io.threads", "17", "num.io.threads=17, value should not be greater than double the current value 8 "},
		{"1", "num.io.threads", "3", "num.io.threads=3, value should be at least half the current value 8 "},
		{"1", "num.io.threads", "0", "Invalid value 0 for configuration num.io.threads"},
		{"1", "num.io.threads", "x", "Invalid value x for configuration num.io.threads"},
		{"", "num.io.threads", "17", "double the current value 8 "},
		{"", "num.io.threads", "4", ""},
		{"1", "num.io.threads", "8", ""},
		{"", "num.io.threads", "100", ""}, // the broker's own value holds
		{"1", "log.cleaner.threads", "3", "Log cleaner threads cannot be increased to more than double the current value 1 "},
		{"1", "log.cleaner.threads", "1000", "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."},
		{"", "log.retention.ms", "0", "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"},
		{"1", "max.connections.per.ip.overrides", "x", "Error parsing configuration property 'max.connections.per.ip.overrides': begin 0, end -1, length 1"},
		{"1", "group.consumer.assignment.interval.ms", "1048576", "group.consumer.assignment.interval.ms must be less than or equal to group.consumer.max.assignment.interval.ms"},
		{"1", "num.io.threads", "", "num.io.threads=100, value should not be greater than double the current value 8 "},
		{"", "num.io.threads", "", ""},
		{"1", "num.io.threads", "16", ""},
		{"1", "num.io.threads", "32", ""},
		{"1", "num.io.threads", "", "num.io.threads=8, value should be at least half the current value 32 "},
		{"1", "log.cleaner.backoff.ms", "1", ""},
	} {
		if got := alter(step.broker, step.name, step.value); (got == "") != (step.reason == "") || !strings.Contains(got, step.reason) {
			t.Errorf("%s=%s of broker %q: %q, want %q", step.name, step.value, step.broker, got, step.reason)
		}
	}
}

func TestElectionsAndReassignments(t *testing.T) {
	c := newCluster(t, nil)
	elect := kmsg.NewPtrElectLeadersRequest()
	elect.Version = 2
	elect.Topics = []kmsg.ElectLeadersRequestTopic{{Topic: "orders", Partitions: []int32{0, 9}}}
	elected := ask[*kmsg.ElectLeadersResponse](c, 3, elect).Topics[0].Partitions
	if elected[0].ErrorCode != 84 || elected[1].ErrorCode != 3 {
		t.Errorf("elect: %+v", elected)
	}
	elect.Topics = nil
	all := ask[*kmsg.ElectLeadersResponse](c, 3, elect)
	if all.ErrorCode != 0 || len(all.Topics) != 2 || len(all.Topics[0].Partitions)+len(all.Topics[1].Partitions) != 0 {
		t.Errorf("elect all where nothing is to be elected: %+v", all)
	}

	move := kmsg.NewPtrAlterPartitionAssignmentsRequest()
	move.Version, move.AllowReplicationFactorChange = 1, false
	move.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "orders", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{
		{Partition: 0, Replicas: []int32{1, 2, 3}}, {Partition: 1, Replicas: []int32{3, 1}}, {Partition: 9, Replicas: []int32{3}},
	}}}
	moved := ask[*kmsg.AlterPartitionAssignmentsResponse](c, 3, move).Topics[0].Partitions
	if moved[0].ErrorCode != 38 || moved[1].ErrorCode != 0 || moved[2].ErrorCode != 3 {
		t.Errorf("reassign: %+v", moved)
	}
	c.Advance(5 * time.Second)
	list := kmsg.NewPtrListPartitionReassignmentsRequest()
	if still := ask[*kmsg.ListPartitionReassignmentsResponse](c, 3, list).Topics; len(still) != 0 {
		t.Errorf("reassignments under way: %+v", still)
	}
	name := "orders"
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Version, metadata.Topics = 12, []kmsg.MetadataRequestTopic{{Topic: &name}}
	if p := ask[*kmsg.MetadataResponse](c, 3, metadata).Topics[0].Partitions[1]; !slices.Equal(p.Replicas, []int32{3, 1}) || p.Leader != 3 {
		t.Errorf("reassigned partition: %+v", p)
	}
}

func TestDescribeTopicPartitionsGoesByCursor(t *testing.T) {
	c := newCluster(t, nil)
	c.coordinator(0, "g") // makes __consumer_offsets, of 3 partitions
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = 2
	var seen []string
	for range 10 {
		resp := ask[*kmsg.DescribeTopicPartitionsResponse](c, 1, req)
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				seen = append(seen, kafka.TopicPartition{Topic: *topic.Topic, Partition: p.Partition}.String())
			}
		}
		if resp.NextCursor == nil {
			break
		}
		cursor := kmsg.NewDescribeTopicPartitionsRequestCursor()
		cursor.Topic, cursor.Partition = resp.NextCursor.Topic, resp.NextCursor.Partition
		req.Cursor = &cursor
	}
	if want := []string{"__consumer_offsets-0", "__consumer_offsets-1", "__consumer_offsets-2", "orders-0", "orders-1", "single-0"}; !slices.Equal(seen, want) {
		t.Errorf("saw %v, want %v", seen, want)
	}
	named := kmsg.NewPtrDescribeTopicPartitionsRequest()
	named.ResponsePartitionLimit = 100
	named.Topics = []kmsg.DescribeTopicPartitionsRequestTopic{{Topic: "missing"}}
	if resp := ask[*kmsg.DescribeTopicPartitionsResponse](c, 1, named); resp.Topics[0].ErrorCode != 3 {
		t.Errorf("a topic that does not exist: %+v", resp.Topics)
	}
}

func TestDescribeClusterAndLogDirs(t *testing.T) {
	c := newCluster(t, nil)
	ask[*kmsg.ProduceResponse](c, 1, produceRequest(12, "orders", [16]byte{}, 0, records(1)))
	if err := c.Kill(3); err != nil {
		t.Fatal(err)
	}
	c.Advance(10 * time.Second)
	for _, fenced := range []bool{false, true} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.Version, req.EndpointType, req.IncludeFencedBrokers = 2, 1, fenced
		resp := ask[*kmsg.DescribeClusterResponse](c, 1, req)
		if want := map[bool]int{false: 2, true: 3}[fenced]; len(resp.Brokers) != want || resp.ClusterID == "" {
			t.Errorf("fenced %v: %+v", fenced, resp)
		}
	}
	controllers := kmsg.NewPtrDescribeClusterRequest()
	controllers.Version, controllers.EndpointType = 2, 2
	if resp := ask[*kmsg.DescribeClusterResponse](c, 1, controllers); resp.ErrorCode != 114 {
		t.Errorf("endpoints of controllers: error %d", resp.ErrorCode)
	}
	dirs := kmsg.NewPtrDescribeLogDirsRequest()
	dirs.Version = 4
	dir := ask[*kmsg.DescribeLogDirsResponse](c, 1, dirs).Dirs[0]
	if len(dir.Topics) != 1 || dir.Topics[0].Topic != "orders" || dir.Topics[0].Partitions[0].Size == 0 || dir.TotalBytes != 1<<40 || dir.UsableBytes != dir.TotalBytes-dir.Topics[0].Partitions[0].Size {
		t.Errorf("log directory: %+v", dir)
	}
}
