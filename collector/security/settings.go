package security

import (
	"context"
	"net/netip"
	"net/url"
	"time"
)

// Settings say how connections are secured. The zero value is for connections
// in clear, without a login.
type Settings struct {
	// TLS is nil for connections in clear.
	TLS *TLS
	// Login is nil for connections without a login.
	Login *Login

	// Warn is told what an operator should know and what fails nothing, a
	// sentence each time, and the same only once; nil drops it. It must be safe
	// for concurrent use.
	Warn func(message string)
	// Now is the clock by which certificates and tokens are judged and waits are
	// counted; nil stands for time.Now.
	Now func() time.Time
}

// TLS says whom the exporter trusts and what it shows of itself. All files are
// PEM.
type TLS struct {
	// CAFile holds the authorities that may have signed brokers' certificates;
	// empty stands for those of the system.
	CAFile string
	// CertFile and KeyFile are the client certificate, with those of the
	// authorities between it and a root if there are any, and its key; both
	// empty for none.
	CertFile, KeyFile string
	// ServerName is what brokers' certificates must be for; empty stands for
	// the host that was connected to.
	ServerName string
	// Insecure accepts any certificate.
	Insecure bool
}

// Mechanism is a way to log in, by its registered name.
type Mechanism string

// The mechanisms.
const (
	Plain       Mechanism = "PLAIN"
	ScramSHA256 Mechanism = "SCRAM-SHA-256"
	ScramSHA512 Mechanism = "SCRAM-SHA-512"
	OAuthBearer Mechanism = "OAUTHBEARER"
)

// Login says who the exporter is.
type Login struct {
	Mechanism Mechanism
	// User and Password are for PLAIN and SCRAM.
	User     string
	Password Secret
	// OAuth is for OAUTHBEARER.
	OAuth OAuth
}

// OAuth says where tokens come from.
type OAuth struct {
	// TokenURL is the token endpoint, with the scheme http or https and without
	// a user.
	TokenURL string
	// ClientID and ClientSecret go to the endpoint in a header, as HTTP's basic
	// authentication (RFC 6749, section 2.3.1).
	ClientID     string
	ClientSecret Secret
	// Scopes are what is asked for; none for what the endpoint gives by itself.
	Scopes []string
	// Extensions are told to brokers with the token (KIP-342).
	Extensions map[string]string
	// CAFile holds the authorities that may have signed the endpoint's
	// certificate; empty stands for those of the system.
	CAFile string
}

// inClear says whether the endpoint is asked without TLS over a network.
func (o OAuth) inClear() bool {
	u, err := url.Parse(o.TokenURL)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback())
}

// Secret is a text as it is at present. Its error tells nothing of the text.
type Secret interface{ Value() (string, error) }

// value is a secret's text; empty for none.
func value(s Secret) (string, error) {
	if s == nil {
		return "", nil
	}
	return s.Value()
}

// Between two attempts that fail.
const (
	firstWait = 10 * time.Second
	longWait  = 5 * time.Minute
)

// wait is how long to wait after so many failures in a row.
func wait(failures int, first, most time.Duration) time.Duration {
	for range failures - 1 {
		if first *= 2; first >= most {
			return most
		}
	}
	return first
}

// connectTimeout is how long a connection may take to open, and one that is
// secured, to agree on how.
const connectTimeout = 5 * time.Second

// withTimeout bounds a part of opening a connection.
func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, connectTimeout)
}
