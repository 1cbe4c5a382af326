// Package workload has small applications that use a Kafka cluster the way real
// ones do: producers, consumers, an exactly-once pipeline, an application that
// aborts half its work, transactions that are left open or hang. The demo plays
// its storyline with them; tests use them as load.
//
// They are ordinary franz-go programs: they know a cluster by its bootstrap
// addresses, and run on the simulator and on a real Kafka alike. Each runs until
// its context is done and lives through restarts of brokers. They promise no
// exact numbers; who needs those writes a scenario.
package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// App is an application that runs until ctx is done, which is not an error.
type App interface {
	Run(ctx context.Context) error
}

// retryAfter is the pause of an application whose cluster does not answer.
const retryAfter = 500 * time.Millisecond

// run calls work again and again with a client of its own until ctx is done.
// An error of work is what happens to every application when brokers come and
// go: it begins anew with a new client.
func run(ctx context.Context, opts []kgo.Opt, work func(context.Context, *kgo.Client) error) error {
	for ctx.Err() == nil {
		cl, err := kgo.NewClient(opts...)
		if err != nil {
			return fmt.Errorf("create a client: %w", err)
		}
		err = work(ctx, cl)
		cl.CloseAllowingRebalance()
		if err != nil {
			pause(ctx, retryAfter)
		}
	}
	return nil
}

// pause waits for d, or until ctx is done; it reports whether d is over.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// fetchError is the first error of a poll that is worth beginning anew for.
func fetchError(fetches kgo.Fetches) error {
	if err := fetches.Err0(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
