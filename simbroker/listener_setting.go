package simbroker

import (
	"crypto/tls"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// listenerSetting is a listener as a broker's properties describe it.
type listenerSetting struct {
	name, host string
	port       int            // 0 lets the system choose
	advertised *advertisement // nil for where it listens
	protocol   string
	mechanisms []sasl.Mechanism // none without SASL
	sessions   map[sasl.Mechanism]time.Duration
	passwords  map[string]string
	tokens     sasl.TokenValidator // nil without OAUTHBEARER
	tls        *tls.Config         // nil in clear
	principals wire.PrincipalRules
}

// advertisement is where clients are told to find a listener.
type advertisement struct {
	host string
	port int // 0 for the port on which it listens
}

// The security protocols that there are.
const (
	plaintext     = "PLAINTEXT"
	ssl           = "SSL"
	saslPlaintext = "SASL_PLAINTEXT"
	saslSSL       = "SASL_SSL"
)

// parseListener reads an entry of a property.
func parseListener(property, entry string) (listenerSetting, error) {
	fail := func(why string) (listenerSetting, error) {
		return listenerSetting{}, fmt.Errorf("%s: %q: %s; expected NAME://HOST:PORT", property, entry, why)
	}
	name, address, ok := strings.Cut(entry, "://")
	if !ok || name == "" {
		return fail("it has no name")
	}
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return fail("it has no port")
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return fail("its port is no number from 0 to 65535")
	}
	return listenerSetting{name: strings.ToUpper(name), host: host, port: int(port)}, nil
}
