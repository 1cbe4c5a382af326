package security

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Kind is what went wrong with a connection.
type Kind string

const (
	// KindTLS: the two sides could not agree on how to secure the connection.
	KindTLS Kind = "tls"
	// KindAuthentication: the login failed, or there was nothing to log in with.
	KindAuthentication Kind = "authentication"
)

// Error is why a broker is not spoken to, in words for people, with what to do
// about it. It holds no secret.
type Error struct {
	Kind Kind
	Text string
	// Cause is what others said; it may be nil, and is not shown where it says
	// less than Text.
	Cause error

	// unsure is set where the other side has only gone away: a broker that is
	// being restarted does that too.
	unsure bool
}

// Error implements error.
func (e *Error) Error() string { return e.Text }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

func tlsError(cause error, format string, args ...any) *Error {
	return &Error{Kind: KindTLS, Text: fmt.Sprintf(format, args...), Cause: cause}
}

// unsure is a tlsError that may have another cause.
func unsure(cause error, format string, args ...any) *Error {
	e := tlsError(cause, format, args...)
	e.unsure = true
	return e
}

func loginError(cause error, format string, args ...any) *Error {
	return &Error{Kind: KindAuthentication, Text: fmt.Sprintf(format, args...), Cause: cause}
}

// handshakeError explains why TLS with a peer has failed; where it has nothing
// to do with TLS, such as a time that is over, the error stays as it is. ca and
// name are the settings that could mend it.
func handshakeError(err error, address, ca, name string) error {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &authority):
		return tlsError(err, "the certificate of %s is not signed by an authority that is trusted%s; name the file with the authority's certificate in %s", address, issuer(authority.Cert), ca)
	case errors.As(err, &host):
		return tlsError(err, "the certificate of %s is not for the name %s, but for %s; connect by a name that it is for, or set %s to one", address, host.Host, names(host.Certificate), name)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return tlsError(err, "the certificate of %s is valid from %s to %s, and not at present; renew it, or set the clock right", address, date(invalid.Cert.NotBefore), date(invalid.Cert.NotAfter))
	case errors.As(err, &invalid):
		return tlsError(err, "the certificate of %s is not valid: %v", address, invalid)
	case errors.As(err, &record):
		return tlsError(err, "%s does not speak TLS on this port; name the port of a listener with TLS, or switch TLS off", address)
	case broken(err):
		return unsure(err, "%s closed the connection when TLS was begun: this port may not speak it; name the port of a listener with TLS, or switch TLS off", address)
	case refusedByPeer(err):
		return tlsError(err, "%s refused the TLS handshake (%s)", address, alert(err))
	}
	return err
}

func issuer(c *x509.Certificate) string {
	if c == nil || c.Issuer.String() == "" {
		return ""
	}
	return " (it names " + c.Issuer.String() + ")"
}

// names are what a certificate is for.
func names(c *x509.Certificate) string {
	all := append([]string(nil), c.DNSNames...)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

func date(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }

// broken says whether the other side ended the connection.
func broken(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// refusedByPeer says whether the other side sent a TLS alert. crypto/tls has no
// exported type for one.
func refusedByPeer(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}

// alert names the alert that the other side sent.
func alert(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "remote error" {
		return strings.TrimPrefix(op.Err.Error(), "tls: ")
	}
	return "connection closed"
}

// openingError explains why a connection that was opened to an address could not
// be used: a login that failed, or the end of a handshake, which TLS 1.3 tells
// only with the first answer. It returns nil for what has another cause.
func (c *Connector) openingError(err error, address string) *Error {
	if explained := c.answerError(err, address); explained != nil {
		return explained
	}
	switch {
	case errors.Is(err, kerr.IllegalSaslState):
		return loginError(err, "%s takes no login on this port; name the port of a listener with SASL, or none in kafka.sasl.mechanism", address)
	case c.settings.TLS != nil && (broken(err) || refusedByPeer(err)):
		return c.clientCertificateError(err, address)
	case c.settings.TLS == nil && errors.Is(err, io.EOF):
		return tlsError(err, "%s closed the connection at once: this port may speak TLS; set kafka.tls.enabled, or name the port of another listener", address)
	}
	return nil
}

// answerError explains what a broker answered, at any time.
func (c *Connector) answerError(err error, address string) *Error {
	switch {
	case errors.Is(err, kerr.SaslAuthenticationFailed):
		return loginError(err, "%s refused the login of %s by %s%s", address, c.who(), c.mechanism(), c.said(err))
	case errors.Is(err, kerr.UnsupportedSaslMechanism):
		return loginError(err, "%s does not offer the mechanism %s; choose one of its sasl.enabled.mechanisms", address, c.mechanism())
	case c.settings.TLS == nil && speaksTLS(err):
		return tlsError(err, "%s speaks TLS on this port, and it was spoken to in clear; set kafka.tls.enabled, or name the port of another listener", address)
	}
	return nil
}

// clientCertificateError is about what brokers only tell after the handshake.
func (c *Connector) clientCertificateError(err error, address string) *Error {
	explain := tlsError
	if broken(err) {
		explain = unsure
	}
	if c.settings.TLS.CertFile == "" {
		return explain(err, "%s closed the connection after the TLS handshake: it wants a client certificate; set kafka.tls.cert_file and kafka.tls.key_file", address)
	}
	return explain(err, "%s closed the connection after the TLS handshake: it does not accept the client certificate %s; have it signed by an authority that brokers trust (ssl.truststore)", address, c.settings.TLS.CertFile)
}

// speaksTLS says whether franz-go took a TLS alert for an answer.
func speaksTLS(err error) bool { return strings.Contains(err.Error(), "tls alert record") }

// requestError explains why a request on an open connection failed, nil for
// what needs no explanation. A broker with SASL answers ApiVersions to anybody
// and closes the connection at the next request.
func (c *Connector) requestError(err error, address string) *Error {
	if explained := c.answerError(err, address); explained != nil {
		return explained
	}
	if errors.Is(err, kerr.IllegalSaslState) {
		return loginError(err, "%s did not renew the session of %s when it was due; it is begun anew with the next connection", address, c.who())
	}
	var first *kgo.ErrFirstReadEOF
	if errors.As(err, &first) && c.settings.Login == nil {
		return loginError(err, "%s closed the connection at the first request: this port may want a login; set kafka.sasl.mechanism, or name the port of another listener", address)
	}
	return nil
}

// said is what the broker said of a login, in parentheses. It could say a secret
// back.
func (c *Connector) said(err error) string {
	_, said, ok := strings.Cut(err.Error(), kerr.SaslAuthenticationFailed.Error()+": ")
	if said = strings.Join(strings.Fields(said), " "); !ok || said == "" {
		return ""
	}
	for _, secret := range c.secrets() {
		if strings.Contains(said, secret) {
			return ""
		}
	}
	return " (" + said + ")"
}
