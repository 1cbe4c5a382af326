package sasl

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/sasl/oauth"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// segment is a part of a token.
func segment(t *testing.T, document any) string {
	t.Helper()
	b, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

type object = map[string]any

// at is a claim's time, seconds from noon.
func at(seconds float64) float64 { return float64(noon.Unix()) + seconds }

func unsigned(t *testing.T, c object) string {
	return segment(t, object{"alg": "none"}) + "." + segment(t, c) + "."
}

func TestUnsecuredTokens(t *testing.T) {
	good := object{"sub": "alice", "exp": at(60), "iat": at(0)}
	with := func(name string, value any) object {
		c := object{}
		for k, v := range good {
			c[k] = v
		}
		c[name] = value
		return c
	}
	without := func(name string) object {
		c := with(name, nil)
		delete(c, name)
		return c
	}
	scoped := Unsecured{PrincipalClaim: "sub", ScopeClaim: "scope", RequiredScope: []string{"kafka"}}
	skewed := Unsecured{PrincipalClaim: "sub", ScopeClaim: "scope", Skew: time.Minute}
	plain := Unsecured{PrincipalClaim: "sub", ScopeClaim: "scope"}
	for _, test := range []struct {
		name      string
		validator Unsecured
		token     string
		want      string // what the client is told; empty for success
	}{
		{"good", plain, unsigned(t, good), ""},
		{"expired", plain, unsigned(t, with("exp", at(0))), `{"status":"invalid_token"}`},
		{"expired, clocks may differ", skewed, unsigned(t, with("exp", at(-59))), ""},
		{"issued later", plain, unsigned(t, with("iat", at(1))), `{"status":"invalid_token"}`},
		{"issued later, clocks may differ", skewed, unsigned(t, with("iat", at(59))), ""},
		{"never issued", plain, unsigned(t, without("iat")), ""},
		{"never expires", plain, unsigned(t, without("exp")), `{"status":"invalid_token"}`},
		{"for nobody", plain, unsigned(t, without("sub")), `{"status":"invalid_token"}`},
		{"for a number", plain, unsigned(t, with("sub", 5)), `{"status":"invalid_token"}`},
		{"another claim has the name", Unsecured{PrincipalClaim: "name"}, unsigned(t, with("name", "alice")), ""},
		{"scope is there", scoped, unsigned(t, with("scope", "read kafka")), ""},
		{"scope is in a list", scoped, unsigned(t, with("scope", []string{"read", "kafka"})), ""},
		{"scope is missing", scoped, unsigned(t, good), `{"status":"insufficient_scope", "scope":"kafka"}`},
		{"signed", plain, segment(t, object{"alg": "RS256"}) + "." + segment(t, good) + ".AAAA", `{"status":"invalid_token"}`},
		{"none, and signed", plain, unsigned(t, good) + "AAAA", `{"status":"invalid_token"}`},
		{"opaque", plain, "abc", `{"status":"invalid_token"}`},
		{"no JSON", plain, "YWJj.YWJj.", `{"status":"invalid_token"}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := NewExchange(OAuthBearer, Users{Validate: func(token string) (Token, *TokenError) { return test.validator.Validate(token, noon) }})
			err := login(t, oauth.Auth{Token: test.token}.AsMechanism(), e)
			if test.want == "" {
				if err != nil || e.User() != "alice" || e.(Expiring).Expires().Before(noon.Add(-time.Minute)) {
					t.Errorf("%v, user %q until %v", err, e.User(), e.(Expiring).Expires())
				}
				return
			}
			var failed *AuthenticationError
			if !errors.As(err, &failed) || failed.Message != test.want {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

// A token is checked with the key that it names, or with any if it names none.
func TestSignedTokens(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := curve.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	set := segmentless(t, object{"keys": []object{
		{"kty": "RSA", "kid": "r", "n": text(key.N.Bytes()), "e": "AQAB"},
		{"kty": "EC", "kid": "e", "crv": "P-256", "x": text(point[1:33]), "y": text(point[33:])},
		{"kty": "oct", "kid": "o", "k": "AAAA"},
	}})
	keys, err := ParseKeys(set)
	if err != nil || len(keys.keys) != 2 {
		t.Fatalf("%v, %v", keys, err)
	}
	sign := func(header, c object) string {
		signed := segment(t, header) + "." + segment(t, c)
		sum := sha256.Sum256([]byte(signed))
		if header["alg"] == "ES256" {
			r, s, err := ecdsa.Sign(rand.Reader, curve, sum[:])
			if err != nil {
				t.Fatal(err)
			}
			return signed + "." + text(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
		}
		signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
		if err != nil {
			t.Fatal(err)
		}
		return signed + "." + text(signature)
	}
	good := object{"sub": "alice", "exp": at(60), "iat": at(0), "iss": "sso", "aud": []string{"kafka"}}
	token := sign(object{"alg": "RS256", "kid": "r"}, good)
	validator := Signed{Keys: keys, SubjectClaim: "sub", Issuer: "sso", Audience: []string{"other", "kafka"}}
	for _, test := range []struct {
		name  string
		token string
		want  string // of the reason; empty for success
	}{
		{"RSA", token, ""},
		{"RSA, no key named", sign(object{"alg": "RS256"}, good), ""},
		{"elliptic", sign(object{"alg": "ES256", "kid": "e"}, good), ""},
		{"another key named", sign(object{"alg": "RS256", "kid": "x"}, good), "signature"},
		{"another kind of key", sign(object{"alg": "RS256", "kid": "e"}, good), "signature"},
		{"changed", strings.Replace(token, segment(t, good), segment(t, object{"sub": "bob", "exp": at(60), "iat": at(0)}), 1), "signature"},
		{"unsigned", unsigned(t, good), "signature"},
		{"another issuer", sign(object{"alg": "RS256"}, object{"sub": "alice", "exp": at(60), "iat": at(0), "iss": "x", "aud": "kafka"}), "issued by"},
		{"another audience", sign(object{"alg": "RS256"}, object{"sub": "alice", "exp": at(60), "iat": at(0), "iss": "sso", "aud": "x"}), "audience"},
		{"never issued", sign(object{"alg": "RS256"}, object{"sub": "alice", "exp": at(60)}), "iat"},
		{"expired", sign(object{"alg": "RS256"}, object{"sub": "alice", "exp": at(-1), "iat": at(-9), "iss": "sso", "aud": "kafka"}), "expired"},
	} {
		got, bad := validator.Validate(test.token, noon)
		switch {
		case test.want == "" && (bad != nil || got.Principal != "alice" || !got.Expires.Equal(noon.Add(time.Minute))):
			t.Errorf("%s: %+v, %v", test.name, got, bad)
		case test.want != "" && (bad == nil || !strings.Contains(bad.Reason, test.want)):
			t.Errorf("%s: %v, want %s", test.name, bad, test.want)
		}
	}
	for _, document := range []string{"", `{"keys": []}`, `{"keys": [{"kty": "EC", "crv": "P-256", "x": "AQ", "y": "AQ"}]}`} {
		if keys, err := ParseKeys([]byte(document)); err == nil {
			t.Errorf("%s gives %v", document, keys)
		}
	}
}

func segmentless(t *testing.T, document any) []byte {
	t.Helper()
	b, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A first message of no form ends the login; an authorization id must be the
// token's name.
func TestClientResponse(t *testing.T) {
	token := unsigned(t, object{"sub": "al=ice,", "exp": at(60)})
	validator := Unsecured{PrincipalClaim: "sub"}
	invalid := "Authentication failed during authentication due to invalid credentials with SASL mechanism OAUTHBEARER"
	for message, want := range map[string]string{
		"n,,\x01auth=Bearer " + token + "\x01\x01":                    "",
		"n,a=al=3Dice=2C,\x01auth=bEARER " + token + "\x01\x01":       "",
		"n,,\x01auth=Bearer " + token + "\x01a=b\x01cd=e f=g\x01\x01": "",
		"n,a=bob,\x01auth=Bearer " + token + "\x01\x01":               "Authentication failed: Client requested an authorization id (bob) that is different from the token's principal name (al=ice,)",
		"n,,\x01auth=Basic " + token + "\x01\x01":                     invalid,
		"n,,\x01a=b\x01\x01":                                          invalid,
		"n,,\x01auth=Bearer\x01\x01":                                  invalid,
		"y,,\x01auth=Bearer " + token + "\x01\x01":                    invalid,
		"\x01": invalid,
		"":     invalid,
	} {
		e := NewExchange(OAuthBearer, Users{Validate: func(token string) (Token, *TokenError) { return validator.Validate(token, noon) }})
		_, done, err := e.Next([]byte(message))
		var failed *AuthenticationError
		if want == "" && (err != nil || !done || e.User() != "al=ice,") || want != "" && (!errors.As(err, &failed) || failed.Message != want) {
			t.Errorf("%q: %v, %v, user %q; want %s", message, done, err, e.User(), want)
		}
	}
}

func TestNewUnsecured(t *testing.T) {
	got, err := NewUnsecured(map[string]string{
		"unsecuredValidatorPrincipalClaimName": "name", "unsecuredValidatorScopeClaimName": "scp",
		"unsecuredValidatorRequiredScope": "a b", "unsecuredValidatorAllowableClockSkewMs": "3000",
		"unsecuredLoginStringClaim_sub": "broker",
	})
	want := Unsecured{PrincipalClaim: "name", ScopeClaim: "scp", RequiredScope: []string{"a", "b"}, Skew: 3 * time.Second}
	if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := NewUnsecured(map[string]string{"unsecuredValidatorAllowableClockSkewMs": "-1"}); err == nil {
		t.Error("a negative skew is accepted")
	}
}
