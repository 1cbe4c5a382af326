package security

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/test/certificates"
)

// peer listens with TLS, by turns with whatever certificate it is given, and
// keeps what clients show it.
type peer struct {
	address string
	mu      sync.Mutex
	pair    tls.Certificate
	shown   []string // common names of client certificates, "" for none
}

func newPeer(t *testing.T, pair certificates.Pair) *peer {
	t.Helper()
	p := &peer{}
	p.use(t, pair)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		ClientAuth: tls.RequestClientCert,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			p.mu.Lock()
			defer p.mu.Unlock()
			return &p.pair, nil
		},
		VerifyConnection: func(s tls.ConnectionState) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			name := ""
			if len(s.PeerCertificates) > 0 {
				name = s.PeerCertificates[0].Subject.CommonName
			}
			p.shown = append(p.shown, name)
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	p.address = listener.Addr().String()
	var serving sync.WaitGroup
	t.Cleanup(func() { listener.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				if conn.(*tls.Conn).Handshake() == nil {
					conn.Write([]byte("x")) // the client's certificate is known
				}
			})
		}
	})
	return p
}

// use changes the certificate.
func (p *peer) use(t *testing.T, pair certificates.Pair) {
	t.Helper()
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pair = certificate
}

// lastShown is the common name of the last client certificate.
func (p *peer) lastShown() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.shown) == 0 {
		return "nobody came"
	}
	return p.shown[len(p.shown)-1]
}

// connect opens a connection and says why not.
func connect(c *Connector, address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := c.dial(ctx, "tcp", address)
	if err == nil {
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
	}
	return err
}

