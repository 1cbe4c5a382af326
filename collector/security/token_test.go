package security

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	oauthserver "github.com/lso-exporter/lso-exporter/test/tokens"
)

// text is a secret that can be replaced.
type text struct {
	mu      sync.Mutex
	content string
	err     error
}

func (s *text) Value() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.content, s.err
}

func (s *text) set(content string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.content = content
}

// asker asks a token endpoint, on a clock that is moved by hand.
type asker struct {
	*tokens
	*hands
	t      *testing.T
	issuer *oauthserver.Issuer
	secret *text
}

const clientSecret = "s3cret &+/%"

func newAsker(t *testing.T) *asker {
	t.Helper()
	issuer := oauthserver.NewIssuer(t)
	issuer.Clients["exporter"] = clientSecret
	server := httptest.NewServer(issuer)
	t.Cleanup(server.Close)
	h, secret := &hands{at: time.Now()}, &text{content: clientSecret}
	settings := OAuth{TokenURL: server.URL + "/token", ClientID: "exporter", ClientSecret: secret, Scopes: []string{"kafka", "read"}}
	return &asker{unattended(settings, h.now), h, t, issuer, secret}
}

// unattended are tokens that are renewed only when they are asked for.
func unattended(settings OAuth, now func() time.Time) *tokens {
	t := newTokens(settings, now)
	t.after = func(time.Duration, func()) func() bool { return func() bool { return true } }
	return t
}

// alarm is a timer that a test lets go off.
type alarm struct {
	mu  sync.Mutex
	due time.Duration // 0 while none is set
	f   func()
}

func (a *alarm) after(d time.Duration, f func()) func() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.due, a.f = d, f
	return func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		was := a.due > 0
		a.due = 0
		return was
	}
}

// next is after how long the timer goes off, in whole seconds; 0 for never.
func (a *alarm) next() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.due.Round(time.Second)
}

// A token is renewed while nobody asks for one, again and again while the
// endpoint fails, and no more once it has ended or the client has.
func TestTokenIsRenewedUnasked(t *testing.T) {
	a, timer := newAsker(t), &alarm{}
	a.after = timer.after
	a.issuer.Lifetime = 100 * time.Second
	// goesOff lets the timer go off and waits for the request that it makes.
	goesOff := func() (requests int) {
		before := a.issuer.Requests()
		a.advance(timer.next() + time.Millisecond)
		timer.f()
		a.mu.Lock()
		asking := a.asking
		a.mu.Unlock()
		if asking != nil {
			<-asking
			a.last() // waits until what came of it is kept
		}
		return a.issuer.Requests() - before
	}
	first, _, err := a.requests()
	if err != nil || timer.next() != 80*time.Second {
		t.Fatalf("renewed after %v of 100 s, %v", timer.next(), err)
	}
	a.issuer.Fail(http.StatusServiceUnavailable, "down")
	for _, again := range []time.Duration{1, 2, 4} {
		if n := goesOff(); n != 1 || timer.next() != again*time.Second {
			t.Errorf("%d requests, and the next after %v, want %v s", n, timer.next(), int(again))
		}
	}
	a.issuer.Fail(0, "")
	a.issuer.Claims = map[string]any{"sub": "second"}
	if n := goesOff(); n != 1 || a.last() == first || timer.next() != 80*time.Second {
		t.Errorf("%d requests as the endpoint works again, and the next after %v", n, timer.next())
	}
	if token, n, err := a.requests(); token == first || n != 0 || err != nil {
		t.Errorf("%d requests for a token that is there, %v", n, err)
	}
	a.issuer.Fail(http.StatusServiceUnavailable, "down")
	asked := 0
	for ; timer.next() > 0 && asked < 100; asked++ {
		goesOff()
	}
	if asked != 5 { // after 80, 81, 83, 87 and 95 s
		t.Errorf("%d requests in the rest of a token's life", asked)
	}
	a.issuer.Fail(0, "")
	a.advance(time.Minute)
	if _, _, err := a.requests(); err != nil || timer.next() == 0 {
		t.Errorf("the next token is renewed after %v, %v", timer.next(), err)
	}
	a.close()
	if timer.next() != 0 || goesOff() != 0 {
		t.Error("renewed after its end")
	}
}

// requests asks for a token and says how many requests that took.
func (a *asker) requests() (token string, n int, err error) {
	a.t.Helper()
	before := a.issuer.Requests()
	token, err = a.get(context.Background())
	return token, a.issuer.Requests() - before, err
}

