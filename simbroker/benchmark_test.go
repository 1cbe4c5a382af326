package simbroker_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// many starts three brokers on a simulated clock.
func many(b *testing.B) *simbroker.Cluster {
	c, err := simbroker.Start(simbroker.Config{Brokers: 3, Clock: simbroker.Simulated(time.UnixMilli(1_700_000_000_000))})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.Close(); err != nil {
			b.Error(err)
		}
	})
	return c
}

func answer(b *testing.B, c *simbroker.Cluster, at kafka.BrokerID, req kmsg.Request) kmsg.Response {
	b.Helper()
	resp, err := c.Request(context.Background(), at, req)
	if err != nil {
		b.Fatal(err)
	}
	return resp
}

// perTopic is how many partitions one request may create.
const perTopic = 10_000

func createTopics(b *testing.B, c *simbroker.Cluster, partitions, replicas int) {
	b.Helper()
	for n := 0; n*perTopic < partitions; n++ {
		req := kmsg.NewPtrCreateTopicsRequest()
		req.Version = 7
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = fmt.Sprintf("topic-%02d", n), int32(min(partitions-n*perTopic, perTopic)), int16(replicas)
		req.Topics = append(req.Topics, topic)
		if made := answer(b, c, 1, req).(*kmsg.CreateTopicsResponse).Topics[0]; made.ErrorCode != 0 {
			b.Fatalf("create topic: error %d", made.ErrorCode)
		}
	}
	c.Advance(10 * time.Second)
}

// BenchmarkManyPartitions makes 100,000 partitions: what they take of memory, how
// much time an idle hour of them, a ListOffsets of a broker's share, and a record
// that is replicated to all replicas.
func BenchmarkManyPartitions(b *testing.B) {
	const partitions = 100_000
	for _, replicas := range []int{1, 3} {
		b.Run(fmt.Sprintf("replicas=%d", replicas), func(b *testing.B) {
			for b.Loop() {
				var before, after runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&before)
				c := many(b)
				createTopics(b, c, partitions, replicas)
				runtime.GC()
				runtime.ReadMemStats(&after)
				b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
				begun := time.Now()
				c.Advance(time.Hour)
				b.ReportMetric(float64(time.Since(begun).Milliseconds()), "ms/idle-hour")
				begun = time.Now()
				answer(b, c, 1, latestOffsets(partitions))
				b.ReportMetric(float64(time.Since(begun).Milliseconds()), "ms/ListOffsets")
				b.ReportMetric(produceRound(b, c), "µs/acks=all")
			}
		})
	}
}

func latestOffsets(partitions int) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.Version, req.ReplicaID = 7, -1
	for n := range partitions {
		if n%perTopic == 0 {
			req.Topics = append(req.Topics, kmsg.ListOffsetsRequestTopic{Topic: fmt.Sprintf("topic-%02d", n/perTopic)})
		}
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = int32(n%perTopic), -1
		last := &req.Topics[len(req.Topics)-1]
		last.Partitions = append(last.Partitions, p)
	}
	return req
}

// produceRound is how many microseconds a record takes, acknowledged by all.
func produceRound(b *testing.B, c *simbroker.Cluster) float64 {
	const rounds = 100
	begun := time.Now()
	for i := range rounds {
		for at := kafka.BrokerID(1); at <= 3; at++ { // one of them leads
			req := kmsg.NewPtrProduceRequest()
			req.Version, req.Acks, req.TimeoutMillis = 9, -1, 5000
			req.Topics = []kmsg.ProduceRequestTopic{{Topic: "topic-00", Partitions: []kmsg.ProduceRequestTopicPartition{{
				Partition: int32(i), Records: commitlog.Build(commitlog.Plainly(), []commitlog.Record{{Value: make([]byte, 100)}}).Raw,
			}}}}
			answer(b, c, at, req)
		}
	}
	return float64(time.Since(begun).Microseconds()) / rounds
}

// BenchmarkIdleDay is a day in which nothing happens on 100 partitions with three
// replicas each.
func BenchmarkIdleDay(b *testing.B) {
	c := many(b)
	createTopics(b, c, 100, 3)
	for b.Loop() {
		c.Advance(24 * time.Hour)
	}
}
