package simbroker

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

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

// How brokers judge tokens, besides Kafka's default.
const (
	callbackHandlerProperty = "sasl.server.callback.handler.class"
	tokenHandler            = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
	tokenHandlerBefore      = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler"
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
		l, err := parseListener("listeners", strings.TrimSpace(entry))
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
	return listeners, advertise(listeners, config)
}

// advertise reads where clients are to find listeners, if that is not where they
// listen.
func advertise(listeners []listenerSetting, config *property.Config) error {
	const name = "advertised.listeners"
	if config.Static()[name] == "" {
		return nil
	}
	for _, entry := range config.List(name) {
		told, err := parseListener(name, strings.TrimSpace(entry))
		if err != nil {
			return err
		}
		i := slices.IndexFunc(listeners, func(l listenerSetting) bool { return l.name == told.name })
		switch {
		case i < 0:
			return fmt.Errorf("%s: there is no listener %s; expected those of listeners", name, told.name)
		case listeners[i].advertised != nil:
			return fmt.Errorf("%s: Each listener must have a different name, %s comes twice", name, told.name)
		case told.host == "" || told.host == "0.0.0.0" || told.host == "::":
			return fmt.Errorf("%s: %q: clients cannot connect to all addresses; expected one of them, or a name", name, entry)
		}
		listeners[i].advertised = &advertisement{host: told.host, port: told.port}
	}
	for _, l := range listeners {
		if l.advertised == nil {
			return fmt.Errorf("%s: listener %s is missing, and every listener is for clients", name, l.name)
		}
	}
	return nil
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

// secure reads who may come in by a listener, and how.
func (l *listenerSetting) secure(config *property.Config) error {
	own := own{config, "listener.name." + strings.ToLower(l.name) + "."}
	switch l.protocol {
	case plaintext, saslPlaintext:
	case ssl, saslSSL:
		if err := l.encrypt(own); err != nil {
			return fmt.Errorf("listener %s: %w", l.name, err)
		}
	default:
		return fmt.Errorf("listener.security.protocol.map: listener %s: there is no security protocol %s; expected %s, %s, %s or %s",
			l.name, l.protocol, plaintext, ssl, saslPlaintext, saslSSL)
	}
	if l.protocol == plaintext || l.protocol == ssl {
		return nil
	}
	l.sessions = make(map[sasl.Mechanism]time.Duration)
	for _, text := range strings.Split(own.text("sasl.enabled.mechanisms"), ",") {
		m := sasl.Mechanism(strings.TrimSpace(text))
		if !m.Known() {
			return fmt.Errorf("sasl.enabled.mechanisms: listener %s: there is no mechanism %s; expected some of %v", l.name, m, sasl.Mechanisms())
		}
		if err := l.enable(m, own); err != nil {
			return err
		}
		l.mechanisms = append(l.mechanisms, m)
	}
	return nil
}

// enable reads what a mechanism needs.
func (l *listenerSetting) enable(m sasl.Mechanism, own own) error {
	prefix := strings.ToLower(string(m)) + "."
	name := own.prefix + prefix + "sasl.jaas.config"
	line, ok := own.config.Static()[name]
	if !ok {
		return fmt.Errorf("%s: no JAAS configuration for mechanism %s; expected %s required … ;", name, m, m.Module())
	}
	options, err := sasl.ParseJAAS(m, line)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if l.sessions[m], err = own.milliseconds(prefix, "connections.max.reauth.ms"); err != nil {
		return err
	}
	switch m {
	case sasl.Plain:
		l.passwords = sasl.Passwords(options)
	case sasl.OAuthBearer:
		if l.tokens, err = tokenValidator(own, prefix, options); err != nil {
			return fmt.Errorf("listener %s: %w", l.name, err)
		}
	}
	return nil
}

// tokenValidator judges tokens as Kafka does by default, or by keys.
func tokenValidator(own own, prefix string, options map[string]string) (sasl.TokenValidator, error) {
	switch class := own.mechanismText(prefix, callbackHandlerProperty); class {
	case "":
		return sasl.NewUnsecured(options)
	case tokenHandler, tokenHandlerBefore:
	default:
		return nil, fmt.Errorf("%s=%s: there is no such handler; expected %s", callbackHandlerProperty, class, tokenHandler)
	}
	const address = "sasl.oauthbearer.jwks.endpoint.url"
	keys, err := wire.ReadKeys(own.text(address))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", address, err)
	}
	skew, err := strconv.Atoi(own.text("sasl.oauthbearer.clock.skew.seconds"))
	if err != nil {
		return nil, fmt.Errorf("sasl.oauthbearer.clock.skew.seconds: %w", err)
	}
	validator := sasl.Signed{
		Keys: keys, SubjectClaim: own.text("sasl.oauthbearer.sub.claim.name"),
		Issuer: own.text("sasl.oauthbearer.expected.issuer"), Skew: time.Duration(skew) * time.Second,
	}
	for _, audience := range strings.Split(own.text("sasl.oauthbearer.expected.audience"), ",") {
		if audience = strings.TrimSpace(audience); audience != "" {
			validator.Audience = append(validator.Audience, audience)
		}
	}
	return validator, nil
}

