package controller

import (
	"slices"

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

// Register registers a broker, fenced at first, and returns its epoch. One that
// was not shut down cleanly may have lost records, and leaves every ISR and ELR
// (KIP-966).
func (c *Controller) Register(r Registration) (epoch int64) {
	epoch = c.image.offset + 1
	previous, known := c.image.brokers[r.ID]
	c.setBroker(&Broker{ID: r.ID, Endpoints: r.Endpoints, Rack: r.Rack, Epoch: epoch, Fenced: true})
	if known && r.PreviousEpoch != previous.Epoch {
		c.removeFromISRs(r.ID, true)
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
func (c *Controller) Heartbeat(h Heartbeat) (HeartbeatResult, error) {
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
func (c *Controller) renew(id kafka.BrokerID) {
	c.sessions[id].Stop()
	c.sessions[id] = c.clk.After(c.config.Duration("broker.session.timeout.ms"), func() { c.fence(id) })
}

// fence takes a silent broker for dead (rule F4).
func (c *Controller) fence(id kafka.BrokerID) {
	b := c.image.brokers[id]
	if b.Fenced {
		return
	}
	next := *b
	next.Fenced = true
	c.setBroker(&next)
	c.removeFromISRs(id, false)
	c.commit()
}

func (c *Controller) unfence(b *Broker) {
	next := *b
	next.Fenced = false
	c.setBroker(&next)
	c.eachPartition(func(tp kafka.TopicPartition, p *Partition) {
		if p.Leader == kafka.NoBroker {
			c.update(tp, p, edit{})
		}
	})
	c.commit()
}

// beginShutdown moves what a broker leads elsewhere.
func (c *Controller) beginShutdown(b *Broker) {
	next := *b
	next.ShuttingDown = true
	c.setBroker(&next)
	c.removeFromISRs(b.ID, false)
	c.commit()
}

// endShutdown lets a broker go that leads nothing any more.
func (c *Controller) endShutdown(b *Broker) {
	c.sessions[b.ID].Stop()
	next := *b
	next.Fenced, next.ShuttingDown = true, false
	c.setBroker(&next)
	c.commit()
}

// removeFromISRs takes a broker out of every ISR and, when it may have lost
// records, out of every ELR.
func (c *Controller) removeFromISRs(id kafka.BrokerID, lost bool) {
	c.eachPartition(func(tp kafka.TopicPartition, p *Partition) {
		inISR, inELR := slices.Contains(p.ISR, id), slices.Contains(p.ELR, id)
		if !inISR && !(lost && inELR) {
			return
		}
		e := edit{isr: without(p.ISR, id)}
		if lost {
			e.lost = id
		}
		c.update(tp, p, e)
	})
}

// eachPartition visits all partitions in order. f may change the one it is
// given.
func (c *Controller) eachPartition(f func(kafka.TopicPartition, *Partition)) {
	for _, t := range c.image.Topics() {
		for n, p := range t.Partitions {
			f(kafka.TopicPartition{Topic: t.Name, Partition: int32(n)}, p)
		}
	}
}

func without(ids []kafka.BrokerID, id kafka.BrokerID) []kafka.BrokerID {
	left := make([]kafka.BrokerID, 0, len(ids))
	for _, other := range ids {
		if other != id {
			left = append(left, other)
		}
	}
	return left
}

// Unregister forgets a broker that is fenced, as an administrator does with one
// that will not come back (KIP-631). Errors: ErrBrokerIDNotRegistered;
// ErrInvalidRequest for a live one, which Kafka would have register again.
func (c *Controller) Unregister(id kafka.BrokerID) error {
	b, ok := c.image.brokers[id]
	switch {
	case !ok:
		return refuse(kafka.ErrBrokerIDNotRegistered, "Broker ID %d is not currently registered", id)
	case !b.Fenced:
		return refuse(kafka.ErrInvalidRequest, "Broker ID %d is alive", id)
	}
	delete(c.image.brokers, id)
	u := c.change()
	u.Unregistered = append(u.Unregistered, id)
	c.commit()
	return nil
}
