package simbroker

import (
	"fmt"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// patience is how long a start or a controlled shutdown may take, by the
// cluster's clock.
const patience = time.Minute

// State is what a broker's process does; zero for an unknown broker.
func (c *Cluster) State(id kafka.BrokerID) State {
	var s State
	c.loop.Do(func() {
		if b := c.broker(id); b != nil {
			s = b.state
		}
	})
	return s
}

// Fenced says whether the controller takes a broker for dead.
func (c *Cluster) Fenced(id kafka.BrokerID) bool {
	fenced := true
	c.loop.Do(func() {
		if b, ok := c.controller.Image().Broker(id); ok {
			fenced = b.Fenced
		}
	})
	return fenced
}

// Describe is a broker's address, the name of its state, and whether it is
// fenced.
func (c *Cluster) Describe(id kafka.BrokerID) (address, state string, fenced bool) {
	return c.Addr(id), c.State(id).String(), c.Fenced(id)
}

// Pause stops a broker as SIGSTOP does: its sockets accept and stay silent, its
// timers stand still, and the controller fences it after its session timeout.
func (c *Cluster) Pause(id kafka.BrokerID) error {
	return c.act("pause", id, func(b *broker) {
		b.host.Pause()
		b.state = Paused
	}, Running)
}

// Resume lets a paused broker work off what reached it meanwhile.
func (c *Cluster) Resume(id kafka.BrokerID) error {
	return c.act("resume", id, func(b *broker) {
		b.state = Running
		b.host.Resume()
	}, Paused)
}

// Kill ends a broker as SIGKILL does: connections are reset, memory is lost,
// the log on its disk stays.
func (c *Cluster) Kill(id kafka.BrokerID) error {
	return c.act("kill", id, func(b *broker) { b.end(Killed) }, Running, Paused)
}

// Start starts a broker that was killed or stopped and returns when it is
// unfenced and listening (on a simulated clock, time moves until it is).
func (c *Cluster) Start(id kafka.BrokerID) error {
	var starting *broker
	err := c.act("start", id, func(b *broker) { starting = b }, Killed, Stopped)
	if err != nil {
		return err
	}
	return c.boot(starting)
}

// BeginStart is Start that does not wait.
func (c *Cluster) BeginStart(id kafka.BrokerID) error {
	return c.act("start", id, func(b *broker) { b.boot(func() {}) }, Killed, Stopped)
}

// Stop shuts a broker down in the controlled way: what it leads moves away
// first.
func (c *Cluster) Stop(id kafka.BrokerID) error {
	var stopping *broker
	if err := c.act("stop", id, func(b *broker) { stopping = b }, Running); err != nil {
		return err
	}
	return c.await(fmt.Sprintf("stop broker %d", id), stopping.stop)
}

// BeginStop is Stop that does not wait: the broker is Running until it is Stopped.
func (c *Cluster) BeginStop(id kafka.BrokerID) error {
	return c.act("stop", id, func(b *broker) { b.stop(func() {}) }, Running)
}

// boot starts brokers and waits until all are unfenced.
func (c *Cluster) boot(brokers ...*broker) error {
	err := c.await("start", func(done func()) {
		left := len(brokers)
		for _, b := range brokers {
			b.boot(func() {
				if left--; left == 0 {
					done()
				}
			})
		}
	})
	for _, b := range brokers {
		if err == nil {
			err = b.startErr
		}
	}
	return err
}

// act does something to a broker that is in one of some states.
func (c *Cluster) act(what string, id kafka.BrokerID, do func(*broker), states ...State) error {
	err := ErrClosed
	c.loop.Do(func() {
		if c.isClosed() {
			return
		}
		b := c.broker(id)
		if b == nil {
			err = fmt.Errorf("%s broker %d: %w", what, id, ErrUnknownBroker)
			return
		}
		for _, s := range states {
			if b.state == s {
				do(b)
				c.logf("broker %d: %s", id, what)
				err = nil
				return
			}
		}
		err = fmt.Errorf("%s broker %d: it is %s: %w", what, id, b.state, ErrState)
	})
	return err
}

// await begins something and waits until it has called done, on either clock.
func (c *Cluster) await(what string, begin func(done func())) error {
	finished := make(chan struct{})
	isDone := false
	var limit time.Time
	c.loop.Do(func() {
		limit = c.loop.Now().Add(patience)
		begin(func() {
			if !isDone {
				isDone = true
				close(finished)
			}
		})
	})
	if c.loop.Simulated() {
		if !c.loop.RunUntil(func() bool { return isDone }, limit) {
			return fmt.Errorf("%s: %w", what, ErrTimeout)
		}
		return nil
	}
	late := make(chan struct{})
	var timer *clock.Timer
	c.loop.Do(func() { timer = c.loop.After(patience, func() { close(late) }) })
	defer c.loop.Do(func() { timer.Stop() })
	select {
	case <-finished:
		return nil
	case <-late:
		return fmt.Errorf("%s: %w", what, ErrTimeout)
	case <-c.closed:
		return fmt.Errorf("%s: %w", what, ErrClosed)
	}
}