func newConnector(t *testing.T, settings Settings) *Connector {
	t.Helper()
	c, err := New(settings)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBrokersCertificate(t *testing.T) {
	dir := t.TempDir()
	ca, other := certificates.NewAuthority(t, "good"), certificates.NewAuthority(t, "other")
	trusted := certificates.WriteFile(t, dir, "ca.crt", ca.PEM)
	local := []string{"127.0.0.1", "kafka-1"}
	expired := time.Now().Add(-time.Hour)
	for _, test := range []struct {
		name     string
		pair     certificates.Pair
		settings TLS
		want     string // a regular expression; empty for a connection
	}{
		{"good", ca.Issue(t, certificates.Request{Names: local}), TLS{CAFile: trusted}, ""},
		{"another authority", other.Issue(t, certificates.Request{Names: local}), TLS{CAFile: trusted},
			`^the certificate of ADDRESS is not signed by an authority that is trusted \(it names CN=other\); name the file with the authority's certificate in kafka.tls.ca_file$`},
		{"unknown to the system", ca.Issue(t, certificates.Request{Names: local}), TLS{},
			`^the certificate of ADDRESS is not signed by an authority that is trusted \(it names CN=good\); name the file`},
		{"expired", ca.Issue(t, certificates.Request{Names: local, NotAfter: expired}), TLS{CAFile: trusted},
			`^the certificate of ADDRESS is valid from .* to .*, and not at present; renew it, or set the clock right$`},
		{"not yet valid", ca.Issue(t, certificates.Request{Names: local, NotBefore: time.Now().Add(time.Hour)}), TLS{CAFile: trusted},
			`^the certificate of ADDRESS is valid from .* to .*, and not at present`},
		{"another host", ca.Issue(t, certificates.Request{Names: []string{"kafka-2", "10.0.0.2"}}), TLS{CAFile: trusted},
			`^the certificate of ADDRESS is not for the name 127.0.0.1, but for kafka-2, 10.0.0.2; connect by a name that it is for, or set kafka.tls.server_name to one$`},
		{"the name that is expected", ca.Issue(t, certificates.Request{Names: []string{"kafka-2"}}), TLS{CAFile: trusted, ServerName: "kafka-2"}, ""},
		{"another than is expected", ca.Issue(t, certificates.Request{Names: local}), TLS{CAFile: trusted, ServerName: "kafka-2"},
			`^the certificate of ADDRESS is not for the name kafka-2, but for kafka-1, 127.0.0.1;`},
		{"anything", other.Issue(t, certificates.Request{NotAfter: expired}), TLS{Insecure: true}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPeer(t, test.pair)
			err := connect(newConnector(t, Settings{TLS: &test.settings}), p.address)
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var explained *Error
			want := regexp.MustCompile(strings.Replace(test.want, "ADDRESS", regexp.QuoteMeta(p.address), 1))
			if !errors.As(err, &explained) || explained.Kind != KindTLS || !want.MatchString(explained.Text) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// A port that does not speak TLS answers something else, or goes away.
func TestPortWithoutTLS(t *testing.T) {
	for _, answers := range []string{"", "no TLS here"} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			if conn, err := listener.Accept(); err == nil {
				conn.Read(make([]byte, 1024))
				conn.Write([]byte(answers))
				conn.Close()
			}
		}()
		err = connect(newConnector(t, Settings{TLS: &TLS{}}), listener.Addr().String())
		var explained *Error
		if !errors.As(err, &explained) || explained.Kind != KindTLS || !strings.HasSuffix(explained.Text, "name the port of a listener with TLS, or switch TLS off") {
			t.Errorf("a port that answers %q: %v", answers, err)
		}
		listener.Close()
	}
}

// Certificates are read for each connection, and what is bad meanwhile leaves
// the last good ones in use.
func TestCertificatesAreRenewed(t *testing.T) {
	dir := t.TempDir()
	old, young := certificates.NewAuthority(t, "old"), certificates.NewAuthority(t, "young")
	server := certificates.Request{Names: []string{"127.0.0.1"}}
	client := func(a *certificates.Authority, name string) certificates.Pair {
		r := certificates.Request{}
		r.Subject.CommonName = name
		return a.Issue(t, r)
	}
	p := newPeer(t, old.Issue(t, server))
	ca := certificates.WriteFile(t, dir, "ca.crt", old.PEM)
	certificate, key := client(old, "first").Write(t, dir, "client")
	var warnings []string
	c := newConnector(t, Settings{
		TLS:  &TLS{CAFile: ca, CertFile: certificate, KeyFile: key},
		Warn: func(message string) { warnings = append(warnings, message) },
	})
	shows := func(what, want string) {
		t.Helper()
		if err := connect(c, p.address); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := p.lastShown(); got != want {
			t.Errorf("%s: showed %q, want %q", what, got, want)
		}
	}
	shows("at first", "first")

	client(old, "second").Write(t, dir, "client")
	shows("renewed", "second")

	certificates.WriteFile(t, dir, "client.crt", client(old, "third").Certificate)
	shows("certificate without its key", "second")
	os.Remove(filepath.Join(dir, "ca.crt"))
	shows("no authority", "second")
	shows("no authority", "second")
	if len(warnings) != 2 || !strings.Contains(warnings[0], "what it held before stays in use") {
		t.Errorf("warned of %q, want one warning a fault", warnings)
	}

	p.use(t, young.Issue(t, server))
	if err := connect(c, p.address); err == nil {
		t.Error("a certificate of an authority that is not trusted was accepted")
	}
	certificates.WriteFile(t, dir, "ca.crt", slices.Concat(old.PEM, young.PEM))
	client(young, "fourth").Write(t, dir, "client")
	shows("another authority", "fourth")
}

// A client certificate that has expired is not shown: brokers would only close
// the connection.
func TestExpiredClientCertificate(t *testing.T) {
	dir := t.TempDir()
	ca := certificates.NewAuthority(t, "good")
	p := newPeer(t, ca.Issue(t, certificates.Request{Names: []string{"127.0.0.1"}}))
	certificate, key := ca.Issue(t, certificates.Request{NotAfter: time.Now().Add(-time.Minute)}).Write(t, dir, "client")
	c := newConnector(t, Settings{TLS: &TLS{CAFile: certificates.WriteFile(t, dir, "ca.crt", ca.PEM), CertFile: certificate, KeyFile: key}})
	err := connect(c, p.address)
	if err == nil || !strings.HasPrefix(err.Error(), "the client certificate "+certificate+" is valid from ") {
		t.Errorf("got %v", err)
	}
	if shown := p.lastShown(); shown != "nobody came" {
		t.Errorf("showed %q", shown)
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	ca := certificates.NewAuthority(t, "good")
	certificate, key := ca.Issue(t, certificates.Request{}).Write(t, dir, "client")
	_, otherKey := ca.Issue(t, certificates.Request{}).Write(t, dir, "other")
	for _, test := range []struct {
		settings TLS
		want     string
	}{
		{TLS{CAFile: filepath.Join(dir, "missing")}, "authorities " + filepath.Join(dir, "missing") + ": no such file or directory"},
		{TLS{CAFile: key}, "authorities " + key + ": there is no certificate in PEM in it"},
		{TLS{CertFile: certificate, KeyFile: certificate}, "client certificate " + certificate + " with key " + certificate + ": tls: found a certificate rather than a key in the PEM for the private key"},
		{TLS{CertFile: certificate, KeyFile: otherKey}, "client certificate " + certificate + " with key " + otherKey + ": tls: private key does not match public key"},
	} {
		if _, err := New(Settings{TLS: &test.settings}); err == nil || err.Error() != test.want {
			t.Errorf("%+v: %v, want %s", test.settings, err, test.want)
		}
	}
}

func TestWarnings(t *testing.T) {
	asking := func(url string) Settings {
		return Settings{TLS: &TLS{}, Login: &Login{Mechanism: OAuthBearer, OAuth: OAuth{TokenURL: url}}}
	}
	for _, test := range []struct {
		settings Settings
		want     []string // beginnings
	}{
		{Settings{}, nil},
		{Settings{TLS: &TLS{}, Login: &Login{Mechanism: Plain}}, nil},
		{Settings{Login: &Login{Mechanism: ScramSHA256}}, nil},
		{Settings{TLS: &TLS{Insecure: true}}, []string{"INSECURE: kafka.tls.insecure_skip_verify"}},
		{Settings{Login: &Login{Mechanism: Plain}}, []string{"kafka.sasl.mechanism PLAIN without kafka.tls.enabled"}},
		{Settings{Login: &Login{Mechanism: OAuthBearer}}, []string{"kafka.sasl.mechanism OAUTHBEARER without kafka.tls.enabled"}},
		{asking("http://sso.example/token"), []string{"kafka.sasl.oauth.token_url with http sends the client secret in clear"}},
		{asking("http://10.0.0.1:8080/token"), []string{"kafka.sasl.oauth.token_url with http"}},
		{asking("https://sso.example/token"), nil},
		{asking("http://localhost/token"), nil},
		{asking("http://127.0.0.2:8080/token"), nil},
		{asking("http://[::1]:8080/token"), nil},
	} {
		var got []string
		test.settings.Warn = func(message string) { got = append(got, message) }
		newConnector(t, test.settings)
		if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
			t.Errorf("%+v warns of %q, want %q", test.settings, got, test.want)
		}
	}
}

// A password that cannot be had is an error before the broker is bothered.
func TestPasswordThatCannotBeRead(t *testing.T) {
	c := newConnector(t, Settings{Login: &Login{Mechanism: Plain, User: "alice", Password: &text{err: errors.New("names a file that is empty; put the secret into it")}}})
	err := connect(c, "127.0.0.1:1")
	if want := "kafka.sasl.password names a file that is empty; put the secret into it"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Whatever a broker says of a login, it is not repeated if it has a secret in it.
func TestBrokersWordsAreNotTrusted(t *testing.T) {
	c := newConnector(t, Settings{Login: &Login{Mechanism: Plain, User: "alice", Password: &text{content: "hunter2"}}})
	for message, want := range map[string]string{
		"Invalid username or\n password": " (Invalid username or password)",
		"wrong password: hunter2":        "",
		"":                               "",
	} {
		err := errors.New("SASL_AUTHENTICATION_FAILED: SASL Authentication failed.: " + message)
		if got := c.said(err); got != want {
			t.Errorf("of %q is told %q, want %q", message, got, want)
		}
	}
}

func TestPrincipal(t *testing.T) {
	dir := t.TempDir()
	r := certificates.Request{}
	r.Subject.CommonName, r.Subject.Organization = "exporter", []string{"Ops"}
	certificate, key := certificates.NewAuthority(t, "good").Issue(t, r).Write(t, dir, "client")
	a := newAsker(t)
	for _, test := range []struct {
		settings Settings
		want     string
	}{
		{Settings{}, "User:ANONYMOUS"},
		{Settings{TLS: &TLS{}}, "User:ANONYMOUS"},
		{Settings{TLS: &TLS{CertFile: certificate, KeyFile: key}}, "User:CN=exporter,O=Ops"},
		{Settings{TLS: &TLS{CertFile: certificate, KeyFile: key}, Login: &Login{Mechanism: ScramSHA512, User: "alice"}}, "User:alice"},
		{Settings{Login: &Login{Mechanism: OAuthBearer, OAuth: a.settings}}, "User:exporter"},
	} {
		if got := newConnector(t, test.settings).Principal(); got != test.want {
			t.Errorf("%+v is %s, want %s", test.settings, got, test.want)
		}
	}
	a.issuer.Claims = map[string]any{"sub": "f00-42"}
	c := newConnector(t, Settings{Login: &Login{Mechanism: OAuthBearer, OAuth: a.settings}})
	if _, err := c.tokens.get(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := c.Principal(); got != "User:f00-42" {
		t.Errorf("with a token of f00-42: %s", got)
	}
}

// Errors that have nothing to do with security stay as they are.
func TestExplainLeavesOthersAlone(t *testing.T) {
	c := InClear()
	for _, err := range []error{nil, kgo.ErrClientClosed, context.DeadlineExceeded, x509.ErrUnsupportedAlgorithm} {
		if got := c.Explain(err, "a:1"); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}
