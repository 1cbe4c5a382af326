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
	return &asker{&tokens{settings: settings, now: h.now}, h, t, issuer, secret}
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
	tokens := &tokens{settings: OAuth{TokenURL: server.URL}, now: time.Now}
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
		tokens := &tokens{settings: OAuth{TokenURL: server.URL}, now: func() time.Time { return now }}
		if _, err := tokens.get(context.Background()); err != nil || (tokens.renew.Sub(now)-test.want).Abs() > time.Second {
			t.Errorf("renewed after %s, want %s; %v", tokens.renew.Sub(now), test.want, err)
		}
		server.Close()
	}
}
