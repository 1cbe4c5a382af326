package simbroker

import (
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
)

// shareEnvironment is what the share partitions of a broker need from elsewhere.
func shareEnvironment(n *node, brokers *nodes, store *share.Store) share.Environment {
	return share.Environment{
		Replicas:    n.replicas,
		Store:       store,
		Topic:       n.topicName,
		Settings:    func(id string) share.Settings { return shareSettings(n.groupConfig(id)) },
		MaxSessions: int(n.agent.Config().Int("group.share.max.share.sessions")),
		EndOffset:   func(tp kafka.TopicPartition, done func(kafka.Offset, error)) { brokers.endOffset(n, tp, done) },
	}
}

// topicName is the name that a topic's id has now.
func (n *node) topicName(id kafka.TopicID) (string, bool) {
	t, ok := n.agent.Image().TopicByID(id)
	if !ok {
		return "", false
	}
	return t.Name, true
}

// endOffset asks a partition's leader for the high watermark, on behalf of a broker.
func (n *nodes) endOffset(from *node, tp kafka.TopicPartition, done func(kafka.Offset, error)) {
	p, ok := from.agent.Image().Partition(tp)
	if !ok || p.Leader == kafka.NoBroker {
		done(kafka.NoOffset, kafka.ErrLeaderNotAvailable)
		return
	}
	to := n.node(p.Leader)
	n.call(from.port, to.port, from.agent.Config().Duration("request.timeout.ms"), func(reply func(func())) {
		at, err := to.replicas.ListOffsets(replica.ListOffsetsRequest{
			ReplicaID: replica.ConsumerReplica, Partition: tp, CurrentLeaderEpoch: -1, Timestamp: replica.Latest,
		})
		reply(func() { done(at.Offset, err) })
	}, func(err error) { done(kafka.NoOffset, err) })
}
