// Package application has small applications that use a Kafka cluster the way
// real ones do, and keep or break the promise that each record counts once:
// consumers that commit too early or too late, a pipeline that transforms
// exactly once, an outbox, a sink that makes a transactional id for each of its
// checkpoints, instances that wake after their successors.
//
// An application is told moment by moment: it does something, reaches a Moment,
// and can be stopped there for good, as by SIGKILL (Life.Crash), or for a while,
// as by a long pause of its garbage collector. What became of each record is
// counted (Records, Count), so that a test can say "3 lost" where it would
// otherwise say "some".
//
// Applications speak the protocol by hand, one request at a time, through a
// Cluster: on the simulator in process they live in simulated time, and the same
// history gives the same counts each time; over TCP they run on any Kafka. They
// use transaction protocol 2 where the cluster has it and protocol 1 elsewhere
// (KIP-890). They are not members of groups: each reads the partitions that it
// is given, as a consumer does that assigns them to itself. Those that run by
// themselves as load, with ordinary clients, are in package workload.
package application

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Cluster is what applications are clients of. Every scenario.Cluster is one,
// and says what its methods promise.
type Cluster interface {
	Brokers() []int32
	Request(ctx context.Context, broker int32, clientID string, req kmsg.Request) (kmsg.Response, error)
	Now() time.Time
	Wait(ctx context.Context, d time.Duration) error
}

// Partition is a partition of a topic.
type Partition struct {
	Topic  string
	Number int32
}
