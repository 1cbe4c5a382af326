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
		Peers:       peers{n, brokers, f, map[kafka.BrokerID]*fetchCall{}},
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
	fetches map[kafka.BrokerID]*fetchCall // by leader
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
	c := b.fetches[leader]
	if c == nil || !c.settled {
		c = newFetchCall(b.brokers.node(leader))
		b.fetches[leader] = c
	}
	c.req, c.done = req, done
	c.send(b.brokers.network, b.port)
}

// fetchCall is a follower's fetch and its answer: most of what passes between
// brokers. It is used again for the next fetch, unless the follower does not wait for
// the answer.
type fetchCall struct {
	call
	req    replica.FetchRequest
	result replica.FetchResult
	done   func(replica.FetchResult, error)
}

func newFetchCall(leader *node) *fetchCall {
	c := &fetchCall{call: call{to: leader.port}}
	answer := func() { c.done(c.result, nil) }
	fetched := func(r replica.FetchResult) {
		c.result = r
		c.reply(answer)
	}
	c.serve = func() { leader.replicas.Fetch(c.req, fetched) }
	c.lost = func(err error) { c.done(replica.FetchResult{}, err) }
	return c
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
