package witness

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Dial connects to a broker, plain TCP, and records what goes over the
// connection. It is a dialer for franz-go clients.
func (w *Witness) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &tapped{Conn: conn, witness: w, pending: map[int32]pending{}}, nil
}

// tapped is a connection whose frames are read along.
type tapped struct {
	net.Conn
	witness *Witness

	mu      sync.Mutex
	out, in frames
	pending map[int32]pending // by correlation id
}

type pending struct {
	sent time.Time
	req  kmsg.Request
}

// frames gathers length-prefixed frames from pieces of a stream.
type frames struct {
	buffer []byte
	since  time.Time // when the first piece of the buffer came
}

// add takes a piece and hands out each frame that is whole, with the moment at
// which it began.
func (f *frames) add(piece []byte, at time.Time, frame func([]byte, time.Time)) {
	if len(f.buffer) == 0 {
		f.since = at
	}
	f.buffer = append(f.buffer, piece...)
	for len(f.buffer) >= 4 {
		size := int(binary.BigEndian.Uint32(f.buffer))
		if len(f.buffer) < 4+size {
			return
		}
		frame(f.buffer[4:4+size], f.since)
		f.buffer, f.since = f.buffer[4+size:], at
	}
	if len(f.buffer) == 0 {
		f.buffer = nil
	}
}

// Write implements net.Conn.
func (c *tapped) Write(p []byte) (int, error) {
	c.mu.Lock()
	c.out.add(p, time.Now(), c.request)
	c.mu.Unlock()
	return c.Conn.Write(p)
}

// Read implements net.Conn.
func (c *tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.mu.Lock()
		c.in.add(p[:n], time.Now(), c.response)
		c.mu.Unlock()
	}
	return n, err
}

// Close implements net.Conn: what was not answered never will be.
func (c *tapped) Close() error {
	c.mu.Lock()
	for id, p := range c.pending {
		c.witness.Exchange(p.sent, time.Time{}, p.req, nil)
		delete(c.pending, id)
	}
	c.mu.Unlock()
	return c.Conn.Close()
}

// request reads a request's header and body (rule J1: header 1, or 2 where the
// version is flexible).
func (c *tapped) request(frame []byte, sent time.Time) {
	be := binary.BigEndian
	key, version, id := int16(be.Uint16(frame)), int16(be.Uint16(frame[2:])), int32(be.Uint32(frame[4:]))
	req := kmsg.RequestForKey(key)
	if req == nil {
		return
	}
	req.SetVersion(version)
	body := frame[10:]
	if length := int16(be.Uint16(frame[8:])); length > 0 {
		body = body[length:]
	}
	if req.IsFlexible() {
		body = skipTags(body)
	}
	// The frame's bytes are those of the client's buffer: keep a copy.
	if err := req.ReadFrom(append([]byte(nil), body...)); err != nil {
		panic(fmt.Sprintf("witness: %s v%d does not parse: %v", kmsg.NameForKey(key), version, err))
	}
	if produce, is := req.(*kmsg.ProduceRequest); is && produce.Acks == 0 {
		c.witness.Exchange(sent, time.Time{}, req, nil)
		return
	}
	c.pending[id] = pending{sent, req}
}

func (c *tapped) response(frame []byte, _ time.Time) {
	id := int32(binary.BigEndian.Uint32(frame))
	p, ok := c.pending[id]
	if !ok {
		return
	}
	delete(c.pending, id)
	if p.req.Key() == int16(kmsg.ApiVersions) {
		return
	}
	resp := p.req.ResponseKind()
	body := frame[4:]
	if resp.IsFlexible() {
		body = skipTags(body)
	}
	if err := resp.ReadFrom(append([]byte(nil), body...)); err != nil {
		return // the client will not understand it either
	}
	c.witness.Exchange(p.sent, time.Now(), p.req, resp)
}

// skipTags skips a header's tagged fields.
func skipTags(b []byte) []byte {
	n, used := binary.Uvarint(b)
	b = b[used:]
	for range n {
		_, used = binary.Uvarint(b)
		b = b[used:]
		size, used := binary.Uvarint(b)
		b = b[uint64(used)+size:]
	}
	return b
}
