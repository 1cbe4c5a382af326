package security

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Connector opens connections to brokers. Those of several clients of a cluster
// are best opened by one, as what it knows of failures counts for all. It is
// safe for concurrent use.
type Connector struct {
	settings Settings
	material *material // nil without TLS
	tokens   *tokens   // nil without OAUTHBEARER
	gate     gate

	mu     sync.Mutex
	warned map[string]bool
}

// New returns a connector. It opens no connection. It returns an error if a
// file cannot be used.
func New(settings Settings) (*Connector, error) {
	if settings.Now == nil {
		settings.Now = time.Now
	}
	c := &Connector{settings: settings, gate: gate{now: settings.Now, closed: make(map[string]*closure)}, warned: make(map[string]bool)}
	if t := settings.TLS; t != nil {
		c.material = &material{settings: *t, warn: c.warn}
		if _, err := c.material.read(); err != nil {
			return nil, err
		}
	}
	if l := settings.Login; l != nil && l.Mechanism == OAuthBearer {
		if _, err := authorities(l.OAuth.CAFile); err != nil {
			return nil, err
		}
		c.tokens = newTokens(l.OAuth, settings.Now)
	}
	c.warnOfSettings()
	return c, nil
}

// InClear returns a connector for connections in clear, without a login.
func InClear() *Connector {
	c, err := New(Settings{})
	if err != nil {
		panic("security: " + err.Error()) // there is no file to fail
	}
	return c
}

// warnOfSettings tells what is allowed, and unwise.
func (c *Connector) warnOfSettings() {
	if c.settings.TLS != nil && c.settings.TLS.Insecure {
		c.warn("INSECURE: kafka.tls.insecure_skip_verify accepts any certificate, so that anybody on the way can read and change what brokers and the exporter say, logins included")
	}
	if c.settings.TLS == nil && c.mechanism() == Plain {
		c.warn("kafka.sasl.mechanism PLAIN without kafka.tls.enabled sends the password in clear")
	}
	if c.settings.TLS == nil && c.mechanism() == OAuthBearer {
		c.warn("kafka.sasl.mechanism OAUTHBEARER without kafka.tls.enabled sends the token in clear")
	}
	if c.mechanism() == OAuthBearer && c.settings.Login.OAuth.inClear() {
		c.warn("kafka.sasl.oauth.token_url with http sends the client secret in clear, and the token")
	}
}

// warn passes a message on if it was not told before.
func (c *Connector) warn(format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	c.mu.Lock()
	told := c.warned[message]
	c.warned[message] = true
	c.mu.Unlock()
	if !told && c.settings.Warn != nil {
		c.settings.Warn(message)
	}
}

// Close ends what goes on between connections, the renewal of tokens. It closes
// none.
func (c *Connector) Close() {
	if c.tokens != nil {
		c.tokens.close()
	}
}

// Options are what a franz-go client needs to have its connections opened here.
func (c *Connector) Options() []kgo.Opt {
	options := []kgo.Opt{kgo.Dialer(c.dial), kgo.WithHooks(hook{c})}
	if m := c.saslMechanism(); m != nil {
		options = append(options, kgo.SASL(m))
	}
	return options
}

// Principal is who brokers take the exporter for, in Kafka's form, as far as
// that can be told from here: brokers can map names to others.
func (c *Connector) Principal() string {
	switch l := c.settings.Login; {
	case l != nil && l.Mechanism == OAuthBearer:
		if subject := claimsOf(c.tokens.last()).Subject; subject != "" {
			return "User:" + subject
		}
		return "User:" + l.OAuth.ClientID
	case l != nil:
		return "User:" + l.User
	case c.settings.TLS != nil && c.settings.TLS.CertFile != "":
		if m, err := c.material.read(); err == nil && m.certificate.Leaf != nil {
			return "User:" + m.certificate.Leaf.Subject.String()
		}
	}
	return "User:ANONYMOUS"
}

// Explain returns an error of a request to the broker at an address in words
// that tell what to do about it, as an *Error, where it has to do with
// security; others as they are.
func (c *Connector) Explain(err error, address string) error {
	var explained *Error
	if err == nil || errors.As(err, &explained) {
		if explained != nil {
			return explained
		}
		return err
	}
	if known := c.gate.explanation(address, err); known != nil {
		return known
	}
	if explained = c.requestError(err, address); explained != nil {
		return explained
	}
	return err
}

// dial opens a connection, secured as the settings say, unless the last one to
// this address failed a short while ago. What a login needs from elsewhere is
// there before the broker is bothered.
func (c *Connector) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if err := c.gate.check(address, c.credentials); err != nil {
		return nil, err
	}
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil || c.settings.TLS == nil {
		return conn, err
	}
	secured, err := c.handshake(ctx, conn, address)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return secured, nil
}

// ready says what is missing for a login.
func (c *Connector) ready(ctx context.Context) error {
	if c.tokens != nil {
		_, err := c.tokens.get(ctx)
		return held(err)
	}
	_, err := c.password()
	return held(err)
}

