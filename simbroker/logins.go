package simbroker

import (
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// listener is what the server of a broker is told of a listener.
func (n *node) listener(l listenerSetting, chance chance) wire.Listener {
	return wire.Listener{
		Name:       l.name,
		TLS:        l.tls,
		Principals: l.principals,
		Mechanisms: l.mechanisms,
		Sessions:   l.sessions,
		Users: func(m sasl.Mechanism) sasl.Users {
			return sasl.Users{
				Passwords:  l.passwords,
				Credential: func(user string) (sasl.Credential, bool) { return n.agent.Image().Credential(m, user) },
				Nonce:      chance.nonce,
				Validate: func(token string) (sasl.Token, *sasl.TokenError) {
					return l.tokens.Validate(token, n.host.Now())
				},
			}
		},
	}
}
