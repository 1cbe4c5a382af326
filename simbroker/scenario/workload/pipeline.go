package workload

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Pipeline consumes one topic, transforms and produces to another, exactly once
// (KIP-447): what it read and what it wrote are committed in one transaction.
type Pipeline struct {
	Seeds           []string
	Group           string
	From, To        string
	TransactionalID string
	// Work is how long one transaction takes, on top of its requests.
	Work time.Duration
}

// Run implements App.
func (p Pipeline) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		session, err := kgo.NewGroupTransactSession(
			kgo.SeedBrokers(p.Seeds...), kgo.ClientID(p.TransactionalID), kgo.TransactionalID(p.TransactionalID),
			kgo.ConsumerGroup(p.Group), kgo.ConsumeTopics(p.From), kgo.DefaultProduceTopic(p.To),
			kgo.FetchIsolationLevel(kgo.ReadCommitted()),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(250*time.Millisecond),
			kgo.ProducerLinger(0),
		)
		if err != nil {
			return err
		}
		if err := p.transform(ctx, session); err != nil {
			pause(ctx, retryAfter)
		}
		session.Close()
	}
	return nil
}

func (p Pipeline) transform(ctx context.Context, session *kgo.GroupTransactSession) error {
	for ctx.Err() == nil {
		fetches := session.PollFetches(ctx)
		if err := fetchError(fetches); err != nil && ctx.Err() == nil {
			return err
		}
		if fetches.NumRecords() == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return err
		}
		promise := kgo.AbortingFirstErrPromise(session.Client())
		fetches.EachRecord(func(r *kgo.Record) {
			session.Produce(ctx, &kgo.Record{Key: r.Key, Value: r.Value}, promise.Promise())
		})
		pause(ctx, p.Work)
		if _, err := session.End(ctx, kgo.TransactionEndTry(promise.Err() == nil)); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}
