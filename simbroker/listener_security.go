package simbroker

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/property"
	"github.com/lso-exporter/lso-exporter/simbroker/sasl"
	"github.com/lso-exporter/lso-exporter/simbroker/wire"
)

// How brokers judge tokens, besides Kafka's default.
const (
	callbackHandlerProperty = "sasl.server.callback.handler.class"
	tokenHandler            = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
	tokenHandlerBefore      = "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler"
)

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
