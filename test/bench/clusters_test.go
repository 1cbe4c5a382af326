package bench

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/test/kafka"
)

// cluster is one of those that do the same work.
type cluster struct {
	name  string // empty for the simulator
	seeds []string
}

// BenchmarkClusters is franz-go at work on the simulator, beside the same on
// kfake and, where LSO_KAFKA names a version, on a real Kafka of three brokers.
func BenchmarkClusters(b *testing.B) {
	var real []string
	b.Run("start", func(b *testing.B) { startClusters(b) })
	if version := os.Getenv(kafka.VersionVariable); version == "" {
		b.Logf("not run beside a real Kafka, which is asked for by %s=4.3.1", kafka.VersionVariable)
	} else {
		begun := time.Now()
		k := kafka.StartFor(b, kafka.Config{Version: version, Brokers: brokers, Properties: map[string]string{
			"transaction.state.log.replication.factor": "3", "offsets.topic.replication.factor": "3",
		}})
		b.Logf("a real Kafka took %v to start", time.Since(begun).Round(time.Millisecond))
		real = k.Bootstrap()
	}
	b.Run("produce", func(b *testing.B) { produceClusters(b, real) })
	b.Run("fetch", func(b *testing.B) { fetchClusters(b, real) })
	b.Run("transactions", func(b *testing.B) { transactionClusters(b, real) })
	b.Run("offsets", func(b *testing.B) { offsetClusters(b, real) })
}

// clusters are a new simulator, a new kfake and the real Kafka, if there is one,
// each with the topics, which have so many partitions and replicas (but for
// kfake, which knows no replicas).
func clusters(b *testing.B, real []string, partitions, replicas int, topics ...string) []cluster {
	b.Helper()
	sim, err := simbroker.Start(simbroker.Config{Brokers: brokers, ListenAddress: "127.0.0.1:0"})
	must(b, err)
	b.Cleanup(func() { sim.Close() })
	fake, err := kfake.NewCluster(kfake.NumBrokers(brokers), kfake.SeedTopics(int32(partitions), topics...))
	must(b, err)
	b.Cleanup(fake.Close)
	all := []cluster{{"", sim.Bootstrap()}, {"kfake", fake.ListenAddrs()}}
	if real != nil {
		all = append(all, cluster{"kafka", real})
	}
	for _, c := range all {
		if c.name == "kfake" {
			continue
		}
		cl := client(b, c)
		admin := kadm.NewClient(cl)
		for _, topic := range topics {
			_, err := admin.DeleteTopics(context.Background(), topic) // of another benchmark
			must(b, err)
			until(b, func() bool {
				created, err := admin.CreateTopic(context.Background(), int32(partitions), int16(replicas), nil, topic)
				return err == nil && created.Err == nil
			})
		}
	}
	return all
}

// until asks again and again, for at most a minute.
func until(b *testing.B, done func() bool) {
	b.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatal("not done after a minute")
		}
	}
}

func client(b *testing.B, c cluster, opts ...kgo.Opt) *kgo.Client {
	b.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.seeds...))...)
	must(b, err)
	b.Cleanup(cl.Close)
	return cl
}

// compare has the clusters do their work in turn.
func compare(b *testing.B, all []cluster, work func(cluster) func()) {
	b.Helper()
	var sides []side
	for _, c := range all {
		sides = append(sides, side{c.name, work(c)})
	}
	inTurn(b, sides[0].do, sides[1:]...)
}

// startClusters is three brokers that listen, from nothing to nothing.
func startClusters(b *testing.B) {
	versus(b, "kfake", func() {
		sim, err := simbroker.Start(simbroker.Config{Brokers: brokers, ListenAddress: "127.0.0.1:0"})
		must(b, err)
		must(b, sim.Close())
	}, func() {
		fake, err := kfake.NewCluster(kfake.NumBrokers(brokers))
		must(b, err)
		fake.Close()
	})
}

// produceClusters is 10,000 records of 100 bytes: plainly, with three replicas,
// and in one transaction.
func produceClusters(b *testing.B, real []string) {
	for _, tt := range []struct {
		name        string
		replicas    int
		transaction bool
	}{{"plain", 1, false}, {"three replicas", 3, false}, {"in one transaction", 1, true}} {
		b.Run(tt.name, func(b *testing.B) {
			compare(b, clusters(b, real, 3, tt.replicas, "t"), func(c cluster) func() { return producing(b, c, 10_000, tt.transaction) })
		})
	}
}

