package wire

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// deadline bounds what a test waits for at a socket.
const deadline = 10 * time.Second

// doorman is a broker whose requests the test answers itself, at its own time,
// with errors.
type doorman struct {
	*Server
	t       *testing.T
	host    *clock.Host
	addr    string
	mu      sync.Mutex
	begun   []kmsg.Request // in the order in which they were begun
	refuses []func(error)
	arrival chan struct{}
}

func newDoorman(t *testing.T) *doorman {
	t.Helper()
	loop := clock.NewWall()
	t.Cleanup(loop.Close)
	d := &doorman{t: t, host: clock.NewHost(loop), arrival: make(chan struct{}, 1000)}
	d.Server = NewServer(&Broker{ID: 1, Loop: loop, Host: d.host, Intercept: d.intercept})
	addr, err := d.Listen(Listener{}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.addr = addr.String()
	t.Cleanup(d.Close)
	return d
}

func (d *doorman) intercept(_ ConnInfo, req kmsg.Request, _ func(), refuse func(error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begun = append(d.begun, req)
	d.refuses = append(d.refuses, refuse)
	d.arrival <- struct{}{}
}

// await waits for another request to begin.
func (d *doorman) await() {
	d.t.Helper()
	select {
	case <-d.arrival:
	case <-time.After(deadline):
		d.t.Fatal("no request arrived")
	}
}

// quiet fails if a request has begun that was not awaited. Events that were
// posted before have run when it returns.
func (d *doorman) quiet(why string) {
	d.t.Helper()
	d.event(func() {})
	select {
	case <-d.arrival:
		d.t.Errorf("a request began %s", why)
	default:
	}
}

// answer refuses the nth request that began.
func (d *doorman) answer(n int, err error) {
	d.event(func() {
		d.mu.Lock()
		refuse := d.refuses[n]
		d.mu.Unlock()
		refuse(err)
	})
}

// event runs f as an event and waits for it.
func (d *doorman) event(f func()) { d.dispatcher.broker.Loop.Do(f) }

// client is a connection that the test drives byte by byte.
type client struct {
	net.Conn
	t    *testing.T
	from *bufio.Reader
}

func (d *doorman) dial() *client {
	d.t.Helper()
	socket, err := net.Dial("tcp", d.addr)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { socket.Close() })
	socket.SetDeadline(time.Now().Add(deadline))
	return &client{Conn: socket, t: d.t, from: bufio.NewReader(socket)}
}

func (c *client) send(correlationID int32, req kmsg.Request) {
	c.t.Helper()
	if _, err := c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, correlationID)); err != nil {
		c.t.Fatal(err)
	}
}

// heartbeat is a small request with a response that is only an error.
func heartbeat() kmsg.Request {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Version = 3
	return req
}

// read reads one response and compares its correlation id and its error, which
// stands behind the throttle time.
func (c *client) read(correlationID int32, code int16) {
	c.t.Helper()
	content, err := readFrame(c.from, 1<<20)
	if err != nil {
		c.t.Fatal(err)
	}
	gotID, gotCode := int32(binary.BigEndian.Uint32(content)), int16(binary.BigEndian.Uint16(content[8:]))
	if gotID != correlationID || gotCode != code {
		c.t.Errorf("response %d with error %d, want %d with %d", gotID, gotCode, correlationID, code)
	}
}

// closed waits for the end of the connection, which must come without a byte,
// as an orderly close or, with reset, as a reset.
func (c *client) closed(reset bool) {
	c.t.Helper()
	n, err := c.from.Read(make([]byte, 1))
	if n > 0 || reset && !errors.Is(err, syscall.ECONNRESET) || !reset && err != io.EOF {
		c.t.Errorf("read %d bytes, error %v", n, err)
	}
}

// Requests of one connection are handled one at a time and answered in order;
// those of another are not held up.
func TestOneRequestOfAConnectionAtATime(t *testing.T) {
	d := newDoorman(t)
	first, second := d.dial(), d.dial()
	first.send(1, heartbeat())
	first.send(2, heartbeat())
	first.send(3, heartbeat())
	d.await()
	d.quiet("before the one before was answered")

	second.send(9, heartbeat())
	d.await()
	d.answer(1, kafka.ErrUnknownMemberID)
	second.read(9, 25)

	d.answer(0, kafka.ErrIllegalGeneration)
	first.read(1, 22)
	d.await()
	d.answer(2, nil)
	first.read(2, 0)
	d.await()
	d.answer(3, nil)
	first.read(3, 0)
}

