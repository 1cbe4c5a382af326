package simbroker

import (
	"maps"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// network takes messages between the nodes of a cluster. Each takes the same
// time, so those of one pair of nodes arrive in the order of their sending. A
// paused node gets its messages when it is resumed. Those for a node that has
// died since are lost, and whoever waits for its answer is told, as by a
// connection that is reset.
type network struct {
	loop    *clock.Loop
	latency time.Duration
}

// port is where a node is attached.
type port struct {
	host  *clock.Host
	alive bool
	// waiting are those who have asked this node and not been answered, in the
	// order of asking.
	waiting map[uint64]func()
	asked   uint64
}

func newPort(loop *clock.Loop) *port {
	return &port{host: clock.NewHost(loop), waiting: make(map[uint64]func())}
}

// send runs f at a node, a latency from now.
func (n *network) send(to *port, f func()) {
	n.loop.After(n.latency, to.host.Bind(f))
}

// call takes a request to another node: serve runs there, and must give its
// answer to reply, once, now or later; what reply is given runs here. Instead,
// lost runs here when the other node is dead or dies, and after timeout (0 for
// none) with nothing heard. If this node dies meanwhile, nothing does.
func (n *network) call(from, to *port, timeout time.Duration, serve func(reply func(func())), lost func(error)) {
	var timer *clock.Timer
	settled := false
	settle := func(f func()) {
		if !settled {
			settled = true
			timer.Stop()
			f()
		}
	}
	// Bound now: an answer finds the life that asked for it, or nobody.
	var answer func()
	answered := from.host.Bind(func() { settle(answer) })
	gone := from.host.Bind(func() { settle(func() { lost(kafka.ErrBrokerNotAvailable) }) })
	if timeout > 0 {
		timer = from.host.After(timeout, func() { settle(func() { lost(kafka.ErrRequestTimedOut) }) })
	}
	n.loop.After(n.latency, func() {
		if !to.alive {
			n.loop.After(n.latency, gone)
			return
		}
		to.asked++
		id := to.asked
		to.waiting[id] = func() { n.loop.After(n.latency, gone) }
		to.host.Run(func() {
			serve(func(f func()) {
				delete(to.waiting, id)
				answer = f
				n.loop.After(n.latency, answered)
			})
		})
	})
}

// die ends a node's life: its events vanish and its callers are told.
func (p *port) die() {
	p.alive = false
	p.host.Kill()
	waiting := p.waiting
	p.waiting = make(map[uint64]func())
	for _, id := range slices.Sorted(maps.Keys(waiting)) {
		waiting[id]()
	}
}

// link is a broker's way to the controller, which never fails.
func (n *network) link(from *port, c *controller.Controller) controller.Link {
	return func(request func(*controller.Controller) func()) {
		var reply func()
		answered := from.host.Bind(func() { reply() })
		n.loop.After(n.latency, func() {
			if reply = request(c); reply != nil {
				n.loop.After(n.latency, answered)
			}
		})
	}
}
