package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
)

// call is one request being answered. It belongs to events.
type call struct {
	broker *Broker
	memory *memory
	conn   ConnInfo
	// socket is the connection; nil in process.
	socket socket
	reply  func(kmsg.Response)
	// hangUp closes the connection instead of answering; in process it answers
	// nothing.
	hangUp func()
	// ownsRequest says that nobody else has the memory of the request.
	ownsRequest bool

	request kmsg.Request
	// refusal answers a request of its API that fails as a whole.
	refusal func(kmsg.Request, int16) kmsg.Response
}

// memory is what a broker remembers from one request of its clients to the next,
// besides what its rooms do.
type memory struct {
	fetches fetchSessions
	named   int // how many answers have named a controller
}

// socket is the connection that a request came by.
type socket interface {
	// reset ends it as the death of a process does.
	reset()
}

// send answers with a response.
func (c *call) send(resp kmsg.Response) {
	resp.SetVersion(c.request.GetVersion())
	c.reply(resp)
}

// refuse answers with an error for the request as a whole. Where the response
// is nothing but an error, nil is success.
func (c *call) refuse(err error) {
	if resp := c.refusal(c.request, codeOf(err)); resp != nil {
		c.send(resp)
		return
	}
	c.reply(nil)
}

func (c *call) cluster() Cluster { return c.broker.Cluster }

func (c *call) image() *controller.Image { return c.broker.Cluster.Image() }
