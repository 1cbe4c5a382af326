package security

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// How tokens are kept.
const (
	// renewAt is the part of its life after which a token is renewed, and
	// renewBefore how long before its end that is at least. A broker ends a
	// session with its token, and franz-go renews sessions in the last twentieth
	// of theirs, and a second before the end at the latest.
	renewAt     = 0.8
	renewBefore = 3 * time.Second
	// unknownLife is for tokens that do not say how long they live.
	unknownLife = time.Minute
	// After an endpoint has failed.
	firstTokenWait = time.Second
	longTokenWait  = time.Minute
)

// tokens asks a token endpoint for access tokens, one request at a time, and
// keeps the last for all connections. While the endpoint fails, the last token
// is used as long as it is valid; then connections fail, and the endpoint is
// asked again after a time that grows. A token is renewed when that is due,
// whether or not somebody asks for one, so that an endpoint which is down for a
// while costs nothing as long as the last token lives.
type tokens struct {
	settings OAuth
	now      func() time.Time
	// after is time.AfterFunc, of which it gives the timer's Stop.
	after func(time.Duration, func()) (stop func() bool)

	mu       sync.Mutex
	token    string
	renew    time.Time // from when on it is to be renewed
	expires  time.Time
	asking   chan struct{} // closed when the request under way has ended; nil without one
	failures int
	err      error // why there is no newer token
	again    time.Time
	secret   string      // that failed
	stop     func() bool // ends the wait for the next renewal; nil without one
	closed   bool
}

// newTokens returns tokens that ask nobody yet.
func newTokens(settings OAuth, now func() time.Time) *tokens {
	return &tokens{settings: settings, now: now, after: func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }}
}

// close ends the renewals.
func (t *tokens) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.unschedule()
}

// schedule has the token renewed at a time, if there is one to be kept then.
// Tokens that end within moments are left to those who ask for them.
func (t *tokens) schedule(at time.Time) {
	t.unschedule()
	now := t.now()
	if t.closed || !now.Before(at) || !at.Before(t.expires) {
		return
	}
	t.stop = t.after(max(at.Sub(now), firstTokenWait), t.refresh)
}

func (t *tokens) unschedule() {
	if t.stop != nil {
		t.stop()
		t.stop = nil
	}
}

// refresh renews the token if that is due, and nobody does it already.
func (t *tokens) refresh() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	if t.closed || t.asking != nil || now.Before(t.renew) {
		return
	}
	secret, err := value(t.settings.ClientSecret)
	if err != nil {
		t.schedule(now.Add(firstTokenWait)) // a file may just be replaced
		return
	}
	t.asking = make(chan struct{})
	go t.ask(secret)
}

// get returns a token that is valid, and waits for one as long as ctx allows.
func (t *tokens) get(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		now := t.now()
		if now.Before(t.renew) {
			return t.token, nil
		}
		secret, err := value(t.settings.ClientSecret)
		if err != nil {
			return "", loginError(err, "the OAuth client's secret %v", err)
		}
		if t.err != nil && now.Before(t.again) && secret == t.secret {
			if now.Before(t.expires) {
				return t.token, nil
			}
			return "", t.err
		}
		if t.asking == nil {
			t.asking = make(chan struct{})
			go t.ask(secret)
		}
		asking := t.asking
		t.mu.Unlock()
		select {
		case <-asking:
			err = nil
		case <-ctx.Done():
			err = ctx.Err()
		}
		t.mu.Lock()
		if err != nil {
			return "", err
		}
		if t.err == nil && t.now().Before(t.expires) {
			return t.token, nil // however soon it is to be renewed
		}
	}
}

// ask asks the endpoint, and keeps what comes of it.
func (t *tokens) ask(secret string) {
	token, err := t.settings.fetch(secret)
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.asking)
	t.asking = nil
	now := t.now()
	if err != nil {
		t.failures++
		t.err, t.secret = err, secret
		t.again = now.Add(wait(t.failures, firstTokenWait, longTokenWait))
		t.schedule(t.again)
		return
	}
	life := lifetime(token, now)
	t.failures, t.err = 0, nil
	t.token, t.expires = token.AccessToken, now.Add(life)
	t.renew = now.Add(min(time.Duration(float64(life)*renewAt), life-renewBefore))
	t.schedule(t.renew)
	if life <= 0 {
		t.failures++
		t.err, t.secret = loginError(nil, "the token endpoint %s gives tokens that have expired; set the clocks right", t.settings.endpoint()), secret
		t.again = now.Add(wait(t.failures, firstTokenWait, longTokenWait))
	}
}

