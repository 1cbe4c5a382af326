package main

import (
	"strings"

	"github.com/lso-exporter/lso-exporter/collector/security"
	"github.com/lso-exporter/lso-exporter/config"
)

// newConnector returns what opens the connections to the configured cluster.
// What an operator should know goes to warn.
func newConnector(c config.Config, warn func(message string)) (*security.Connector, error) {
	settings := security.Settings{Warn: warn}
	if t := c.Kafka.TLS; t.Enabled {
		settings.TLS = &security.TLS{
			CAFile: t.CAFile, CertFile: t.CertFile, KeyFile: t.KeyFile,
			ServerName: t.ServerName, Insecure: t.InsecureSkipVerify,
		}
	}
	if s := c.Kafka.SASL; s.Mechanism != "none" {
		settings.Login = &security.Login{
			Mechanism: security.Mechanism(s.Mechanism), User: s.Username, Password: s.Password,
			OAuth: security.OAuth{
				TokenURL: s.OAuth.TokenURL, ClientID: s.OAuth.ClientID, ClientSecret: s.OAuth.ClientSecret,
				Scopes: s.OAuth.Scopes, Extensions: extensions(s.OAuth.Extensions), CAFile: s.OAuth.CAFile,
			},
		}
	}
	return security.New(settings)
}

// extensions are the entries NAME=VALUE of the configuration, by name.
func extensions(entries []string) map[string]string {
	byName := make(map[string]string, len(entries))
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		byName[name] = value
	}
	return byName
}
