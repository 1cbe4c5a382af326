package controller

import (
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// NewTopic asks for a topic (CreateTopics).
type NewTopic struct {
	Name string
	// Partitions and ReplicationFactor are -1 for the broker's defaults
	// (num.partitions, default.replication.factor), and when Assignments says.
	Partitions        int32
	ReplicationFactor int16
	// Assignments are the replicas of each partition, the preferred leader
	// first.
	Assignments map[int32][]kafka.BrokerID
	Config      property.Values
}

// CreatedTopic answers a NewTopic.
type CreatedTopic struct {
	Name              string
	ID                kafka.TopicID
	Partitions        int32
	ReplicationFactor int16
	Config            []property.Entry
	Err               error // ErrTopicAlreadyExists, ErrInvalidTopicException, …
}

// TopicResult answers a request about a topic as a whole.
type TopicResult struct {
	Name string
	ID   kafka.TopicID
	Err  error
}

// MorePartitions asks for a topic to grow to Count (CreatePartitions).
type MorePartitions struct {
	Topic string
	Count int32
	// Assignments are the replicas of each new partition; nil lets the
	// controller choose.
	Assignments [][]kafka.BrokerID
}

// Election is a kind of leader election (ElectLeaders).
type Election int8

// The elections a client can ask for.
const (
	PreferredElection Election = iota
	UncleanElection
)

// PartitionResult answers a request about one partition.
type PartitionResult struct {
	TopicPartition kafka.TopicPartition
	Err            error
}

// Reassignment asks for other replicas (AlterPartitionReassignments, KIP-455).
// Nil Replicas cancel one that is under way.
type Reassignment struct {
	TopicPartition kafka.TopicPartition
	Replicas       []kafka.BrokerID
}

// ConfigResource is a thing whose configuration is altered. An empty Name of a
// Broker resource is the cluster-wide default.
type ConfigResource struct {
	Type property.Resource
	Name string
}

// ConfigOp is what is done to a property (KIP-339).
type ConfigOp int8

// The operations of IncrementalAlterConfigs.
const (
	SetConfig ConfigOp = iota
	DeleteConfig
	AppendConfig
	SubtractConfig
)

// ConfigAlteration alters the properties of one resource.
type ConfigAlteration struct {
	Resource ConfigResource
	Changes  []ConfigChange
}

// ConfigChange is one property of a ConfigAlteration. Null marks a value that
// was not given.
type ConfigChange struct {
	Name  string
	Op    ConfigOp
	Value string
	Null  bool
}

// ConfigResult answers a ConfigAlteration.
type ConfigResult struct {
	Resource ConfigResource
	Err      error
}

// Refusal is an error with the words that go out beside its code.
type Refusal struct {
	Err     error // one of kafka's
	Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Err.Error() + ": " + r.Message }

// Unwrap makes errors.Is see the kafka error.
func (r *Refusal) Unwrap() error { return r.Err }
