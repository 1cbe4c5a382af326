package wire

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// connection is one client's connection. Three parties work on it: a goroutine
// reads and decodes, events of the loop handle one request at a time, and a
// goroutine encodes and writes; see writer.
type connection struct {
	dispatcher *dispatcher
	listener   Listener
	running    *sync.WaitGroup // goroutines that the server waits for
	raw        net.Conn
	once       sync.Once
	writer     // on raw, or on TLS on it

	// The rest belongs to events.
	info     ConnInfo
	waiting  []request
	busy     bool // a request is being handled
	starting bool // next is on the stack
	session  session
	renewal  renewal
	idle     idleness
}

func newConnection(d *dispatcher, listener Listener, socket net.Conn, running *sync.WaitGroup) *connection {
	c := &connection{
		dispatcher: d,
		running:    running,
		listener:   listener,
		raw:        socket,
		info:       ConnInfo{Principal: AnonymousPrincipal, Listener: listener.Name},
		writer: writer{
			socket:  socket,
			slots:   make(chan struct{}, maxUnanswered),
			answers: make(chan answer, maxUnanswered+1),
			closed:  make(chan struct{}),
			loop:    d.broker.Loop,
		},
	}
	c.relieved = func() { c.post(c.next) }
	if addr, ok := socket.RemoteAddr().(*net.TCPAddr); ok {
		c.info.ClientHost = "/" + addr.IP.String()
	}
	if addr, ok := socket.LocalAddr().(*net.TCPAddr); ok {
		c.info.ServerHost = addr.IP.String()
	}
	if listener.TLS != nil {
		c.socket = tls.Server(socket, listener.TLS)
	}
	return c
}

// close ends the connection; with reset, the client sees it reset rather than
// closed.
func (c *connection) close(reset bool) {
	c.once.Do(func() {
		if tcp, ok := c.raw.(*net.TCPConn); ok && reset {
			tcp.SetLinger(0) // its failure leaves an ordinary close
		}
		if reset || c.listener.TLS == nil {
			close(c.closed)
			c.raw.Close()
			return
		}
		// The end of TLS is told, to a client that may not be reading.
		c.running.Go(func() { c.socket.Close() })
		close(c.closed)
	})
}

// reset ends the connection as the death of a process does.
func (c *connection) reset() { c.close(true) }

func (c *connection) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// read posts the connection's requests in order, until it ends or sends what is
// no request. The end is posted like a request: those before it are answered
// first, as in Kafka, which does not read on before.
func (c *connection) read() {
	offered, limit := c.broker().offered(), c.broker().maxRequestBytes()
	if c.listener.TLS != nil && !c.secure() {
		return
	}
	from := bufio.NewReaderSize(c.socket, flushSize)
	if c.listener.needsLogin() && !c.logIn(from) {
		return
	}
	for {
		select {
		case c.slots <- struct{}{}:
		case <-c.closed:
			return
		}
		req, err := readRequest(from, limit, offered)
		if err != nil {
			c.post(c.end)
			return
		}
		c.post(func() { c.arrive(req) })
	}
}

// notTLS is the alert (internal_error) with which Java's TLS answers a client
// that speaks in clear.
var notTLS = []byte{21, 3, 3, 0, 2, 2, 80}

// secure makes the TLS handshake, once the broker is not paused, and names the
// client by its certificate. It says whether there is a connection to read.
func (c *connection) secure() bool {
	begin := make(chan struct{})
	c.post(func() { close(begin) })
	select {
	case <-begin:
	case <-c.closed:
		return false
	}
	secured := c.socket.(*tls.Conn)
	if err := secured.HandshakeContext(context.Background()); err != nil {
		var clear tls.RecordHeaderError
		if errors.As(err, &clear) {
			c.raw.Write(notTLS) // a client that has gone does not matter
		}
		c.close(false)
		return false
	}
	shown := secured.ConnectionState().PeerCertificates
	if len(shown) == 0 || c.listener.needsLogin() {
		return true
	}
	principal, err := c.listener.Principals.of(shown[0])
	if err != nil {
		c.close(false)
		return false
	}
	c.post(func() { c.info.Principal = principal })
	return true
}

func readRequest(from *bufio.Reader, limit int32, offered Versions) (request, error) {
	content, err := readFrame(from, limit)
	if err != nil {
		return request{}, err
	}
	return decodeRequest(content, offered)
}

// post runs an event at the broker, when it is not paused.
func (c *connection) post(event func()) {
	broker := c.broker()
	broker.Loop.Post(func() { broker.Host.Run(event) })
}

// arrive handles a request, after those before it.
func (c *connection) arrive(req request) {
	c.waiting = append(c.waiting, req)
	c.next()
}

// end closes the connection when everything before is answered.
func (c *connection) end() { c.arrive(request{}) }

// next handles waiting requests up to the first that is not answered at once.
// Kafka does not begin with a request while another of the same connection is
// unanswered.
func (c *connection) next() {
	if c.starting {
		return
	}
	c.starting = true
	for !c.busy && len(c.waiting) > 0 && !c.crowded() && !c.isClosed() {
		req := c.waiting[0]
		c.waiting = c.waiting[1:]
		c.handle(req)
	}
	c.starting = false
}

func (c *connection) handle(req request) {
	c.touch()
	if req.body == nil {
		c.hangUp()
		return
	}
	if c.renews(req) {
		return
	}
	if c.session.over(c.now()) {
		c.hangUp()
		return
	}
	c.busy = true
	info := c.info
	info.ClientID = req.clientID
	c.dispatcher.handle(&call{
		conn:        info,
		socket:      c,
		reply:       func(resp kmsg.Response) { c.reply(req, resp) },
		hangUp:      c.hangUp,
		ownsRequest: true,
	}, req.body)
}

func (c *connection) broker() *Broker { return c.dispatcher.broker }

// now is the cluster's time.
func (c *connection) now() time.Time { return c.broker().Host.Now() }

// reply sends a response, or none if it is nil, and goes on to the next request.
func (c *connection) reply(req request, resp kmsg.Response) {
	host := c.broker().Host
	if host.Paused() {
		host.Run(func() { c.reply(req, resp) })
		return
	}
	if c.isClosed() {
		return
	}
	if !c.busy {
		panic("wire: " + kmsg.NameForKey(req.body.Key()) + " was answered twice")
	}
	c.busy = false
	c.touch()
	a := answer{correlationID: req.correlationID, response: resp}
	if resp != nil {
		a.size = int64(roomFor(resp))
		if shape := c.broker().Shape; shape != nil {
			a.shape = shape(req.body)
		}
	}
	c.put(a)
	c.next()
}

// hangUp closes the connection when the answers so far are written; what waits
// is not handled.
func (c *connection) hangUp() {
	c.waiting = nil
	c.busy = true // for good
	c.put(answer{last: true})
}

// serve writes answers until the end of the connection, and ends what ends with it.
func (c *connection) serve() {
	defer c.post(c.gone)
	defer c.close(false)
	c.post(c.watchIdle)
	c.write()
}

// gone ends what ends with the connection.
func (c *connection) gone() {
	c.endIdle()
	if shares := c.broker().Shares; shares != nil {
		shares.Disconnected(c)
	}
}