// encrypt reads what TLS needs.
func (l *listenerSetting) encrypt(own own) error {
	stores := wire.Stores{
		KeyStore: own.text("ssl.keystore.location"), Key: own.text("ssl.keystore.key"), Chain: own.text("ssl.keystore.certificate.chain"),
		TrustStore: own.text("ssl.truststore.location"), Authorities: own.text("ssl.truststore.certificates"),
		ClientAuth: own.text("ssl.client.auth"),
	}
	if l.protocol == saslSSL {
		// Kafka takes the certificates of those who log in only where the listener
		// itself asks for them.
		stores.ClientAuth = own.config.Static()[own.prefix+"ssl.client.auth"]
		if stores.ClientAuth == "" {
			stores.ClientAuth = "none"
		}
	}
	for _, kind := range []string{"keystore", "truststore"} {
		location, form := own.text("ssl."+kind+".location"), own.text("ssl."+kind+".type")
		if location != "" && !strings.EqualFold(form, "PEM") {
			return fmt.Errorf("ssl.%s.type=%s; expected PEM", kind, form)
		}
	}
	var err error
	if l.principals, err = wire.ParsePrincipalRules(own.text("ssl.principal.mapping.rules")); err != nil {
		return fmt.Errorf("ssl.principal.mapping.rules: %w", err)
	}
	l.tls, err = wire.NewTLS(stores)
	return err
}

// own are properties as one listener sees them: those with its prefix count
// before those without.
type own struct {
	config *property.Config
	prefix string // listener.name.NAME.
}

func (o own) text(name string) string {
	if value, ok := o.config.Static()[o.prefix+name]; ok {
		return value
	}
	return o.config.String(name)
}

// mechanismText is a property as one mechanism of the listener sees it.
func (o own) mechanismText(mechanism, name string) string {
	if value, ok := o.config.Static()[o.prefix+mechanism+name]; ok {
		return value
	}
	return o.text(name)
}

func (o own) milliseconds(mechanism, name string) (time.Duration, error) {
	n, err := strconv.ParseInt(o.mechanismText(mechanism, name), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return time.Duration(n) * time.Millisecond, nil
}

// checkSecurity reads the listeners of all brokers, and finds what is wrong with
// them and with authorizers. The listeners must have the same names: a client is
// told of the one that it came by.
func checkSecurity(static []property.Values) ([][]listenerSetting, error) {
	var all [][]listenerSetting
	var names []string
	for i, values := range static {
		if _, err := newAuthorizer(values); err != nil {
			return nil, fmt.Errorf("broker %d: %w", i+1, err)
		}
		listeners, err := listenersOf(values)
		if err != nil {
			return nil, fmt.Errorf("broker %d: %w", i+1, err)
		}
		all = append(all, listeners)
		var own []string
		for _, l := range listeners {
			own = append(own, l.name)
		}
		if i > 0 && !slices.Equal(own, names) {
			return nil, fmt.Errorf("broker %d: listeners %v where broker 1 has %v: %w", i+1, own, names, errListenersDiffer)
		}
		names = own
	}
	return all, nil
}

var errListenersDiffer = errors.New("all brokers must have the same listeners")

// entrance is one listener of a broker.
type entrance struct {
	listenerSetting
	address *net.TCPAddr // nil without TCP
}

// endpoint is where clients are told to find a listener. Without TCP it has a made-up
// address, which no two listeners share.
func (b *broker) endpoint(index int) controller.Endpoint {
	e := b.entrances[index]
	if e.address == nil {
		return controller.Endpoint{Listener: e.name, Host: fmt.Sprintf("broker-%d", b.id), Port: 9092 + int32(index)}
	}
	at := controller.Endpoint{Listener: e.name, Host: e.address.IP.String(), Port: int32(e.address.Port)}
	if told := e.advertised; told != nil {
		at.Host = told.host
		if told.port > 0 {
			at.Port = int32(told.port)
		}
	}
	return at
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
		TLS:        l.tls,
		Principals: l.principals,
		Mechanisms: l.mechanisms,
		Sessions:   l.sessions,
		Users: func(m sasl.Mechanism) sasl.Users {
			return sasl.Users{
				Passwords:  l.passwords,
				Credential: func(user string) (sasl.Credential, bool) { return b.agent.Image().Credential(m, user) },
				Nonce:      b.cluster.nonce,
				Validate: func(token string) (sasl.Token, *sasl.TokenError) {
					return l.tokens.Validate(token, b.host.Now())
				},
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