// A paused broker accepts connections and requests and answers nothing, not
// even what its rooms decide meanwhile; resumed, it answers all of it.
func TestPausedBrokerIsSilentUntilResumed(t *testing.T) {
	d := newDoorman(t)
	c := d.dial()
	c.send(1, heartbeat())
	d.await()
	d.event(d.host.Pause)
	d.answer(0, nil)

	late := d.dial()
	late.send(7, heartbeat())
	c.send(2, heartbeat())
	d.quiet("at a paused broker")
	c.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := c.from.Peek(1); err == nil {
		t.Error("a paused broker answered")
	}
	c.SetReadDeadline(time.Now().Add(deadline))

	d.event(d.host.Resume)
	c.read(1, 0)
	d.await()
	d.await()
	d.answer(1, nil)
	d.answer(2, nil)
	c.read(2, 0)
	late.read(7, 0)
}

// A killed broker resets its connections and refuses new ones; what was asked
// before is neither begun nor answered. Started again, it has the same address.
func TestKilledBrokerResetsAndRefuses(t *testing.T) {
	d := newDoorman(t)
	c := d.dial()
	c.send(1, heartbeat())
	c.send(2, heartbeat())
	d.await()
	d.event(func() {
		d.Kill()
		d.host.Kill()
	})
	c.closed(true)
	d.answer(0, nil) // by a room that does not know yet
	d.quiet("at a killed broker")
	if _, err := net.Dial("tcp", d.addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial a killed broker: %v", err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	again := d.dial()
	again.send(3, heartbeat())
	d.await()
	d.answer(1, nil)
	again.read(3, 0)
}

func TestStoppedBrokerClosesItsConnections(t *testing.T) {
	d := newDoorman(t)
	c := d.dial()
	c.send(1, heartbeat())
	d.await()
	d.event(d.Stop)
	c.closed(false)
}

// What cannot be served closes the connection, after the requests before it are
// answered.
func TestUnservableRequestsCloseTheConnection(t *testing.T) {
	future := kmsg.NewPtrHeartbeatRequest()
	future.Version = 99
	foreign := kmsg.NewPtrVoteRequest()
	for _, test := range []struct {
		why   string
		bytes []byte
	}{
		{"a version that is not offered", kmsg.NewRequestFormatter().AppendRequest(nil, future, 2)},
		{"an API that is not offered", kmsg.NewRequestFormatter().AppendRequest(nil, foreign, 2)},
		{"a frame that is too large", []byte{0x7f, 0xff, 0xff, 0xff}},
		{"no request", []byte{0, 0, 0, 1, 0}},
	} {
		t.Run(test.why, func(t *testing.T) {
			d := newDoorman(t)
			c := d.dial()
			c.send(1, heartbeat())
			c.Write(test.bytes)
			d.await()
			d.answer(0, nil)
			c.read(1, 0)
			c.closed(false)
		})
	}
}

// A client that sends its last request and closes its side still has it
// handled.
func TestRequestsBeforeAHalfCloseAreAnswered(t *testing.T) {
	d := newDoorman(t)
	c := d.dial()
	c.send(1, heartbeat())
	c.send(2, heartbeat())
	c.Conn.(*net.TCPConn).CloseWrite()
	d.await()
	d.answer(0, nil)
	c.read(1, 0)
	d.await()
	d.answer(1, nil)
	c.read(2, 0)
	c.closed(false)
}

// A client that does not read holds up nobody but itself: others are served
// while its answers wait, no more of its requests are handled than there is
// room for, and when it reads it gets all of them, in order.
func TestSlowClientHoldsUpOnlyItself(t *testing.T) {
	const requests = 400 // with 64 kB of answer each, more than sockets hold
	loop := clock.NewWall()
	t.Cleanup(loop.Close)
	var handled atomic.Int32
	d := &doorman{t: t, Server: NewServer(&Broker{
		Loop: loop, Host: clock.NewHost(loop),
		Intercept: func(_ ConnInfo, req kmsg.Request, _ func(), refuse func(error)) {
			if req.Key() == int16(kmsg.Metadata) {
				handled.Add(1)
			}
			refuse(kafka.ErrUnknownServerError)
		},
	})}
	addr, err := d.Listen(Listener{}, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	d.addr = addr.String()

	name := strings.Repeat("x", 32000)
	large := kmsg.NewPtrMetadataRequest()
	large.Version = 4
	large.Topics = []kmsg.MetadataRequestTopic{{Topic: &name}, {Topic: &name}}
	slow, quick := d.dial(), d.dial()
	sent := make(chan error, 1)
	go func() {
		for i := range requests {
			if _, err := slow.Write(kmsg.NewRequestFormatter().AppendRequest(nil, large, int32(i))); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for i := int32(0); i < 500 || handled.Load() < maxUnanswered; i++ {
		quick.send(i, heartbeat())
		quick.read(i, -1)
	}
	if n := handled.Load(); n == requests {
		t.Error("requests were handled beyond what their answers had room for")
	}
	for i := range requests {
		content, err := readFrame(slow.from, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if id := binary.BigEndian.Uint32(content); int(id) != i {
			t.Fatalf("answer %d came in place of %d", id, i)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}
