package simbroker

import (
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
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
// end is gone without a word (a half-open connection), until it has been idle for
// connections.max.idle.ms.
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
