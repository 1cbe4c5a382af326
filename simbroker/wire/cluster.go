package wire

import (
	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// Cluster is the metadata and the controller as one broker knows them;
// controller.Agent is one. Methods that answer at once read the broker's own
// view and must not change anything. Those with a done function ask the
// controller, which answers in the order of the request; done is called once,
// from an event of the same loop, unless the broker dies.
type Cluster interface {
	Image() *controller.Image
	Config() *property.Config
	DescribeConfigs(r controller.ConfigResource, names []string) ([]property.Entry, error)
	Coordinator(topic, key string) (*controller.Broker, error)
	AutoCreate(topic string)
	CreateTopics(topics []controller.NewTopic, validateOnly bool, done func([]controller.CreatedTopic))
	DeleteTopics(topics []controller.TopicResult, done func([]controller.TopicResult))
	CreatePartitions(topics []controller.MorePartitions, validateOnly bool, done func([]controller.TopicResult))
	ElectLeaders(kind controller.Election, partitions []kafka.TopicPartition, done func([]controller.PartitionResult))
	Reassign(r []controller.Reassignment, done func([]controller.PartitionResult))
	CreateACLs(bindings []acl.Binding, done func([]error))
	DeleteACLs(filters []acl.Filter, done func([][]acl.Binding))
	AlterCredentials(changes []controller.CredentialChange, done func([]controller.CredentialResult))
	AlterQuotas(alterations []controller.QuotaAlteration, validateOnly bool, done func([]error))
	Quotas(done func([]controller.Quota))
	UpdateFeatures(updates []controller.FeatureUpdate, validateOnly bool, done func(error))
	Unregister(id kafka.BrokerID, done func(error))
	AlterConfigs(alterations []controller.ConfigAlteration, validateOnly bool, done func([]controller.ConfigResult))
}

var _ Cluster = (*controller.Agent)(nil)
