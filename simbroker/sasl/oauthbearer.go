package sasl

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// oauthBearer is OAUTHBEARER (RFC 7628): one message with a token. A token that
// is not accepted is answered with a document that says why, and the client's
// empty answer to that ends the login (section 3.2.3).
//
//	client: n,,^Aauth=Bearer TOKEN^ANAME=VALUE^A^A
//	broker: nothing, or {"status":"invalid_token"}
//	client:             ^A
type oauthBearer struct {
	validate func(token string) (Token, *TokenError)
	token    Token
	refusal  string // what was answered
}

// clientResponse is the form of the first message, as Kafka reads it.
var (
	clientResponse = regexp.MustCompile("^n,(?:a=(" + oauthName + "))?,\x01((?:[A-Za-z]+=[\\x21-\\x7E \t\r\n]+\x01)*)\x01$")
	bearer         = regexp.MustCompile(`^(\w+) +([-_~+/.a-zA-Z0-9]+=*)$`)
)

// oauthName is a name with its commas and equals signs escaped.
const oauthName = `(?:[\x01-\x2B\x2D-\x3C\x3E-\x7F]|=2C|=3D)+`

// Next implements Exchange.
func (o *oauthBearer) Next(message []byte) ([]byte, bool, error) {
	if string(message) == "\x01" && o.refusal != "" {
		return nil, false, &AuthenticationError{Message: o.refusal}
	}
	o.refusal = ""
	asked, token, err := parseClientResponse(string(message))
	if err != nil {
		return nil, false, err
	}
	accepted, refused := o.validate(token)
	if refused != nil {
		o.refusal = refused.document()
		return []byte(o.refusal), false, nil
	}
	if asked != "" && asked != accepted.Principal {
		return nil, false, &AuthenticationError{Message: fmt.Sprintf(
			"Authentication failed: Client requested an authorization id (%s) that is different from the token's principal name (%s)", asked, accepted.Principal)}
	}
	o.token = accepted
	return []byte{}, true, nil
}

// User implements Exchange.
func (o *oauthBearer) User() string { return o.token.Principal }

// Expires implements Expiring.
func (o *oauthBearer) Expires() time.Time { return o.token.Expires }

// parseClientResponse is the authorization id, empty for none, and the token.
func parseClientResponse(message string) (authorizationID, token string, err error) {
	refuse := func(reason string) (string, string, error) {
		return "", "", &AuthenticationError{
			Message: "Authentication failed during authentication due to invalid credentials with SASL mechanism " + string(OAuthBearer),
			Reason:  reason,
		}
	}
	m := clientResponse.FindStringSubmatch(message)
	if m == nil {
		return refuse("invalid client first message")
	}
	auth := ""
	for _, pair := range strings.Split(m[2], "\x01") {
		if name, value, _ := strings.Cut(pair, "="); name == "auth" {
			auth = value
		}
	}
	parts := bearer.FindStringSubmatch(auth)
	switch {
	case auth == "":
		return refuse("invalid client first message: 'auth' not specified")
	case parts == nil:
		return refuse("invalid client first message: invalid 'auth' format")
	case !strings.EqualFold(parts[1], "bearer"):
		return refuse("invalid scheme in the client first message")
	}
	return unescapeName.Replace(m[1]), parts[2], nil
}
