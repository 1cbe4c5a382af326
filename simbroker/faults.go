package simbroker

import (
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// faults are those that are installed, in that order. It belongs to events.
type faults struct {
	installed []*installation
	last      int // the id that was given out last
	// latency is how long a message between two nodes takes.
	latency time.Duration
}

type installation struct {
	id    int
	fault Fault
	times int      // how often it has struck
	held  []func() // markers on their way
}

func (f *faults) none() bool { return len(f.installed) == 0 }

func (f *faults) install(fault Fault) (id int) {
	f.last++
	f.installed = append(f.installed, &installation{id: f.last, fault: fault})
	return f.last
}

// remove takes out the fault with an id; nil if there is none.
func (f *faults) remove(id int) *installation {
	at := slices.IndexFunc(f.installed, func(i *installation) bool { return i.id == id })
	if at < 0 {
		return nil
	}
	removed := f.installed[at]
	f.installed = slices.Delete(f.installed, at, at+1)
	return removed
}

// release lets what was held go on its way.
func (i *installation) release() {
	for _, send := range i.held {
		send()
	}
}

// skew is how far a broker's clock is ahead.
func (f *faults) skew(of kafka.BrokerID) time.Duration {
	var skew time.Duration
	for _, i := range f.installed {
		if s, ok := i.fault.(SkewClock); ok && (s.Broker == 0 || s.Broker == of) {
			skew += s.By
		}
	}
	return skew
}

// cut says whether a broker is cut off from the controller.
func (f *faults) cut(broker kafka.BrokerID) bool {
	return slices.ContainsFunc(f.installed, func(i *installation) bool {
		c, ok := i.fault.(CutOff)
		return ok && (c.Broker == 0 || c.Broker == broker)
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

// matches says whether a fault is about a partition.
func matches(topic string, partitions []int32, tp kafka.TopicPartition) bool {
	return (topic == "" || topic == tp.Topic) && (len(partitions) == 0 || slices.Contains(partitions, tp.Partition))
}
