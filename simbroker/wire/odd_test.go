package wire_test

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
)

// A byte limit cuts the last batch, but the first one is whole.
func TestFetchCutsAtTheLimit(t *testing.T) {
	c := newCluster(t, nil)
	one := len(records(1))
	for range 3 {
		ask[*kmsg.ProduceResponse](c, 1, produceRequest(12, "orders", [16]byte{}, 0, records(1)))
	}
	c.Advance(time.Second)
	for limit, want := range map[int]int{1: one, one: one, one + 10: one + 10, 2 * one: 2 * one, 1 << 20: 3 * one} {
		req := fetchRequest(12, "orders", [16]byte{}, 0)
		req.Topics[0].Partitions[0].PartitionMaxBytes = int32(limit)
		if got := ask[*kmsg.FetchResponse](c, 1, req).Topics[0].Partitions[0].RecordBatches; len(got) != want {
			t.Errorf("limit %d: %d bytes, want %d", limit, len(got), want)
		}
		whole := fetchRequest(12, "orders", [16]byte{}, 0)
		whole.MaxBytes = int32(limit)
		if got := ask[*kmsg.FetchResponse](c, 1, whole).Topics[0].Partitions[0].RecordBatches; len(got) != want {
			t.Errorf("limit %d of the answer: %d bytes, want %d", limit, len(got), want)
		}
	}
	// Nothing at the high watermark or beyond it is in the cut.
	bounded := fetchRequest(12, "orders", [16]byte{}, 2)
	if got := ask[*kmsg.FetchResponse](c, 1, bounded).Topics[0].Partitions[0].RecordBatches; len(got) != one {
		t.Errorf("at the end: %d bytes", len(got))
	}
}

// Odd fields of requests for offsets, as a real Kafka takes them.
func TestOddOffsetRequests(t *testing.T) {
	c := newCluster(t, nil)
	ask[*kmsg.ProduceResponse](c, 1, produceRequest(12, "orders", [16]byte{}, 0, records(3)))
	c.Advance(time.Second)

	diverging := fetchRequest(12, "orders", [16]byte{}, 9)
	diverging.Topics[0].Partitions[0].LastFetchedEpoch = 0
	p := ask[*kmsg.FetchResponse](c, 1, diverging).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || p.DivergingEpoch.EndOffset != 3 || p.HighWatermark != 3 || p.LastStableOffset != 3 || p.LogStartOffset != 0 {
		t.Errorf("diverging: %+v", p)
	}
	negative := fetchRequest(12, "orders", [16]byte{}, 0)
	negative.Topics[0].Partitions[0].CurrentLeaderEpoch = -5
	if p := ask[*kmsg.FetchResponse](c, 1, negative).Topics[0].Partitions[0]; p.ErrorCode != 0 {
		t.Errorf("leader epoch -5 in a fetch: error %d", p.ErrorCode)
	}
	isolation := fetchRequest(12, "orders", [16]byte{}, 0)
	isolation.IsolationLevel = 2
	if resp := ask[*kmsg.FetchResponse](c, 1, isolation); resp.ErrorCode != -1 || resp.Topics[0].Partitions[0].ErrorCode != -1 {
		t.Errorf("isolation level 2 in a fetch: %+v", resp)
	}
	for _, test := range []struct {
		why       string
		epoch     int32
		isolation int8
		code      int16
	}{
		{"no epoch", -1, 0, 0},
		{"leader epoch -5", -5, 0, 74},
		{"isolation level 2", -1, 2, -1},
	} {
		req := kmsg.NewPtrListOffsetsRequest()
		req.Version, req.ReplicaID, req.IsolationLevel = 7, -1, test.isolation
		at := kmsg.NewListOffsetsRequestTopicPartition()
		at.Timestamp, at.CurrentLeaderEpoch = -1, test.epoch
		req.Topics = []kmsg.ListOffsetsRequestTopic{{Topic: "orders", Partitions: []kmsg.ListOffsetsRequestTopicPartition{at}}}
		if p := ask[*kmsg.ListOffsetsResponse](c, 1, req).Topics[0].Partitions[0]; p.ErrorCode != test.code {
			t.Errorf("%s: error %d, want %d", test.why, p.ErrorCode, test.code)
		}
	}
}

