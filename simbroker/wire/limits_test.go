package wire_test

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
)

// limited starts a broker with these properties, on the wall clock.
func limited(t *testing.T, properties map[string]string) *simbroker.Cluster {
	t.Helper()
	cluster, err := simbroker.Start(simbroker.Config{Brokers: 1, ListenAddress: "127.0.0.1:0", Properties: properties})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

func connect(t *testing.T, cluster *simbroker.Cluster) net.Conn {
	t.Helper()
	socket, err := net.Dial("tcp", cluster.Bootstrap()[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	socket.SetDeadline(time.Now().Add(deadline))
	return socket
}

// request sends ApiVersions on a connection.
func request(t *testing.T, socket net.Conn) {
	t.Helper()
	req := kmsg.NewPtrApiVersionsRequest()
	req.SetVersion(0)
	if _, err := socket.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 7)); err != nil {
		t.Fatal(err)
	}
}

// ends waits for the end of a connection from the other side.
func ends(t *testing.T, socket net.Conn) {
	t.Helper()
	rest, err := io.ReadAll(socket)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() || len(rest) > 0 {
		t.Fatalf("the connection goes on: %d bytes, %v", len(rest), err)
	}
}

func TestFrameAboveTheLimitClosesTheConnection(t *testing.T) {
	cluster := limited(t, map[string]string{"socket.request.max.bytes": "1000"})
	for _, r := range []struct {
		size   uint32
		served bool
	}{{1000, true}, {1001, false}} {
		socket := connect(t, cluster)
		request(t, socket)
		readFrame(t, socket)
		frame := binary.BigEndian.AppendUint32(nil, r.size)
		if !r.served {
			if _, err := socket.Write(frame); err != nil {
				t.Fatal(err)
			}
			ends(t, socket)
			continue
		}
		req := kmsg.NewPtrApiVersionsRequest()
		req.SetVersion(0)
		whole := kmsg.NewRequestFormatter().AppendRequest(nil, req, 7)
		if _, err := socket.Write(append(frame, append(whole[4:], make([]byte, int(r.size)-len(whole)+4)...)...)); err != nil {
			t.Fatal(err)
		}
		readFrame(t, socket)
	}
}

func TestConnectionsPerAddress(t *testing.T) {
	cluster := limited(t, map[string]string{"max.connections.per.ip": "1", "max.connections.per.ip.overrides": "127.0.0.1:2, 10.0.0.1:7"})
	first, second := connect(t, cluster), connect(t, cluster)
	request(t, first)
	readFrame(t, first)
	request(t, second)
	readFrame(t, second)
	ends(t, connect(t, cluster))

	first.Close()
	for { // until the broker has seen that it is gone
		third := connect(t, cluster)
		request(t, third)
		var prefix [4]byte
		if _, err := io.ReadFull(third, prefix[:]); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
}

// A connection above max.connections is accepted by the system, and served when
// another has ended.
func TestConnectionsOfABroker(t *testing.T) {
	cluster := limited(t, map[string]string{"max.connections": "1"})
	first, second := connect(t, cluster), connect(t, cluster)
	served := func(socket net.Conn) chan struct{} {
		request(t, socket)
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			var prefix [4]byte
			if _, err := io.ReadFull(socket, prefix[:]); err == nil {
				io.CopyN(io.Discard, socket, int64(binary.BigEndian.Uint32(prefix[:])))
			}
		}()
		return answered
	}
	<-served(first)
	waits := served(second)
	for range 100 {
		<-served(first)
	}
	select {
	case <-waits:
		t.Error("served beside another")
	default:
	}
	first.Close()
	<-waits
}

// A connection ends when nothing happens on it for connections.max.idle.ms of
// the cluster's time, even if it waits for an answer.
func TestIdleConnections(t *testing.T) {
	cluster := limited(t, map[string]string{"connections.max.idle.ms": "60000"})
	busy, idle := connect(t, cluster), connect(t, cluster)
	request(t, idle)
	readFrame(t, idle)
	for range 3 {
		request(t, busy)
		readFrame(t, busy)
		cluster.Advance(25 * time.Second)
	}
	ends(t, idle)
	request(t, busy)
	readFrame(t, busy)
	cluster.Advance(59 * time.Second)
	request(t, busy)
	readFrame(t, busy)
	cluster.Advance(time.Minute)
	ends(t, busy)
}
