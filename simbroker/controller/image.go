package controller

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// Endpoint is where a broker listens for clients.
type Endpoint struct {
	Listener string
	Host     string
	Port     int32
}

// Broker is a registered broker. It never changes; a change makes a new value.
type Broker struct {
	ID kafka.BrokerID
	// Endpoints has at least one; all brokers have the same listeners.
	Endpoints []Endpoint
	Rack      string
	// Epoch tells the registrations of one broker apart (KIP-631).
	Epoch int64
	// Fenced brokers lead nothing and are not shown to clients (rule F4).
	Fenced bool
	// ShuttingDown is set during a controlled shutdown.
	ShuttingDown bool
}

// At is where the broker is reached through a listener: a client is told of the
// listener that it came by. Any other name stands for the first listener.
func (b *Broker) At(listener string) Endpoint {
	for _, e := range b.Endpoints {
		if e.Listener == listener {
			return e
		}
	}
	return b.Endpoints[0]
}

// active says whether the broker may lead and be in an ISR.
func (b *Broker) active() bool { return !b.Fenced && !b.ShuttingDown }

// Partition is a partition's metadata. It never changes; a change makes a new
// value.
type Partition struct {
	// Leader is kafka.NoBroker while there is none.
	Leader kafka.BrokerID
	// LeaderEpoch counts elections, Epoch every change of the partition.
	LeaderEpoch kafka.LeaderEpoch
	Epoch       int32
	// Replicas begin with the preferred leader.
	Replicas []kafka.BrokerID
	ISR      []kafka.BrokerID
	// ELR are the replicas that are no longer in the ISR and yet hold all
	// committed records (KIP-966). LastKnownELR is the last leader, once there
	// is neither ISR nor ELR.
	ELR          []kafka.BrokerID
	LastKnownELR []kafka.BrokerID
	// Adding and Removing are replicas of a reassignment under way.
	Adding   []kafka.BrokerID
	Removing []kafka.BrokerID
}

// Topic is a topic's metadata; Partitions is indexed by partition number. It
// belongs to its Image, which replaces elements of Partitions.
type Topic struct {
	Name       string
	ID         kafka.TopicID
	Partitions []*Partition
	// Config are the topic's own properties.
	Config property.Values
}

// Image is the metadata as one node knows it. It changes with every update:
// look things up anew in each event.
type Image struct {
	clusterID     string
	offset        int64
	features      Features
	brokers       map[kafka.BrokerID]*Broker
	topics        map[string]*Topic
	byID          map[kafka.TopicID]*Topic
	sorted        []*Topic // by name; nil when topics came or went
	clusterConfig property.Values
	brokerConfigs map[kafka.BrokerID]property.Values
	groupConfigs  map[string]property.Values
	acls          map[acl.Binding]struct{}
	sortedACLs    []acl.Binding // nil when they have changed
	credentials   map[credentialKey]sasl.Credential
}

// Features are the finalised features of the cluster (rule J4).
type Features struct {
	// Epoch is the metadata offset at which they were finalised, at least 0.
	Epoch int64
	// Levels leaves out features at level 0.
	Levels map[string]int16
}

// credentialKey names a credential: a user has one for each mechanism.
type credentialKey struct {
	user      string
	mechanism sasl.Mechanism
}

func newImage() *Image {
	return &Image{
		offset:        -1,
		brokers:       make(map[kafka.BrokerID]*Broker),
		topics:        make(map[string]*Topic),
		byID:          make(map[kafka.TopicID]*Topic),
		brokerConfigs: make(map[kafka.BrokerID]property.Values),
		groupConfigs:  make(map[string]property.Values),
		acls:          make(map[acl.Binding]struct{}),
		credentials:   make(map[credentialKey]sasl.Credential),
	}
}

// Offset is the metadata offset up to which the image has been brought; -1
// before the first update.
func (i *Image) Offset() int64 { return i.offset }

// ClusterID is the cluster's id, 22 characters of base64.
func (i *Image) ClusterID() string { return i.clusterID }

// Features are the finalised features.
func (i *Image) Features() Features { return i.features }