// producing returns what produces so many records to the topic t.
func producing(b *testing.B, c cluster, records int, transaction bool) func() {
	b.Helper()
	opts := []kgo.Opt{kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(kgo.NoCompression())}
	if transaction {
		opts = append(opts, kgo.TransactionalID("x"))
	}
	cl := client(b, c, opts...)
	value := make([]byte, 100)
	ctx := context.Background()
	return func() {
		if transaction {
			must(b, cl.BeginTransaction())
		}
		for range records {
			cl.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
				if err != nil {
					b.Error(err)
				}
			})
		}
		must(b, cl.Flush(ctx))
		if transaction {
			must(b, cl.EndTransaction(ctx, kgo.TryCommit))
		}
	}
}

// fetchClusters is a consumer that begins at the start and reads 100,000 records
// of 100 bytes: those that were written plainly, and read_committed those of
// transactions of 10,000 records.
func fetchClusters(b *testing.B, real []string) {
	const records = 100_000
	for _, tt := range []struct {
		name      string
		committed bool
	}{{"plain", false}, {"committed", true}} {
		b.Run(tt.name, func(b *testing.B) {
			all := clusters(b, real, 3, 1, "t")
			for _, c := range all {
				produce := producing(b, c, 10_000, tt.committed)
				for range records / 10_000 {
					produce()
				}
			}
			compare(b, all, func(c cluster) func() {
				opts := []kgo.Opt{kgo.SeedBrokers(c.seeds...), kgo.ConsumeTopics("t"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
				if tt.committed {
					opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
				}
				return func() { consume(b, records, opts) }
			})
		})
	}
}

// consume reads so many records with a client of its own.
func consume(b *testing.B, records int, opts []kgo.Opt) {
	cl, err := kgo.NewClient(opts...)
	must(b, err)
	defer cl.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for n := 0; n < records; {
		fetches := cl.PollFetches(ctx)
		must(b, fetches.Err())
		n += fetches.NumRecords()
	}
}

// transactionClusters is 1,000 transactions, of a record each: one after the
// other, and in ten producers at the same time.
func transactionClusters(b *testing.B, real []string) {
	const transactions = 1000
	for _, producers := range []int{1, 10} {
		b.Run(fmt.Sprintf("producers=%d", producers), func(b *testing.B) {
			compare(b, clusters(b, real, 3, 1, "t"), func(c cluster) func() {
				var writers []func()
				for p := range producers {
					cl := client(b, c, kgo.TransactionalID(fmt.Sprint("x", p)), kgo.DefaultProduceTopic("t"), kgo.ProducerLinger(0))
					writers = append(writers, func() {
						for range transactions / producers {
							transact(b, cl)
						}
					})
				}
				return func() {
					var running sync.WaitGroup
					for _, write := range writers {
						running.Go(write)
					}
					running.Wait()
				}
			})
		})
	}
}

// transact writes and commits one transaction.
func transact(b *testing.B, cl *kgo.Client) {
	ctx := context.Background()
	for _, err := range []error{
		cl.BeginTransaction(),
		cl.ProduceSync(ctx, &kgo.Record{Value: []byte("v")}).FirstErr(),
		cl.EndTransaction(ctx, kgo.TryCommit),
	} {
		if err != nil {
			b.Error(err)
		}
	}
}

// offsetClusters is the high watermark of every partition: of 100,000, and of
// 3,000 beside a real Kafka, which keeps files for each.
func offsetClusters(b *testing.B, real []string) {
	for _, tt := range []struct {
		topics, partitions int
		real               []string
	}{{1, 3000, real}, {10, 10_000, nil}} {
		b.Run(fmt.Sprintf("partitions=%d", tt.topics*tt.partitions), func(b *testing.B) {
			var topics []string
			for n := range tt.topics {
				topics = append(topics, fmt.Sprint("offsets-", n))
			}
			compare(b, clusters(b, tt.real, tt.partitions, 1, topics...), func(c cluster) func() {
				cl := client(b, c, kgo.MetadataMinAge(time.Minute))
				// A real Kafka names leaders before they serve so many partitions.
				until(b, func() bool { return listAll(cl, topics, tt.partitions) == nil })
				return func() { must(b, listAll(cl, topics, tt.partitions)) }
			})
		})
	}
}

// listAll asks for the high watermarks of all partitions, each at its leader.
func listAll(cl *kgo.Client, topics []string, partitions int) error {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	for _, topic := range topics {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for n := range partitions {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = int32(n), -1
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(context.Background(), cl)
	if err != nil {
		return err
	}
	answered := 0
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("%s-%d: %w", t.Topic, p.Partition, err)
			}
			answered++
		}
	}
	if want := len(topics) * partitions; answered != want {
		return fmt.Errorf("%d of %d partitions are answered", answered, want)
	}
	return nil
}
