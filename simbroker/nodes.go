package simbroker

import (
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// nodes are the brokers of a cluster on their network.
type nodes struct {
	*network
	all []*node // by id, from 1
}

// node is the one with an id, nil if there is none.
func (n *nodes) node(id kafka.BrokerID) *node {
	if id < 1 || int(id) > len(n.all) {
		return nil
	}
	return n.all[id-1]
}

// update takes an update of the metadata from the controller to a broker.
func (n *nodes) update(to kafka.BrokerID, u *controller.Update) {
	if b := n.node(to); b.alive {
		n.publish(b.port, func() { b.agent.Update(u) })
	}
}
