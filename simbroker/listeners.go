package simbroker

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/property"
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
