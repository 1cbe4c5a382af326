package replica

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// alone is a broker without peers that leads one partition.
func alone() (*Broker, kafka.TopicPartition) {
	loop := clock.NewSimulated(start)
	tp := kafka.TopicPartition{Topic: "T1"}
	c := &cluster{states: map[kafka.TopicPartition]PartitionState{tp: {}}}
	b := New(0, DefaultConfig(), Deps{Clock: clock.NewHost(loop), Metadata: c})
	cfg := DefaultTopicConfig()
	cfg.Log.SegmentBytes = 64 << 20
	cfg.Log.RetentionBytes = 256 << 20
	b.Apply(PartitionState{Partition: tp, Replicas: one(0), ISR: one(0), Config: cfg})
	return b, tp
}

func payload(records, size int) commitlog.Batch {
	rs := make([]commitlog.Record, records)
	for i := range rs {
		rs[i] = commitlog.Record{TimestampMs: start.UnixMilli(), Value: make([]byte, size)}
	}
	return commitlog.Build(commitlog.Plainly(), rs)
}

func BenchmarkProduce(b *testing.B) {
	for _, n := range []int{1, 100, 5000} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			broker, tp := alone()
			batch := payload(n, 100)
			b.SetBytes(int64(len(batch.Raw)))
			b.ReportAllocs()
			for b.Loop() {
				r := ProduceRequest{Acks: -1, Timeout: time.Second, Partitions: []ProducePartition{{Partition: tp, Records: slices.Clone(batch.Raw)}}}
				broker.Produce(r, func(r ProduceResult) {
					if r.Partitions[0].Err != nil {
						b.Fatal(r.Partitions[0].Err)
					}
				})
				if log := broker.Log(tp); log.Size() > 512<<20 {
					log.DeleteOldSegments(start.UnixMilli())
				}
			}
		})
	}
}

func BenchmarkFetch(b *testing.B) {
	for _, n := range []int{1, 100, 5000} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			broker, tp := alone()
			batch := payload(n, 100)
			for size := 0; size < 16<<20; size += len(batch.Raw) {
				r := ProduceRequest{Acks: 1, Partitions: []ProducePartition{{Partition: tp, Records: slices.Clone(batch.Raw)}}}
				broker.Produce(r, func(ProduceResult) {})
			}
			end := broker.Log(tp).LogEndOffset()
			r := fetchFrom(tp, 0, ReadCommitted)
			b.SetBytes(1 << 20)
			b.ReportAllocs()
			for b.Loop() {
				if r.Partitions[0].Offset >= end {
					r.Partitions[0].Offset = 0
				}
				broker.Fetch(r, func(res FetchResult) {
					p := res.Partitions[0]
					if len(p.Records.Bytes()) == 0 {
						b.Fatal("empty")
					}
					batches := p.Records.Batches()
					r.Partitions[0].Offset = batches[len(batches)-1].LastOffset() + 1
				})
			}
		})
	}
}

// BenchmarkReplicate is one record's way to two followers that follow many
// partitions, on a simulated clock.
func BenchmarkReplicate(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("partitions=%d", n), func(b *testing.B) {
			c := newCluster(b, 3)
			var tp kafka.TopicPartition
			for i := range n {
				s := PartitionState{
					Partition: kafka.TopicPartition{Topic: "T", Partition: int32(i)}, TopicID: kafka.TopicID{1},
					Replicas: []kafka.BrokerID{0, 1, 2}, ISR: []kafka.BrokerID{0, 1, 2}, Config: DefaultTopicConfig(),
				}
				tp = s.Partition
				c.publish(s)
			}
			c.settle()
			batch := N(1)
			for b.Loop() {
				if got := c.send(acksAll(tp, request(tp, batch))); got[:2] != "ok" {
					b.Fatal(got)
				}
			}
		})
	}
}
