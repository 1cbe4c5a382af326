package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
	"github.com/lso-exporter/lso-exporter/test/kafka"
	"github.com/lso-exporter/lso-exporter/test/litmus"
	"github.com/lso-exporter/lso-exporter/test/witness"
)

// crowd is franz-go applications at work on a cluster, over watched connections.
type crowd struct {
	t     *testing.T
	w     *world
	seeds []string
	wg    sync.WaitGroup
}

// client returns a watched client that ends with the test. A broker may not have
// heard of a topic yet that another one has created.
func (c *crowd) client(opts ...kgo.Opt) *kgo.Client {
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.seeds...), kgo.Dialer(c.w.witness.Dial),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.UnknownTopicRetries(-1))...)
	if err != nil {
		c.t.Fatal(err)
	}
	return cl
}

// run runs an application until ctx is done.
func (c *crowd) run(ctx context.Context, cl *kgo.Client, work func(context.Context) error) {
	c.wg.Go(func() {
		defer cl.Close()
		for ctx.Err() == nil {
			// What is under way is finished, so that the record knows how it ended.
			if err := work(context.WithoutCancel(ctx)); err != nil {
				c.t.Error(err)
				return
			}
		}
	})
}

// transactor commits transactions at full speed, and aborts one in five.
func (c *crowd) transactor(ctx context.Context, id string, seed uint64, places []place) {
	cl := c.client(kgo.TransactionalID(id), kgo.TransactionTimeout(time.Minute))
	rnd := rand.New(rand.NewPCG(seed, 1))
	c.run(ctx, cl, func(ctx context.Context) error {
		if err := cl.BeginTransaction(); err != nil {
			return err
		}
		for range 1 + rnd.IntN(4) {
			p := places[rnd.IntN(len(places))]
			if err := cl.ProduceSync(ctx, records(p, 1+rnd.IntN(5))...).FirstErr(); err != nil {
				return fmt.Errorf("%s: produce: %w", id, err)
			}
		}
		return cl.EndTransaction(ctx, kgo.TransactionEndTry(rnd.IntN(5) > 0))
	})
}

// lingerer commits transactions that stay open for a while.
func (c *crowd) lingerer(ctx context.Context, id string, open time.Duration, places ...place) {
	cl := c.client(kgo.TransactionalID(id), kgo.TransactionTimeout(time.Minute))
	c.run(ctx, cl, func(ctx context.Context) error {
		if err := cl.BeginTransaction(); err != nil {
			return err
		}
		for _, p := range places {
			if err := cl.ProduceSync(ctx, records(p, 1)...).FirstErr(); err != nil {
				return fmt.Errorf("%s: produce: %w", id, err)
			}
		}
		if err := c.w.Wait(ctx, open); err != nil {
			return err
		}
		return cl.EndTransaction(ctx, kgo.TryCommit)
	})
}

// plain appends records without a transaction.
func (c *crowd) plain(ctx context.Context, p place) {
	cl := c.client()
	c.run(ctx, cl, func(ctx context.Context) error { return cl.ProduceSync(ctx, records(p, 7)...).FirstErr() })
}

// reader commits the end of a partition, as either isolation level sees it.
func (c *crowd) reader(ctx context.Context, group string, p place, committed bool) {
	cl := c.client()
	admin := kadm.NewClient(cl)
	list := admin.ListEndOffsets
	if committed {
		list = admin.ListCommittedOffsets
	}
	c.run(ctx, cl, func(ctx context.Context) error {
		ends, err := list(ctx, p.topic)
		if err != nil {
			return err
		}
		end, ok := ends.Lookup(p.topic, p.partition)
		if !ok || kerr.IsRetriable(end.Err) {
			return nil
		}
		if end.Err != nil {
			return end.Err
		}
		var offsets kadm.Offsets
		offsets.AddOffset(p.topic, p.partition, end.Offset, -1)
		return admin.CommitAllOffsets(ctx, group, offsets)
	})
}

func records(p place, n int) []*kgo.Record {
	var out []*kgo.Record
	for range n {
		out = append(out, &kgo.Record{Topic: p.topic, Partition: p.partition, Value: []byte("v")})
	}
	return out
}

