package wire

import (
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
)

const (
	// maxUnanswered is how many requests of a connection are read ahead of the
	// answers that its client has taken: what a socket's buffer holds in Kafka,
	// which reads a request when the one before is answered.
	maxUnanswered = 32
	// flushSize is how many bytes of answers are collected for one write.
	flushSize = 64 << 10
	// keptBuffer is the largest write buffer that is kept for the next answers.
	keptBuffer = 4 << 20
	// maxUnsent is how many bytes of answers may wait for a client to read them
	// before no further request of it is handled: one answer may go beyond.
	maxUnsent = 1 << 20
)

// writer encodes the answers of a connection and writes them, on a goroutine of its
// own, so that a client that does not read holds up nobody but itself.
type writer struct {
	socket  net.Conn
	slots   chan struct{} // one for each request that is read and unanswered
	answers chan answer   // has room for all of them: events never block
	unsent  atomic.Int64  // about how many bytes there are in answers
	taken   atomic.Int64  // how many bytes the client's side has taken
	closed  chan struct{} // with the connection
	loop    *clock.Loop
	// relieved is called when there is room again for requests that waited for it.
	relieved func()
}

// answer is what the writer is given: a response; nothing, which frees the slot
// of a request that gets no response; a login's bytes; or the end of the
// connection.
type answer struct {
	correlationID int32
	response      kmsg.Response
	bare          []byte // with its length in front
	size          int64  // about how many bytes the response takes
	shape         Shape
	last          bool
}

// put has an answer written after those before it.
func (w *writer) put(a answer) {
	w.unsent.Add(a.size)
	w.answers <- a
}

// crowded says whether so much waits for the client that no further request of it
// is to be handled.
func (w *writer) crowded() bool { return w.unsent.Load() >= maxUnsent }

// write writes answers until the last one, or until the connection is closed.
func (w *writer) write() {
	var buffer []byte
	for {
		select {
		case a := <-w.answers:
			if a.shape != (Shape{}) {
				if !w.sendShaped(a) {
					return
				}
				continue
			}
			var last bool
			var size int64
			if buffer, size, last = w.collect(buffer[:0], a); !w.send(buffer) || last {
				return
			}
			w.sent(size)
			if cap(buffer) > keptBuffer {
				buffer = nil
			}
		case <-w.closed:
			return
		}
	}
}

// collect encodes an answer and those that are ready behind it, of such a size
// as was counted.
func (w *writer) collect(buffer []byte, a answer) (encoded []byte, size int64, last bool) {
	for {
		if a.last {
			return buffer, size, true
		}
		size += a.size
		buffer = append(buffer, a.bare...)
		if a.response != nil {
			buffer = slices.Grow(buffer, int(a.size))
			buffer = appendResponse(buffer, a.correlationID, a.response)
		}
		<-w.slots
		if len(buffer) >= flushSize {
			return buffer, size, false
		}
		select {
		case a = <-w.answers:
			if a.shape != (Shape{}) { // comes by itself
				if !w.send(buffer) || !w.sendShaped(a) {
					return nil, size, true
				}
				return buffer[:0], size, false
			}
		default:
			return buffer, size, false
		}
	}
}

// sendShaped writes an answer by itself, as its shape says, and reports whether
// the connection goes on.
func (w *writer) sendShaped(a answer) bool {
	rest := appendResponse(nil, a.correlationID, a.response)
	<-w.slots
	defer w.sent(a.size)
	if a.shape.Cut {
		w.send(rest[:min(a.shape.Bytes, len(rest))])
		return false
	}
	for {
		n := min(a.shape.Bytes, len(rest))
		if !w.send(rest[:n]) {
			return false
		}
		if rest = rest[n:]; len(rest) == 0 {
			return true
		}
		if !w.wait(a.shape.Every) {
			return false
		}
	}
}

// wait holds the writer up for a while on the cluster's clock, and reports whether
// the connection is still there.
func (w *writer) wait(d time.Duration) bool {
	over := make(chan struct{})
	w.loop.Post(func() { w.loop.After(d, func() { close(over) }) })
	select {
	case <-over:
		return true
	case <-w.closed:
		return false
	}
}

// sent counts bytes that have left, and goes on with requests that waited for it.
func (w *writer) sent(size int64) {
	if left := w.unsent.Add(-size); left < maxUnsent && left+size >= maxUnsent {
		w.relieved()
	}
}

// roomFor is about how many bytes a response takes, for the ones that can be
// large.
func roomFor(resp kmsg.Response) int {
	size := 512
	switch resp := resp.(type) {
	case *kmsg.FetchResponse:
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				size += 128 + len(resp.Topics[i].Partitions[j].RecordBatches)
			}
		}
	case *kmsg.ShareFetchResponse:
		for i := range resp.Topics {
			for j := range resp.Topics[i].Partitions {
				size += 128 + len(resp.Topics[i].Partitions[j].Records)
			}
		}
	}
	return size
}

func (w *writer) send(buffer []byte) bool {
	if len(buffer) == 0 {
		return true
	}
	n, err := w.socket.Write(buffer)
	w.taken.Add(int64(n))
	return err == nil
}
