// Package simbroker is a Kafka cluster to test against: several brokers with
// replicas of their own, over the real wire protocol on TCP and by synchronous
// calls in process, on the wall clock or on a simulated one that moves only
// when it is told to. It promises the rules of Kafka 4.3's transactional log
// (offsets, replication, transactions, consumer groups) and the same history
// for the same seed, requests and simulated time.
//
// Brokers can be paused, killed, stopped and started, and faults installed,
// while clients use them. Everything is kept in memory. Security, quotas,
// tiered storage, share groups and a failing controller are left out.
package simbroker

import (
	"context"
	"errors"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Clock is the kind of time a cluster lives in. The zero Clock is the wall's.
type Clock struct {
	simulated bool
	start     time.Time
}

// Wall is the wall clock: the cluster runs by itself.
func Wall() Clock { return Clock{} }

// Simulated is a clock that starts at a moment and moves only by Advance and by
// Request, which runs what is due until its answer is there.
func Simulated(start time.Time) Clock { return Clock{simulated: true, start: start} }

// Config says what cluster to start.
type Config struct {
	// Brokers is how many there are, with ids from 1. Zero means 1.
	Brokers int
	// Properties are broker properties by Kafka's names, as in
	// server.properties; BrokerProperties are laid over them for one broker.
	Properties       map[string]string
	BrokerProperties map[kafka.BrokerID]map[string]string
	// ListenAddress is host:port of the first broker, the others listen on the
	// ports after it; port 0 lets the system choose each. Empty means no TCP:
	// the cluster answers Request only.
	ListenAddress string
	// Clock is the wall clock unless it is Simulated, which excludes TCP.
	Clock Clock
	// Seed decides what Kafka leaves to chance (topic ids, first replicas).
	Seed uint64
	// Latency is how long a message between two nodes takes; zero means
	// DefaultLatency.
	Latency time.Duration
	// Log receives what an operator would find in a broker's log: one line a
	// call, without its line break. Nil drops it. It must not call the cluster.
	Log func(line string)
}

// DefaultLatency is the time between a message's sending and its arrival at
// another node.
const DefaultLatency = 200 * time.Microsecond

// Errors of operations on brokers.
var (
	// ErrUnknownBroker is returned for an id that no broker has.
	ErrUnknownBroker = errors.New("no such broker")
	// ErrState is wrapped by what a broker's state does not allow, such as
	// resuming one that is not paused.
	ErrState = errors.New("not possible in the broker's state")
	// ErrConnectionRefused is what Request returns for a broker that is dead,
	// or that dies before it answers.
	ErrConnectionRefused = errors.New("connection refused")
	// ErrTimeout is what Request returns when the answer does not come: from a
	// broker that is paused, or not before the deadline.
	ErrTimeout = errors.New("request timed out")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("cluster is closed")
)

// State is what a broker's process does.
type State int8

// The states of a broker.
const (
	Running State = iota + 1
	Paused
	Stopped // after a controlled shutdown
	Killed
)

// String names the state in lower case.
func (s State) String() string {
	return [...]string{"", "running", "paused", "stopped", "killed"}[s]
}

// Cluster is a running cluster. Its methods may be called from any goroutine.
type Cluster struct{}

// Start starts a cluster and returns when its brokers are registered and
// unfenced. The error names what is wrong with the Config or the address.
func Start(cfg Config) (*Cluster, error) { return nil, errors.ErrUnsupported }

// Bootstrap lists the brokers' addresses, host:port, by id; nil without TCP.
func (c *Cluster) Bootstrap() []string { return nil }

// Brokers lists the ids.
func (c *Cluster) Brokers() []kafka.BrokerID { return nil }

// Addr is one broker's address; empty without TCP or for an unknown broker.
func (c *Cluster) Addr(id kafka.BrokerID) string { return "" }

// State is what a broker's process does; zero for an unknown broker.
func (c *Cluster) State(id kafka.BrokerID) State { return 0 }

// Fenced says whether the controller takes a broker for dead.
func (c *Cluster) Fenced(id kafka.BrokerID) bool { return false }

// Close ends every goroutine and socket, and checks each replica's invariant:
// LogStartOffset ≤ LastStableOffset ≤ HighWatermark ≤ LogEndOffset (but for
// rule B9). The error names every partition that breaks it.
func (c *Cluster) Close() error { return nil }

// Pause stops a broker as SIGSTOP does: its sockets accept and stay silent, its
// timers stand still, and the controller fences it after its session timeout.
func (c *Cluster) Pause(id kafka.BrokerID) error { return nil }

// Resume lets a paused broker work off what reached it meanwhile.
func (c *Cluster) Resume(id kafka.BrokerID) error { return nil }

// Kill ends a broker as SIGKILL does: connections are reset, memory is lost,
// the log on its disk stays.
func (c *Cluster) Kill(id kafka.BrokerID) error { return nil }

// Start starts a broker that was killed or stopped and returns when it is
// unfenced (on a simulated clock, time moves until it is).
func (c *Cluster) Start(id kafka.BrokerID) error { return nil }

// Stop shuts a broker down in the controlled way: leadership moves away first.
func (c *Cluster) Stop(id kafka.BrokerID) error { return nil }

// Now is the cluster's time.
func (c *Cluster) Now() time.Time { return time.Time{} }

// Advance moves the clock forward by d, running what falls due on the way. On
// the wall clock, d is added to it at once.
func (c *Cluster) Advance(d time.Duration) {}

// Request sends one request to a broker and waits for its answer, on either
// clock. The request's version must be set. On a simulated clock, time moves
// until the answer is there, at most DefaultRequestTimeout or to the deadline
// of ctx measured in simulated time.
func (c *Cluster) Request(ctx context.Context, broker kafka.BrokerID, req kmsg.Request) (kmsg.Response, error) {
	return nil, errors.ErrUnsupported
}

// Install puts a fault in place until remove is called.
func (c *Cluster) Install(f Fault) (remove func()) { return func() {} }