// One token serves all who want one, until it is renewed before its end.
func TestTokenIsKeptAndRenewed(t *testing.T) {
	a := newAsker(t)
	a.issuer.Lifetime = 100 * time.Second
	var wanted sync.WaitGroup
	got := make([]string, 20)
	for i := range got {
		wanted.Go(func() {
			var err error
			if got[i], err = a.get(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wanted.Wait()
	for _, token := range got {
		if token == "" || token != got[0] {
			t.Fatal("those who ask at once get different tokens")
		}
	}
	if n := a.issuer.Requests(); n != 1 {
		t.Errorf("%d requests for a first token, want 1", n)
	}
	if scopes := a.issuer.Scopes(); scopes[0] != "kafka read" {
		t.Errorf("asked for the scopes %q", scopes)
	}
	a.advance(79 * time.Second)
	if _, n, err := a.requests(); n != 0 || err != nil {
		t.Errorf("%d requests after 79 of 100 s, %v", n, err)
	}
	a.advance(2 * time.Second)
	if _, n, err := a.requests(); n != 1 || err != nil {
		t.Errorf("%d requests after 81 of 100 s, %v", n, err)
	}
	a.drop()
	if _, n, err := a.requests(); n != 1 || err != nil {
		t.Errorf("%d requests after a broker refused the token, %v", n, err)
	}
}

// A token that ends within moments serves whoever asked for it.
func TestBriefToken(t *testing.T) {
	a := newAsker(t)
	a.issuer.Lifetime = 2 * time.Second
	for range 2 {
		if token, n, err := a.requests(); token == "" || n != 1 || err != nil {
			t.Errorf("token %q, %d requests, %v", token, n, err)
		}
	}
}

// While the endpoint fails, what there is stays in use to its end, and the
// endpoint is asked less and less often.
func TestTokenEndpointFails(t *testing.T) {
	a := newAsker(t)
	a.issuer.Lifetime = 100 * time.Second
	if _, _, err := a.requests(); err != nil {
		t.Fatal(err)
	}
	a.issuer.Fail(http.StatusServiceUnavailable, "down")
	a.advance(90 * time.Second)
	if token, n, err := a.requests(); token == "" || n != 1 || err != nil {
		t.Errorf("with 10 s to go: token %q, %d requests, %v", token, n, err)
	}
	if token, n, err := a.requests(); token == "" || n != 0 || err != nil {
		t.Errorf("at once again: token %q, %d requests, %v", token, n, err)
	}
	a.advance(11 * time.Second)
	total := 0
	for range 600 { // 10 minutes
		token, n, err := a.requests()
		if token != "" || err == nil {
			t.Fatalf("token %q, %v", token, err)
		}
		total += n
		a.advance(time.Second)
	}
	if total < 10 || total > 16 {
		t.Errorf("%d requests in 10 minutes", total)
	}
	a.issuer.Fail(0, "")
	a.advance(time.Minute)
	if token, _, err := a.requests(); token == "" || err != nil {
		t.Errorf("after it works again: %q, %v", token, err)
	}
}

// A wrong secret is not tried again and again, and another one is tried at once.
func TestTokenSecret(t *testing.T) {
	a := newAsker(t)
	a.secret.set("wrong")
	for i, want := range []int{1, 0, 0} {
		_, n, err := a.requests()
		if n != want {
			t.Errorf("attempt %d: %d requests, want %d", i, n, want)
		}
		text := "the token endpoint " + a.settings.TokenURL + " refused the client exporter (401 Unauthorized, invalid_client)"
		var explained *Error
		if !errors.As(err, &explained) || explained.Kind != KindAuthentication || explained.Text != text {
			t.Errorf("got %v, want %s", err, text)
		}
	}
	a.secret.set(clientSecret)
	if _, n, err := a.requests(); n != 1 || err != nil {
		t.Errorf("with the right secret: %d requests, %v", n, err)
	}
}

// What an endpoint says is not repeated, and its redirections are not followed:
// either could give the secret away.
func TestTokenEndpointIsNotTrusted(t *testing.T) {
	a := newAsker(t)
	for _, test := range []struct {
		status int
		body   string
		want   string
	}{
		{400, `{"error": "invalid_scope", "error_description": "` + clientSecret + `"}`, "(400 Bad Request, invalid_scope)"},
		{400, `{"error": "` + clientSecret + `"}`, "(400 Bad Request)"},
		{500, clientSecret, "(500 Internal Server Error)"},
		{307, "", "(307 Temporary Redirect)"},
		{200, `{"hello": "` + clientSecret + `"}`, "gave an answer without a token"},
		{200, clientSecret, "gave an answer without a token"},
	} {
		a.issuer.Fail(test.status, test.body)
		_, n, err := a.requests()
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cret") || n != 1 {
			t.Errorf("%d %s: %v after %d requests, want %s", test.status, test.body, err, n, test.want)
		}
		a.advance(time.Minute)
	}
	a.settings.TokenURL = "http://127.0.0.1:1/token"
	if _, _, err := a.requests(); err == nil || !strings.HasPrefix(err.Error(), "the token endpoint http://127.0.0.1:1/token cannot be reached (dial tcp 127.0.0.1:1: ") {
		t.Errorf("nobody there: %v", err)
	}
}

// Whoever waits for a token waits no longer than allowed.
func TestTokenEndpointHangs(t *testing.T) {
	answered := make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-answered }))
	defer server.Close()
	defer close(answered)
	tokens := unattended(OAuth{TokenURL: server.URL}, time.Now)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tokens.get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Messages about an endpoint's certificate name what was connected to.
func TestTokenEndpointsAddress(t *testing.T) {
	for url, want := range map[string]string{
		"https://sso.example/realms/a/token": "sso.example:443",
		"http://sso.example/token":           "sso.example:80",
		"https://127.0.0.1:19425/t":          "127.0.0.1:19425",
		"https://[::1]/t":                    "[::1]:443",
	} {
		if got := (OAuth{TokenURL: url}).address(); got != want {
			t.Errorf("%s is at %s, want %s", url, got, want)
		}
	}
}

// A token without a lifetime of its own lives as long as it says, or a minute.
func TestTokenLifetime(t *testing.T) {
	issuer := oauthserver.NewIssuer(t)
	now := time.Now()
	for _, test := range []struct {
		token string
		want  time.Duration
	}{
		{issuer.Token(map[string]any{"exp": now.Add(time.Hour).Unix()}), 48 * time.Minute},
		{issuer.Token(map[string]any{"exp": "soon"}), 48 * time.Second},
		{"opaque", 48 * time.Second},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Write([]byte(`{"access_token": "` + test.token + `", "token_type": "Bearer"}`))
		}))
		tokens := unattended(OAuth{TokenURL: server.URL}, func() time.Time { return now })
		if _, err := tokens.get(context.Background()); err != nil || (tokens.renew.Sub(now)-test.want).Abs() > time.Second {
			t.Errorf("renewed after %s, want %s; %v", tokens.renew.Sub(now), test.want, err)
		}
		server.Close()
	}
}
