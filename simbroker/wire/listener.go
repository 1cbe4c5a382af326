package wire

import (
	"crypto/tls"
	"net"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// Listener says how clients come in at one of a broker's addresses: under which
// name the listener is known, and whether they have to log in.
type Listener struct {
	// Name is what the properties call the listener. Clients that come by it are
	// told the addresses of other brokers' listeners of this name.
	Name string
	// TLS is nil in clear.
	TLS *tls.Config
	// Principals name a client by its certificate, where it shows one and does not
	// log in (security protocol SSL).
	Principals PrincipalRules
	// Mechanisms are those that a client may log in with; with none, it need not
	// log in, and is AnonymousPrincipal, unless a certificate names it.
	Mechanisms []sasl.Mechanism
	// Sessions are how long sessions last at most, by mechanism
	// (connections.max.reauth.ms, KIP-368); 0 for ever.
	Sessions map[sasl.Mechanism]time.Duration
	// Users are those who may log in with a mechanism. It is called in events.
	Users func(sasl.Mechanism) sasl.Users
}

// entrance is a listener at its address.
type entrance struct {
	Listener
	port   *port
	socket net.Listener // nil while it is closed
}

// needsLogin says whether a client has to log in.
func (l Listener) needsLogin() bool { return len(l.Mechanisms) > 0 }
