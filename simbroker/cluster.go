// Package simbroker is a Kafka cluster to test against: several brokers with
// replicas of their own, over the real wire protocol on TCP and by synchronous
// calls in process, on the wall clock or on a simulated one that moves only
// when it is told to. It promises the rules of Kafka 4.3's transactional log
// (offsets, replication, transactions, consumer groups), and on the simulated
// clock the same history for the same seed and requests.
//
// Brokers can be paused, killed, stopped and started, and faults installed,
// while clients use them. Close checks every replica's invariants.
//
//	clients ──TCP──▶ wire ──▶ txn, group, replica ◀──messages──▶ other brokers
//	Request ──────────▲            commitlog                      controller
//
// Everything is kept in memory. Rights between brokers, quotas, tiered storage,
// share coordinators (what share groups were delivered is kept beside the
// brokers) and a failing controller are left out.
//
// Each file knows those below it only. At the bottom are Config and what it says
// of nodes and listeners, the network, and faults as values. A node is a broker's
// rooms at their port of the network; on it stands what each room needs from
// elsewhere (replicaEnvironment, txnEnvironment, groupEnvironment and
// shareEnvironment). A broker is a node with its life and its clients, and a
// Cluster all of them, with a file for each kind of thing that it can be asked for;
// Start is at the top.
package simbroker

import (
	"errors"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Cluster is a running cluster. Its methods may be called from any goroutine,
// on a simulated clock from one at a time if the history is to be the same
// each time.
type Cluster struct {
	*commons
	cfg     Config
	brokers []*broker // by id, from 1
	closed  chan struct{}
}

// broker is the one with an id, nil if there is none.
func (c *Cluster) broker(id kafka.BrokerID) *broker {
	if id < 1 || int(id) > len(c.brokers) {
		return nil
	}
	return c.brokers[id-1]
}

func (c *Cluster) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// Now is the cluster's time.
func (c *Cluster) Now() time.Time {
	var now time.Time
	c.loop.Do(func() { now = c.loop.Now() })
	return now
}

// Advance moves the clock forward by d, running what falls due on the way, each
// at its own moment. The wall clock is d ahead from then on.
func (c *Cluster) Advance(d time.Duration) { c.loop.Advance(d) }

// Close ends every goroutine and socket, and checks each replica's invariant:
// LogStartOffset ≤ LastStableOffset ≤ HighWatermark ≤ LogEndOffset (but for
// rule B9). The error names every partition that breaks it. A second Close
// does nothing.
func (c *Cluster) Close() error {
	var broken []error
	first := false
	c.loop.Do(func() {
		if c.isClosed() {
			return
		}
		first = true
		close(c.closed)
		for _, b := range c.brokers {
			if b.replicas != nil {
				broken = append(broken, b.check())
			}
			if b.alive {
				b.end(Stopped)
			}
		}
	})
	if !first {
		return nil
	}
	for _, b := range c.brokers {
		b.server.Close()
	}
	c.loop.Close()
	return errors.Join(broken...)
}
