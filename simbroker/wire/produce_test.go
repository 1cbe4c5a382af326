package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
)

// produced shows an answer: topic, partition, error, base offset, log start, and
// what is wrong with which record.
func produced(resp *kmsg.ProduceResponse) string {
	var s []string
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			one := fmt.Sprintf("%s-%d error %d base %d start %d", t.Topic, p.Partition, p.ErrorCode, p.BaseOffset, p.LogStartOffset)
			if p.ErrorMessage != nil {
				one += ": " + *p.ErrorMessage
			}
			for _, e := range p.ErrorRecords {
				one += fmt.Sprintf(" [%d %s]", e.RelativeOffset, *e.ErrorMessage)
			}
			s = append(s, one)
		}
	}
	return strings.Join(s, "; ")
}

// What a real Kafka answers to odd requests.
func TestProduceOddForms(t *testing.T) {
	c := newCluster(t, nil)
	one := func(partition int32, batch []byte) kmsg.ProduceRequestTopicPartition {
		return kmsg.ProduceRequestTopicPartition{Partition: partition, Records: batch}
	}
	magic3 := records(1)
	magic3[16] = 3
	for _, test := range []struct {
		why    string
		topics []kmsg.ProduceRequestTopic
		want   string
	}{
		{"the last of two counts", []kmsg.ProduceRequestTopic{{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{one(0, records(2)), one(0, records(1))}}},
			"orders-0 error 0 base 0 start 0"},
		{"also in another topic", []kmsg.ProduceRequestTopic{
			{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{one(0, records(5)), one(7, records(1))}},
			{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{one(0, records(1))}},
		}, "orders-0 error 0 base 1 start 0; orders-7 error 3 base -1 start -1"},
		{"a topic without partitions", []kmsg.ProduceRequestTopic{{Topic: "orders"}}, ""},
		{"bytes behind the batch", []kmsg.ProduceRequestTopic{{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{one(0, append(records(1), 1, 2, 3))}}},
			"orders-0 error 0 base 2 start 0"},
		{"half a batch behind the batch", []kmsg.ProduceRequestTopic{{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{one(0, append(records(1), records(1)[:40]...))}}},
			"orders-0 error 0 base 3 start 0"},
		{"zeros behind the batch", []kmsg.ProduceRequestTopic{{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{one(0, append(records(1), make([]byte, 17)...))}}},
			"orders-0 error 2 base -1 start -1"},
		{"no batch at all spoils the request", []kmsg.ProduceRequestTopic{{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{one(0, records(1)), one(1, magic3)}}},
			"orders-0 error 2 base -1 start -1: Invalid magic found in record: 3; orders-1 error 2 base -1 start -1: Invalid magic found in record: 3"},
		{"too small for a batch", []kmsg.ProduceRequestTopic{{Topic: "orders", Partitions: []kmsg.ProduceRequestTopicPartition{one(0, make([]byte, 12))}}},
			"orders-0 error 2 base -1 start -1: Record size 0 is less than the minimum record overhead (14)"},
	} {
		req := produceRequest(12, "", [16]byte{}, 0, nil)
		req.Topics = test.topics
		before := len(req.Topics[0].Partitions)
		if got := produced(ask[*kmsg.ProduceResponse](c, 1, req)); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.why, got, test.want)
		}
		if len(req.Topics[0].Partitions) != before {
			t.Errorf("%s: the request has changed", test.why)
		}
	}
}

// A refused batch comes with the log start and, from v8 on, with what is wrong
// with its records (KIP-467).
func TestProduceTellsWhatIsWrong(t *testing.T) {
	c := newCluster(t, map[string]string{"log.cleanup.policy": "compact", "log.message.timestamp.before.max.ms": "9223372036854775807"})
	now := c.Now().UnixMilli()
	refused := func() []byte {
		return commitlog.Build(commitlog.Plainly(), []commitlog.Record{{TimestampMs: now, Key: []byte("k")}, {TimestampMs: now}}).Raw
	}
	const text = "Compacted topic cannot accept message without key in topic partition orders-0"
	const all = "One or more records have been rejected due to 1 record errors in total, and only showing the first three errors at most: [RecordError(batchIndex=1, message='" + text + "')]"
	for version, want := range map[int16]string{
		7: "orders-0 error 87 base -1 start 0",
		8: "orders-0 error 87 base -1 start 0: " + all + " [1 " + text + "]",
	} {
		resp := ask[*kmsg.ProduceResponse](c, 1, produceRequest(version, "orders", [16]byte{}, 0, refused()))
		decoded := &kmsg.ProduceResponse{Version: version} // as a client sees it
		if err := decoded.ReadFrom(resp.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		if got := produced(decoded); got != want {
			t.Errorf("v%d:\ngot  %s\nwant %s", version, got, want)
		}
	}
	broken := withCodec(slices.Clone(records(1)), 1) // its checksum is wrong, too
	if got := produced(ask[*kmsg.ProduceResponse](c, 1, produceRequest(9, "orders", [16]byte{}, 0, broken))); got != "orders-0 error 2 base -1 start -1" {
		t.Error(got)
	}
}

// compression.type of a topic may change while it is written to.
func TestCompressionType(t *testing.T) {
	c := newCluster(t, nil)
	value := "lz4"
	alter := kmsg.NewPtrIncrementalAlterConfigsRequest()
	alter.Version = 1
	alter.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{
		ResourceType: kmsg.ConfigResourceTypeTopic, ResourceName: "orders",
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "compression.type", Value: &value}},
	}}
	ask[*kmsg.ProduceResponse](c, 1, produceRequest(12, "orders", [16]byte{}, 0, records(1)))
	if code := ask[*kmsg.IncrementalAlterConfigsResponse](c, 1, alter).Resources[0].ErrorCode; code != 0 {
		t.Fatalf("error %d", code)
	}
	c.Advance(time.Second)
	ask[*kmsg.ProduceResponse](c, 1, produceRequest(12, "orders", [16]byte{}, 0, records(1)))
	c.Advance(time.Second)
	fetched := ask[*kmsg.FetchResponse](c, 1, fetchRequest(12, "orders", [16]byte{}, 0)).Topics[0].Partitions[0].RecordBatches
	var codecs []commitlog.Codec
	for len(fetched) > 0 {
		raw, rest, err := commitlog.Split(fetched)
		if err != nil {
			t.Fatal(err)
		}
		b, err := commitlog.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		codecs, fetched = append(codecs, b.Attributes.Codec()), rest
	}
	if !slices.Equal(codecs, []commitlog.Codec{commitlog.Uncompressed, commitlog.LZ4}) {
		t.Errorf("codecs %v", codecs)
	}
}
