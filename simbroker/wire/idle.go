package wire

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
)

// idleness closes a connection on which nothing was read or written for
// connections.max.idle.ms, even while a request waits for its answer. It belongs
// to events.
type idleness struct {
	active time.Time // when a request came or an answer was ready
	sent   int64     // bytes that the client had taken when that was looked at
	timer  *clock.Timer
}

// watchIdle begins to watch, if the broker does.
func (c *connection) watchIdle() {
	limit := c.broker().MaxIdle
	if limit <= 0 || c.isClosed() {
		return
	}
	c.touch()
	c.idle.timer = c.broker().Host.After(limit, c.checkIdle)
}

// touch notes that something happens.
func (c *connection) touch() {
	if c.broker().MaxIdle > 0 {
		c.idle.active = c.broker().Loop.Now()
	}
}

// checkIdle closes the connection if it has been idle for long enough, and looks
// again when it may have been. A client that takes an answer little by little is
// not idle.
func (c *connection) checkIdle() {
	if c.isClosed() {
		return
	}
	if sent := c.taken.Load(); c.unsent.Load() > 0 && sent != c.idle.sent {
		c.idle.sent = sent
		c.touch()
	}
	broker := c.broker()
	if left := broker.MaxIdle - broker.Loop.Now().Sub(c.idle.active); left > 0 {
		c.idle.timer = broker.Host.After(left, c.checkIdle)
		return
	}
	c.close(false)
}

// endIdle ends the watch with the connection.
func (c *connection) endIdle() {
	if c.idle.timer != nil {
		c.idle.timer.Stop()
	}
}
