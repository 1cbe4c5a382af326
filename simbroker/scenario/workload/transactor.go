package workload

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Transactor writes one transaction after the other to a topic.
type Transactor struct {
	Seeds           []string
	Topic           string
	TransactionalID string
	// Records is how many a transaction has, at least 1.
	Records int
	// Work is how long a transaction stays open, Pause the time between two.
	Work, Pause time.Duration
	// AbortEvery has every nth transaction aborted; 0 aborts none.
	AbortEvery int
}

// Run implements App.
func (t Transactor) Run(ctx context.Context) error {
	ended := 0
	return run(ctx, transactional(t.Seeds, t.Topic, t.TransactionalID, time.Minute), func(ctx context.Context, cl *kgo.Client) error {
		for pause(ctx, t.Pause) {
			if err := write(ctx, cl, t.Records); err != nil {
				return err
			}
			pause(ctx, t.Work)
			ended++
			commit := kgo.TryCommit
			if t.AbortEvery > 0 && ended%t.AbortEvery == 0 {
				commit = kgo.TryAbort
			}
			// The end is worth waiting for even when the application is told to stop.
			if err := cl.EndTransaction(context.WithoutCancel(ctx), commit); err != nil {
				return err
			}
		}
		return nil
	})
}

// Leaver begins a transaction, writes to it, and never ends it: the coordinator
// aborts it after its timeout. Then it begins the next.
type Leaver struct {
	Seeds           []string
	Topic           string
	TransactionalID string
	Records         int
	// Timeout is the transaction's; Pause is the time from one transaction's
	// timeout to the next one's beginning.
	Timeout, Pause time.Duration
}

// Run implements App.
func (l Leaver) Run(ctx context.Context) error {
	return run(ctx, transactional(l.Seeds, l.Topic, l.TransactionalID, l.Timeout), func(ctx context.Context, cl *kgo.Client) error {
		if err := write(ctx, cl, l.Records); err != nil {
			return err
		}
		pause(ctx, l.Timeout+l.Pause)
		return nil
	})
}

func transactional(seeds []string, topic, id string, timeout time.Duration) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(seeds...), kgo.DefaultProduceTopic(topic), kgo.ClientID(id),
		kgo.TransactionalID(id), kgo.TransactionTimeout(timeout), kgo.ProducerLinger(0),
	}
}

// write begins a transaction and writes n records to it.
func write(ctx context.Context, cl *kgo.Client, n int) error {
	if err := cl.BeginTransaction(); err != nil {
		return err
	}
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = record(i)
	}
	return cl.ProduceSync(ctx, records...).FirstErr()
}