// underCrowd sweeps a cluster for a while as often as it can, while applications
// commit transactions as fast as they can. The oracle finds no sample that was
// not true at some moment of its sweep, and no transaction is called hanging.
func underCrowd(t *testing.T, bootstrap []string, faults scenario.Faults, while time.Duration) {
	network, err := scenario.Dial(t.Context(), bootstrap, faults)
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()
	w := &world{t: t, witness: witness.New(network.Brokers(), timing, network.Now())}
	w.Cluster = w.witness.Watch(network)
	w.createTopic("transactions", []int32{1, 2}, []int32{2, 3})
	w.createTopic("mixed", []int32{3, 1})
	w.createTopic("plain", []int32{1, 2}, []int32{2, 3})
	client, err := collector.NewKafka(kgo.SeedBrokers(bootstrap...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	// A cluster under full load on a small machine takes its time to answer. What
	// holds a partition is looked up whenever two sweeps find it standing.
	e := newExporter(t, t.Name(), client, time.Now,
		collector.Options{Period: time.Minute, BrokerTimeout: 20 * time.Second, LookUpAfter: time.Nanosecond}, metrics.Options{})

	c := &crowd{t: t, w: w, seeds: bootstrap}
	ctx, cancel := context.WithCancel(t.Context())
	transactions := []place{{"transactions", 0, 1}, {"transactions", 1, 2}, {"mixed", 0, 3}}
	for i := range 3 {
		c.transactor(ctx, fmt.Sprint("x", i), uint64(i), transactions)
	}
	c.lingerer(ctx, "lingering-0", 150*time.Millisecond, transactions...)
	c.lingerer(ctx, "lingering-1", 250*time.Millisecond, transactions[1:]...)
	c.plain(ctx, transactions[2])
	c.plain(ctx, place{"plain", 0, 1})
	for i, p := range append(transactions, place{"plain", 0, 1}) {
		c.reader(ctx, fmt.Sprint("committed-", i), p, true)
		c.reader(ctx, fmt.Sprint("uncommitted-", i), p, false)
	}
	sweeps := 0
	verdicts := map[string]int{}
	// A busy machine may need longer to find a transaction that stands still.
	began := time.Now()
	for ; time.Since(began) < while || len(verdicts) == 0 && time.Since(began) < 10*while; sweeps++ {
		for _, m := range parsePage(e.sweep())["kafka_partition_blocking_transaction_info"] {
			verdicts[labelsOf(m)["verdict"]]++
		}
	}
	cancel()
	c.wg.Wait()
	page := parsePage(e.scrape())
	below := value(t, page, "kafka_partition_lso_below_hwm_seconds_total", "topic", "transactions", "partition", "0")
	t.Logf("%d sweeps, %d acts; below on transactions-0 for %v of %v s", sweeps, len(w.witness.Acts()), below,
		value(t, page, "kafka_partition_observed_seconds_total", "topic", "transactions", "partition", "0"))
	t.Logf("transactions that held partitions: %v", verdicts)
	if n := verdicts["hanging"] + verdicts["ownerless"] + verdicts["overdue"]; n > 0 || len(verdicts) == 0 {
		t.Errorf("%d healthy transactions of %v were called hanging, ownerless or overdue", n, verdicts)
	}
	if below == 0 {
		t.Error("no transaction was ever seen open: there was no load")
	}
	for partition := range 2 {
		if below := value(t, page, "kafka_partition_lso_below_hwm_seconds_total", "topic", "plain", "partition", fmt.Sprint(partition)); below != 0 {
			t.Errorf("plain-%d: below for %v s", partition, below)
		}
	}
	e.judge(w.witness.Acts())
}

// On the simulator over TCP, with clients that run at the same time.
func TestCrowd(t *testing.T) {
	t.Parallel()
	sim, err := simbroker.Start(simbroker.Config{Brokers: 3, Properties: litmus.Properties(), ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	underCrowd(t, sim.Bootstrap(), simulated.New(sim), 3*time.Second)
}

// On a real Kafka, for a minute.
func TestCrowdOnKafka(t *testing.T) {
	cluster := kafka.StartFor(t, kafka.Config{Version: kafka.Version(t), Brokers: 3, Properties: litmus.Properties()})
	underCrowd(t, cluster.Bootstrap(), cluster, time.Minute)
}
