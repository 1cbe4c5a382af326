package simbroker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// DefaultRequestTimeout bounds Request when its context has no deadline: a
// client's request.timeout.ms.
const DefaultRequestTimeout = 30 * time.Second

// Call is a request in process that is under way, or answered.
type Call struct {
	broker   *broker
	key      int16
	finished chan struct{}
	done     bool
	resp     kmsg.Response
	err      error
}

func (call *Call) finish(resp kmsg.Response, err error) {
	if !call.done {
		call.done, call.resp, call.err = true, resp, err
		close(call.finished)
	}
}

func (call *Call) fail(err error) { call.finish(nil, err) }

// Done says whether the request is answered, or given up.
func (call *Call) Done() bool {
	select {
	case <-call.finished:
		return true
	default:
		return false
	}
}

// Answer is what RequestBy returns. The call must be Done.
func (call *Call) Answer() (kmsg.Response, error) {
	if call.err != nil {
		return nil, fmt.Errorf("request %s broker=%d: %w", kmsg.NameForKey(call.key), call.broker.id, call.err)
	}
	return call.resp, nil
}

// GiveUp ends the call with ErrTimeout, unless it is Done. The broker does what it
// was asked all the same.
func (call *Call) GiveUp() {
	call.broker.cluster.loop.Do(func() { call.broker.giveUp(call, ErrTimeout) })
}

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
	call := &Call{broker: b, key: req.Key(), finished: make(chan struct{})}
	c.loop.Do(func() { b.serve(call, client, req) })
	return call, nil
}

// RunUntil moves a simulated clock from one event to the next until done holds,
// which is asked after each, or time has moved by d. It reports whether done holds.
// It must not be called on the wall clock.
func (c *Cluster) RunUntil(done func() bool, d time.Duration) bool {
	return c.loop.RunUntil(done, c.Now().Add(d))
}

// serve hands a request to the broker, unless it is dead.
func (b *broker) serve(call *Call, client Client, req kmsg.Request) {
	select {
	case <-b.cluster.closed:
		call.fail(ErrClosed)
		return
	default:
	}
	if !b.alive {
		call.fail(ErrConnectionRefused)
		return
	}
	b.inProcess = append(b.inProcess, call)
	conn := wire.ConnInfo{ClientID: client.ID, ClientHost: "/127.0.0.1", Principal: wire.AnonymousPrincipal, Listener: client.Listener}
	if client.User != "" {
		conn.Principal = "User:" + client.User
	}
	b.host.Run(func() {
		b.server.Handle(conn, req, func(resp kmsg.Response) {
			if resp == nil {
				b.giveUp(call, ErrNoAnswer)
				return
			}
			b.forget(call)
			call.finish(resp, nil)
		})
	})
}

// giveUp ends a call with an error, unless it has been answered.
func (b *broker) giveUp(call *Call, err error) {
	b.forget(call)
	call.fail(err)
}

func (b *broker) forget(call *Call) {
	if i := slices.Index(b.inProcess, call); i >= 0 {
		b.inProcess = slices.Delete(b.inProcess, i, i+1)
	}
}
