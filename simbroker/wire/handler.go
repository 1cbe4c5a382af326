package wire

import "github.com/twmb/franz-go/pkg/kmsg"

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
