package workload

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Consumer reads one topic in a group, read_committed, and commits what it has
// read after each batch.
type Consumer struct {
	Seeds []string
	Group string
	Topic string
	// Batch is the most records that it takes at a time, Work how long it works
	// on a batch. A batch of 0 means as many as there are.
	Batch int
	Work  time.Duration
}

// Run implements App.
func (c Consumer) Run(ctx context.Context) error {
	opts := []kgo.Opt{
		kgo.SeedBrokers(c.Seeds...), kgo.ClientID(c.Group), kgo.ConsumerGroup(c.Group), kgo.ConsumeTopics(c.Topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(250 * time.Millisecond),
	}
	return run(ctx, opts, func(ctx context.Context, cl *kgo.Client) error {
		for ctx.Err() == nil {
			fetches := cl.PollRecords(ctx, c.Batch)
			if err := fetchError(fetches); err != nil && ctx.Err() == nil {
				return err
			}
			if !pause(ctx, c.Work) {
				return nil
			}
			if err := cl.CommitRecords(ctx, fetches.Records()...); err != nil && ctx.Err() == nil {
				return err
			}
			cl.AllowRebalance()
		}
		return nil
	})
}
