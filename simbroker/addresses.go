package simbroker

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// Listeners are the names of the brokers' listeners, in order.
func (c *Cluster) Listeners() []string {
	var names []string
	for _, e := range c.brokers[0].entrances {
		names = append(names, e.name)
	}
	return names
}

// Bootstrap lists the brokers' addresses, host:port, by id; nil without TCP. It
// is that of the first listener.
func (c *Cluster) Bootstrap() []string { return c.BootstrapOf(c.Listeners()[0]) }

// BootstrapOf is Bootstrap of one listener; nil also where there is none of
// that name.
func (c *Cluster) BootstrapOf(listener string) []string {
	var addresses []string
	for _, b := range c.brokers {
		for _, e := range b.entrances {
			if e.name == listener && e.address != nil {
				addresses = append(addresses, e.address.String())
			}
		}
	}
	return addresses
}

// Brokers lists the ids.
func (c *Cluster) Brokers() []kafka.BrokerID {
	ids := make([]kafka.BrokerID, len(c.brokers))
	for i, b := range c.brokers {
		ids[i] = b.id
	}
	return ids
}

// Addr is one broker's address, of its first listener; empty without TCP or for
// an unknown broker.
func (c *Cluster) Addr(id kafka.BrokerID) string {
	b := c.broker(id)
	if b == nil || b.entrances[0].address == nil {
		return ""
	}
	return b.entrances[0].address.String()
}
