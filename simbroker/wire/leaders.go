package wire

import (
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
)

// leadership is who leads a partition (KIP-951).
type leadership struct {
	id    kafka.BrokerID
	epoch kafka.LeaderEpoch
}

// presentLeader is what the room knows of a partition's leader or, where it
// knows nothing, the broker's image.
func (c *call) presentLeader(tp kafka.TopicPartition, id kafka.BrokerID, epoch kafka.LeaderEpoch) leadership {
	if p, ok := c.image().Partition(tp); ok && id == kafka.NoBroker {
		return leadership{p.Leader, p.LeaderEpoch}
	}
	return leadership{id, epoch}
}

// leaderOf is the leader of a partition as the broker's image has it.
func (c *call) leaderOf(tp share.TopicPartition) leadership {
	if t, ok := c.image().TopicByID(tp.TopicID); ok {
		return c.presentLeader(kafka.TopicPartition{Topic: t.Name, Partition: tp.Partition}, kafka.NoBroker, -1)
	}
	return leadership{kafka.NoBroker, -1}
}

// liveLeader is the leader of a partition as clients are told of it: NoBroker
// if it is fenced.
func (c *call) liveLeader(p *controller.Partition) kafka.BrokerID {
	if c.isAlive(p.Leader) {
		return p.Leader
	}
	return kafka.NoBroker
}
