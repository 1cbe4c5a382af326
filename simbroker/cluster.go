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
package simbroker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// Clock is the kind of time a cluster lives in. The zero Clock is the wall's.
type Clock struct {
	simulated bool
	start     time.Time
}

// Wall is the wall clock: the cluster runs by itself.
func Wall() Clock { return Clock{} }

// Simulated is a clock that starts at a moment and moves only by Advance and by
// what waits for brokers (Start, Stop, Request), which runs what is due until
// its answer is there.
func Simulated(start time.Time) Clock { return Clock{simulated: true, start: start} }

// Config says what cluster to start.
type Config struct {
	// Brokers is how many there are, with ids from 1. Zero means 1.
	Brokers int
	// Properties are broker properties by Kafka's names, as in
	// server.properties; BrokerProperties are laid over them for one broker.
	// node.id and broker.id are the cluster's own to set.
	Properties       map[string]string
	BrokerProperties map[kafka.BrokerID]map[string]string
	// Features are the levels to finalise, by name; they are laid over
	// controller.DefaultFeatures. Level 0 leaves a feature out.
	Features map[string]int16
	// Vendor is whose brokers they seem to be, by what they offer: one of Vendors.
	// Empty means Kafka 4.3's. Features, where they are given, are laid over the
	// vendor's.
	Vendor string
	// ListenAddress is host:port of the first broker, the others listen on the
	// ports after it; port 0 lets the system choose each. Empty means no TCP:
	// the cluster answers Request only. Where the property listeners is set, its
	// listeners have their own addresses (and this host if they name none), with
	// ports that count up in the same way, as those of advertised.listeners do
	// where they are not one broker's own.
	ListenAddress string
	// Users are given their SCRAM credentials when the cluster is formatted.
	Users []sasl.NewUser
	// Clock is the wall clock unless it is Simulated, which excludes TCP.
	Clock Clock
	// Seed decides what Kafka leaves to chance (topic ids, member ids, where
	// first replicas go).
	Seed uint64
	// Latency is how long a message between two nodes takes; zero means
	// DefaultLatency.
	Latency time.Duration
	// Log receives what an operator would find in the brokers' logs: one line a
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
	// ErrTimeout is what waiting for a broker ends in, as for the answer of one
	// that is paused.
	ErrTimeout = errors.New("timed out")
	// ErrNoAnswer is what Request returns where the broker sends no response:
	// for Produce with acks=0, and where it would close the connection.
	ErrNoAnswer = errors.New("no answer")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("cluster is closed")
)

// Cluster is a running cluster. Its methods may be called from any goroutine,
// on a simulated clock from one at a time if the history is to be the same
// each time.
type Cluster struct {
	cfg        Config
	loop       *clock.Loop
	network    *network
	controller *controller.Controller
	shares     *share.Store
	brokers    []*broker // by id, from 1
	faults     faults
	random     *rand.Rand
	closed     chan struct{}
}

