package sasl

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Token is what a broker takes from a token that it accepts.
type Token struct {
	// Principal is who it is for, without a type.
	Principal string
	// Expires ends the sessions that were begun with it.
	Expires time.Time
}

// TokenError says why a token is not accepted.
type TokenError struct {
	// Scope is the scope that it lacks; empty for another reason.
	Scope string
	// Reason is for the broker's log.
	Reason string
}

// Error implements error. It is for the broker's side.
func (e *TokenError) Error() string { return e.Reason }

// document is what the client is told.
func (e *TokenError) document() string {
	if e.Scope != "" {
		return fmt.Sprintf(`{"status":"insufficient_scope", "scope":"%s"}`, e.Scope)
	}
	return `{"status":"invalid_token"}`
}

func badToken(format string, args ...any) *TokenError {
	return &TokenError{Reason: fmt.Sprintf(format, args...)}
}

// TokenValidator decides which tokens are accepted.
type TokenValidator interface {
	// Validate judges a token at a time.
	Validate(token string, now time.Time) (Token, *TokenError)
}

// Unsecured accepts tokens that nobody has signed, as Kafka does by default
// (OAuthBearerUnsecuredValidatorCallbackHandler): for development only.
type Unsecured struct {
	// PrincipalClaim and ScopeClaim are the names of claims.
	PrincipalClaim, ScopeClaim string
	// RequiredScope are those that a token must have.
	RequiredScope []string
	// Skew is by how much clocks may differ.
	Skew time.Duration
}

// NewUnsecured is the validator that options of a JAAS line describe.
func NewUnsecured(options map[string]string) (Unsecured, error) {
	u := Unsecured{PrincipalClaim: "sub", ScopeClaim: "scope"}
	if name := options["unsecuredValidatorPrincipalClaimName"]; name != "" {
		u.PrincipalClaim = name
	}
	if name := options["unsecuredValidatorScopeClaimName"]; name != "" {
		u.ScopeClaim = name
	}
	u.RequiredScope = strings.Fields(options["unsecuredValidatorRequiredScope"])
	if text := options["unsecuredValidatorAllowableClockSkewMs"]; text != "" {
		skew, err := time.ParseDuration(text + "ms")
		if err != nil || skew < 0 {
			return u, fmt.Errorf("unsecuredValidatorAllowableClockSkewMs: %q is no number of milliseconds", text)
		}
		u.Skew = skew
	}
	return u, nil
}

// Validate implements TokenValidator.
func (u Unsecured) Validate(token string, now time.Time) (Token, *TokenError) {
	header, claims, _, bad := parseToken(token)
	switch {
	case bad != nil:
		return Token{}, bad
	case header.Algorithm != "none" || !strings.HasSuffix(token, "."):
		return Token{}, badToken("unsecured tokens have the algorithm none, and no signature")
	}
	accepted, bad := claims.judge(u.PrincipalClaim, u.Skew, now)
	if bad != nil {
		return Token{}, bad
	}
	scopes := claims.texts(u.ScopeClaim)
	for _, required := range u.RequiredScope {
		if !slices.Contains(scopes, required) {
			return Token{}, &TokenError{Scope: strings.Join(u.RequiredScope, " "), Reason: "scope " + required + " is missing"}
		}
	}
	return accepted, nil
}

// Signed accepts tokens that one of some keys has signed
// (OAuthBearerValidatorCallbackHandler, KIP-768).
type Signed struct {
	Keys *Keys
	// SubjectClaim is the name of the claim with the principal.
	SubjectClaim string
	// Audience are those of which a token must be for one, Issuer whose it must
	// be; empty for any.
	Audience []string
	Issuer   string
	Skew     time.Duration
}

// Validate implements TokenValidator.
func (s Signed) Validate(token string, now time.Time) (Token, *TokenError) {
	header, claims, signature, bad := parseToken(token)
	if bad != nil {
		return Token{}, bad
	}
	signed := token[:strings.LastIndexByte(token, '.')]
	if !s.Keys.verify(header, signed, signature) {
		return Token{}, badToken("the signature is not by a key that is known")
	}
	if _, ok := claims["iat"].(float64); !ok {
		return Token{}, badToken("no claim iat")
	}
	if s.Issuer != "" && claims["iss"] != s.Issuer {
		return Token{}, badToken("issued by %v, not %s", claims["iss"], s.Issuer)
	}
	audience := claims.texts("aud")
	if len(s.Audience) > 0 && !slices.ContainsFunc(s.Audience, func(a string) bool { return slices.Contains(audience, a) }) {
		return Token{}, badToken("for the audience %v, not %v", audience, s.Audience)
	}
	return claims.judge(s.SubjectClaim, s.Skew, now)
}

type tokenHeader struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
}

// claims are those of a token, as encoding/json gives them.
type claims map[string]any

// parseToken takes a JSON Web Token apart (RFC 7519).
func parseToken(token string) (header tokenHeader, c claims, signature []byte, bad *TokenError) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return header, nil, nil, badToken("the token has %d parts, not 3", len(parts))
	}
	var decoded [3][]byte
	for i, part := range parts {
		var err error
		if decoded[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			return header, nil, nil, badToken("part %d is not base64url", i+1)
		}
	}
	if json.Unmarshal(decoded[0], &header) != nil || json.Unmarshal(decoded[1], &c) != nil {
		return header, nil, nil, badToken("header or claims are no JSON")
	}
	return header, c, decoded[2], nil
}

// judge checks whom the token is for, and its times.
func (c claims) judge(principal string, skew time.Duration, now time.Time) (Token, *TokenError) {
	name, ok := c[principal].(string)
	if !ok || strings.TrimSpace(name) == "" {
		return Token{}, badToken("no claim %s with a name", principal)
	}
	expires, ok := c["exp"].(float64)
	if !ok {
		return Token{}, badToken("no claim exp")
	}
	end := time.UnixMilli(int64(expires * 1000))
	if !now.Add(-skew).Before(end) {
		return Token{}, badToken("expired at %v", end)
	}
	if issued, ok := c["iat"].(float64); ok && time.UnixMilli(int64(issued*1000)).After(now.Add(skew)) {
		return Token{}, badToken("issued in the future")
	}
	return Token{Principal: name, Expires: end}, nil
}

// texts are the words of a claim that is a text or a list of such.
func (c claims) texts(name string) []string {
	switch v := c[name].(type) {
	case string:
		return strings.Fields(v)
	case []any:
		var all []string
		for _, each := range v {
			if text, ok := each.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}
