package wire

import (
	"net"

	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
)

// Listener says how clients come in at one of a broker's addresses: under which
// name the listener is known, and whether they have to log in.
type Listener struct {
	// Name is what the properties call the listener. Clients that come by it are
	// told the addresses of other brokers' listeners of this name.
	Name string
	// Mechanisms are those that a client may log in with; with none, it need not
	// log in, and is AnonymousPrincipal (security protocol PLAINTEXT).
	Mechanisms []sasl.Mechanism
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
