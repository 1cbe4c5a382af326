package wire

import (
	"bufio"
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// guarded is a broker with a listener on which alice may log in by PLAIN. Its
// only other APIs are those that need no room.
type guarded struct {
	*Server
	t    *testing.T
	host *clock.Host
	addr string
	// advance moves the clock on.
	advance func(time.Duration)
}

func newGuarded(t *testing.T, intercept func(ConnInfo, kmsg.Request, func(), func(error))) *guarded {
	t.Helper()
	return newGuardedBy(t, intercept, Listener{
		Name:       "SASL",
		Mechanisms: []sasl.Mechanism{sasl.Plain},
		Users: func(sasl.Mechanism) sasl.Users {
			return sasl.Users{Passwords: map[string]string{"alice": "secret"}}
		},
	})
}

func newGuardedBy(t *testing.T, intercept func(ConnInfo, kmsg.Request, func(), func(error)), listener Listener) *guarded {
	t.Helper()
	loop := clock.NewWall()
	t.Cleanup(loop.Close)
	g := &guarded{t: t, host: clock.NewHost(loop), advance: loop.Advance}
	var metadata *controller.Controller
	loop.Do(func() {
		metadata = controller.New(loop, nil, controller.DefaultFeatures(), 1, func(kafka.BrokerID, *controller.Update) {})
	})
	g.Server = NewServer(&Broker{ID: 1, Loop: loop, Host: g.host, Intercept: intercept, Cluster: readOnlyCluster{image: metadata.Image()}})
	addr, err := g.Listen(listener, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.addr = addr.String()
	t.Cleanup(g.Close)
	return g
}

func (g *guarded) dial() *client {
	g.t.Helper()
	socket, err := net.Dial("tcp", g.addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { socket.Close() })
	socket.SetDeadline(time.Now().Add(deadline))
	return &client{Conn: socket, t: g.t, from: bufio.NewReader(socket)}
}

func handshakeRequest(version int16, mechanism string) *kmsg.SASLHandshakeRequest {
	req := kmsg.NewPtrSASLHandshakeRequest()
	req.Version, req.Mechanism = version, mechanism
	return req
}

func authenticateRequest(version int16, password string) *kmsg.SASLAuthenticateRequest {
	req := kmsg.NewPtrSASLAuthenticateRequest()
	req.Version, req.SASLAuthBytes = version, []byte("\x00alice\x00"+password)
	return req
}

// ask sends a request and reads its answer.
func ask[R kmsg.Response](c *client, req kmsg.Request) R {
	c.t.Helper()
	c.send(1, req)
	content, err := readFrame(c.from, maxRequestSize)
	if err != nil {
		c.t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	content = content[4:]
	resp := req.ResponseKind()
	if resp.IsFlexible() && req.Key() != int16(kmsg.ApiVersions) {
		content = content[1:]
	}
	if err := resp.ReadFrom(content); err != nil {
		c.t.Fatal(err)
	}
	return resp.(R)
}

func (c *client) logIn() {
	c.t.Helper()
	if code := ask[*kmsg.SASLHandshakeResponse](c, handshakeRequest(1, "PLAIN")).ErrorCode; code != 0 {
		c.t.Fatalf("handshake: %d", code)
	}
	if got := ask[*kmsg.SASLAuthenticateResponse](c, authenticateRequest(2, "secret")); got.ErrorCode != 0 || got.SessionLifetimeMillis != 0 {
		c.t.Fatalf("authenticate: %+v", got)
	}
}

func versionsRequest(version int16) *kmsg.ApiVersionsRequest {
	req := kmsg.NewPtrApiVersionsRequest()
	req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = version, "test", "1"
	return req
}

func TestLogin(t *testing.T) {
	g := newGuarded(t, nil)

	t.Run("after it, requests are served", func(t *testing.T) {
		c := g.dial()
		if got := ask[*kmsg.ApiVersionsResponse](c, versionsRequest(4)); got.ErrorCode != 0 {
			t.Fatalf("ApiVersions: %d", got.ErrorCode)
		}
		c.logIn()
		if got := ask[*kmsg.ApiVersionsResponse](c, versionsRequest(4)); got.ErrorCode != 0 {
			t.Errorf("ApiVersions after the login: %d", got.ErrorCode)
		}
		if got := ask[*kmsg.SASLHandshakeResponse](c, handshakeRequest(1, "PLAIN")); got.ErrorCode != 34 {
			t.Errorf("a second handshake: %d, want ILLEGAL_SASL_STATE(34)", got.ErrorCode)
		}
		if got := ask[*kmsg.SASLAuthenticateResponse](c, authenticateRequest(2, "secret")); got.ErrorCode != 34 {
			t.Errorf("a second authentication: %d, want ILLEGAL_SASL_STATE(34)", got.ErrorCode)
		}
	})
	t.Run("a version of ApiVersions that is not served may be followed by one that is", func(t *testing.T) {
		c := g.dial()
		frame := kmsg.NewRequestFormatter().AppendRequest(nil, versionsRequest(4), 1)
		binary.BigEndian.PutUint16(frame[6:], 99)
		if _, err := c.Write(frame); err != nil {
			t.Fatal(err)
		}
		if content, err := readFrame(c.from, maxRequestSize); err != nil || binary.BigEndian.Uint16(content[4:]) != 35 {
			t.Fatalf("v99: %x, %v", content, err)
		}
		if got := ask[*kmsg.ApiVersionsResponse](c, versionsRequest(3)); got.ErrorCode != 0 {
			t.Errorf("v3: %d", got.ErrorCode)
		}
		c.logIn()
	})
	t.Run("without Kafka's header", func(t *testing.T) {
		c := g.dial()
		if code := ask[*kmsg.SASLHandshakeResponse](c, handshakeRequest(0, "PLAIN")).ErrorCode; code != 0 {
			t.Fatalf("handshake: %d", code)
		}
		c.token("\x00alice\x00secret")
		if answer, err := readFrame(c.from, maxRequestSize); err != nil || len(answer) != 0 {
			t.Fatalf("token: %x, %v", answer, err)
		}
		if got := ask[*kmsg.ApiVersionsResponse](c, versionsRequest(4)); got.ErrorCode != 0 {
			t.Errorf("ApiVersions after the login: %d", got.ErrorCode)
		}
	})
	t.Run("without Kafka's header, with a wrong password", func(t *testing.T) {
		c := g.dial()
		ask[*kmsg.SASLHandshakeResponse](c, handshakeRequest(0, "PLAIN"))
		c.token("\x00alice\x00wrong")
		c.closed(false)
	})
	t.Run("with a wrong password", func(t *testing.T) {
		c := g.dial()
		ask[*kmsg.SASLHandshakeResponse](c, handshakeRequest(1, "PLAIN"))
		begun := time.Now()
		got := ask[*kmsg.SASLAuthenticateResponse](c, authenticateRequest(1, "wrong"))
		if got.ErrorCode != 58 || got.ErrorMessage == nil || *got.ErrorMessage != "Authentication failed: Invalid username or password" {
			t.Errorf("%+v", got)
		}
		if took := time.Since(begun); took < 100*time.Millisecond {
			t.Errorf("answered after %v: guessing is quick", took)
		}
		c.closed(false)
	})
	t.Run("by a mechanism that there is not", func(t *testing.T) {
		c := g.dial()
		got := ask[*kmsg.SASLHandshakeResponse](c, handshakeRequest(1, "SCRAM-SHA-256"))
		if got.ErrorCode != 33 || len(got.SupportedMechanisms) != 1 || got.SupportedMechanisms[0] != "PLAIN" {
			t.Errorf("%+v", got)
		}
		c.closed(false)
	})
}

// What has no place in a login closes the connection.
func TestLoginOutOfTurn(t *testing.T) {
	g := newGuarded(t, nil)
	metadata := kmsg.NewPtrMetadataRequest()
	metadata.Version = 12

	c := g.dial()
	c.send(1, metadata)
	c.closed(false)

	c = g.dial()
	c.send(1, authenticateRequest(2, "secret"))
	c.closed(false)

	c = g.dial()
	ask[*kmsg.ApiVersionsResponse](c, versionsRequest(4))
	c.send(2, versionsRequest(4))
	c.closed(false)

	c = g.dial()
	if _, err := c.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	c.closed(false)

	c = g.dial()
	ask[*kmsg.SASLHandshakeResponse](c, handshakeRequest(1, "PLAIN"))
	if got := ask[*kmsg.SASLHandshakeResponse](c, handshakeRequest(1, "PLAIN")); got.ErrorCode != 34 {
		t.Errorf("SaslHandshake twice: %d, want ILLEGAL_SASL_STATE(34)", got.ErrorCode)
	}
	c.closed(false)
}

// A paused broker leaves a login unanswered, and a fault can refuse it.
func TestLoginMeetsFaults(t *testing.T) {
	refuseLogin := false
	g := newGuarded(t, func(_ ConnInfo, req kmsg.Request, handle func(), refuse func(error)) {
		if refuseLogin && req.Key() == int16(kmsg.SASLAuthenticate) {
			refuse(kafka.ErrUnknownServerError)
			return
		}
		handle()
	})
	g.dispatcher.broker.Loop.Do(g.host.Pause)
	c := g.dial()
	c.send(1, handshakeRequest(1, "PLAIN"))
	c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if b, err := c.from.ReadByte(); err == nil {
		t.Fatalf("a paused broker answered %d", b)
	}
	c.SetReadDeadline(time.Now().Add(deadline))
	g.dispatcher.broker.Loop.Do(g.host.Resume)
	if _, err := readFrame(c.from, maxRequestSize); err != nil {
		t.Fatal(err)
	}

	g.dispatcher.broker.Loop.Do(func() { refuseLogin = true })
	if got := ask[*kmsg.SASLAuthenticateResponse](c, authenticateRequest(2, "secret")); got.ErrorCode != -1 {
		t.Errorf("%+v", got)
	}
	c.closed(false)
}

// token sends a bare token.
func (c *client) token(text string) {
	c.t.Helper()
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(text)))
	if _, err := c.Write(append(frame, text...)); err != nil {
		c.t.Fatal(err)
	}
}
