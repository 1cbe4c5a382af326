package simbroker

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// Fault is something that goes wrong while it is installed. Faults are values:
// they compose, and print themselves. The types of this package are all there
// are.
type Fault interface {
	fmt.Stringer
	fault()
}

// HoldMarkers keeps end-of-transaction markers of the matching partitions on
// their way from coordinator to leader. Removing it lets them arrive, in order,
// also those that their coordinator has given up meanwhile.
type HoldMarkers struct {
	Topic      string  // empty matches every topic
	Partitions []int32 // empty matches every partition
}

// DropMarkers loses end-of-transaction markers of the matching partitions; the
// coordinator sends them again and again until it is removed.
type DropMarkers struct {
	Topic      string
	Partitions []int32
}

// HoldFetches keeps followers from fetching the matching partitions, as a
// fetcher thread that has stopped does: the log end goes on, the high watermark
// stands still, until replica.lag.time.max.ms has put them out of the ISR.
type HoldFetches struct {
	Broker     kafka.BrokerID // the follower; 0 matches every broker
	Topic      string
	Partitions []int32
}

// DelayRequests makes a broker start on a client's request only after Delay.
type DelayRequests struct {
	Broker kafka.BrokerID // 0 matches every broker
	APIs   []kmsg.Key     // empty matches every API
	Delay  time.Duration
}

// FailRequests answers clients' requests with an error without having done
// anything.
type FailRequests struct {
	Broker kafka.BrokerID
	APIs   []kmsg.Key
	Err    kafka.Error
	Times  int // how many are failed; 0 means all
}

// LoseRequests loses clients' requests: there is no answer, and the connection
// stays open and silent, also when the fault is removed, as one of which the other
// end is gone without a word (a half-open connection).
type LoseRequests struct {
	Broker kafka.BrokerID // 0 matches every broker
	APIs   []kmsg.Key     // empty matches every API
}

// TrickleAnswers sends answers to clients a few bytes at a time.
type TrickleAnswers struct {
	Broker kafka.BrokerID
	APIs   []kmsg.Key
	Bytes  int           // at a time
	Every  time.Duration // between two times
}

// CutAnswers closes a client's connection amid an answer, of which Bytes have been
// sent.
type CutAnswers struct {
	Broker kafka.BrokerID
	APIs   []kmsg.Key
	Bytes  int
	Times  int // how many are cut; 0 means all
}

// SkewClock sets a broker's clock ahead, or back if By is negative: timestamps that
// it gives, and deadlines that it compares with those of others.
type SkewClock struct {
	Broker kafka.BrokerID // 0 matches every broker
	By     time.Duration
}

// CutOff keeps a broker and the controller from hearing of each other; clients and
// other brokers reach it. The controller fences it after its session timeout and
// elects others in its place, and the broker, which does not learn of that, goes on
// leading, coordinating and telling what it knew. When the fault is removed, what was
// on its way arrives, in order.
type CutOff struct {
	Broker kafka.BrokerID // 0 matches every broker
}

// DelayLoading makes coordinators take their time after an election: a broker
// that has come to lead a partition of __transaction_state or
// __consumer_offsets answers NOT_COORDINATOR for as long as it is Unaware, and
// lists nothing of it, and then COORDINATOR_LOAD_IN_PROGRESS while it is
// Loading (rule G18). It is about elections that come after it.
type DelayLoading struct {
	Broker           kafka.BrokerID // 0 matches every broker
	Topic            string         // empty matches both
	Partitions       []int32
	Unaware, Loading time.Duration
}

// ForgetTransactionalID makes the coordinator lose what it knows of a
// transactional id, as if its log had lost it (litmus test 29). It happens when
// it is installed; removing it brings nothing back.
type ForgetTransactionalID struct{ ID string }

func (HoldMarkers) fault()           {}
func (DropMarkers) fault()           {}
func (HoldFetches) fault()           {}
func (DelayLoading) fault()          {}
func (DelayRequests) fault()         {}
func (FailRequests) fault()          {}
func (ForgetTransactionalID) fault() {}
func (LoseRequests) fault()          {}
func (TrickleAnswers) fault()        {}
func (CutAnswers) fault()            {}
func (SkewClock) fault()             {}
func (CutOff) fault()                {}

// String implements fmt.Stringer.
func (f HoldMarkers) String() string { return "hold markers" + ofPartitions(f.Topic, f.Partitions) }

