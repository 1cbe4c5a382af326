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
	// waiting are the calls of those who have asked this node and not been
	// answered, in the order of asking.
	waiting map[uint64]*call
	asked   uint64
	// cut says that nothing passes between this node and the controller. updates and
	// requests are what would have, in its order.
	cut               bool
	updates, requests []func()
}

func newPort(loop *clock.Loop) *port {
	return &port{host: clock.NewHost(loop), waiting: make(map[uint64]*call)}
}

// send runs f at a node, a latency from now.
func (n *network) send(to *port, f func()) { to.host.After(n.latency, f) }

// publish runs f at a node, a latency from now, on behalf of the controller.
func (n *network) publish(to *port, f func()) {
	if !to.cut {
		n.send(to, f)
		return
	}
	life := to.host.Life()
	to.updates = append(to.updates, func() { life.After(n.latency, f) })
}

// setCut cuts the node off from the controller, or connects it again: then what was
// held goes on its way, the updates first, as what follows from a request is newer.
func (p *port) setCut(cut bool) {
	p.cut = cut
	if cut {
		return
	}
	held := slices.Concat(p.updates, p.requests)
	p.updates, p.requests = nil, nil
	for _, f := range held {
		f()
	}
}

// call takes a request to another node: serve runs there, and must give its
// answer to reply, once, now or later; what reply is given runs here. Instead,
// lost runs here when the other node is dead or dies, and after timeout (0 for
// none) with nothing heard. If this node dies meanwhile, nothing does.
func (n *network) call(from, to *port, timeout time.Duration, serve func(reply func(func())), lost func(error)) {
	c := &call{to: to, lost: lost}
	c.serve = func() { serve(c.reply) }
	if timeout > 0 {
		c.timer = from.host.After(timeout, func() { c.lose(kafka.ErrRequestTimedOut) })
	}
	c.send(n, from)
}

// call is a request under way from one node to another, and then its answer.
type call struct {
	network *network
	from    clock.Life // an answer finds the life that asked for it, or nobody
	to      *port
	serve   func()       // runs at the other node, and ends in a reply
	lost    func(error)  // runs here, in place of the reply's function
	answer  func()       // runs here; nil until there is a reply
	settle  func()       // takes the answer in, unless the wait is over
	message *clock.Timer // the request on its way, then the answer
	timer   *clock.Timer // of the wait for an answer
	number  uint64       // among those that have asked the other node
	settled bool
}

// send sends the request on its way. A call that is settled by its answer may be sent
// again.
func (c *call) send(n *network, from *port) {
	c.network, c.from, c.answer, c.settled = n, from.host.Life(), nil, false
	if c.message != nil {
		c.message.Reset(n.latency)
		return
	}
	c.message = n.loop.After(n.latency, c.arrive)
	c.settle = func() {
		if !c.settled {
			c.settled = true
			c.timer.Stop()
			c.answer()
		}
	}
}

// arrive is the moment of a message: of the request, and then of the answer.
func (c *call) arrive() {
	switch {
	case c.answer != nil:
		c.from.Run(c.settle)
	case !c.to.alive:
		c.reset()
	default:
		c.to.asked++
		c.number = c.to.asked
		c.to.waiting[c.number] = c
		c.to.host.Run(c.serve)
	}
}

// reply sends the answer back, the first that there is.
func (c *call) reply(f func()) {
	if c.answer != nil {
		return
	}
	delete(c.to.waiting, c.number)
	c.answer = f
	c.message.Reset(c.network.latency)
}

// reset tells the asking node that there is nobody to answer.
func (c *call) reset() { c.reply(func() { c.lost(kafka.ErrBrokerNotAvailable) }) }

// lose gives up the wait for an answer.
func (c *call) lose(err error) {
	if !c.settled {
		c.settled = true
		c.lost(err)
	}
}

// die ends a node's life: its events vanish and its callers are told.
func (p *port) die() {
	p.alive = false
	p.updates, p.requests = nil, nil
	p.host.Kill()
	waiting := p.waiting
	p.waiting = make(map[uint64]*call)
	for _, number := range slices.Sorted(maps.Keys(waiting)) {
		waiting[number].reset()
	}
}

// link is a broker's way to the controller, which never fails, though it may be cut.
func (n *network) link(from *port, c *controller.Controller) controller.Link {
	return func(request func(*controller.Controller) func()) {
		life := from.host.Life()
		var arrive func()
		arrive = func() {
			if from.cut {
				from.requests = append(from.requests, arrive)
			} else if reply := request(c); reply != nil {
				life.After(n.latency, reply)
			}
		}
		n.loop.After(n.latency, arrive)
	}
}
