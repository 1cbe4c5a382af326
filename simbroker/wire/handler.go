package wire

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// handler is one API: how it is served, and how a request is answered that
// fails as a whole (Kafka's getErrorResponse).
type handler struct {
	serve  func(*call, kmsg.Request)
	refuse func(kmsg.Request, int16) kmsg.Response
}

// api makes a handler of functions that know the API's own types. refuse may
// return nil where there is nothing to answer.
func api[Q kmsg.Request](serve func(*call, Q), refuse func(Q, int16) kmsg.Response) handler {
	return handler{
		serve:  func(c *call, req kmsg.Request) { serve(c, req.(Q)) },
		refuse: func(req kmsg.Request, code int16) kmsg.Response { return refuse(req.(Q), code) },
	}
}

// handlers are all APIs that the simulator has.
var handlers = map[int16]handler{
	int16(kmsg.ApiVersions): api((*call).apiVersions, refuseAPIVersions),
}

// call is one request being answered. It belongs to events.
type call struct {
	server *Server
	conn   ConnInfo
	reply  func(kmsg.Response)
	// hangUp closes the connection instead of answering; in process it answers
	// nothing.
	hangUp func()

	handler handler
	request kmsg.Request
}

// handle answers a request, after Intercept.
func (s *Server) handle(c *call, req kmsg.Request) {
	h, ok := handlers[req.Key()]
	if !ok {
		panic("wire: " + kmsg.NameForKey(req.Key()) + " is offered but has no handler")
	}
	c.handler, c.request = h, req
	if s.broker.Intercept == nil {
		h.serve(c, req)
		return
	}
	s.broker.Intercept(c.conn, req, func() { h.serve(c, req) }, c.refuse)
}

// send answers with a response.
func (c *call) send(resp kmsg.Response) {
	resp.SetVersion(c.request.GetVersion())
	c.reply(resp)
}

// refuse answers with an error for the request as a whole.
func (c *call) refuse(err error) {
	if resp := c.handler.refuse(c.request, codeOf(err)); resp != nil {
		c.send(resp)
		return
	}
	c.reply(nil)
}

func (c *call) broker() *Broker { return c.server.broker }

func (c *call) cluster() Cluster { return c.server.broker.Cluster }

func (c *call) image() *controller.Image { return c.server.broker.Cluster.Image() }

// may says whether the client has a right.
func (c *call) may(op Operation, kind ResourceType, name string) bool {
	authorizer := c.server.broker.Authorizer
	return authorizer == nil || authorizer.Authorize(c.conn, op, kind, name)
}

// mayCluster says whether the client has a right on the cluster.
func (c *call) mayCluster(op Operation) bool { return c.may(op, ClusterResource, ClusterResourceName) }

// checkTopic is TOPIC_AUTHORIZATION_FAILED without a right on a topic,
// UNKNOWN_TOPIC_OR_PARTITION for one that does not exist, otherwise nil.
func (c *call) checkTopic(op Operation, topic string) error {
	if !c.may(op, TopicResource, topic) {
		return kafka.ErrTopicAuthorizationFailed
	}
	if _, ok := c.image().Topic(topic); !ok {
		return kafka.ErrUnknownTopicOrPartition
	}
	return nil
}

// checkPartition is checkTopic, for one partition.
func (c *call) checkPartition(op Operation, tp kafka.TopicPartition) error {
	if err := c.checkTopic(op, tp.Topic); err != nil {
		return err
	}
	if _, ok := c.image().Partition(tp); !ok {
		return kafka.ErrUnknownTopicOrPartition
	}
	return nil
}