// Broker is a registered broker, fenced or not.
func (i *Image) Broker(id kafka.BrokerID) (*Broker, bool) {
	b, ok := i.brokers[id]
	return b, ok
}

// Alive lists the brokers that are not fenced, by id.
func (i *Image) Alive() []*Broker {
	return slices.DeleteFunc(i.Registered(), func(b *Broker) bool { return b.Fenced })
}

// Registered lists the registered brokers by id, fenced ones included.
func (i *Image) Registered() []*Broker {
	return slices.SortedFunc(maps.Values(i.brokers), func(a, b *Broker) int { return cmp.Compare(a.ID, b.ID) })
}

// active says whether a broker is registered, and may lead and be in an ISR.
func (i *Image) active(id kafka.BrokerID) bool {
	b, ok := i.brokers[id]
	return ok && b.active()
}

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
func (i *Image) Topics() []*Topic {
	if i.sorted == nil {
		i.sorted = slices.SortedFunc(maps.Values(i.topics), func(a, b *Topic) int { return cmp.Compare(a.Name, b.Name) })
	}
	return i.sorted
}

// Partition is the metadata of one partition.
func (i *Image) Partition(tp kafka.TopicPartition) (*Partition, bool) {
	t, ok := i.topics[tp.Topic]
	if !ok || tp.Partition < 0 || int(tp.Partition) >= len(t.Partitions) {
		return nil, false
	}
	return t.Partitions[tp.Partition], true
}

// Leader is the live leader of a partition, as FindCoordinator answers it:
// false when the partition is unknown, has no leader, or its leader is fenced.
func (i *Image) Leader(tp kafka.TopicPartition) (*Broker, bool) {
	p, ok := i.Partition(tp)
	if !ok || p.Leader == kafka.NoBroker {
		return nil, false
	}
	b, ok := i.brokers[p.Leader]
	return b, ok && !b.Fenced
}

// eachPartition visits all partitions in order. f may replace the one it is
// given.
func (i *Image) eachPartition(f func(kafka.TopicPartition, *Partition)) {
	for _, t := range i.Topics() {
		for n, p := range t.Partitions {
			f(kafka.TopicPartition{Topic: t.Name, Partition: int32(n)}, p)
		}
	}
}

// GroupConfig are a group's own properties.
func (i *Image) GroupConfig(group string) property.Values { return i.groupConfigs[group] }

// ConfiguredGroups are the groups that have properties of their own, by name.
func (i *Image) ConfiguredGroups() []string {
	var names []string
	for name, values := range i.groupConfigs {
		if len(values) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// config is what is set for a resource.
func (i *Image) config(r ConfigResource) property.Values {
	switch r.Type {
	case property.Topic:
		if t, ok := i.topics[r.Name]; ok {
			return t.Config
		}
		return nil
	case property.Group:
		return i.groupConfigs[r.Name]
	}
	if id, ok := r.broker(); ok {
		return i.brokerConfigs[id]
	}
	return i.clusterConfig
}

// ACLs lists the bindings in order. The slice must not be changed.
func (i *Image) ACLs() []acl.Binding {
	if i.sortedACLs == nil {
		i.sortedACLs = slices.SortedFunc(maps.Keys(i.acls), acl.Compare)
	}
	return i.sortedACLs
}

// Credential is what is kept of a user's password for a mechanism.
func (i *Image) Credential(m sasl.Mechanism, user string) (sasl.Credential, bool) {
	c, ok := i.credentials[credentialKey{user, m}]
	return c, ok
}

// Credentials lists the users that have a credential, by name, each with its
// mechanisms.
func (i *Image) Credentials() []CredentialChange {
	keys := slices.SortedFunc(maps.Keys(i.credentials), func(a, b credentialKey) int {
		return cmp.Or(cmp.Compare(a.user, b.user), cmp.Compare(a.mechanism, b.mechanism))
	})
	list := make([]CredentialChange, len(keys))
	for n, k := range keys {
		c := i.credentials[k]
		list[n] = CredentialChange{User: k.user, Mechanism: k.mechanism, Credential: &c}
	}
	return list
}
