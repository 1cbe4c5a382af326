package secured

import (
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/test/tokens"
)

// line is a connection to a broker that speaks frame by frame.
type line struct {
	net.Conn
	t *testing.T
}

// dial opens a connection to a listener, with TLS where it has that.
func (w *world) dial(t *testing.T, listener string) *line {
	t.Helper()
	conn, err := net.Dial("tcp", w.address[listener])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(patience))
	if strings.HasSuffix(protocols[listener], "SSL") {
		conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
	}
	return &line{conn, t}
}

// ask sends a request and reads the answer. Its error is that of the connection.
func ask[R kmsg.Response](l *line, req kmsg.Request) (R, error) {
	l.t.Helper()
	var none R
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("secured")).AppendRequest(nil, req, 7)
	if _, err := l.Write(frame); err != nil {
		return none, err
	}
	size := make([]byte, 4)
	if _, err := io.ReadFull(l, size); err != nil {
		return none, err
	}
	content := make([]byte, binary.BigEndian.Uint32(size))
	if _, err := io.ReadFull(l, content); err != nil {
		return none, err
	}
	content = content[4:]
	resp := req.ResponseKind()
	if resp.IsFlexible() && req.Key() != int16(kmsg.ApiVersions) {
		content = content[1:]
	}
	if err := resp.ReadFrom(content); err != nil {
		l.t.Fatal(err)
	}
	return resp.(R), nil
}

// login shows how a login is answered, token by token.
func (l *line) login(mechanism string, messages ...string) string {
	l.t.Helper()
	handshake := kmsg.NewPtrSASLHandshakeRequest()
	handshake.Version, handshake.Mechanism = 1, mechanism
	shaken, err := ask[*kmsg.SASLHandshakeResponse](l, handshake)
	if err != nil {
		return end(err)
	}
	if shaken.ErrorCode != 0 {
		slices.Sort(shaken.SupportedMechanisms)
		return fmt.Sprintf("handshake %d %v", shaken.ErrorCode, shaken.SupportedMechanisms)
	}
	var said []string
	for _, message := range messages {
		token := kmsg.NewPtrSASLAuthenticateRequest()
		token.Version, token.SASLAuthBytes = 2, []byte(message)
		answer, err := ask[*kmsg.SASLAuthenticateResponse](l, token)
		if err != nil {
			return strings.Join(append(said, end(err)), ", ")
		}
		message := "without a message"
		if answer.ErrorMessage != nil {
			message = *answer.ErrorMessage
		}
		if answer.ErrorCode == 0 {
			said = append(said, fmt.Sprintf("ok %q%s lasts %s", answer.SASLAuthBytes, message, roughly(answer.SessionLifetimeMillis)))
		} else {
			said = append(said, fmt.Sprintf("%d %s", answer.ErrorCode, message))
		}
	}
	return strings.Join(said, ", ")
}

// roughly leaves out what passes while a token is on its way.
func roughly(millis int64) string {
	d := time.Duration(millis) * time.Millisecond
	if d > time.Minute {
		return "about " + d.Round(time.Minute).String()
	}
	return d.String()
}

// end is how a connection ended.
func end(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return "closed"
	}
	return err.Error()
}

// serves says how the connection answers a request.
func (l *line) serves() string {
	versions := kmsg.NewPtrApiVersionsRequest()
	versions.Version, versions.ClientSoftwareName, versions.ClientSoftwareVersion = 3, "secured", "1"
	answer, err := ask[*kmsg.ApiVersionsResponse](l, versions)
	if err != nil {
		return end(err)
	}
	return fmt.Sprintf("served %d", answer.ErrorCode)
}

