// Package tokens is an OAuth 2.0 server for tests: a token endpoint for clients
// with an id and a secret (RFC 6749, section 4.4), and the keys with which its
// tokens can be checked (RFC 7517).
package tokens

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Issuer signs tokens. Its fields may be set before the first request.
type Issuer struct {
	// Clients are the secrets by client id.
	Clients map[string]string
	// Lifetime is how long a token lives; an hour unless set.
	Lifetime time.Duration
	// Claims are laid over those of a token: sub, iat, exp and, if one was asked
	// for, scope.
	Claims map[string]any
	// Unsecured leaves tokens unsigned, as Kafka accepts them by default.
	Unsecured bool

	key *rsa.PrivateKey

	mu       sync.Mutex
	requests int
	scopes   []string
	failure  int
	body     string
	issued   []string
}

// NewIssuer returns an issuer with a key of its own.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return &Issuer{Clients: map[string]string{}, Lifetime: time.Hour, key: key}
}

// Requests is how many requests there were for a token.
func (i *Issuer) Requests() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.requests
}

// Issued are the tokens that were given out.
func (i *Issuer) Issued() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string(nil), i.issued...)
}

// Scopes are what was asked for, request by request.
func (i *Issuer) Scopes() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string(nil), i.scopes...)
}

// Fail has all requests answered with a status and a body; 0 ends that.
func (i *Issuer) Fail(status int, body string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failure, i.body = status, body
}

// ServeHTTP serves tokens at /token and keys at /keys.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/keys":
		answer(w, http.StatusOK, i.keys())
	case "/token":
		i.serveToken(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (i *Issuer) serveToken(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.requests++
	i.scopes = append(i.scopes, r.FormValue("scope"))
	failure, body := i.failure, i.body
	i.mu.Unlock()
	if failure != 0 {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(failure)
		_, _ = w.Write([]byte(body))
		return
	}
	id, secret, ok := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	if known := i.Clients[id]; !ok || known == "" || known != secret || r.FormValue("grant_type") != "client_credentials" {
		answer(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	claims := map[string]any{"sub": id}
	if scope := r.FormValue("scope"); scope != "" {
		claims["scope"] = scope
	}
	token := i.Token(claims)
	if i.Unsecured {
		token = i.Unsigned(claims)
	}
	i.mu.Lock()
	i.issued = append(i.issued, token)
	i.mu.Unlock()
	answer(w, http.StatusOK, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(i.Lifetime.Seconds())})
}

func answer(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document) // a client that went away
}

// Token signs a token (RFC 7515, RS256).
func (i *Issuer) Token(claims map[string]any) string {
	signed := encode(map[string]any{"alg": "RS256", "kid": "k1", "typ": "JWT"}) + "." + encode(i.fill(claims))
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		panic("tokens: " + err.Error()) // the key is long enough
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// Unsigned is a token without a signature, as Kafka accepts it by default.
func (i *Issuer) Unsigned(claims map[string]any) string {
	return encode(map[string]any{"alg": "none"}) + "." + encode(i.fill(claims)) + "."
}

// fill adds the claims that every token has.
func (i *Issuer) fill(claims map[string]any) map[string]any {
	now := time.Now()
	all := map[string]any{"iat": now.Unix(), "exp": now.Add(i.Lifetime).Unix()}
	for _, part := range []map[string]any{claims, i.Claims} {
		for name, value := range part {
			all[name] = value
		}
	}
	return all
}

func encode(document any) string {
	b, err := json.Marshal(document)
	if err != nil {
		panic("tokens: " + err.Error()) // claims are plain values
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// keys is the set with which tokens are checked.
func (i *Issuer) keys() any {
	public := i.key.PublicKey
	return map[string]any{"keys": []any{map[string]any{
		"kty": "RSA", "kid": "k1", "alg": "RS256", "use": "sig",
		"n": base64.RawURLEncoding.EncodeToString(public.N.Bytes()),
		"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(public.E)).Bytes()),
	}}}
}

// Keys is that set as a document.
func (i *Issuer) Keys() []byte {
	b, err := json.Marshal(i.keys())
	if err != nil {
		panic("tokens: " + err.Error()) // plain values
	}
	return b
}
