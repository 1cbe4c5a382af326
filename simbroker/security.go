package simbroker

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/acl"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// standardAuthorizer is the only authorizer that there is: Kafka's own.
const standardAuthorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

// Properties that are not Kafka's but its authorizer's.
const (
	superUsersProperty   = "super.users"
	allowIfNoACLProperty = "allow.everyone.if.no.acl.found"
)

// newAuthorizer is the authorizer that a broker's properties ask for; nil if
// they ask for none.
func newAuthorizer(static property.Values) (*acl.Authorizer, error) {
	switch class := static["authorizer.class.name"]; class {
	case "":
		return nil, nil
	case standardAuthorizer:
	default:
		return nil, fmt.Errorf("authorizer.class.name=%s: there is no such authorizer; expected %s", class, standardAuthorizer)
	}
	super, err := acl.ParseSuperUsers(static[superUsersProperty])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", superUsersProperty, err)
	}
	return acl.NewAuthorizer(acl.Config{
		SuperUsers:   super,
		AllowIfNoACL: strings.EqualFold(static[allowIfNoACLProperty], "true"),
	}), nil
}

// listenerSetting is a listener as a broker's properties describe it.
type listenerSetting struct {
	name, host string
	port       int // 0 lets the system choose
	protocol   string
	mechanisms []sasl.Mechanism // none with protocol PLAINTEXT
	passwords  map[string]string
}

// The security protocols that there are.
const (
	plaintext     = "PLAINTEXT"
	saslPlaintext = "SASL_PLAINTEXT"
)