// String implements fmt.Stringer.
func (f DropMarkers) String() string { return "drop markers" + ofPartitions(f.Topic, f.Partitions) }

// String implements fmt.Stringer.
func (f HoldFetches) String() string {
	s := "hold fetches" + ofPartitions(f.Topic, f.Partitions)
	if f.Broker != 0 {
		s += fmt.Sprintf(" by broker %d", f.Broker)
	}
	return s
}

// String implements fmt.Stringer.
func (f DelayRequests) String() string {
	return fmt.Sprintf("delay %s by %v", requestsOf(f.Broker, f.APIs), f.Delay)
}

// String implements fmt.Stringer.
func (f FailRequests) String() string {
	s := fmt.Sprintf("fail %s with %v", requestsOf(f.Broker, f.APIs), f.Err)
	if f.Times > 0 {
		s += fmt.Sprintf(", %d times", f.Times)
	}
	return s
}

// String implements fmt.Stringer.
func (f DelayLoading) String() string {
	s := "delay loading" + ofPartitions(f.Topic, f.Partitions)
	if f.Broker != 0 {
		s += fmt.Sprintf(" at broker %d", f.Broker)
	}
	return s + fmt.Sprintf(": unaware for %v, loading for %v", f.Unaware, f.Loading)
}

// String implements fmt.Stringer.
func (f ForgetTransactionalID) String() string { return "forget transactional id " + f.ID }

// String implements fmt.Stringer.
func (f LoseRequests) String() string { return "lose " + requestsOf(f.Broker, f.APIs) }

// String implements fmt.Stringer.
func (f TrickleAnswers) String() string {
	return fmt.Sprintf("trickle answers to %s, %d bytes every %v", requestsOf(f.Broker, f.APIs), f.Bytes, f.Every)
}

// String implements fmt.Stringer.
func (f CutAnswers) String() string {
	s := fmt.Sprintf("cut answers to %s after %d bytes", requestsOf(f.Broker, f.APIs), f.Bytes)
	if f.Times > 0 {
		s += fmt.Sprintf(", %d times", f.Times)
	}
	return s
}

// String implements fmt.Stringer.
func (f SkewClock) String() string {
	s := "skew the clock"
	if f.Broker != 0 {
		s += fmt.Sprintf(" of broker %d", f.Broker)
	}
	return s + fmt.Sprintf(" by %v", f.By)
}

// String implements fmt.Stringer.
func (f CutOff) String() string {
	if f.Broker == 0 {
		return "cut all brokers off from the controller"
	}
	return fmt.Sprintf("cut broker %d off from the controller", f.Broker)
}

func ofPartitions(topic string, partitions []int32) string {
	switch {
	case topic == "" && len(partitions) == 0:
		return ""
	case len(partitions) == 0:
		return " of " + topic
	}
	return fmt.Sprintf(" of %s%v", topic, partitions)
}

func requestsOf(broker kafka.BrokerID, apis []kmsg.Key) string {
	s := "requests"
	for i, api := range apis {
		if s += ", "; i == 0 {
			s = "requests "
		}
		s += api.Name()
	}
	if broker != 0 {
		s += fmt.Sprintf(" at broker %d", broker)
	}
	return s
}

// faults are those that are installed, in that order.
type faults struct {
	installed []*installation
	last      int // the id that was given out last
}

type installation struct {
	id      int
	cluster *Cluster
	fault   Fault
	times   int      // how often it has struck
	held    []func() // markers on their way
}

// Install puts a fault in place until remove is called. Those that were
// installed first strike first.
func (c *Cluster) Install(f Fault) (remove func()) {
	id := c.Inject(f)
	return func() { _ = c.Withdraw(id) } // it may have been withdrawn before
}

// Inject is Install for callers that keep a number: the id by which Withdraw
// removes the fault.
func (c *Cluster) Inject(f Fault) (id int) {
	c.loop.Do(func() {
		c.faults.last++
		id = c.faults.last
		c.faults.installed = append(c.faults.installed, &installation{id: id, cluster: c, fault: f})
		if forget, ok := f.(ForgetTransactionalID); ok {
			c.forget(forget.ID)
		}
		switch f.(type) {
		case HoldFetches:
			c.fetchAnew()
		case SkewClock:
			c.setClocks()
		case CutOff:
			c.setCuts()
		}
		c.logf("fault %d: %s", id, f)
	})
	return id
}

