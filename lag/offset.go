package lag

import "time"

// Offset is a position in a partition's log. Negative values are no offsets:
// Kafka answers −1, −2 or −1001 where it has none, and such an answer is left
// out of a sample.
type Offset int64

// Count is a number of offsets: the distance between two of them. It is not a
// number of records, as transaction markers take offsets too and compaction
// removes records but not their offsets.
type Count int64

// BrokerID is a broker's node id.
type BrokerID int32

// NoBroker stands where there is no broker: a partition without a leader, a
// group without a known coordinator.
const NoBroker BrokerID = -1

// LeaderEpoch counts the elections of a partition's leader.
type LeaderEpoch int32

// TopicID is a topic's UUID. A topic that was deleted and created again has
// another one. It is all zero where the broker does not know topic ids
// (before KIP-516).
type TopicID [16]byte

// Optional is a value that may be unknown. Unknown is neither 0 nor −1: who
// renders it renders nothing.
type Optional[T any] struct {
	value T
	known bool
}

// Known returns the Optional that holds v.
func Known[T any](v T) Optional[T] { return Optional[T]{value: v, known: true} }

// Get returns the value and whether it is known.
func (o Optional[T]) Get() (T, bool) { return o.value, o.known }

// IsKnown says whether there is a value.
func (o Optional[T]) IsKnown() bool { return o.known }

// Window is the time between sending a request and receiving its answer: what
// the answer says was true at some moment of it.
type Window struct {
	Sent, Answered time.Time
}

// Reading is one offset as a broker answered it. The readings of one answer
// share one Window; nil means that the offset was not read.
type Reading struct {
	Offset Offset
	Within *Window
}

// OK says whether the offset was read.
func (r Reading) OK() bool { return r.Within != nil }
