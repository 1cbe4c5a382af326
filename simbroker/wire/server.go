package wire

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Server serves one broker's clients. A Server without a listener serves
// in-process calls of Handle alone.
type Server struct {
	dispatcher *dispatcher

	mu        sync.Mutex // guards what accepting goroutines share with events
	entrances []*entrance
	conns     map[*connection]string // and the addresses that they are from
	limits    Limits
	changed   *sync.Cond     // when a connection ends, a listener closes or limits change
	running   sync.WaitGroup // goroutines
}

// NewServer returns a server of a broker. Broker's fields may change later, in
// events.
func NewServer(broker *Broker) *Server {
	s := &Server{dispatcher: &dispatcher{broker: broker, handlers: handlers}, conns: make(map[*connection]string)}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// Versions is what the broker offers.
func (s *Server) Versions() Versions { return s.dispatcher.broker.offered() }

// Handle answers one request, whose version must be set to one that Versions
// offers (see Versions.Check); ApiVersions may have any. It belongs to events.
// reply is called from this or a later event with the response, its version
// set, or with nil where Kafka sends none (acks=0); where Kafka falls silent
// (rule A5), and when the broker dies, it is never called. Neither side may
// change request or response afterwards.
func (s *Server) Handle(conn ConnInfo, req kmsg.Request, reply func(kmsg.Response)) {
	s.dispatcher.handle(&call{conn: conn, reply: reply, hangUp: func() { reply(nil) }}, req)
}

// Listen opens a listener on a TCP address (host:port, port 0 lets the system
// choose) and accepts connections. It returns the address to advertise. The
// port stays this server's until Close, even while Kill or Stop have it closed.
// A server may have several listeners.
func (s *Server) Listen(l Listener, address string) (*net.TCPAddr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := reservePort(address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	e := &entrance{Listener: l, port: p}
	if err := s.open(e); err != nil {
		p.release()
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	s.entrances = append(s.entrances, e)
	return p.addr, nil
}

// Start opens the listeners again after Kill or Stop. Without a Listen before it
// does nothing.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entrances {
		if e.socket != nil {
			continue
		}
		if err := s.open(e); err != nil {
			return fmt.Errorf("listen on %s: %w", e.port.addr, err)
		}
	}
	return nil
}

// Kill resets all connections and refuses new ones, as the death of a process
// does. It belongs to events: no request of before is handled afterwards.
func (s *Server) Kill() {
	s.dispatcher.memory.fetches.clear()
	s.shut(true)
}

// Stop closes all connections and refuses new ones, as a controlled shutdown
// does at its end. It belongs to events.
func (s *Server) Stop() {
	s.dispatcher.memory.fetches.clear()
	s.shut(false)
}

// Close stops the server for good and waits for its goroutines. It must not be
// called from an event.
func (s *Server) Close() {
	s.shut(false)
	s.mu.Lock()
	for _, e := range s.entrances {
		e.port.release()
	}
	s.entrances = nil
	s.mu.Unlock()
	s.running.Wait()
}

// open starts to accept connections; s.mu is held.
func (s *Server) open(e *entrance) error {
	socket, err := e.port.listen()
	if err != nil {
		return err
	}
	e.socket = socket
	s.running.Add(1)
	go s.accept(e, socket)
	return nil
}

// shut closes the listeners and every connection.
func (s *Server) shut(reset bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.entrances {
		if e.socket != nil {
			e.socket.Close()
			e.socket = nil
		}
	}
	for c := range s.conns {
		c.close(reset)
	}
	clear(s.conns)
	s.changed.Broadcast()
}

// accept serves connections until the listener is closed.
func (s *Server) accept(e *entrance, from net.Listener) {
	defer s.running.Done()
	for {
		socket, err := from.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // the client was gone before it was accepted
		}
		s.serve(e, from, socket)
	}
}

// serve starts a connection, unless the broker has died since it was accepted.
func (s *Server) serve(e *entrance, from net.Listener, socket net.Conn) {
	c := newConnection(s.dispatcher, e.Listener, socket, &s.running)
	address := strings.TrimPrefix(c.info.ClientHost, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok, reset := s.admit(e, from, address); !ok {
		c.close(reset)
		return
	}
	s.conns[c] = address
	s.running.Add(2)
	go func() {
		defer s.running.Done()
		c.read()
	}()
	go func() {
		defer s.running.Done()
		defer s.forget(c)
		c.serve()
	}()
}

// forget is told of a connection that has ended.
func (s *Server) forget(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.changed.Broadcast()
}
