package wire

import (
	"net"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// endpoint is where the client reaches a broker: by the listener that it came
// by and, where that listens on all addresses, by the address that it came by.
func (c *call) endpoint(b *controller.Broker) controller.Endpoint {
	at := b.At(c.conn.Listener)
	if ip := net.ParseIP(at.Host); ip != nil && ip.IsUnspecified() && c.conn.ServerHost != "" {
		at.Host = c.conn.ServerHost
	}
	return at
}

// endpoints are the addresses of live brokers, each once.
func (c *call) endpoints(ids []kafka.BrokerID) []kmsg.FetchResponseBroker {
	var endpoints []kmsg.FetchResponseBroker
	seen := make(map[kafka.BrokerID]bool)
	for _, id := range ids {
		if seen[id] || !c.isAlive(id) {
			continue
		}
		seen[id] = true
		b, _ := c.image().Broker(id)
		endpoint, at := kmsg.NewFetchResponseBroker(), c.endpoint(b)
		endpoint.NodeID, endpoint.Host, endpoint.Port, endpoint.Rack = int32(id), at.Host, at.Port, rackOf(b)
		endpoints = append(endpoints, endpoint)
	}
	return endpoints
}

func rackOf(b *controller.Broker) *string {
	if b.Rack == "" {
		return nil
	}
	return &b.Rack
}

func (c *call) isAlive(id kafka.BrokerID) bool {
	b, ok := c.image().Broker(id)
	return ok && !b.Fenced
}

func (c *call) alive(ids []kafka.BrokerID) []kafka.BrokerID {
	return slices.DeleteFunc(slices.Clone(ids), func(id kafka.BrokerID) bool { return !c.isAlive(id) })
}

func (c *call) offline(ids []kafka.BrokerID) []kafka.BrokerID {
	return slices.DeleteFunc(slices.Clone(ids), c.isAlive)
}

// anyAlive is the broker that an answer names as controller: under KRaft any live
// one, as brokers forward what is the controller's (KIP-590). Kafka draws lots;
// here they take turns. NoBroker when none lives.
func (c *call) anyAlive() kafka.BrokerID {
	alive := c.image().Alive()
	if len(alive) == 0 {
		return kafka.NoBroker
	}
	c.memory.named++
	return alive[(c.memory.named-1)%len(alive)].ID
}
