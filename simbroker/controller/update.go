package controller

import (
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// Update is what one act of the controller changed, or, as a snapshot, all
// there is. It is shared by its receivers and must not be changed.
type Update struct {
	// Offset is the metadata offset after the update.
	Offset int64
	// Snapshot updates replace the whole image.
	Snapshot  bool
	ClusterID string // of snapshots
	Features  Features
	Brokers   []*Broker // registered or changed
	// Unregistered are brokers that are not registered any more.
	Unregistered []kafka.BrokerID
	NewFeatures  *Features // nil where they have not changed
	Topics       []*Topic  // new or grown ones
	Deleted      []*Topic
	Partitions   []PartitionChange
	Configs      []ConfigState

	NewACLs     []acl.Binding
	DeletedACLs []acl.Binding
	Credentials []CredentialChange
}

// PartitionChange is a partition's new state.
type PartitionChange struct {
	TopicPartition kafka.TopicPartition
	Partition      *Partition
}

// ConfigState is all that is set for a resource; empty Values mean nothing is.
type ConfigState struct {
	Resource ConfigResource
	Values   property.Values
}

// apply brings the image up to date.
func (i *Image) apply(u *Update) {
	if u.Snapshot {
		*i = *newImage()
		i.clusterID, i.features = u.ClusterID, u.Features
	}
	i.offset = u.Offset
	for _, b := range u.Brokers {
		i.brokers[b.ID] = b
	}
	for _, id := range u.Unregistered {
		delete(i.brokers, id)
	}
	if u.NewFeatures != nil {
		i.features = *u.NewFeatures
	}
	for _, t := range u.Deleted {
		i.deleteTopic(t)
	}
	for _, t := range u.Topics {
		i.setTopic(t)
	}
	for _, p := range u.Partitions {
		i.topics[p.TopicPartition.Topic].Partitions[p.TopicPartition.Partition] = p.Partition
	}
	for _, c := range u.Configs {
		i.setConfig(c)
	}
	for _, b := range u.DeletedACLs {
		i.deleteACL(b)
	}
	for _, b := range u.NewACLs {
		i.createACL(b)
	}
	for _, c := range u.Credentials {
		i.setCredential(c)
	}
}

// setTopic takes over a topic with partitions of its own, which the image replaces.
func (i *Image) setTopic(t *Topic) {
	own := *t
	own.Partitions = slices.Clone(t.Partitions)
	i.topics[t.Name], i.byID[t.ID] = &own, &own
	i.sorted = nil
}

func (i *Image) deleteTopic(t *Topic) {
	delete(i.topics, t.Name)
	delete(i.byID, t.ID)
	i.sorted = nil
}

func (i *Image) setConfig(c ConfigState) {
	switch c.Resource.Type {
	case property.Topic:
		if t, ok := i.topics[c.Resource.Name]; ok {
			t.Config = c.Values
		}
	case property.Broker:
		if id, ok := c.Resource.broker(); ok {
			i.brokerConfigs[id] = c.Values
		} else {
			i.clusterConfig = c.Values
		}
	case property.Group:
		i.groupConfigs[c.Resource.Name] = c.Values
	}
}

func (i *Image) createACL(b acl.Binding) {
	i.acls[b] = struct{}{}
	i.sortedACLs = nil
}

func (i *Image) deleteACL(b acl.Binding) {
	delete(i.acls, b)
	i.sortedACLs = nil
}

func (i *Image) setCredential(c CredentialChange) {
	key := credentialKey{c.User, c.Mechanism}
	if c.Credential == nil {
		delete(i.credentials, key)
	} else {
		i.credentials[key] = *c.Credential
	}
}

// snapshot is the whole image as an update.
func (i *Image) snapshot() *Update {
	u := &Update{Offset: i.offset, Snapshot: true, ClusterID: i.clusterID, Features: i.features, Brokers: i.Registered()}
	for _, t := range i.Topics() {
		own := *t
		own.Partitions = slices.Clone(t.Partitions)
		u.Topics = append(u.Topics, &own)
	}
	if len(i.clusterConfig) > 0 {
		u.Configs = append(u.Configs, ConfigState{ConfigResource{Type: property.Broker}, i.clusterConfig})
	}
	for _, id := range slices.Sorted(maps.Keys(i.brokerConfigs)) {
		u.Configs = append(u.Configs, ConfigState{BrokerResource(id), i.brokerConfigs[id]})
	}
	for _, name := range slices.Sorted(maps.Keys(i.groupConfigs)) {
		u.Configs = append(u.Configs, ConfigState{ConfigResource{property.Group, name}, i.groupConfigs[name]})
	}
	u.NewACLs, u.Credentials = i.ACLs(), i.Credentials()
	return u
}
