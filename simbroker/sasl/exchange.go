package sasl

import "time"

// Exchange is the broker's side of one login.
type Exchange interface {
	// Next answers a token of the client. done says that the client is logged in
	// as User, once it has the answer. An error is an *AuthenticationError and
	// ends the exchange.
	Next(token []byte) (answer []byte, done bool, err error)
	// User is who has logged in.
	User() string
}

// Expiring is an Exchange whose credentials end at some time, and with them the
// session.
type Expiring interface {
	Exchange
	Expires() time.Time
}

// AuthenticationError says that a login failed.
type AuthenticationError struct {
	// Message is what the client is told.
	Message string
	// Reason is what the broker knows besides, for its log; it may be empty.
	Reason string
}

// Error implements error. It is for the broker's side.
func (e *AuthenticationError) Error() string {
	if e.Reason == "" {
		return e.Message
	}
	return e.Message + " (" + e.Reason + ")"
}

// Users are those who may log in with some mechanism.
type Users struct {
	// Passwords are for PLAIN, by user.
	Passwords map[string]string
	// Credential is what is kept of a user's password, for SCRAM.
	Credential func(user string) (Credential, bool)
	// Nonce makes a text that is new each time, of printable characters without
	// a comma, for SCRAM.
	Nonce func() string
	// Validate judges a token, for OAUTHBEARER.
	Validate func(token string) (Token, *TokenError)
}
