package simbroker

import (
	"iter"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
)

// groupEnvironment is what the group coordinator of a broker needs from elsewhere.
func groupEnvironment(n *node, network *network, store *share.Store, uuid func() string) group.Environment {
	return group.Environment{
		Log:      offsetsLog{n},
		Verifier: offsetsVerifier{n},
		Topics:   groupTopics{n},
		Shares:   shareStates{n.port, network, store},
		Settings: func(id string) group.Settings { return groupSettings(n.groupConfig(id)) },
		UUID:     uuid,
	}
}

// offsetsLog implements group.Log.
type offsetsLog struct{ *node }

func offsetsPartition(partition int32) kafka.TopicPartition {
	return kafka.TopicPartition{Topic: kafka.ConsumerOffsetsTopic, Partition: partition}
}

func (b offsetsLog) Append(partition int32, batch group.Batch, done func(error)) (kafka.Offset, error) {
	req := replica.AppendRequest{
		Partition:     offsetsPartition(partition),
		Producer:      batch.Producer,
		Transactional: batch.Producer.ID != kafka.NoProducerID,
		Guard:         batch.Guard,
		Sequenced:     true,
		Timeout:       batch.Timeout,
	}
	now := b.host.Now().UnixMilli()
	for _, r := range batch.Records {
		req.Records = append(req.Records, commitlog.Record{TimestampMs: now, Key: r.Key, Value: r.Value})
	}
	return b.replicas.Append(req, done)
}

func (b offsetsLog) AppendMarker(partition int32, m group.Marker, done func(kafka.Offset, error)) {
	b.replicas.WriteMarkers(replica.MarkersRequest{
		Producer:           m.Producer,
		CoordinatorEpoch:   m.CoordinatorEpoch,
		Commit:             m.Commit,
		TransactionVersion: int8(m.TransactionVersion),
		Timeout:            m.Timeout,
		Partitions:         []kafka.TopicPartition{offsetsPartition(partition)},
	}, func(r []replica.MarkerResult) { done(r[0].Offset, r[0].Err) })
}

func (b offsetsLog) HighWatermark(partition int32) kafka.Offset {
	s, _ := b.replicas.Status(offsetsPartition(partition))
	return s.HighWatermark
}

func (b offsetsLog) Entries(partition int32) iter.Seq[group.Entry] {
	return b.entries(offsetsPartition(partition))
}

// groupTopics implements group.Topics.
type groupTopics struct{ *node }

func (b groupTopics) Topic(name string) (group.Topic, bool) {
	t, ok := b.agent.Image().Topic(name)
	if !ok {
		return group.Topic{}, false
	}
	return group.Topic{Name: t.Name, ID: t.ID, Partitions: int32(len(t.Partitions))}, true
}

func (b groupTopics) TopicByID(id kafka.TopicID) (group.Topic, bool) {
	t, ok := b.agent.Image().TopicByID(id)
	if !ok {
		return group.Topic{}, false
	}
	return b.Topic(t.Name)
}

func (b groupTopics) Names() []string {
	topics := b.agent.Image().Topics()
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.Name
	}
	return names
}

func (b groupTopics) Version() int64 { return b.agent.Image().Offset() }

// shareStates implements group.ShareStates: a message to the store, which is
// everywhere.
type shareStates struct {
	at      *port
	network *network
	store   *share.Store
}

func (b shareStates) Initialize(groupID string, partitions []group.SharePartition, epoch int32, done func(error)) {
	b.network.send(b.at, func() {
		var failed error
		for _, p := range partitions {
			if err := b.store.Initialize(share.Key{Group: groupID, TopicID: p.TopicID, Partition: p.Partition}, epoch, p.Start); err != nil {
				failed = err
			}
		}
		done(failed)
	})
}

func (b shareStates) Delete(groupID string, done func(error)) {
	b.network.send(b.at, func() {
		b.store.DeleteGroup(groupID)
		done(nil)
	})
}

func (b shareStates) DeleteTopics(groupID string, topics []kafka.TopicID, done func(error)) {
	b.network.send(b.at, func() {
		for _, id := range topics {
			b.store.DeleteGroupTopic(groupID, id)
		}
		done(nil)
	})
}
