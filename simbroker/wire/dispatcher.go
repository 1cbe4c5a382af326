package wire

import "github.com/twmb/franz-go/pkg/kmsg"

// dispatcher takes the requests of one broker's clients to the APIs that serve
// them, whichever way they came. It belongs to events.
type dispatcher struct {
	broker   *Broker
	handlers map[int16]handler
	memory   memory
}

// handle answers a request, after Intercept.
func (d *dispatcher) handle(c *call, req kmsg.Request) {
	h := d.address(c, req)
	d.intercept(c, func() { h.serve(c, req) })
}

// address makes a call one of the API that its request is of.
func (d *dispatcher) address(c *call, req kmsg.Request) handler {
	h, ok := d.handlers[req.Key()]
	if !ok {
		panic("wire: " + kmsg.NameForKey(req.Key()) + " is offered but has no handler")
	}
	c.broker, c.memory = d.broker, &d.memory
	c.request, c.refusal = req, h.refuse
	return h
}

// intercept lets Intercept have a request before it is served.
func (d *dispatcher) intercept(c *call, serve func()) {
	if d.broker.Intercept == nil {
		serve()
		return
	}
	d.broker.Intercept(c.conn, c.request, serve, c.refuse)
}