// fetch makes the request.
func (o OAuth) fetch(secret string) (*oauth2.Token, error) {
	pool, err := authorities(o.CAFile)
	if err != nil {
		return nil, tlsError(err, "%v", err)
	}
	transport := &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		TLSClientConfig:   &tls.Config{RootCAs: pool},
		DisableKeepAlives: true,
	}
	client := &http.Client{
		Transport: transport, Timeout: connectTimeout,
		// The request has the secret in it.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	config := clientcredentials.Config{
		ClientID: o.ClientID, ClientSecret: secret, TokenURL: o.TokenURL, Scopes: o.Scopes,
		AuthStyle: oauth2.AuthStyleInHeader,
	}
	token, err := config.Token(context.WithValue(context.Background(), oauth2.HTTPClient, client))
	if err != nil {
		return nil, o.explain(err)
	}
	return token, nil
}

// endpoint is the address of the endpoint as it may be shown.
func (o OAuth) endpoint() string {
	u, err := url.Parse(o.TokenURL)
	if err != nil {
		return "kafka.sasl.oauth.token_url"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// address is the host and port of the endpoint.
func (o OAuth) address() string {
	u, err := url.Parse(o.TokenURL)
	switch {
	case err != nil:
		return "kafka.sasl.oauth.token_url"
	case u.Port() != "":
		return u.Host
	case u.Scheme == "http":
		return u.Host + ":80"
	}
	return u.Host + ":443"
}

// errorCode is the form of the codes of RFC 6749, section 5.2. An endpoint's
// other words are not shown: they may repeat what it was sent.
var errorCode = regexp.MustCompile(`^[a-z_]{1,40}$`)

// explain says why the endpoint gave no token.
func (o OAuth) explain(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		why := refused.Response.Status
		if errorCode.MatchString(refused.ErrorCode) {
			why += ", " + refused.ErrorCode
		}
		return loginError(nil, "the token endpoint %s refused the client %s (%s)", o.endpoint(), o.ClientID, why)
	}
	var transport *url.Error
	if !errors.As(err, &transport) {
		return loginError(nil, "the token endpoint %s gave an answer without a token", o.endpoint())
	}
	var explained *Error
	if errors.As(handshakeError(transport.Err, o.address(), "kafka.sasl.oauth.ca_file", "the host in kafka.sasl.oauth.token_url"), &explained) {
		return explained
	}
	var dial *net.OpError
	cause := transport.Err
	if errors.As(cause, &dial) {
		cause = dial
	}
	return loginError(cause, "the token endpoint %s cannot be reached (%v)", o.endpoint(), cause)
}

// lifetime is how long a token lives that was got at a time, by the answer or by
// the token itself.
func lifetime(token *oauth2.Token, now time.Time) time.Duration {
	if !token.Expiry.IsZero() {
		return time.Until(token.Expiry) // counted from the answer by the machine's clock
	}
	if end := claimsOf(token.AccessToken).Expiry; end > 0 {
		return time.Unix(int64(end), 0).Sub(now)
	}
	return unknownLife
}

// claims are what is looked at of a token that is a JWT (RFC 7519). Only the
// broker checks it.
type claims struct {
	Subject string  `json:"sub"`
	Expiry  float64 `json:"exp"`
}

// claimsOf reads a token's claims; none of a token that is no JWT.
func claimsOf(token string) claims {
	var c claims
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return c
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err == nil && json.Unmarshal(payload, &c) != nil {
		return claims{}
	}
	return c
}

// drop has the next login ask for another token: a broker has refused the last.
func (t *tokens) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.renew, t.expires = time.Time{}, time.Time{}
}

// last is the last token; empty before the first.
func (t *tokens) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.token
}
