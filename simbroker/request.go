package simbroker

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// DefaultRequestTimeout bounds Request when its context has no deadline: a
// client's request.timeout.ms.
const DefaultRequestTimeout = 30 * time.Second

// Client says who makes a request in process.
type Client struct {
	// ID is the client id.
	ID string
	// User is the name of the user, who is believed without a login; empty is
	// the anonymous user of a plaintext listener.
	User string
	// Listener is the one that the client came by, which decides the addresses
	// that it is told; empty is the first.
	Listener string
}

// connection is what the broker takes the client's connection for.
func (client Client) connection() wire.ConnInfo {
	conn := wire.ConnInfo{ClientID: client.ID, ClientHost: "/127.0.0.1", Principal: wire.AnonymousPrincipal, Listener: client.Listener}
	if client.User != "" {
		conn.Principal = "User:" + client.User
	}
	return conn
}

// Request sends one request to a broker and waits for its answer, on either
// clock, as a client without an id; see RequestBy.
func (c *Cluster) Request(ctx context.Context, broker kafka.BrokerID, req kmsg.Request) (kmsg.Response, error) {
	return c.RequestBy(ctx, Client{}, broker, req)
}

// RequestAs is RequestBy an anonymous client with an id.
func (c *Cluster) RequestAs(ctx context.Context, clientID string, broker kafka.BrokerID, req kmsg.Request) (kmsg.Response, error) {
	return c.RequestBy(ctx, Client{ID: clientID}, broker, req)
}

// RequestBy sends one request to a broker and waits for its answer. The request's
// version must be set, and the request not be used again before the answer. On a
// simulated clock, time moves until the answer is there, at most by the time that
// ctx has left in whole hundredths of a second (so that what the call itself takes
// of it does not count), or by DefaultRequestTimeout without a deadline. Errors:
// ErrUnknownBroker, ErrConnectionRefused, ErrTimeout, ErrNoAnswer, ErrClosed, the
// context's, or that the broker does not offer the version.
func (c *Cluster) RequestBy(ctx context.Context, client Client, broker kafka.BrokerID, req kmsg.Request) (kmsg.Response, error) {
	resp, err := c.request(ctx, client, broker, req)
	if err != nil {
		return nil, fmt.Errorf("request %s broker=%d: %w", kmsg.NameForKey(req.Key()), broker, err)
	}
	return resp, nil
}

func (c *Cluster) request(ctx context.Context, client Client, id kafka.BrokerID, req kmsg.Request) (kmsg.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	call, err := c.send(client, id, req)
	if err != nil {
		return nil, err
	}
	timeout := DefaultRequestTimeout
	if left, ok := clock.Left(ctx); ok {
		timeout = left
	}
	if c.loop.Simulated() {
		const unit = 10 * time.Millisecond
		timeout = (timeout + unit - 1).Truncate(unit)
		if !c.RunUntil(call.Done, timeout) {
			call.GiveUp()
		}
		return call.resp, call.err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case <-call.finished:
	case <-ctx.Done():
		call.GiveUp()
	}
	return call.resp, call.err
}

// Send sends one request to a broker as RequestBy does, and does not wait for its
// answer, so that several can be under way on a simulated clock: RunUntil moves it.
// Errors: ErrUnknownBroker, or that the broker does not offer the version.
func (c *Cluster) Send(client Client, broker kafka.BrokerID, req kmsg.Request) (*Call, error) {
	call, err := c.send(client, broker, req)
	if err != nil {
		return nil, fmt.Errorf("request %s broker=%d: %w", kmsg.NameForKey(req.Key()), broker, err)
	}
	return call, nil
}

func (c *Cluster) send(client Client, id kafka.BrokerID, req kmsg.Request) (*Call, error) {
	b := c.broker(id)
	if b == nil {
		return nil, ErrUnknownBroker
	}
	if err := b.server.Versions().Check(req.Key(), req.GetVersion()); err != nil {
		return nil, err
	}
	call := &Call{broker: id, key: req.Key(), loop: c.loop, under: &b.underWay, finished: make(chan struct{})}
	c.loop.Do(func() {
		if c.isClosed() {
			call.finish(nil, ErrClosed)
			return
		}
		b.serve(call, client.connection(), req)
	})
	return call, nil
}

// RunUntil moves a simulated clock from one event to the next until done holds,
// which is asked after each, or time has moved by d. It reports whether done holds.
// It must not be called on the wall clock.
func (c *Cluster) RunUntil(done func() bool, d time.Duration) bool {
	return c.loop.RunUntil(done, c.Now().Add(d))
}
