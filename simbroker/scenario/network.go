package scenario

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Network is a Cluster over TCP: any brokers that speak Kafka's protocol. It
// has one connection a broker and client id, made when it is needed, and sends
// each request once, in the version that is set in it.
type Network struct {
	Faults
	addresses map[int32]string
	conns     map[connKey]*conn
}

type connKey struct {
	broker       int32
	user, client string
}

// ErrNoFaults is returned by the faults of a Network that was given none.
var ErrNoFaults = errors.New("this cluster's processes cannot be controlled")

// Dial finds a cluster's brokers through one of the bootstrap addresses,
// host:port. They must all be registered by then. Faults may be nil.
func Dial(ctx context.Context, bootstrap []string, faults Faults) (*Network, error) {
	if faults == nil {
		faults = noFaults{}
	}
	n := &Network{Faults: faults, addresses: map[int32]string{}, conns: map[connKey]*conn{}}
	var errs []error
	for _, address := range bootstrap {
		err := n.discover(ctx, address)
		if err == nil {
			return n, nil
		}
		errs = append(errs, fmt.Errorf("dial %s: %w", address, err))
	}
	return nil, errors.Join(errs...)
}

func (n *Network) discover(ctx context.Context, address string) error {
	c, err := dial(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close()
	versions := kmsg.NewPtrApiVersionsRequest() // in version 0, which every broker reads
	resp, err := c.roundTrip(ctx, clientID, versions)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.Topics = preferred[req.Key()], []kmsg.MetadataRequestTopic{}
	for _, k := range resp.(*kmsg.ApiVersionsResponse).ApiKeys {
		if k.ApiKey == req.Key() {
			req.Version = min(req.Version, k.MaxVersion)
		}
	}
	if resp, err = c.roundTrip(ctx, clientID, req); err != nil {
		return err
	}
	for _, b := range resp.(*kmsg.MetadataResponse).Brokers {
		n.addresses[b.NodeID] = net.JoinHostPort(b.Host, strconv.Itoa(int(b.Port)))
	}
	return nil
}

// Close closes the connections.
func (n *Network) Close() {
	for _, c := range n.conns {
		c.Close()
	}
	clear(n.conns)
}

// Brokers implements Cluster.
func (n *Network) Brokers() []int32 { return slices.Sorted(maps.Keys(n.addresses)) }

// Now implements Cluster by the wall clock.
func (n *Network) Now() time.Time { return time.Now() }

// Wait implements Cluster.
func (n *Network) Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// answerWithin is how long a Network waits for an answer.
const answerWithin = 10 * time.Second

// Request implements Cluster. A connection that the broker had closed
// beforehand is replaced; after an error it is not used again.
func (n *Network) Request(ctx context.Context, broker int32, client string, req kmsg.Request) (kmsg.Response, error) {
	return n.request(ctx, n.addresses[broker], connKey{broker: broker, client: client}, req)
}

// request sends one request over the connection of a key, which is to lead to an
// address.
func (n *Network) request(ctx context.Context, address string, key connKey, req kmsg.Request) (kmsg.Response, error) {
	if address == "" {
		return nil, fmt.Errorf("no broker %d", key.broker)
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	c := n.conns[key]
	if c == nil || c.stale() {
		var err error
		if c, err = dial(ctx, address); err == nil && key.user != "" {
			err = c.logIn(ctx, key.user)
		}
		if err != nil {
			delete(n.conns, key)
			return nil, err
		}
		n.conns[key] = c
	}
	resp, err := c.roundTrip(ctx, key.client, req)
	if err != nil {
		c.Close()
		delete(n.conns, key)
	}
	return resp, err
}

// processes is what controls the brokers' processes.
func (n *Network) processes() Faults { return n.Faults }

// conn is a connection that carries one request at a time.
type conn struct {
	net.Conn
	in          *bufio.Reader
	correlation int32
	used        time.Time
}

func dial(ctx context.Context, address string) (*conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, in: bufio.NewReader(c), used: time.Now()}, nil
}

// idle is how long a connection may rest before it is probed for having been
// closed by the other side.
const idle = 100 * time.Millisecond

// stale says whether the other side has closed the connection.
func (c *conn) stale() bool {
	if time.Since(c.used) < idle {
		return false
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return true
	}
	_, err := c.in.Peek(1)
	return !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func (c *conn) roundTrip(ctx context.Context, client string, req kmsg.Request) (kmsg.Response, error) {
	defer func() { c.used = time.Now() }()
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return nil, err
	}
	c.correlation++
	formatter := kmsg.NewRequestFormatter(kmsg.FormatterClientID(client))
	if _, err := c.Write(formatter.AppendRequest(nil, req, c.correlation)); err != nil {
		return nil, err
	}
	resp := req.ResponseKind()
	if p, ok := req.(*kmsg.ProduceRequest); ok && p.Acks == 0 {
		return resp, nil
	}
	body, err := c.readFrame()
	if err != nil {
		return nil, err
	}
	return resp, c.decode(body, req, resp)
}

const maxFrame = 1 << 28

func (c *conn) readFrame() ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(c.in, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if n < 4 || n > maxFrame {
		return nil, fmt.Errorf("answer of %d bytes", n)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(c.in, body)
	return body, err
}

// apiVersions alone has an answer whose header is never flexible (rule J3).
const apiVersions = 18

func (c *conn) decode(body []byte, req kmsg.Request, resp kmsg.Response) error {
	if got := int32(binary.BigEndian.Uint32(body)); got != c.correlation {
		return fmt.Errorf("answer to request %d where %d was sent", got, c.correlation)
	}
	body = body[4:]
	if resp.IsFlexible() && req.Key() != apiVersions {
		tags, n := binary.Uvarint(body)
		if n <= 0 || tags != 0 {
			return fmt.Errorf("answer with %d tags in its header", tags)
		}
		body = body[n:]
	}
	if err := resp.ReadFrom(body); err != nil {
		return fmt.Errorf("read %s v%d: %w", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	return nil
}

// noFaults are the faults of a cluster whose processes belong to others.
type noFaults struct{}

func (noFaults) Pause(context.Context, int32) error  { return ErrNoFaults }
func (noFaults) Resume(context.Context, int32) error { return ErrNoFaults }
func (noFaults) Kill(context.Context, int32) error   { return ErrNoFaults }
func (noFaults) Stop(context.Context, int32) error   { return ErrNoFaults }
func (noFaults) Start(context.Context, int32) error  { return ErrNoFaults }
