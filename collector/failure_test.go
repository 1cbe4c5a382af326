package collector

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector/security"
	"github.com/lso-exporter/lso-exporter/lag"
)

func TestCauseText(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&net.OpError{Op: "dial", Err: &net.DNSError{Name: "kafka-1", Err: "no such host", IsNotFound: true}}, "the name kafka-1 does not resolve"},
		{&net.DNSError{Name: "kafka-1", Err: "server misbehaving"}, "the name kafka-1 could not be looked up (server misbehaving)"},
		{fmt.Errorf("unable to dial: %w", context.DeadlineExceeded), "no answer within 2s"},
		{errors.Join(ErrAPIMissing, errors.New("broker is too old")), ErrAPIMissing.Error()},
		{fmt.Errorf("broker -2147483648: %w", errors.New("odd")), "odd"},
	} {
		if got := causeText(c.err, 2*time.Second); got != c.want {
			t.Errorf("%v: %s, want %s", c.err, got, c.want)
		}
	}
	secured := &security.Error{Kind: security.KindTLS, Text: "said already"}
	if got := failureOf(fmt.Errorf("dial: %w", secured), "a:1", 0); missOfError(got) != lag.MissTLS {
		t.Errorf("%v is %s", got, missOfError(got))
	}
}

// deafPeer listens and does with connections what it is told to.
func deafPeer(t *testing.T, do func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			do(conn)
		}
	}()
	return listener.Addr().String()
}

// TestEachAddressHasItsFailure: where nobody answers, the sweep says of each
// bootstrap address why, in words, and shows no id that is none of Kafka's.
func TestEachAddressHasItsFailure(t *testing.T) {
	silent := deafPeer(t, func(conn net.Conn) { t.Cleanup(func() { conn.Close() }) })
	closing := deafPeer(t, func(conn net.Conn) { conn.Close() })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := listener.Addr().String()
	listener.Close()
	k, err := NewKafka(kgo.SeedBrokers(nobody, silent, closing))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	sample := NewSweeper(k, Options{BrokerTimeout: 200 * time.Millisecond}).Sweep(t.Context())
	// How a connection ends that is closed at once, the system decides.
	want := nobody + ": connection refused: no broker listens there\n" + silent + ": no answer within 200ms\n" + closing
	if rest, ok := strings.CutPrefix(sample.Failure, want); !ok || !strings.Contains(rest, "closed the connection") || strings.Contains(rest, "-2147") {
		t.Errorf("failure\n%s\nwant\n%s", sample.Failure, want)
	}
	if view := lag.NewTracker(time.Second).Observe(sample); strings.Contains(view.FailureLine(), "\n") {
		t.Errorf("not one line: %q", view.FailureLine())
	}
	if _, err := k.Request(t.Context(), 7, kmsg.NewPtrMetadataRequest()); err == nil || err.Error() != "broker 7: no Metadata answer has listed it" {
		t.Errorf("got %v", err)
	}
}
