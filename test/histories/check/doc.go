// Package check judges what clients of a cluster were told, by nothing but that:
// the answers to their requests, in order. It knows Kafka's record format and what
// Kafka promises, and shares no code with the simulator that it is used on.
//
// A Ledger follows every record from its producer to all who read it, and says
// which were lost, doubled, shown though they were aborted, or hidden though they
// were committed. Offsets holds the answers about a partition's offsets to their
// order. Pipeline compares what an exactly-once pipeline has read with what it has
// written. All of them gather complaints, which Complaints lists: none is the
// only good result.
package check

import "fmt"

// Partition is a partition of a topic.
type Partition struct {
	Topic string
	Index int32
}

// String is the partition as Kafka's logs name it.
func (p Partition) String() string { return fmt.Sprintf("%s-%d", p.Topic, p.Index) }

// Complaints gathers what is wrong, in the order in which it was found.
type Complaints struct{ list []string }

func (c *Complaints) add(format string, args ...any) {
	c.list = append(c.list, fmt.Sprintf(format, args...))
}

// List returns a line for each; nil if all is well.
func (c *Complaints) List() []string { return c.list }
