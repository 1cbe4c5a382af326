package controller

import (
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// Broker is a registered broker.
type Broker struct {
	ID   kafka.BrokerID
	Host string
	Port int32
	Rack string
	// Epoch tells the registrations of one broker apart (KIP-631).
	Epoch int64
	// Fenced brokers lead nothing and are not shown to clients (rule F4).
	Fenced bool
	// ShuttingDown is set during a controlled shutdown.
	ShuttingDown bool
}

// Partition is a partition's metadata. Values in an Image never change; a
// change makes a new value.
type Partition struct {
	// Leader is kafka.NoBroker while there is none.
	Leader kafka.BrokerID
	// LeaderEpoch counts elections, Epoch every change of the partition.
	LeaderEpoch kafka.LeaderEpoch
	Epoch       int32
	Replicas    []kafka.BrokerID
	ISR         []kafka.BrokerID
	// ELR are the replicas that are no longer in the ISR and yet hold all
	// committed records (KIP-966); LastKnownELR those of the last leader.
	ELR          []kafka.BrokerID
	LastKnownELR []kafka.BrokerID
	// Adding and Removing are replicas of a reassignment under way.
	Adding   []kafka.BrokerID
	Removing []kafka.BrokerID
}

// Topic is a topic's metadata; Partitions is indexed by partition number.
type Topic struct {
	Name       string
	ID         kafka.TopicID
	Partitions []*Partition
	// Config are the topic's own properties.
	Config property.Values
}

// Features are the finalised features of the cluster (rule J4).
type Features struct {
	// Epoch is the metadata offset at which they were finalised, at least 0.
	Epoch  int64
	Levels map[string]int16
}

// Image is what one broker knows of the cluster's metadata.
type Image struct {
	offset  int64
	brokers map[kafka.BrokerID]*Broker
	topics  map[string]*Topic
	byID    map[kafka.TopicID]*Topic
	sorted  []*Topic // by name; nil when it must be made anew

	features      Features
	clusterConfig property.Values
	brokerConfigs map[kafka.BrokerID]property.Values
	groupConfigs  map[string]property.Values
	clusterID     string
	controllerID  kafka.BrokerID
}

// Offset is the metadata offset up to which the image has been brought.
func (i *Image) Offset() int64 { return i.offset }

// ClusterID is the cluster's id.
func (i *Image) ClusterID() string { return i.clusterID }

// Controller is the broker that Metadata names as controller: under KRaft any
// live broker, as brokers forward what is the controller's (KIP-590).
// NoBroker when none lives.
func (i *Image) Controller() kafka.BrokerID { return i.controller() }

// Features are the finalised features.
func (i *Image) Features() Features { return i.features }

// Broker is a registered broker, fenced or not.
func (i *Image) Broker(id kafka.BrokerID) (*Broker, bool) {
	b, ok := i.brokers[id]
	return b, ok
}

// Alive lists the brokers that are not fenced, by id.
func (i *Image) Alive() []*Broker { return i.alive() }

// Registered lists all brokers, by id.
func (i *Image) Registered() []*Broker { return i.registered() }

// Topic is a topic by name.
func (i *Image) Topic(name string) (*Topic, bool) {
	t, ok := i.topics[name]
	return t, ok
}

// TopicByID is a topic by id.
func (i *Image) TopicByID(id kafka.TopicID) (*Topic, bool) {
	t, ok := i.byID[id]
	return t, ok
}

// Topics lists all topics by name. The slice must not be changed.
func (i *Image) Topics() []*Topic { return i.allTopics() }

// Partition is the metadata of one partition.
func (i *Image) Partition(tp kafka.TopicPartition) (*Partition, bool) {
	t, ok := i.topics[tp.Topic]
	if !ok || tp.Partition < 0 || int(tp.Partition) >= len(t.Partitions) {
		return nil, false
	}
	return t.Partitions[tp.Partition], true
}

// Leader is the live leader of a partition, as Metadata and FindCoordinator
// answer it: false when the partition is unknown, has no leader, or the leader
// is not known to be alive.
func (i *Image) Leader(tp kafka.TopicPartition) (*Broker, bool) {
	p, ok := i.Partition(tp)
	if !ok || p.Leader == kafka.NoBroker {
		return nil, false
	}
	b, ok := i.brokers[p.Leader]
	if !ok || b.Fenced {
		return nil, false
	}
	return b, true
}
