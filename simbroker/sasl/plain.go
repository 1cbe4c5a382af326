package sasl

import (
	"crypto/subtle"
	"fmt"
	"strings"
)

// plain is PLAIN: one token with user and password in clear.
type plain struct {
	passwords map[string]string
	user      string
}

// Next implements Exchange.
func (p *plain) Next(token []byte) ([]byte, bool, error) {
	refuse := func(format string, args ...any) ([]byte, bool, error) {
		return nil, false, &AuthenticationError{Message: fmt.Sprintf(format, args...)}
	}
	// Kafka stops at the fourth.
	parts := strings.SplitN(string(token), "\x00", 5)
	if len(parts) != 3 {
		return refuse("Invalid SASL/PLAIN response: expected 3 tokens, got %d", min(len(parts), 4))
	}
	asked, user, password := parts[0], parts[1], parts[2]
	switch known, ok := p.passwords[user]; {
	case user == "":
		return refuse("Authentication failed: username not specified")
	case password == "":
		return refuse("Authentication failed: password not specified")
	case !ok || subtle.ConstantTimeCompare([]byte(known), []byte(password)) != 1:
		return refuse("Authentication failed: Invalid username or password")
	case asked != "" && asked != user:
		return refuse("Authentication failed: Client requested an authorization id that is different from username")
	}
	p.user = user
	return []byte{}, true, nil
}

// User implements Exchange.
func (p *plain) User() string { return p.user }
