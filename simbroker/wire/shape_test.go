package wire_test

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
)

// dialled is a connection on which requests are written and frames read.
func dialled(t *testing.T, address string) net.Conn {
	t.Helper()
	socket, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	socket.SetDeadline(time.Now().Add(deadline))
	return socket
}

func write(t *testing.T, socket net.Conn, req kmsg.Request) {
	t.Helper()
	if _, err := socket.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 7)); err != nil {
		t.Fatal(err)
	}
}

// An answer that trickles is whole in the end, and the next one comes after it.
func TestTrickledAnswers(t *testing.T) {
	cluster, _ := listen(t, 1)
	socket := dialled(t, cluster.Bootstrap()[0])
	whole := exchange(t, cluster.Bootstrap()[0], kmsg.NewPtrMetadataRequest())
	begun := cluster.Now()
	remove := cluster.Install(simbroker.TrickleAnswers{APIs: []kmsg.Key{kmsg.Metadata}, Bytes: 20, Every: 10 * time.Millisecond})
	write(t, socket, kmsg.NewPtrMetadataRequest())
	if got := readFrame(t, socket); string(got) != string(whole) {
		t.Errorf("got % x, want % x", got, whole)
	}
	if took, want := cluster.Now().Sub(begun), time.Duration((len(whole)+4)/20)*10*time.Millisecond; took < want {
		t.Errorf("%d bytes took %v, less than %v", len(whole)+4, took, want)
	}
	remove()
	write(t, socket, kmsg.NewPtrMetadataRequest())
	if got := readFrame(t, socket); string(got) != string(whole) {
		t.Errorf("then got % x", got)
	}
}

// A cut answer ends with the connection; others are whole.
func TestCutAnswers(t *testing.T) {
	cluster, _ := listen(t, 1)
	cluster.Install(simbroker.CutAnswers{Bytes: 9, Times: 1})
	socket := dialled(t, cluster.Bootstrap()[0])
	write(t, socket, kmsg.NewPtrMetadataRequest())
	if got, err := io.ReadAll(socket); err != nil || len(got) != 9 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	exchange(t, cluster.Bootstrap()[0], kmsg.NewPtrMetadataRequest())
}

// A lost request leaves a connection silent for good; a client that opens another
// is served again when the fault is gone.
func TestLostRequests(t *testing.T) {
	cluster, _ := listen(t, 1)
	remove := cluster.Install(simbroker.LoseRequests{APIs: []kmsg.Key{kmsg.Metadata}})
	socket := dialled(t, cluster.Bootstrap()[0])
	silent := func() {
		t.Helper()
		exchange(t, cluster.Bootstrap()[0], kmsg.NewPtrListGroupsRequest())
		socket.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if n, err := socket.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read %d bytes, %v", n, err)
		}
	}
	write(t, socket, kmsg.NewPtrMetadataRequest())
	silent()
	remove()
	write(t, socket, kmsg.NewPtrListGroupsRequest())
	silent()
	exchange(t, cluster.Bootstrap()[0], kmsg.NewPtrMetadataRequest())
}

// A broker whose clock is wrong gives wrong timestamps, until it is right again.
func TestSkewedClock(t *testing.T) {
	c := newCluster(t, map[string]string{"log.message.timestamp.type": "LogAppendTime"})
	appendTime := func() time.Duration {
		t.Helper()
		batch := commitlog.Build(commitlog.Plainly(), []commitlog.Record{{Value: []byte("v")}}).Raw
		p := ask[*kmsg.ProduceResponse](c, 1, produceRequest(12, "orders", [16]byte{}, 0, batch)).Topics[0].Partitions[0]
		return time.UnixMilli(p.LogAppendTime).Sub(c.Now()).Round(time.Second)
	}
	remove := c.Install(simbroker.SkewClock{Broker: 1, By: time.Hour})
	other := c.Install(simbroker.SkewClock{By: -10 * time.Minute})
	if got := appendTime(); got != 50*time.Minute {
		t.Errorf("off by %v, want 50m", got)
	}
	remove()
	if got := appendTime(); got != -10*time.Minute {
		t.Errorf("off by %v, want -10m", got)
	}
	other()
	if got := appendTime(); got != 0 {
		t.Errorf("off by %v", got)
	}
}