// held marks an error as one that no connection has failed with.
func held(err error) error {
	var known *Error
	if errors.As(err, &known) {
		return &Error{Kind: known.Kind, Text: known.Text, Cause: ErrHeld}
	}
	return err
}

// handshake begins TLS.
func (c *Connector) handshake(ctx context.Context, conn net.Conn, address string) (net.Conn, error) {
	m, err := c.material.read()
	if err != nil {
		return nil, tlsError(err, "%v", err)
	}
	if err := m.expired(c.settings.Now(), c.settings.TLS.CertFile); err != nil {
		return nil, err
	}
	config := &tls.Config{
		RootCAs:            m.authorities,
		ServerName:         c.settings.TLS.ServerName,
		InsecureSkipVerify: c.settings.TLS.Insecure,
		Time:               c.settings.Now,
	}
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	if m.certificate != nil {
		// Given by the function, the certificate is also shown to a broker
		// whose list of authorities does not name its own, which then refuses it
		// instead of missing it.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return m.certificate, nil }
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, c.handshakeError(err, address)
	}
	return secured, nil
}

// handshakeError explains why TLS with a broker has failed. An alert is about
// the client certificate, in TLS 1.2.
func (c *Connector) handshakeError(err error, address string) error {
	if refusedByPeer(err) {
		return c.clientCertificateError(err, address)
	}
	return handshakeError(err, address, "kafka.tls.ca_file", "kafka.tls.server_name")
}

// hook is told by franz-go how connections fared.
type hook struct{ *Connector }

// OnBrokerConnect implements kgo.HookBrokerConnect. err has the failure of a
// login, too.
func (h hook) OnBrokerConnect(broker kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	address := net.JoinHostPort(broker.Host, strconv.Itoa(int(broker.Port)))
	if err == nil {
		h.gate.succeeded(address)
		return
	}
	if errors.Is(err, ErrHeld) {
		return
	}
	var explained *Error
	if !errors.As(err, &explained) {
		if explained = h.openingError(err, address); explained == nil {
			return
		}
	}
	if h.tokens != nil && errors.Is(err, kerr.SaslAuthenticationFailed) {
		h.tokens.drop()
	}
	// In clear there is no login to repeat, and an end of the connection may
	// have any cause.
	h.gate.failed(address, err, explained, h.credentials(), h.settings.TLS != nil || h.settings.Login != nil)
}

// credentials changes when a file or a secret does.
func (c *Connector) credentials() [sha256.Size]byte {
	hash := sha256.New()
	if t := c.settings.TLS; t != nil {
		files := t.fingerprint()
		hash.Write(files[:])
	}
	for _, secret := range c.given() {
		sum := sha256.Sum256([]byte(secret))
		hash.Write(sum[:])
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// given are the secrets of the settings at present.
func (c *Connector) given() []string {
	l := c.settings.Login
	if l == nil {
		return nil
	}
	var all []string
	for _, s := range []Secret{l.Password, l.OAuth.ClientSecret} {
		if text, err := value(s); err == nil && text != "" {
			all = append(all, text)
		}
	}
	return all
}

// secrets are those of the settings, and the token.
func (c *Connector) secrets() []string {
	all := c.given()
	if c.tokens != nil {
		if token := c.tokens.last(); token != "" {
			all = append(all, token)
		}
	}
	return all
}

// mechanism is the one to log in by; empty for none.
func (c *Connector) mechanism() Mechanism {
	if c.settings.Login == nil {
		return ""
	}
	return c.settings.Login.Mechanism
}

// who is whom the exporter logs in as, for messages.
func (c *Connector) who() string {
	if c.tokens != nil {
		return "the client " + c.settings.Login.OAuth.ClientID
	}
	return "the user " + c.settings.Login.User
}

// password is that of the user at present; empty without one.
func (c *Connector) password() (string, error) {
	if c.settings.Login == nil || c.tokens != nil {
		return "", nil
	}
	text, err := value(c.settings.Login.Password)
	if err != nil {
		return "", loginError(err, "kafka.sasl.password %v", err)
	}
	return text, nil
}

// saslMechanism is franz-go's mechanism; nil for none. It asks for password or
// token at each login.
func (c *Connector) saslMechanism() sasl.Mechanism {
	switch c.mechanism() {
	case Plain:
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			password, err := c.password()
			return plain.Auth{User: c.settings.Login.User, Pass: password}, err
		})
	case ScramSHA256:
		return scram.Sha256(c.scram)
	case ScramSHA512:
		return scram.Sha512(c.scram)
	case OAuthBearer:
		return oauth.Oauth(func(ctx context.Context) (oauth.Auth, error) {
			ctx, cancel := withTimeout(ctx)
			defer cancel()
			token, err := c.tokens.get(ctx)
			return oauth.Auth{Token: token, Extensions: c.settings.Login.OAuth.Extensions}, err
		})
	}
	return nil
}

func (c *Connector) scram(context.Context) (scram.Auth, error) {
	password, err := c.password()
	return scram.Auth{User: c.settings.Login.User, Pass: password}, err
}
