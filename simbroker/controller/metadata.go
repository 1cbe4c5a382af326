package controller

import (
	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
)

// metadata is what the controller decides on and what it has decided: its own
// image, which each change is made to at once, and the update that tells the
// brokers of all that one act has changed.
type metadata struct {
	image    *Image
	config   *property.Config // of the controller's node
	pending  *Update          // of the act under way
	publish  func(to kafka.BrokerID, u *Update)
	receives []kafka.BrokerID
}

// Image is the metadata as the controller knows it.
func (m *metadata) Image() *Image { return m.image }

// Subscribe sends a broker a snapshot, and from then on every update.
func (m *metadata) Subscribe(id kafka.BrokerID) {
	for _, known := range m.receives {
		if known == id {
			m.publish(id, m.image.snapshot())
			return
		}
	}
	m.receives = append(m.receives, id)
	m.publish(id, m.image.snapshot())
}

// change is the update that the act under way is collecting.
func (m *metadata) change() *Update {
	if m.pending == nil {
		m.pending = &Update{}
	}
	return m.pending
}

// commit publishes what the act under way has changed, if anything.
func (m *metadata) commit() {
	if m.pending == nil {
		return
	}
	u := m.pending
	m.pending = nil
	m.image.offset++
	u.Offset = m.image.offset
	for _, id := range m.receives {
		m.publish(id, u)
	}
}

func (m *metadata) setBroker(b *Broker) {
	u := m.change()
	u.Brokers = append(u.Brokers, b)
	m.image.brokers[b.ID] = b
}

func (m *metadata) unregister(id kafka.BrokerID) {
	u := m.change()
	u.Unregistered = append(u.Unregistered, id)
	delete(m.image.brokers, id)
}

func (m *metadata) setFeatures(levels map[string]int16) {
	f := Features{Epoch: m.image.offset + 1, Levels: levels}
	m.change().NewFeatures = &f
	m.image.features = f
}

func (m *metadata) setTopic(t *Topic) {
	u := m.change()
	u.Topics = append(u.Topics, t)
	m.image.setTopic(t)
}

func (m *metadata) deleteTopic(t *Topic) {
	u := m.change()
	u.Deleted = append(u.Deleted, t)
	m.image.deleteTopic(t)
}

func (m *metadata) setPartition(tp kafka.TopicPartition, p *Partition) {
	u := m.change()
	u.Partitions = append(u.Partitions, PartitionChange{tp, p})
	m.image.topics[tp.Topic].Partitions[tp.Partition] = p
}

func (m *metadata) setConfig(s ConfigState) {
	u := m.change()
	u.Configs = append(u.Configs, s)
	m.image.setConfig(s)
	m.config.SetDynamic(m.image.clusterConfig, nil)
}

func (m *metadata) createACL(b acl.Binding) {
	u := m.change()
	u.NewACLs = append(u.NewACLs, b)
	m.image.createACL(b)
}

func (m *metadata) deleteACL(b acl.Binding) {
	u := m.change()
	u.DeletedACLs = append(u.DeletedACLs, b)
	m.image.deleteACL(b)
}

func (m *metadata) setCredential(c CredentialChange) {
	u := m.change()
	u.Credentials = append(u.Credentials, c)
	m.image.setCredential(c)
}