// answers are how a broker answers, to the byte where that can be.
func (w *world) answers(t *testing.T) {
	plain := func(user, secret string) string { return "\x00" + user + "\x00" + w.secrets[secret] }
	bearer := func(token string) string { return "n,,\x01auth=Bearer " + token + "\x01\x01" }
	unsignedFor := func(name string) string {
		issuer := tokens.NewIssuer(t)
		return issuer.Unsigned(map[string]any{"sub": name})
	}
	for _, test := range []struct {
		name string
		play func(t *testing.T) string
		want string
	}{
		{"in clear to a port with TLS", func(t *testing.T) string {
			conn, err := net.Dial("tcp", w.address["TLS"])
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			conn.SetDeadline(time.Now().Add(patience))
			versions := kmsg.NewPtrApiVersionsRequest()
			conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, versions, 1))
			b, _ := io.ReadAll(conn) // the end may be a reset
			return hex.EncodeToString(b)
		}, "15030300020250"}, // an alert: internal_error
		{"sessions that do not end", func(t *testing.T) string {
			return w.dial(t, "LOGIN").login("PLAIN", plain(plainUser, "plain"))
		}, `ok "" lasts 0s`},
		{"sessions that end", func(t *testing.T) string {
			return w.dial(t, "BRIEF").login("PLAIN", plain(plainUser, "plain"))
		}, `ok "" lasts 3s`},
		{"sessions of tokens", func(t *testing.T) string {
			return w.dial(t, "LOGIN").login("OAUTHBEARER", bearer(w.issuer.Token(map[string]any{"sub": "x"})))
		}, `ok "" lasts about 1h0m0s`},
		{"sessions of unsigned tokens", func(t *testing.T) string {
			return w.dial(t, "UNSIGNED").login("OAUTHBEARER", bearer(w.unsigned.Unsigned(map[string]any{"sub": "x"})))
		}, `ok "" lasts about 1h0m0s`},
		{"a token that is not accepted", func(t *testing.T) string {
			l := w.dial(t, "LOGIN")
			return l.login("OAUTHBEARER", bearer("a.b.c"), "\x01") + ", then " + l.serves()
		}, `ok "{\"status\":\"invalid_token\"}" lasts 0s, 58 {"status":"invalid_token"}, then closed`},
		{"no token", func(t *testing.T) string {
			return w.dial(t, "LOGIN").login("OAUTHBEARER", "hello")
		}, "58 Authentication failed during authentication due to invalid credentials with SASL mechanism OAUTHBEARER"},
		{"another name than the token's", func(t *testing.T) string {
			return w.dial(t, "UNSIGNED").login("OAUTHBEARER", strings.Replace(bearer(w.unsigned.Unsigned(nil)), "n,,", "n,a=bob,", 1))
		}, "58 Authentication failed: Client requested an authorization id (bob) that is different from the token's principal name (" + otherSubject + ")"},
		{"a mechanism that is not offered", func(t *testing.T) string {
			return w.dial(t, "UNSIGNED").login("PLAIN", plain(plainUser, "plain"))
		}, "handshake 33 [OAUTHBEARER]"},
		{"again", func(t *testing.T) string {
			l := w.dial(t, "BRIEF")
			return l.login("PLAIN", plain(plainUser, "plain")) + "; " + l.login("PLAIN", plain(plainUser, "plain")) + "; " + l.serves() + "; " + l.login("PLAIN", plain(plainUser, "plain"))
		}, `ok "" lasts 3s; ok "" lasts 3s; served 0; handshake 34 []`},
		{"again where sessions do not end", func(t *testing.T) string {
			l := w.dial(t, "LOGIN")
			return l.login("PLAIN", plain(plainUser, "plain")) + "; " + l.login("PLAIN", plain(plainUser, "plain")) + "; " + l.serves()
		}, `ok "" lasts 0s; handshake 34 []; served 0`},
		{"again, with a wrong password", func(t *testing.T) string {
			l := w.dial(t, "BRIEF")
			l.login("PLAIN", plain(plainUser, "plain"))
			return l.login("PLAIN", plain(plainUser, "wrong")) + "; " + l.serves()
		}, "58 Authentication failed: Invalid username or password; closed"},
		{"again, by another mechanism", func(t *testing.T) string {
			l := w.dial(t, "BRIEF")
			l.login("PLAIN", plain(plainUser, "plain"))
			return l.login("SCRAM-SHA-256", "") + "; " + l.serves()
		}, "closed; closed"},
		{"again, as another", func(t *testing.T) string {
			l := w.dial(t, "UNSIGNED")
			l.login("OAUTHBEARER", bearer(unsignedFor("ann")))
			return l.login("OAUTHBEARER", bearer(unsignedFor("bob"))) + "; " + l.serves()
		}, "58 Cannot change principals during re-authentication from User.ann: User.bob; closed"},
		{"not again", func(t *testing.T) string {
			l := w.dial(t, "BRIEF")
			l.login("PLAIN", plain(plainUser, "plain"))
			begun := time.Now()
			for l.serves() == "served 0" {
				time.Sleep(50 * time.Millisecond)
			}
			lasted := time.Since(begun)
			return fmt.Sprintf("closed between 2 and 5 s: %t", lasted > 2*time.Second && lasted < 5*time.Second)
		}, "closed between 2 and 5 s: true"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := test.play(t); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