// Withdraw removes an installed fault. Errors: ErrUnknownFault.
func (c *Cluster) Withdraw(id int) error {
	err := fmt.Errorf("fault %d: %w", id, ErrUnknownFault)
	c.loop.Do(func() {
		for _, i := range c.faults.installed {
			if i.id == id {
				c.faults.remove(i)
				c.logf("fault %d withdrawn: %s", id, i.fault)
				err = nil
				return
			}
		}
	})
	return err
}

// ErrUnknownFault is returned for an id that no installed fault has.
var ErrUnknownFault = errors.New("no such fault is installed")

// Injection is an installed fault with its id.
type Injection struct {
	ID    int
	Fault Fault
}

// Injections lists what is installed, in that order.
func (c *Cluster) Injections() []Injection {
	var list []Injection
	c.loop.Do(func() {
		for _, i := range c.faults.installed {
			list = append(list, Injection{i.id, i.fault})
		}
	})
	return list
}

// Faults lists what is installed.
func (c *Cluster) Faults() []Fault {
	var list []Fault
	for _, i := range c.Injections() {
		list = append(list, i.Fault)
	}
	return list
}

func (f *faults) remove(i *installation) {
	at := slices.Index(f.installed, i)
	if at < 0 {
		return
	}
	f.installed = slices.Delete(f.installed, at, at+1)
	switch i.fault.(type) {
	case SkewClock:
		i.cluster.setClocks()
	case CutOff:
		i.cluster.setCuts()
	}
	for _, release := range i.held {
		release()
	}
}

// fetchAnew has every follower say what it fetches, so that a fault can keep it
// from it.
func (c *Cluster) fetchAnew() {
	for _, b := range c.brokers {
		if b.alive {
			b.replicas.FetchAnew()
		}
	}
}

// setClocks sets each broker's clock by what is installed.
func (c *Cluster) setClocks() {
	for _, b := range c.brokers {
		var skew time.Duration
		for _, i := range c.faults.installed {
			if f, ok := i.fault.(SkewClock); ok && (f.Broker == 0 || f.Broker == b.id) {
				skew += f.By
			}
		}
		b.host.Skew(skew)
	}
}

// setCuts cuts brokers off from the controller by what is installed.
func (c *Cluster) setCuts() {
	for _, b := range c.brokers {
		b.port.setCut(slices.ContainsFunc(c.faults.installed, func(i *installation) bool {
			f, ok := i.fault.(CutOff)
			return ok && (f.Broker == 0 || f.Broker == b.id)
		}))
	}
}

// forget makes every coordinator lose a transactional id.
func (c *Cluster) forget(id string) {
	for _, b := range c.brokers {
		if b.alive {
			b.txn.Forget(id)
		}
	}
}

// matches says whether a fault is about a partition's markers.
func matches(topic string, partitions []int32, tp kafka.TopicPartition) bool {
	return (topic == "" || topic == tp.Topic) && (len(partitions) == 0 || slices.Contains(partitions, tp.Partition))
}

// markers lets a marker on its way from a coordinator meet the faults, and
// sends what is left of it. Where a fault meets some partitions of a marker
// only, the answer for those is REQUEST_TIMED_OUT, on which the coordinator
// sends them again, by themselves.
func (f *faults) markers(from *broker, m txn.Marker, done func([]error, error), send func(txn.Marker, func([]error, error))) {
	for _, i := range f.installed {
		var met func(kafka.TopicPartition) bool
		switch fault := i.fault.(type) {
		case HoldMarkers:
			met = func(tp kafka.TopicPartition) bool { return matches(fault.Topic, fault.Partitions, tp) }
		case DropMarkers:
			met = func(tp kafka.TopicPartition) bool { return matches(fault.Topic, fault.Partitions, tp) }
		default:
			continue
		}
		_, hold := i.fault.(HoldMarkers)
		rest := m
		rest.Partitions = slices.DeleteFunc(slices.Clone(m.Partitions), met)
		switch {
		case len(rest.Partitions) == len(m.Partitions):
			continue
		case len(rest.Partitions) > 0:
			f.markers(from, rest, timedOut(m, met, done), send)
		case hold:
			i.held = append(i.held, from.host.Bind(func() { send(m, done) }))
		default: // lost, as with a connection that breaks
			from.host.After(from.cluster.network.latency, func() { done(nil, kafka.ErrBrokerNotAvailable) })
		}
		return
	}
	send(m, done)
}

