package simbroker

import (
	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/group/coordinator"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// node is a broker as the other brokers meet it: its place in the network and the
// rooms of its process. The rooms are made anew when the broker starts, but for
// replicas, which keeps its disk. It belongs to events.
type node struct {
	*port
	id kafka.BrokerID

	agent      *controller.Agent
	replicas   *replica.Broker
	txn        *txn.Coordinator
	groups     *coordinator.Coordinator
	shares     *share.Broker
	authorizer *acl.Authorizer // nil without one
}

// groupConfig is the configuration of a group.
func (n *node) groupConfig(id string) property.Inherited {
	return n.agent.Config().Group(n.agent.Image().GroupConfig(id))
}
