package controller

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// Errors that only brokers get to see.
var (
	// ErrStaleBrokerEpoch answers a broker whose registration was replaced.
	ErrStaleBrokerEpoch = errors.New("STALE_BROKER_EPOCH")
	// ErrIneligibleReplica answers an ISR with a member that is fenced, shutting
	// down or no replica (KIP-841, KIP-903).
	ErrIneligibleReplica = errors.New("INELIGIBLE_REPLICA")
	// ErrInvalidUpdateVersion answers a change of a partition that has changed
	// since (KIP-497).
	ErrInvalidUpdateVersion = errors.New("INVALID_UPDATE_VERSION")
)

// Refusal is an error with the words that go out beside its code.
type Refusal struct {
	Err     kafka.Error
	Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

// Unwrap makes errors.Is and errors.As see the kafka.Error.
func (r *Refusal) Unwrap() error { return r.Err }

func refuse(err kafka.Error, format string, args ...any) error {
	return &Refusal{Err: err, Message: fmt.Sprintf(format, args...)}
}

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
	// Configs are the topic's own properties; their Op is SetConfig.
	Configs []ConfigChange
}

// CreatedTopic answers a NewTopic.
type CreatedTopic struct {
	Name              string
	ID                kafka.TopicID
	Partitions        int32
	ReplicationFactor int16
	Config            []property.Entry
	Err               error
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

// The elections a client can ask for, and the controller's own, which elects
// only where there is no leader that is fit.
const (
	PreferredElection Election = iota + 1
	UncleanElection
	onlineElection Election = 0
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

// ISRChange is a leader's wish for another ISR (AlterPartition, KIP-497).
type ISRChange struct {
	TopicPartition kafka.TopicPartition
	LeaderEpoch    kafka.LeaderEpoch
	PartitionEpoch int32
	ISR            []kafka.BrokerID
}

// ConfigResource is a thing whose configuration is altered. An empty Name of a
// broker's is the cluster-wide default.
type ConfigResource struct {
	Type property.Resource
	Name string
}

// BrokerResource is the configuration of one broker.
func BrokerResource(id kafka.BrokerID) ConfigResource {
	return ConfigResource{property.Broker, strconv.Itoa(int(id))}
}

func (r ConfigResource) broker() (kafka.BrokerID, bool) {
	id, err := strconv.ParseInt(r.Name, 10, 32)
	return kafka.BrokerID(id), err == nil
}

// String is worded as Kafka's ConfigResource.
func (r ConfigResource) String() string {
	kind := map[property.Resource]string{property.Broker: "BROKER", property.Topic: "TOPIC", property.Group: "GROUP"}[r.Type]
	return fmt.Sprintf("ConfigResource(type=%s, name='%s')", kind, r.Name)
}

// ConfigResult answers a ConfigAlteration.
type ConfigResult struct {
	Resource ConfigResource
	Err      error
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
	// Replace unsets all that Changes do not set, as AlterConfigs does.
	Replace bool
}

// ConfigChange is one property of a ConfigAlteration. Null marks a value that
// was not given.
type ConfigChange struct {
	Name  string
	Op    ConfigOp
	Value string
	Null  bool
}

// CredentialChange is a user's new credential for a mechanism, or that there is
// none any more.
type CredentialChange struct {
	User       string
	Mechanism  sasl.Mechanism
	Credential *sasl.Credential // nil removes it
}

// CredentialResult answers a CredentialChange; each user has one.
type CredentialResult struct {
	User string
	Err  error
}