// fetches lets a follower's fetch meet the faults, and sends what is left of it.
// The held partitions go out of the session and are answered with
// REQUEST_TIMED_OUT, on which the follower asks again after
// replica.fetch.backoff.ms.
func (f *faults) fetches(from *broker, req replica.FetchRequest, done func(replica.FetchResult, error), send func(replica.FetchRequest, func(replica.FetchResult, error))) {
	held := func(at replica.FetchPartition) bool {
		return slices.ContainsFunc(f.installed, func(i *installation) bool {
			hold, ok := i.fault.(HoldFetches)
			return ok && (hold.Broker == 0 || hold.Broker == from.id) && matches(hold.Topic, hold.Partitions, at.Partition)
		})
	}
	if len(f.installed) == 0 || !slices.ContainsFunc(req.Partitions, held) {
		send(req, done)
		return
	}
	rest, session := req, *req.Session
	rest.Partitions, rest.Session = nil, &session
	rest.MaxWait = 0 // the follower is told at once
	session.Forget = slices.Clone(session.Forget)
	var timedOut []replica.FetchedPartition
	for _, at := range req.Partitions {
		if held(at) {
			timedOut = append(timedOut, replica.FetchedPartition{Partition: at.Partition, At: at, Err: kafka.ErrRequestTimedOut})
			session.Forget = append(session.Forget, at.Partition)
			continue
		}
		rest.Partitions = append(rest.Partitions, at)
	}
	send(rest, func(got replica.FetchResult, err error) {
		got.Partitions = append(got.Partitions, timedOut...)
		done(got, err)
	})
}

// loading is how long a broker that has come to lead a partition of an internal
// topic goes on without noticing, and how long it then takes to load it.
func (f *faults) loading(by kafka.BrokerID, tp kafka.TopicPartition) (unaware, loading time.Duration) {
	for _, i := range f.installed {
		d, ok := i.fault.(DelayLoading)
		if ok && (d.Broker == 0 || d.Broker == by) && matches(d.Topic, d.Partitions, tp) {
			unaware, loading = unaware+d.Unaware, loading+d.Loading
		}
	}
	return unaware, loading
}

// timedOut completes the results of a marker's other partitions.
func timedOut(m txn.Marker, met func(kafka.TopicPartition) bool, done func([]error, error)) func([]error, error) {
	return func(rest []error, err error) {
		if err != nil {
			done(nil, err)
			return
		}
		results := make([]error, len(m.Partitions))
		for i, tp := range m.Partitions {
			if met(tp) {
				results[i] = kafka.ErrRequestTimedOut
				continue
			}
			results[i], rest = rest[0], rest[1:]
		}
		done(results, nil)
	}
}

// intercept lets a client's request meet the faults.
func (b *broker) intercept(_ wire.ConnInfo, req kmsg.Request, handle func(), refuse func(error)) {
	var delay time.Duration
	failed := false
	for _, i := range b.cluster.faults.installed {
		switch f := i.fault.(type) {
		case DelayRequests:
			if b.isMet(f.Broker, f.APIs, req) {
				delay += f.Delay
			}
		case LoseRequests:
			if b.isMet(f.Broker, f.APIs, req) {
				return
			}
		case FailRequests:
			if !failed && b.isMet(f.Broker, f.APIs, req) && (f.Times == 0 || i.times < f.Times) {
				failed = true
				i.times++
				handle = func() { refuse(f.Err) }
			}
		}
	}
	if delay > 0 {
		b.host.After(delay, handle)
		return
	}
	handle()
}

// shape says how an answer is to be written, by the first fault that meets it.
func (b *broker) shape(req kmsg.Request) wire.Shape {
	for _, i := range b.cluster.faults.installed {
		switch f := i.fault.(type) {
		case TrickleAnswers:
			if b.isMet(f.Broker, f.APIs, req) {
				return wire.Shape{Bytes: f.Bytes, Every: f.Every}
			}
		case CutAnswers:
			if b.isMet(f.Broker, f.APIs, req) && (f.Times == 0 || i.times < f.Times) {
				i.times++
				return wire.Shape{Bytes: f.Bytes, Cut: true}
			}
		}
	}
	return wire.Shape{}
}

func (b *broker) isMet(broker kafka.BrokerID, apis []kmsg.Key, req kmsg.Request) bool {
	return (broker == 0 || broker == b.id) && (len(apis) == 0 || slices.Contains(apis, kmsg.Key(req.Key())))
}