// listenersOf are the listeners that a broker's properties ask for, in order.
// Without the property listeners it is one, PLAINTEXT, with neither host nor
// port.
func listenersOf(static property.Values) ([]listenerSetting, error) {
	config := property.NewConfig(static)
	entries := []string{plaintext + "://:0"}
	if _, ok := static["listeners"]; ok {
		entries = config.List("listeners")
	}
	protocols, err := protocolMap(config)
	if err != nil {
		return nil, err
	}
	var listeners []listenerSetting
	for _, entry := range entries {
		l, err := parseListener(strings.TrimSpace(entry))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(listeners, func(other listenerSetting) bool { return other.name == l.name }) {
			return nil, fmt.Errorf("listeners: Each listener must have a different name, %s comes twice", l.name)
		}
		if l.protocol = protocols[l.name]; l.protocol == "" {
			return nil, fmt.Errorf("listeners: no security protocol is defined for listener %s; expected one in listener.security.protocol.map", l.name)
		}
		if err := l.secure(config); err != nil {
			return nil, err
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

func protocolMap(config *property.Config) (map[string]string, error) {
	protocols := make(map[string]string)
	for _, entry := range config.List("listener.security.protocol.map") {
		name, protocol, ok := strings.Cut(strings.TrimSpace(entry), ":")
		if !ok {
			return nil, fmt.Errorf("listener.security.protocol.map: %q is no NAME:PROTOCOL", entry)
		}
		protocols[strings.ToUpper(name)] = strings.ToUpper(protocol)
	}
	return protocols, nil
}

func parseListener(entry string) (listenerSetting, error) {
	fail := func(why string) (listenerSetting, error) {
		return listenerSetting{}, fmt.Errorf("listeners: %q: %s; expected NAME://HOST:PORT", entry, why)
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

// secure reads who may come in by a listener, and how.
func (l *listenerSetting) secure(config *property.Config) error {
	switch l.protocol {
	case plaintext:
		return nil
	case saslPlaintext:
	default:
		return fmt.Errorf("listener.security.protocol.map: listener %s: there is no security protocol %s; expected %s or %s", l.name, l.protocol, plaintext, saslPlaintext)
	}
	prefix := "listener.name." + strings.ToLower(l.name) + "."
	static := config.Static()
	mechanisms := config.List("sasl.enabled.mechanisms")
	if own, ok := static[prefix+"sasl.enabled.mechanisms"]; ok {
		mechanisms = strings.Split(own, ",")
	}
	for _, text := range mechanisms {
		m := sasl.Mechanism(strings.TrimSpace(text))
		if !m.Known() {
			return fmt.Errorf("sasl.enabled.mechanisms: listener %s: there is no mechanism %s; expected some of %v", l.name, m, sasl.Mechanisms())
		}
		name := prefix + strings.ToLower(string(m)) + ".sasl.jaas.config"
		line, ok := static[name]
		if !ok {
			return fmt.Errorf("%s: no JAAS configuration for mechanism %s; expected %s required … ;", name, m, m.Module())
		}
		passwords, err := sasl.ParseJAAS(m, line)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if m == sasl.Plain {
			l.passwords = passwords
		}
		l.mechanisms = append(l.mechanisms, m)
	}
	return nil
}

// checkSecurity finds what is wrong with the listeners and authorizers of all
// brokers, which must have listeners of the same names: a client is told of the
// one that it came by.
func checkSecurity(static []property.Values) error {
	var names []string
	for i, values := range static {
		if _, err := newAuthorizer(values); err != nil {
			return fmt.Errorf("broker %d: %w", i+1, err)
		}
		listeners, err := listenersOf(values)
		if err != nil {
			return fmt.Errorf("broker %d: %w", i+1, err)
		}
		var own []string
		for _, l := range listeners {
			own = append(own, l.name)
		}
		if i > 0 && !slices.Equal(own, names) {
			return fmt.Errorf("broker %d: listeners %v where broker 1 has %v: %w", i+1, own, names, errListenersDiffer)
		}
		names = own
	}
	return nil
}

var errListenersDiffer = errors.New("all brokers must have the same listeners")

// entrance is one listener of a broker.
type entrance struct {
	listenerSetting
	address *net.TCPAddr // nil without TCP
}

// endpoint is where clients find a listener. Without TCP it has a made-up
// address, which no two listeners share.
func (b *broker) endpoint(index int) controller.Endpoint {
	e := b.entrances[index]
	if e.address == nil {
		return controller.Endpoint{Listener: e.name, Host: fmt.Sprintf("broker-%d", b.id), Port: 9092 + int32(index)}
	}
	return controller.Endpoint{Listener: e.name, Host: e.address.IP.String(), Port: int32(e.address.Port)}
}

func (b *broker) endpoints() []controller.Endpoint {
	endpoints := make([]controller.Endpoint, len(b.entrances))
	for i := range b.entrances {
		endpoints[i] = b.endpoint(i)
	}
	return endpoints
}

// listener is what the server is told of a listener.
func (b *broker) listener(l listenerSetting) wire.Listener {
	return wire.Listener{
		Name:       l.name,
		Mechanisms: l.mechanisms,
		Users: func(m sasl.Mechanism) sasl.Users {
			return sasl.Users{
				Passwords:  l.passwords,
				Credential: func(user string) (sasl.Credential, bool) { return b.agent.Image().Credential(m, user) },
				Nonce:      b.cluster.nonce,
			}
		},
	}
}

// nonce is a text that does not come twice.
func (c *Cluster) nonce() string {
	return fmt.Sprintf("%016x%016x", c.random.Uint64(), c.random.Uint64())
}

// addUsers gives the users that the cluster is formatted with their
// credentials.
func (c *Cluster) addUsers() error {
	var changes []controller.CredentialChange
	for _, u := range c.cfg.Users {
		salt := []byte(c.nonce())
		credential := sasl.NewCredential(u.Mechanism, sasl.SaltPassword(u.Mechanism, u.Password, salt, u.Iterations), salt, u.Iterations)
		changes = append(changes, controller.CredentialChange{User: u.Name, Mechanism: u.Mechanism, Credential: &credential})
	}
	for i := range changes { // one at a time: a user may have both mechanisms
		for _, r := range c.controller.AlterCredentials(changes[i : i+1]) {
			if r.Err != nil {
				return fmt.Errorf("user %s: %w", r.User, r.Err)
			}
		}
	}
	return nil
}
