package wire

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Cluster is the controller and the metadata, as one broker sees them. Methods
// that give an answer at once read the broker's own view of the metadata and
// must not change anything. Methods with a done function ask the controller;
// done is called once, from an event of the same loop, perhaps before the
// method returns. Errors are kafka.Error values, wrapped where there is more to
// say: the text goes to the client as the error message.
//
// What is returned must not be changed afterwards by either side.
type Cluster interface {
	// ClusterID is the cluster's id, 22 characters of base64.
	ClusterID() string
	// Nodes lists the registered brokers by id, fenced ones included.
	Nodes() []Node
	// TopicNames lists all topics, internal ones included, in order.
	TopicNames() []string
	// Topic describes a topic.
	Topic(name string) (Topic, bool)
	// TopicName finds a topic's name by its id.
	TopicName(id kafka.TopicID) (string, bool)
	// Features lists the finalised features.
	Features() Features

	// AutoCreateTopic asks for a topic that a client named in Metadata (if
	// auto.create.topics.enable allows) or for an internal topic that a
	// coordinator needs (rule G0), with the broker's defaults for it. It gives
	// no answer: the client asks again. An existing topic is left alone, a
	// forbidden or impossible one is not made.
	AutoCreateTopic(name string)

	// CreateTopics answers one result a topic, in the order of the request.
	CreateTopics(req CreateTopicsRequest, done func([]CreateTopicResult))
	// DeleteTopics deletes topics by name; one error a topic (nil is success), in
	// order. An unknown topic is ErrUnknownTopicOrPartition.
	DeleteTopics(names []string, done func([]error))
	// CreatePartitions answers one error a topic, in order.
	CreatePartitions(req CreatePartitionsRequest, done func([]error))
	// ElectLeaders elects the preferred leader, or an unclean one, of each
	// partition. A nil list means all partitions; the answer then leaves out
	// those that need no election.
	ElectLeaders(req ElectLeadersRequest, done func([]PartitionResult))
	// AlterPartitionReassignments starts reassignments, or cancels those whose
	// target is nil; one result a partition, in order.
	AlterPartitionReassignments(req []Reassignment, done func([]PartitionResult))

	// DescribeConfigs lists the configuration of a resource, by name. Names
	// limits the list; nil means all of it.
	DescribeConfigs(resource ConfigResource, names []string) ([]ConfigEntry, error)
	// IncrementalAlterConfigs changes the configuration of resources; one error
	// a resource, in order.
	IncrementalAlterConfigs(req AlterConfigsRequest, done func([]error))
}

// Node is a broker as clients see it.
type Node struct {
	ID kafka.BrokerID
	// Host and Port are where its listener is advertised.
	Host string
	Port int32
	// Rack is broker.rack; empty if not set.
	Rack string
	// Fenced brokers are shown by DescribeCluster only, and cannot lead.
	Fenced bool
}

// Topic is a topic's metadata.
type Topic struct {
	Name string
	ID   kafka.TopicID
	// Partitions stand at their own number.
	Partitions []Partition
}

// Partition is a partition's metadata.
type Partition struct {
	Leader           kafka.BrokerID // NoBroker without one
	LeaderEpoch      kafka.LeaderEpoch
	Replicas         []kafka.BrokerID // preferred leader first
	ISR              []kafka.BrokerID
	ELR              []kafka.BrokerID // eligible leader replicas, KIP-966
	LastKnownELR     []kafka.BrokerID
	AddingReplicas   []kafka.BrokerID // of a reassignment under way
	RemovingReplicas []kafka.BrokerID
}

// Features are the finalised features of the cluster (rule J4).
type Features struct {
	// Epoch is FinalizedFeaturesEpoch; clients take a negative one as "none".
	Epoch int64
	// Levels is the level of each finalised feature, by name
	// (transaction.version). A feature at level 0 is not finalised and is left
	// out.
	Levels map[string]int16
}

// CreateTopicsRequest asks for new topics.
type CreateTopicsRequest struct {
	Topics []NewTopic
	// ValidateOnly checks the request and creates nothing.
	ValidateOnly bool
	Timeout      time.Duration
}

// NewTopic is one topic to create.
type NewTopic struct {
	Name string
	// Partitions and ReplicationFactor are -1 for the broker's defaults, and
	// where Assignment gives them.
	Partitions        int32
	ReplicationFactor int16
	// Assignment gives the replicas of each partition, preferred leader first;
	// empty leaves it to the controller.
	Assignment []Assignment
	// Configs are the topic's own properties.
	Configs []ConfigValue
}