// A partition that a request for offsets names more than once is refused, once,
// wherever it stands; the others are answered.
func TestOffsetsOfOnePartitionTwice(t *testing.T) {
	c := newCluster(t, nil)
	type topic = kmsg.ListOffsetsRequestTopic
	of := func(name string, numbers ...int32) topic {
		t := topic{Topic: name}
		for _, n := range numbers {
			t.Partitions = append(t.Partitions, kmsg.ListOffsetsRequestTopicPartition{Partition: n, Timestamp: -1, CurrentLeaderEpoch: -1})
		}
		return t
	}
	for name, test := range map[string]struct {
		topics []topic
		want   string
	}{
		"once":             {[]topic{of("orders", 0), of("other", 0)}, "orders-0:0 other-0:3 "},
		"side by side":     {[]topic{of("orders", 0, 0, 7)}, "orders-0:42 orders-7:3 "},
		"apart":            {[]topic{of("orders", 0, 7, 0)}, "orders-0:42 orders-7:3 "},
		"out of order":     {[]topic{of("orders", 7, 0)}, "orders-7:3 orders-0:0 "},
		"in a topic again": {[]topic{of("orders", 0), of("orders", 0, 7)}, "orders-0:42 orders-7:3 "},
		"three times":      {[]topic{of("orders", 0, 0), of("orders", 0)}, "orders-0:42 "},
	} {
		t.Run(name, func(t *testing.T) {
			req := kmsg.NewPtrListOffsetsRequest()
			req.Version, req.ReplicaID, req.Topics = 7, -1, test.topics
			got := ""
			for _, t := range ask[*kmsg.ListOffsetsResponse](c, 1, req).Topics {
				for _, p := range t.Partitions {
					got += fmt.Sprintf("%s-%d:%d ", t.Topic, p.Partition, p.ErrorCode)
				}
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Metadata for neither name nor id fails as a whole.
func TestMetadataOfNothing(t *testing.T) {
	c := newCluster(t, nil)
	for version, code := range map[int16]int16{12: 0, 13: -1} {
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.Topics = version, []kmsg.MetadataRequestTopic{{}}
		resp := ask[*kmsg.MetadataResponse](c, 1, req)
		decoded := &kmsg.MetadataResponse{Version: version}
		if err := decoded.ReadFrom(resp.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		if decoded.ErrorCode != code || len(decoded.Brokers) != 0 || decoded.ControllerID != -1 || decoded.Topics[0].ErrorCode != -1 || *decoded.Topics[0].Topic != "" {
			t.Errorf("v%d: %+v", version, decoded)
		}
	}
}

// Names that would collide are only compared with topics of before.
func TestCollidingNamesInOneRequest(t *testing.T) {
	c := newCluster(t, nil)
	create := func(names ...string) (codes []int16) {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version = 7
		for _, name := range names {
			topic := kmsg.NewCreateTopicsRequestTopic()
			topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
			req.Topics = append(req.Topics, topic)
		}
		for _, made := range ask[*kmsg.CreateTopicsResponse](c, 1, req).Topics {
			codes = append(codes, made.ErrorCode)
		}
		return codes
	}
	if got := create("a.b", "a_b"); !slices.Equal(got, []int16{0, 0}) {
		t.Errorf("together: errors %v", got)
	}
	if got := create("a_b"); !slices.Equal(got, []int16{36}) {
		t.Errorf("again: errors %v", got)
	}
	if got := create("c.d"); !slices.Equal(got, []int16{0}) {
		t.Fatalf("another: errors %v", got)
	}
	if got := create("c_d"); !slices.Equal(got, []int16{17}) {
		t.Errorf("one after the other: errors %v", got)
	}
}

// A marker that cannot be built is an error, and nothing is written.
func TestMarkersWithoutAProducer(t *testing.T) {
	c := newCluster(t, nil)
	for _, test := range []struct {
		id    int64
		epoch int16
		topic string
		code  int16
	}{{-1, 0, "orders", -1}, {5, -1, "orders", -1}, {-1, 0, "missing", 3}} {
		req := kmsg.NewPtrWriteTxnMarkersRequest()
		req.Version = 1
		marker := kmsg.NewWriteTxnMarkersRequestMarker()
		marker.ProducerID, marker.ProducerEpoch, marker.Committed = test.id, test.epoch, true
		marker.Topics = []kmsg.WriteTxnMarkersRequestMarkerTopic{{Topic: test.topic, Partitions: []int32{0}}}
		req.Markers = append(req.Markers, marker)
		if got := ask[*kmsg.WriteTxnMarkersResponse](c, 1, req).Markers[0].Topics[0].Partitions[0].ErrorCode; got != test.code {
			t.Errorf("(%d,%d) in %s: error %d, want %d", test.id, test.epoch, test.topic, got, test.code)
		}
	}
	if p := ask[*kmsg.FetchResponse](c, 1, fetchRequest(12, "orders", [16]byte{}, 0)).Topics[0].Partitions[0]; p.HighWatermark != 0 {
		t.Errorf("high watermark %d", p.HighWatermark)
	}
}

// A deletion that times out tells the low watermark of its beginning.
func TestDeleteRecordsTimesOut(t *testing.T) {
	c := newCluster(t, nil)
	ask[*kmsg.ProduceResponse](c, 1, produceRequest(12, "orders", [16]byte{}, 0, records(3)))
	c.Advance(time.Second)
	if err := c.Pause(2); err != nil { // the follower
		t.Fatal(err)
	}
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.Version, req.TimeoutMillis = 2, 100
	req.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: "orders", Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Partition: 0, Offset: 2}}}}
	if p := ask[*kmsg.DeleteRecordsResponse](c, 1, req).Topics[0].Partitions[0]; p.ErrorCode != 7 || p.LowWatermark != 0 {
		t.Errorf("got %+v", p)
	}
}

// Without any property a single broker serves groups and transactions.
func TestOneBrokerIsEnough(t *testing.T) {
	started, err := simbroker.Start(simbroker.Config{Clock: simbroker.Simulated(time.UnixMilli(1_700_000_000_000))})
	if err != nil {
		t.Fatal(err)
	}
	defer started.Close()
	c := &cluster{Cluster: started, t: t}
	for kind, key := range map[int8]string{0: "group", 1: "transaction"} {
		if c.coordinator(kind, key) != 1 {
			t.Errorf("no coordinator of kind %d", kind)
		}
	}
}

// A client of a broker that listens on all addresses is told the one that it
// came by.
func TestListeningOnAllAddresses(t *testing.T) {
	started, err := simbroker.Start(simbroker.Config{ListenAddress: "0.0.0.0:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer started.Close()
	_, port, err := net.SplitHostPort(started.Bootstrap()[0])
	if err != nil {
		t.Fatal(err)
	}
	req := kmsg.NewPtrMetadataRequest()
	content := exchange(t, net.JoinHostPort("127.0.0.1", port), req)
	resp := req.ResponseKind().(*kmsg.MetadataResponse)
	if err := resp.ReadFrom(content[4:]); err != nil {
		t.Fatal(err)
	}
	if len(resp.Brokers) != 1 || resp.Brokers[0].Host != "127.0.0.1" {
		t.Errorf("brokers %+v", resp.Brokers)
	}
}

// A client that asks for much and reads nothing holds up to a few answers in
// memory, and gets all of them when it reads.
func TestSlowReaders(t *testing.T) {
	started, _ := listen(t, 1)
	name := "large"
	create := kmsg.NewPtrCreateTopicsRequest()
	create.Version = 7
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
	create.Topics = append(create.Topics, topic)
	exchange(t, started.Bootstrap()[0], create)
	for range 20 {
		batch := bytes.Repeat([]byte{'v'}, 500_000)
		exchange(t, started.Bootstrap()[0], produceRequest(12, name, [16]byte{}, 0, commitlog.Build(commitlog.Plainly(), []commitlog.Record{{Value: batch}}).Raw))
	}
	socket, err := net.Dial("tcp", started.Bootstrap()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	socket.SetDeadline(time.Now().Add(deadline))
	var before, during runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const asked = 12
	fetch := fetchRequest(12, name, [16]byte{}, 0)
	fetch.MaxBytes = 50 << 20
	fetch.Topics[0].Partitions[0].PartitionMaxBytes = 50 << 20
	var all []byte
	for i := range int32(asked) {
		all = append(all, kmsg.NewRequestFormatter().AppendRequest(nil, fetch, i)...)
	}
	if _, err := socket.Write(all); err != nil {
		t.Fatal(err)
	}
	exchange(t, started.Bootstrap()[0], fetch) // by then the first are handled
	runtime.GC()
	runtime.ReadMemStats(&during)
	if grown := int64(during.HeapAlloc) - int64(before.HeapAlloc); grown > 60<<20 {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
	for i := range int32(asked) {
		content := readFrame(t, socket)
		if got := int32(content[3]); got != i || len(content) < 10_000_000 {
			t.Fatalf("answer %d: correlation id %d, %d bytes", i, got, len(content))
		}
	}
}
