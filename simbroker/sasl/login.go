package sasl

import "fmt"

// NewExchange begins a login with a mechanism, which must be Known.
func NewExchange(m Mechanism, users Users) Exchange {
	if !m.Known() {
		panic(fmt.Sprintf("sasl: no mechanism %s", m))
	}
	switch m {
	case Plain:
		return &plain{passwords: users.Passwords}
	case OAuthBearer:
		return &oauthBearer{validate: users.Validate}
	}
	return &scram{mechanism: m, users: users}
}
