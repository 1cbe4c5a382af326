// Package demo plays the storyline on a simulated cluster, in which everything
// that the exporter tells apart happens within a minute or two, and shows it as
// a table.
package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/storyline"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/workload"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Play tells the storyline on a cluster until ctx is done. What goes wrong at
// its beginning is returned; applications live through what happens later.
func Play(ctx context.Context, cluster *simbroker.Cluster) error {
	brokers := len(cluster.Brokers())
	s := story{Story: storyline.Of(brokers, cluster.Bootstrap()), cluster: cluster}
	if err := s.createTopics(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	problems := make(chan error, 1)
	tell := func(part func(context.Context) error) {
		running.Go(func() {
			if err := part(ctx); err != nil && ctx.Err() == nil {
				select {
				case problems <- err:
				default:
				}
			}
		})
	}
	for _, app := range s.applications() {
		tell(app.Run)
	}
	tell(s.hang)
	tell(s.leave)
	tell(s.settle)
	tell(s.stick)
	if brokers > 1 {
		tell(s.holdFollower)
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-problems:
		return err
	}
}

// story is the storyline on one cluster.
type story struct {
	storyline.Story
	cluster *simbroker.Cluster
}

func (s story) createTopics(ctx context.Context) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(s.cluster.Bootstrap()...), kgo.ClientID("demo"))
	if err != nil {
		return err
	}
	defer cl.Close()
	for _, t := range s.Topics {
		_, err := kadm.NewClient(cl).CreateTopic(ctx, int32(t.Partitions), int16(t.Replicas), nil, t.Name)
		if err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("create topic %s: %w", t.Name, err)
		}
	}
	return nil
}

// applications are those that do the same all the time.
func (s story) applications() []workload.App {
	apps := []workload.App{s.Invoicing, s.Mailer}
	for _, p := range s.Producers {
		apps = append(apps, p)
	}
	for _, c := range s.Consumers {
		apps = append(apps, c)
	}
	return apps
}

// hang makes the transaction in ledger that nobody will end, once bookkeeping
// has had something to read and commit.
func (s story) hang(ctx context.Context) error {
	if !wait(ctx, s.Readable) {
		return nil
	}
	h := s.LedgerImport
	return workload.Hang(ctx, s.cluster.Bootstrap(), h.Topic, h.Partition, h.TransactionalID, h.Records)
}

// leave leaves transactions open in shipments, once dispatch has had something to
// read and commit.
func (s story) leave(ctx context.Context) error {
	if !wait(ctx, s.Readable) {
		return nil
	}
	return s.CarrierSync.Run(ctx)
}

// settle has group settlement slow for a while, then fast.
func (s story) settle(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := during(ctx, s.Settlement.SlowFor, s.Settlement.Slow.Run); err != nil {
			return err
		}
		if err := during(ctx, s.Settlement.FastFor, s.Settlement.Fast.Run); err != nil {
			return err
		}
	}
	return nil
}

// stick has group refunds commit a little, and then stand still over one record.
func (s story) stick(ctx context.Context) error {
	group := s.Refunds.Reading
	if err := during(ctx, s.Refunds.ReadingFor, group.Run); err != nil {
		return err
	}
	group.Batch, group.Work = 1, 1000*time.Hour
	return group.Run(ctx)
}

// holdFollower keeps audit's followers from fetching now and then.
func (s story) holdFollower(ctx context.Context) error {
	for {
		if !wait(ctx, s.Held.Fetching) {
			return nil
		}
		remove := s.cluster.Install(simbroker.HoldFetches{Topic: s.Held.Topic})
		goesOn := wait(ctx, s.Held.Standing)
		remove()
		if !goesOn {
			return nil
		}
	}
}

// during runs f for d.
func during(ctx context.Context, d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return f(ctx)
}

// wait waits for d, or until ctx is done; it reports whether d is over.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
