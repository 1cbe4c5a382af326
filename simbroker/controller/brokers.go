package controller

import (
	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Registration is a broker's application to join (KIP-631).
type Registration struct {
	ID        kafka.BrokerID
	Endpoints []Endpoint
	Rack      string
	// PreviousEpoch is the registration that the broker shut down cleanly from,
	// -1 if it did not.
	PreviousEpoch int64
}

// brokerControl keeps the registrations of brokers, and fences those that are
// silent.
type brokerControl struct {
	*metadata
	clk        clock.Clock
	partitions *partitionControl
	sessions   map[kafka.BrokerID]*clock.Timer // each ends in a fencing
}

// Register registers a broker, fenced at first, and returns its epoch. One that
// was not shut down cleanly may have lost records, and leaves every ISR and ELR
// (KIP-966).
func (c *brokerControl) Register(r Registration) (epoch int64) {
	epoch = c.image.offset + 1
	previous, known := c.image.brokers[r.ID]
	c.setBroker(&Broker{ID: r.ID, Endpoints: r.Endpoints, Rack: r.Rack, Epoch: epoch, Fenced: true})
	if known && r.PreviousEpoch != previous.Epoch {
		c.partitions.removeFromISRs(r.ID, true)
	}
	c.commit()
	c.renew(r.ID)
	return epoch
}

// Heartbeat is a sign of life.
type Heartbeat struct {
	ID    kafka.BrokerID
	Epoch int64
	// MetadataOffset is how far the broker's image is.
	MetadataOffset int64
	// WantShutDown asks for a controlled shutdown.
	WantShutDown bool
}

// HeartbeatResult answers a Heartbeat.
type HeartbeatResult struct {
	Fenced bool
	// ShutDown says that the broker leads nothing any more and may end.
	ShutDown bool
}

// Heartbeat renews a broker's session, and unfences it when its image has
// reached its registration. Errors: ErrStaleBrokerEpoch.
func (c *brokerControl) Heartbeat(h Heartbeat) (HeartbeatResult, error) {
	b, ok := c.image.brokers[h.ID]
	if !ok || b.Epoch != h.Epoch {
		return HeartbeatResult{}, ErrStaleBrokerEpoch
	}
	switch {
	case h.WantShutDown && !b.ShuttingDown:
		c.beginShutdown(b)
	case h.WantShutDown && h.MetadataOffset >= c.image.offset:
		c.endShutdown(b)
		return HeartbeatResult{Fenced: true, ShutDown: true}, nil
	case b.Fenced && h.MetadataOffset >= b.Epoch:
		c.unfence(b)
	}
	c.renew(h.ID)
	return HeartbeatResult{Fenced: c.image.brokers[h.ID].Fenced}, nil
}

// renew starts a broker's session anew.
func (c *brokerControl) renew(id kafka.BrokerID) {
	c.sessions[id].Stop()
	c.sessions[id] = c.clk.After(c.config.Duration("broker.session.timeout.ms"), func() { c.fence(id) })
}

// fence takes a silent broker for dead (rule F4).
func (c *brokerControl) fence(id kafka.BrokerID) {
	b := c.image.brokers[id]
	if b.Fenced {
		return
	}
	next := *b
	next.Fenced = true
	c.setBroker(&next)
	c.partitions.removeFromISRs(id, false)
	c.commit()
}

func (c *brokerControl) unfence(b *Broker) {
	next := *b
	next.Fenced = false
	c.setBroker(&next)
	c.partitions.electMissing()
	c.commit()
}

// beginShutdown moves what a broker leads elsewhere.
func (c *brokerControl) beginShutdown(b *Broker) {
	next := *b
	next.ShuttingDown = true
	c.setBroker(&next)
	c.partitions.removeFromISRs(b.ID, false)
	c.commit()
}

// endShutdown lets a broker go that leads nothing any more.
func (c *brokerControl) endShutdown(b *Broker) {
	c.sessions[b.ID].Stop()
	next := *b
	next.Fenced, next.ShuttingDown = true, false
	c.setBroker(&next)
	c.commit()
}

// Unregister forgets a broker that is fenced, as an administrator does with one
// that will not come back (KIP-631). Errors: ErrBrokerIDNotRegistered;
// ErrInvalidRequest for a live one, which Kafka would have register again.
func (c *brokerControl) Unregister(id kafka.BrokerID) error {
	b, ok := c.image.brokers[id]
	switch {
	case !ok:
		return refuse(kafka.ErrBrokerIDNotRegistered, "Broker ID %d is not currently registered", id)
	case !b.Fenced:
		return refuse(kafka.ErrInvalidRequest, "Broker ID %d is alive", id)
	}
	c.unregister(id)
	c.commit()
	return nil
}
