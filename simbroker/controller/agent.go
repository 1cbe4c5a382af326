package controller

import (
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// Agent is a broker's side of the controller: it registers the broker, sends
// its heartbeats, keeps its Image and its configuration up to date, and
// forwards what only the controller can do (KIP-590). Every done function is
// called once, from a later event of the broker, unless the broker dies.
type Agent struct {
	id     kafka.BrokerID
	image  *Image
	config *property.Config
}

// ID is the broker's.
func (a *Agent) ID() kafka.BrokerID { return a.id }

// Image is what the broker knows now. It changes with every update: look
// things up anew in each event.
func (a *Agent) Image() *Image { return a.image }

// Config is the broker's configuration, dynamic changes included.
func (a *Agent) Config() *property.Config { return a.config }

// DescribeConfigs answers for one resource from the broker's own image. A
// broker answers for itself and for the cluster-wide default (empty name)
// only: ErrInvalidRequest otherwise; ErrUnknownTopicOrPartition for no topic.
func (a *Agent) DescribeConfigs(r ConfigResource, names []string) ([]property.Entry, error) {
	return nil, nil
}

// Coordinator is the broker that coordinates key (rules G0, G1, H1): the
// leader of its partition of topic, one of the internal two. The topic is
// created when it is not there; ErrCoordinatorNotAvailable until it has a
// leader.
func (a *Agent) Coordinator(topic, key string) (*Broker, error) { return nil, nil }

// AutoCreate asks for a topic that a client named in Metadata, with the
// broker's defaults, if auto.create.topics.enable. The client asks again.
func (a *Agent) AutoCreate(topic string) {}

// CreateTopics creates topics. With validateOnly nothing is done but checking.
func (a *Agent) CreateTopics(topics []NewTopic, validateOnly bool, done func([]CreatedTopic)) {}

// DeleteTopics deletes topics, each given by Name or, if that is empty, by ID.
func (a *Agent) DeleteTopics(topics []TopicResult, done func([]TopicResult)) {}

// CreatePartitions adds partitions to topics.
func (a *Agent) CreatePartitions(topics []MorePartitions, validateOnly bool, done func([]TopicResult)) {
}

// ElectLeaders elects leaders of partitions; nil means all that need one, of
// which then only those that changed are reported.
func (a *Agent) ElectLeaders(kind Election, partitions []kafka.TopicPartition, done func([]PartitionResult)) {
}

// Reassign changes the replicas of partitions.
func (a *Agent) Reassign(r []Reassignment, done func([]PartitionResult)) {}

// AlterConfigs alters configurations (IncrementalAlterConfigs).
func (a *Agent) AlterConfigs(alterations []ConfigAlteration, validateOnly bool, done func([]ConfigResult)) {
}

// AllocateProducerIDs takes a block of producer ids (rule G0): first, and how
// many follow it.
func (a *Agent) AllocateProducerIDs(done func(first kafka.ProducerID, count int32)) {}
