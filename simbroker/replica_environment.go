package simbroker

import (
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// replicaEnvironment is what the replicas of a broker need from elsewhere.
func replicaEnvironment(n *node, brokers *nodes, f *faults, roleChanged func(replica.RoleChange)) replica.Deps {
	return replica.Deps{
		Clock:       n.host,
		Peers:       peers{n, brokers, f},
		Metadata:    metadata{n},
		Verifier:    transactionVerifier{n, brokers},
		RoleChanged: roleChanged,
	}
}

// peers implements replica.Peers: fetches from leaders, and what leaders ask the
// controller for.
type peers struct {
	*node
	brokers *nodes
	faults  *faults
}

func (b peers) Fetch(leader kafka.BrokerID, req replica.FetchRequest, done func(replica.FetchResult, error)) {
	if b.faults.none() {
		b.fetch(leader, req, done)
		return
	}
	b.faults.fetches(b.id, req, done, func(req replica.FetchRequest, done func(replica.FetchResult, error)) {
		b.fetch(leader, req, done)
	})
}

func (b peers) fetch(leader kafka.BrokerID, req replica.FetchRequest, done func(replica.FetchResult, error)) {
	to := b.brokers.node(leader)
	b.brokers.call(b.port, to.port, 0, func(reply func(func())) {
		to.replicas.Fetch(req, func(r replica.FetchResult) { reply(func() { done(r, nil) }) })
	}, func(err error) { done(replica.FetchResult{}, err) })
}

func (b peers) AlterPartition(change replica.ISRChange, done func(replica.PartitionState, error)) {
	b.agent.AlterPartition(controller.ISRChange{
		TopicPartition: change.Partition,
		LeaderEpoch:    change.LeaderEpoch,
		PartitionEpoch: change.PartitionEpoch,
		ISR:            change.ISR,
	}, func(p *controller.Partition, err error) {
		t, ok := b.agent.Image().Topic(change.Partition.Topic)
		switch {
		case err != nil:
			done(replica.PartitionState{}, err)
		case !ok:
			done(replica.PartitionState{}, kafka.ErrUnknownTopicOrPartition)
		default:
			done(partitionState(change.Partition, t.ID, p, topicConfig(b.agent.Config().Topic(t.Config))), nil)
		}
	})
}

// metadata implements replica.Metadata.
type metadata struct{ *node }

func (b metadata) Exists(tp kafka.TopicPartition) bool {
	_, ok := b.agent.Image().Partition(tp)
	return ok
}

func (b metadata) Unfenced(id kafka.BrokerID) bool {
	other, ok := b.agent.Image().Broker(id)
	return ok && !other.Fenced
}

func (b metadata) Rack(id kafka.BrokerID) string {
	if other, ok := b.agent.Image().Broker(id); ok && !other.Fenced {
		return other.Rack
	}
	return ""
}
