package simbroker_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/simbroker"
)

// small are the properties of a cluster that tests start in no time.
var small = map[string]string{
	"offsets.topic.num.partitions":             "5",
	"offsets.topic.replication.factor":         "1",
	"transaction.state.log.num.partitions":     "5",
	"transaction.state.log.replication.factor": "1",
	"transaction.state.log.min.isr":            "1",
	"group.initial.rebalance.delay.ms":         "0",
}

// overTCP is a cluster of three brokers on the wall clock, closed and checked
// with the test.
func overTCP(t *testing.T, properties map[string]string) *simbroker.Cluster {
	t.Helper()
	c, err := simbroker.Start(simbroker.Config{Brokers: 3, Properties: properties, ListenAddress: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func client(t *testing.T, c *simbroker.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.Bootstrap()...)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// within is a context that ends a test that hangs.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func createTopic(t *testing.T, ctx context.Context, cl *kgo.Client, topic string, partitions int32, replicas int16) {
	t.Helper()
	r, err := kadm.NewClient(cl).CreateTopic(ctx, partitions, replicas, nil, topic)
	if err != nil || r.Err != nil {
		t.Fatal(err, r.Err)
	}
}

func TestProduceAndConsumeOverTCP(t *testing.T) {
	c := overTCP(t, small)
	ctx := within(t, 20*time.Second)
	cl := client(t, c, kgo.ConsumeTopics("orders"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	createTopic(t, ctx, cl, "orders", 3, 3)
	const n = 1000
	for i := range n {
		cl.Produce(ctx, &kgo.Record{Topic: "orders", Key: []byte(fmt.Sprint(i)), Value: []byte("v")}, func(_ *kgo.Record, err error) {
			if err != nil {
				t.Error(err)
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	got := 0
	for got < n {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatal(err)
		}
		got += fetches.NumRecords()
	}
	if got != n {
		t.Errorf("consumed %d records, produced %d", got, n)
	}
}
