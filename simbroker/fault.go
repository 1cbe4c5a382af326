package simbroker

import (
	"fmt"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Fault is something that goes wrong while it is installed. Faults are values:
// they compose, and print themselves. The types of this package are all there
// are.
type Fault interface {
	fmt.Stringer
	fault()
}

// HoldMarkers keeps end-of-transaction markers for the matching partitions on
// the way between coordinator and leader. Removing it lets them arrive, in
// order.
type HoldMarkers struct {
	Topic      string  // empty matches every topic
	Partitions []int32 // empty matches every partition
}

// DropMarkers loses end-of-transaction markers for the matching partitions; the
// coordinator sends them again and again until it is removed.
type DropMarkers struct {
	Topic      string
	Partitions []int32
}

// DelayRequests makes a broker start on a client's request only after Delay.
type DelayRequests struct {
	Broker kafka.BrokerID // 0 matches every broker
	APIs   []int16        // api keys; empty matches every API
	Delay  time.Duration
}

// FailRequests answers a client's requests with an error code, without having
// done anything.
type FailRequests struct {
	Broker kafka.BrokerID
	APIs   []int16
	Err    kafka.Error
	Times  int // how many are failed; 0 means all
}

// ForgetTransactionalID makes the coordinator lose what it knows of a
// transactional id, as if its log had lost it (litmus test 29). It happens
// when it is installed; removing it brings nothing back.
type ForgetTransactionalID struct{ ID string }

func (HoldMarkers) fault()           {}
func (DropMarkers) fault()           {}
func (DelayRequests) fault()         {}
func (FailRequests) fault()          {}
func (ForgetTransactionalID) fault() {}

func (f HoldMarkers) String() string { return "hold markers" + target(f.Topic, f.Partitions) }
func (f DropMarkers) String() string { return "drop markers" + target(f.Topic, f.Partitions) }
func (f DelayRequests) String() string {
	return fmt.Sprintf("delay requests%s by %v", apis(f.Broker, f.APIs), f.Delay)
}
func (f FailRequests) String() string {
	s := fmt.Sprintf("fail requests%s with %v", apis(f.Broker, f.APIs), f.Err)
	if f.Times > 0 {
		s += fmt.Sprintf(", %d times", f.Times)
	}
	return s
}
func (f ForgetTransactionalID) String() string { return "forget transactional id " + f.ID }

func target(topic string, partitions []int32) string {
	if topic == "" {
		return ""
	}
	if len(partitions) == 0 {
		return " of " + topic
	}
	return fmt.Sprintf(" of %s%v", topic, partitions)
}

func apis(broker kafka.BrokerID, keys []int16) string {
	s := ""
	if len(keys) > 0 {
		s += fmt.Sprintf(" of APIs %v", keys)
	}
	if broker != 0 {
		s += fmt.Sprintf(" at broker %d", broker)
	}
	return s
}
