package wire_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/simbroker"
)

// clusters are what is measured: the simulator, and kfake beside it, each with
// one broker and one topic "bench" of four partitions.
var clusters = []struct {
	name  string
	start func(b *testing.B) (seeds []string)
}{
	{"simbroker", func(b *testing.B) []string {
		cluster, err := simbroker.Start(simbroker.Config{
			ListenAddress: "127.0.0.1:0",
			Properties:    map[string]string{"num.partitions": "4", "auto.create.topics.enable": "true"},
		})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { cluster.Close() })
		return cluster.Bootstrap()
	}},
	{"kfake", func(b *testing.B) []string {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DefaultNumPartitions(4), kfake.AllowAutoTopicCreation())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(cluster.Close)
		return cluster.ListenAddrs()
	}},
}

// recordsPerRound and recordSize make 10 MB a round.
const (
	recordsPerRound = 10_000
	recordSize      = 1_000
)

func client(b *testing.B, seeds []string, opts ...kgo.Opt) *kgo.Client {
	b.Helper()
	c, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.AllowAutoTopicCreation(), kgo.DefaultProduceTopic("bench"),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
	}, opts...)...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	return c
}

func produceRound(b *testing.B, c *kgo.Client, value []byte) {
	b.Helper()
	for range recordsPerRound {
		c.Produce(context.Background(), &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if err != nil {
				b.Error(err)
			}
		})
	}
	if err := c.Flush(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkProduce is an idempotent producer with acks=all at full speed.
func BenchmarkProduce(b *testing.B) {
	value := bytes.Repeat([]byte("x"), recordSize)
	for _, cluster := range clusters {
		b.Run(cluster.name, func(b *testing.B) {
			c := client(b, cluster.start(b))
			produceRound(b, c, value) // makes the topic
			b.SetBytes(recordsPerRound * recordSize)
			for b.Loop() {
				produceRound(b, c, value)
			}
		})
	}
}

// BenchmarkFetch is a consumer that reads what is there, again and again.
func BenchmarkFetch(b *testing.B) {
	value := bytes.Repeat([]byte("x"), recordSize)
	for _, cluster := range clusters {
		b.Run(cluster.name, func(b *testing.B) {
			seeds := cluster.start(b)
			produceRound(b, client(b, seeds), value)
			b.SetBytes(recordsPerRound * recordSize)
			for b.Loop() {
				c, err := kgo.NewClient(kgo.SeedBrokers(seeds...), kgo.ConsumeTopics("bench"))
				if err != nil {
					b.Fatal(err)
				}
				for n := 0; n < recordsPerRound; {
					fetches := c.PollFetches(context.Background())
					if err := fetches.Err(); err != nil {
						b.Fatal(err)
					}
					n += fetches.NumRecords()
				}
				c.Close()
			}
		})
	}
}

// BenchmarkRequest is the smallest request and its answer, one at a time.
func BenchmarkRequest(b *testing.B) {
	for _, cluster := range clusters {
		b.Run(cluster.name, func(b *testing.B) {
			c := client(b, cluster.start(b))
			for b.Loop() {
				if err := c.Ping(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