// Start starts a cluster and returns when its brokers are registered, unfenced
// and listening. The error names what is wrong with the Config or the address.
func Start(cfg Config) (*Cluster, error) {
	if cfg.Brokers == 0 {
		cfg.Brokers = 1
	}
	if cfg.Latency == 0 {
		cfg.Latency = DefaultLatency
	}
	if cfg.Clock.simulated && cfg.ListenAddress != "" {
		return nil, fmt.Errorf("start cluster: a simulated clock excludes TCP, but the listen address is %s", cfg.ListenAddress)
	}
	static, listeners, err := cfg.check()
	if err != nil {
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	c := newCluster(cfg, static, listeners)
	if err := c.prepare(); err != nil {
		c.Close()
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	c.loop.Do(func() { c.reportUnknown(static) })
	if err := c.boot(c.brokers...); err != nil {
		c.Close()
		return nil, fmt.Errorf("start cluster: %w", err)
	}
	return c, nil
}

// Vendors lists the names that Config.Vendor takes.
func Vendors() []string { return wire.VendorNames() }

// controllerID is the node id of the controller, a process of its own that has
// the properties which all brokers share.
const controllerID = 0

// check is each node's properties, by its id, and each broker's listeners.
func (cfg Config) check() ([]property.Values, [][]listenerSetting, error) {
	if cfg.Brokers < 0 {
		return nil, nil, fmt.Errorf("%d brokers", cfg.Brokers)
	}
	if _, ok := wire.VendorNamed(cfg.Vendor); cfg.Vendor != "" && !ok {
		return nil, nil, fmt.Errorf("vendor %q is none; expected one of %s", cfg.Vendor, strings.Join(Vendors(), ", "))
	}
	for id := range cfg.BrokerProperties {
		if id < 1 || int(id) > cfg.Brokers {
			return nil, nil, fmt.Errorf("properties of broker %d: %w (ids are 1 to %d)", id, ErrUnknownBroker, cfg.Brokers)
		}
	}
	static := make([]property.Values, 1+cfg.Brokers)
	for id := range static {
		var err error
		if static[id], err = cfg.nodeProperties(kafka.BrokerID(id)); err != nil {
			return nil, nil, err
		}
	}
	listeners, err := checkSecurity(static[1:])
	return static, listeners, err
}

// prepare is what comes before the brokers start: users and addresses.
func (c *Cluster) prepare() error {
	var err error
	c.loop.Do(func() { err = c.addUsers() })
	if err != nil {
		return err
	}
	return c.listen()
}

func newCluster(cfg Config, static []property.Values, listeners [][]listenerSetting) *Cluster {
	c := &Cluster{cfg: cfg, shares: share.NewStore(), random: rand.New(rand.NewPCG(cfg.Seed, 1)), closed: make(chan struct{})}
	if cfg.Clock.simulated {
		c.loop = clock.NewSimulated(cfg.Clock.start)
	} else {
		c.loop = clock.NewWall()
	}
	c.network = &network{loop: c.loop, latency: cfg.Latency}
	levels := controller.DefaultFeatures()
	if v, ok := wire.VendorNamed(cfg.Vendor); ok {
		levels = v.Features
		if levels == nil {
			levels = make(map[string]int16)
		}
	}
	for name, level := range cfg.Features {
		levels[name] = level
	}
	c.loop.Do(func() {
		c.controller = controller.New(c.loop, static[controllerID], levels, cfg.Seed, c.publish)
		for id, values := range static[1:] {
			c.brokers = append(c.brokers, newBroker(c, kafka.BrokerID(id+1), values, listeners[id]))
		}
	})
	return c
}

// publish takes an update of the metadata to a broker.
func (c *Cluster) publish(to kafka.BrokerID, u *controller.Update) {
	b := c.broker(to)
	if b.alive {
		c.network.publish(b.port, func() { b.agent.Update(u) })
	}
}

// listen gives each broker its addresses, which it opens when it is started.
func (c *Cluster) listen() error {
	if c.cfg.ListenAddress == "" {
		return nil
	}
	host, portText, err := net.SplitHostPort(c.cfg.ListenAddress)
	if err != nil {
		return fmt.Errorf("listen address: %w", err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return fmt.Errorf("listen address %s: port %q is no number from 0 to 65535", c.cfg.ListenAddress, portText)
	}
	for i, b := range c.brokers {
		_, own := b.static["listeners"]
		var settings []string
		for n := range b.entrances {
			e := &b.entrances[n]
			if !own {
				e.host, e.port = host, int(port)
			}
			if e.host == "" {
				e.host = host
			}
			if e.port > 0 {
				e.port += i
			}
			if _, single := c.cfg.BrokerProperties[b.id]["advertised.listeners"]; e.advertised != nil && e.advertised.port > 0 && !single {
				e.advertised.port += i
			}
			if e.address, err = b.server.Listen(b.listener(e.listenerSetting), net.JoinHostPort(e.host, strconv.Itoa(e.port))); err != nil {
				return fmt.Errorf("broker %d: listener %s: %w", b.id, e.name, err)
			}
			settings = append(settings, e.name+"://"+e.address.String())
		}
		c.loop.Do(b.server.Stop) // until it is started
		b.static["listeners"] = strings.Join(settings, ",")
	}
	return nil
}

// reportUnknown logs the properties that Kafka does not know, each once.
func (c *Cluster) reportUnknown(static []property.Values) {
	reported := make(map[string]bool)
	for _, values := range static {
		for _, e := range property.NewConfig(values).Describe(nil) {
			if !property.Known(e.Name) && !reported[e.Name] {
				reported[e.Name] = true
				c.logf("property %s is not known to Kafka and has no effect", e.Name)
			}
		}
	}
}

func (c *Cluster) logf(format string, args ...any) {
	if c.cfg.Log != nil {
		c.cfg.Log(fmt.Sprintf(format, args...))
	}
}

// broker is the one with an id, nil if there is none.
func (c *Cluster) broker(id kafka.BrokerID) *broker {
	if id < 1 || int(id) > len(c.brokers) {
		return nil
	}
	return c.brokers[id-1]
}

// uuid is a random one in its text form.
func (c *Cluster) uuid() string {
	hi, lo := c.random.Uint64(), c.random.Uint64()
	hi = hi&^0xf000 | 0x4000
	lo = lo&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", hi>>32, hi>>16&0xffff, hi&0xffff, lo>>48, lo&0xffffffffffff)
}

// Listeners are the names of the brokers' listeners, in order.
func (c *Cluster) Listeners() []string {
	var names []string
	for _, e := range c.brokers[0].entrances {
		names = append(names, e.name)
	}
	return names
}

// Bootstrap lists the brokers' addresses, host:port, by id; nil without TCP. It
// is that of the first listener.
func (c *Cluster) Bootstrap() []string { return c.BootstrapOf(c.Listeners()[0]) }

// BootstrapOf is Bootstrap of one listener; nil also where there is none of
// that name.
func (c *Cluster) BootstrapOf(listener string) []string {
	var addresses []string
	for _, b := range c.brokers {
		for _, e := range b.entrances {
			if e.name == listener && e.address != nil {
				addresses = append(addresses, e.address.String())
			}
		}
	}
	return addresses
}

// Brokers lists the ids.
func (c *Cluster) Brokers() []kafka.BrokerID {
	ids := make([]kafka.BrokerID, len(c.brokers))
	for i, b := range c.brokers {
		ids[i] = b.id
	}
	return ids
}

// Addr is one broker's address, of its first listener; empty without TCP or for
// an unknown broker.
func (c *Cluster) Addr(id kafka.BrokerID) string {
	b := c.broker(id)
	if b == nil || b.entrances[0].address == nil {
		return ""
	}
	return b.entrances[0].address.String()
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
		select {
		case <-c.closed:
			return
		default:
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
