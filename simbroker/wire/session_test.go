package wire

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// lasting is a broker at which sessions of alice and bob last a minute.
func lasting(t *testing.T) *guarded {
	t.Helper()
	return newGuardedBy(t, nil, Listener{
		Name: "SASL", Mechanisms: []sasl.Mechanism{sasl.Plain, sasl.ScramSHA256},
		Sessions: map[sasl.Mechanism]time.Duration{sasl.Plain: time.Minute},
		Users: func(sasl.Mechanism) sasl.Users {
			return sasl.Users{Passwords: map[string]string{"alice": "secret", "bob": "other"}}
		},
	})
}

// again logs in on a connection that is logged in.
func again(c *client, mechanism, token string) (handshake int16, authenticated *kmsg.SASLAuthenticateResponse) {
	c.t.Helper()
	if code := ask[*kmsg.SASLHandshakeResponse](c, handshakeRequest(1, mechanism)).ErrorCode; code != 0 {
		return code, nil
	}
	req := authenticateRequest(2, "")
	req.SASLAuthBytes = []byte(token)
	return 0, ask[*kmsg.SASLAuthenticateResponse](c, req)
}

const (
	alice = "\x00alice\x00secret"
	bob   = "\x00bob\x00other"
)

// KIP-368: the client is told how long its session lasts, goes on when it logs in
// again in time, and loses its connection otherwise, at the next request.
func TestSessions(t *testing.T) {
	served := func(t *testing.T, c *client) {
		t.Helper()
		if got := ask[*kmsg.ApiVersionsResponse](c, versionsRequest(4)); got.ErrorCode != 0 {
			t.Errorf("ApiVersions: %d", got.ErrorCode)
		}
	}
	open := func(t *testing.T, g *guarded) *client {
		t.Helper()
		c := g.dial()
		code, got := again(c, "PLAIN", alice)
		if code != 0 || got.ErrorCode != 0 || got.SessionLifetimeMillis != 60_000 {
			t.Fatalf("handshake %d, authenticate %+v", code, got)
		}
		return c
	}
	t.Run("logged in again", func(t *testing.T) {
		g := lasting(t)
		c := open(t, g)
		for range 3 {
			g.advance(59 * time.Second)
			served(t, c)
			if code, got := again(c, "PLAIN", alice); code != 0 || got.ErrorCode != 0 || got.SessionLifetimeMillis != 60_000 {
				t.Fatalf("handshake %d, authenticate %+v", code, got)
			}
		}
		g.advance(61 * time.Second)
		c.send(1, versionsRequest(4))
		c.closed(false)
	})
	t.Run("too late, and no request is left", func(t *testing.T) {
		g := lasting(t)
		c := open(t, g)
		g.advance(time.Hour)
		if code, got := again(c, "PLAIN", alice); code != 0 || got.ErrorCode != 0 {
			t.Errorf("handshake %d, authenticate %+v", code, got)
		}
		served(t, c)
	})
	t.Run("too soon", func(t *testing.T) {
		g := lasting(t)
		c := open(t, g)
		again(c, "PLAIN", alice)
		if code, _ := again(c, "PLAIN", alice); code != 34 {
			t.Errorf("a second handshake within a second is answered %d, want ILLEGAL_SASL_STATE(34)", code)
		}
		served(t, c)
	})
	t.Run("by another mechanism", func(t *testing.T) {
		c := open(t, lasting(t))
		c.send(1, handshakeRequest(1, "SCRAM-SHA-256"))
		c.closed(false)
	})
	for name, test := range map[string]struct{ token, message string }{
		"as another":            {bob, "Cannot change principals during re-authentication from User.alice: User.bob"},
		"with a wrong password": {"\x00alice\x00wrong", "Authentication failed: Invalid username or password"},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, lasting(t))
			code, got := again(c, "PLAIN", test.token)
			if code != 0 || got.ErrorCode != 58 || *got.ErrorMessage != test.message {
				t.Errorf("handshake %d, authenticate %+v", code, got)
			}
			c.closed(false)
		})
	}
}
