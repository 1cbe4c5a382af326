package workload

import (
	"context"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Producer sends records to one topic at a steady rate, outside transactions.
type Producer struct {
	Seeds []string
	Topic string
	// Every is the time between two records.
	Every time.Duration
	// LeaderOnly has the leader's append acknowledged alone (acks=1), so that
	// the producer goes on while followers stand still.
	LeaderOnly bool
}

// Run implements App.
func (p Producer) Run(ctx context.Context) error {
	opts := []kgo.Opt{kgo.SeedBrokers(p.Seeds...), kgo.DefaultProduceTopic(p.Topic), kgo.ClientID(p.Topic + "-producer"), kgo.ProducerLinger(0)}
	if p.LeaderOnly {
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	}
	sent := 0
	return run(ctx, opts, func(ctx context.Context, cl *kgo.Client) error {
		tick := time.NewTicker(p.Every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			if err := cl.ProduceSync(ctx, record(sent)).FirstErr(); err != nil {
				return err
			}
			sent++
		}
	})
}

// record is the nth record of an application. Its key spreads records over
// partitions evenly.
func record(n int) *kgo.Record {
	s := strconv.Itoa(n)
	return &kgo.Record{Key: []byte(s), Value: []byte("record " + s)}
}
