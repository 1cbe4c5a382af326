package simbroker

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
)

// take takes an update of the metadata to the rooms.
func (n *node) take(u *controller.Update, store *share.Store) {
	image := n.agent.Image()
	reconfigured := reconfigures(u)
	if reconfigured {
		n.configure()
	}
	if n.authorizer != nil && (u.Snapshot || len(u.NewACLs)+len(u.DeletedACLs) > 0) {
		n.authorizer.Load(image.ACLs())
	}
	n.drop(u, image, store)
	if u.Snapshot || len(u.Topics) > 0 {
		n.groups.TopicsCreated()
	}
	if reconfigured {
		for _, t := range image.Topics() {
			n.applyTopic(t)
		}
	} else {
		n.apply(u, image)
	}
}

// reconfigures says whether an update may change properties of the broker.
func reconfigures(u *controller.Update) bool {
	return u.Snapshot || slices.ContainsFunc(u.Configs, func(c controller.ConfigState) bool { return c.Resource.Type == property.Broker })
}

// configure hands dynamic properties to the rooms.
func (n *node) configure() {
	config := n.agent.Config()
	n.replicas.Configure(replicaConfig(config))
	n.txn.Configure(txnConfig(config))
	n.groups.Configure(groupConfig(config))
}

// drop forgets the partitions of topics that were deleted.
func (n *node) drop(u *controller.Update, image *controller.Image, store *share.Store) {
	var gone []group.DeletedTopic
	for _, t := range u.Deleted {
		gone = append(gone, group.DeletedTopic{Name: t.Name, ID: t.ID})
		store.DeleteTopic(t.ID)
		for number := range t.Partitions {
			n.replicas.Delete(kafka.TopicPartition{Topic: t.Name, Partition: int32(number)})
		}
	}
	if u.Snapshot { // deleted while the broker was down
		for _, tp := range n.replicas.Partitions() {
			if _, ok := image.Partition(tp); !ok {
				n.replicas.Delete(tp)
			}
		}
	}
	if gone != nil {
		n.groups.TopicsDeleted(gone)
	}
}

// apply hands changed partitions to the replica manager.
func (n *node) apply(u *controller.Update, image *controller.Image) {
	for _, t := range u.Topics {
		if current, ok := image.Topic(t.Name); ok {
			n.applyTopic(current)
		}
	}
	for _, p := range u.Partitions {
		if t, ok := image.Topic(p.TopicPartition.Topic); ok {
			n.applyPartition(t, p.TopicPartition.Partition, topicConfig(n.agent.Config().Topic(t.Config)))
		}
	}
	for _, c := range u.Configs {
		if t, ok := image.Topic(c.Resource.Name); ok && c.Resource.Type == property.Topic {
			n.applyTopic(t)
		}
	}
}

func (n *node) applyTopic(t *controller.Topic) {
	config := topicConfig(n.agent.Config().Topic(t.Config))
	for number := range t.Partitions {
		n.applyPartition(t, int32(number), config)
	}
}

func (n *node) applyPartition(t *controller.Topic, number int32, config *replica.TopicConfig) {
	tp := kafka.TopicPartition{Topic: t.Name, Partition: number}
	if !slices.Contains(t.Partitions[number].Replicas, n.id) {
		if _, hosted := n.replicas.Status(tp); !hosted {
			return
		}
	}
	n.replicas.Apply(partitionState(tp, t.ID, t.Partitions[number], config))
}

func partitionState(tp kafka.TopicPartition, id kafka.TopicID, p *controller.Partition, config *replica.TopicConfig) replica.PartitionState {
	return replica.PartitionState{
		Partition:      tp,
		TopicID:        id,
		Leader:         p.Leader,
		LeaderEpoch:    p.LeaderEpoch,
		PartitionEpoch: p.Epoch,
		Replicas:       p.Replicas,
		ISR:            p.ISR,
		ELR:            p.ELR,
		Config:         config,
	}
}