// Assignment is where the replicas of one partition are to be.
type Assignment struct {
	Partition int32
	Replicas  []kafka.BrokerID
}

// ConfigValue is a property and its value; a nil value stands for null.
type ConfigValue struct {
	Name  string
	Value *string
}

// CreateTopicResult is what became of one topic.
type CreateTopicResult struct {
	ID                kafka.TopicID
	Partitions        int32
	ReplicationFactor int16
	// Configs is the complete configuration of the new topic.
	Configs []ConfigEntry
	Err     error
}

// CreatePartitionsRequest asks for more partitions.
type CreatePartitionsRequest struct {
	Topics       []MorePartitions
	ValidateOnly bool
	Timeout      time.Duration
}

// MorePartitions is the new count of one topic's partitions.
type MorePartitions struct {
	Topic string
	Count int32
	// Assignment gives the replicas of each new partition in order; nil leaves
	// it to the controller.
	Assignment [][]kafka.BrokerID
}

// ElectLeadersRequest asks for elections.
type ElectLeadersRequest struct {
	// Unclean allows a leader out of the ISR; otherwise the preferred one is
	// elected.
	Unclean bool
	// Partitions is nil for all of them.
	Partitions []kafka.TopicPartition
	Timeout    time.Duration
}

// PartitionResult is what became of one partition; Err is nil on success.
type PartitionResult struct {
	kafka.TopicPartition
	Err error
}

// Reassignment moves a partition to other brokers.
type Reassignment struct {
	kafka.TopicPartition
	// Replicas is the target, preferred leader first; nil cancels a
	// reassignment under way.
	Replicas []kafka.BrokerID
}

// ConfigResourceType is what a configuration belongs to, by Kafka's number.
type ConfigResourceType int8

// The kinds of configuration that the simulator keeps.
const (
	TopicConfig  ConfigResourceType = 2
	BrokerConfig ConfigResourceType = 4
	GroupConfig  ConfigResourceType = 32
)

// ConfigResource names one configuration: of a topic, of a broker, or, with
// type BrokerConfig and an empty name, of all brokers.
type ConfigResource struct {
	Type ConfigResourceType
	Name string
}

// ConfigSource is where a value comes from, by Kafka's number.
type ConfigSource int8

// The sources, in the order in which a value is looked for.
const (
	TopicSource                ConfigSource = 1 // DYNAMIC_TOPIC_CONFIG
	DynamicBrokerSource        ConfigSource = 2 // DYNAMIC_BROKER_CONFIG
	DynamicDefaultBrokerSource ConfigSource = 3 // DYNAMIC_DEFAULT_BROKER_CONFIG
	StaticBrokerSource         ConfigSource = 4 // STATIC_BROKER_CONFIG
	DefaultSource              ConfigSource = 5 // DEFAULT_CONFIG
	GroupSource                ConfigSource = 8 // DYNAMIC_GROUP_CONFIG
)

// ConfigType is the type of a value, by Kafka's number.
type ConfigType int8

// The types of values.
const (
	BooleanType  ConfigType = 1
	StringType   ConfigType = 2
	IntType      ConfigType = 3
	ShortType    ConfigType = 4
	LongType     ConfigType = 5
	DoubleType   ConfigType = 6
	ListType     ConfigType = 7
	ClassType    ConfigType = 8
	PasswordType ConfigType = 9
)

// ConfigEntry is one property of a resource, as DescribeConfigs shows it.
type ConfigEntry struct {
	Name string
	// Value is nil where there is none, and for sensitive values.
	Value     *string
	Source    ConfigSource
	Type      ConfigType
	ReadOnly  bool
	Sensitive bool
	// Synonyms are all values that are set for it, the one in force first.
	Synonyms []ConfigSynonym
	// Documentation is Kafka's description of the property; empty if not known.
	Documentation string
}

// ConfigSynonym is a value that is set for a property, somewhere.
type ConfigSynonym struct {
	Name   string
	Value  *string
	Source ConfigSource
}

// AlterConfigsRequest changes configurations.
type AlterConfigsRequest struct {
	Resources    []AlterConfig
	ValidateOnly bool
}

// AlterConfig changes one resource.
type AlterConfig struct {
	Resource ConfigResource
	Ops      []ConfigOp
}

// ConfigOpType is how a value changes, by Kafka's number.
type ConfigOpType int8

// The changes.
const (
	SetConfig      ConfigOpType = 0
	DeleteConfig   ConfigOpType = 1
	AppendConfig   ConfigOpType = 2
	SubtractConfig ConfigOpType = 3
)

// ConfigOp changes one property.
type ConfigOp struct {
	Type ConfigOpType
	ConfigValue
}
