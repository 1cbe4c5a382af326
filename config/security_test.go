package config

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/test/certificates"
)

// inSecuredFile makes the section kafka with a broker and what is given, and the
// files that it may name: ca.pem, client.crt, client.key, other.key, password.
func inSecuredFile(t *testing.T, section string) string {
	t.Helper()
	name := inFile(t, "kafka:\n  brokers: [kafka-1:9092]\n"+section)
	ca := certificates.NewAuthority(t, "ca")
	certificates.WriteFile(t, ".", "ca.pem", ca.PEM)
	ca.Issue(t, certificates.Request{}).Write(t, ".", "client")
	ca.Issue(t, certificates.Request{}).Write(t, ".", "other")
	certificates.WriteFile(t, ".", "password", []byte("hunter2\n"))
	return name
}

func TestSecurity(t *testing.T) {
	const file = `  tls: {enabled: true, ca_file: ca.pem, cert_file: client.crt, key_file: client.key, server_name: kafka}
  sasl:
    mechanism: OAUTHBEARER
    oauth:
      token_url: https://sso.example/oauth2/token
      client_id: exporter
      client_secret: file:password
      scopes: [kafka, read]
      extensions: ["logicalCluster=lkc-1", "identityPoolId=pool 1=2"]
      ca_file: ca.pem
`
	c, err := loadAndValidate(Sources{File: inSecuredFile(t, file)})
	if err != nil {
		t.Fatal(err)
	}
	tls := TLS{Enabled: true, CAFile: "ca.pem", CertFile: "client.crt", KeyFile: "client.key", ServerName: "kafka"}
	if c.Kafka.TLS != tls {
		t.Errorf("TLS: %+v", c.Kafka.TLS)
	}
	secret := c.Kafka.SASL.OAuth.ClientSecret
	sasl := SASL{Mechanism: "OAUTHBEARER", OAuth: OAuth{
		TokenURL: "https://sso.example/oauth2/token", ClientID: "exporter", ClientSecret: secret,
		Scopes: []string{"kafka", "read"}, Extensions: []string{"logicalCluster=lkc-1", "identityPoolId=pool 1=2"}, CAFile: "ca.pem",
	}}
	if !reflect.DeepEqual(c.Kafka.SASL, sasl) {
		t.Errorf("SASL: %+v", c.Kafka.SASL)
	}
	if text, err := secret.Value(); text != "hunter2" || err != nil {
		t.Errorf("secret %q, %v", text, err)
	}
}

// What config print writes can be loaded again, with what was set and without.
func TestSecurityIsPrinted(t *testing.T) {
	for _, section := range []string{
		"",
		"  tls: {enabled: true, ca_file: ca.pem}\n  sasl: {mechanism: SCRAM-SHA-512, username: alice, password: file:password}\n",
		"  sasl: {mechanism: OAUTHBEARER, oauth: {token_url: 'http://127.0.0.1:1/t', client_id: a, client_secret: '${S}', scopes: [a, b]}}\n",
	} {
		environment := []string{"S=hunter2"}
		loaded, err := Load(Sources{File: inSecuredFile(t, section), Environment: environment})
		if err != nil {
			t.Fatal(err)
		}
		before, err := loaded.Validated()
		if err != nil {
			t.Fatal(err)
		}
		var printed strings.Builder
		if err := loaded.Print(&printed); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(printed.String(), "hunter2") {
			t.Error("a secret is printed")
		}
		if err := os.WriteFile("exporter.yml", []byte(printed.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		after, err := loadAndValidate(Sources{File: "exporter.yml", Environment: environment})
		if err != nil || before.Fingerprint() != after.Fingerprint() {
			t.Errorf("printed and loaded again: %v, fingerprints %s and %s", err, before.Fingerprint(), after.Fingerprint())
		}
	}
}

func TestSecurityMistakes(t *testing.T) {
	const scram = "  sasl: {mechanism: SCRAM-SHA-256, username: alice, password: file:password}\n"
	const oauth = "  sasl: {mechanism: OAUTHBEARER, oauth: {client_id: a, client_secret: file:password, "
	for _, test := range []struct{ name, section, want string }{
		{"no username", "  sasl: {mechanism: PLAIN, password: file:password}\n",
			`exporter.yml: kafka.sasl.username = "" is empty, and kafka.sasl.mechanism PLAIN needs it; set it`},
		{"no password", "  sasl: {mechanism: SCRAM-SHA-512, username: alice}\n",
			`exporter.yml: kafka.sasl.password = "" is empty, and kafka.sasl.mechanism SCRAM-SHA-512 needs it; set it`},
		{"a user without a mechanism", "  sasl: {username: alice}\n",
			`exporter.yml:3: kafka.sasl.username = "alice" has no effect with kafka.sasl.mechanism none; choose another mechanism, or remove it`},
		{"a client with a user", scram[:len(scram)-2] + ", oauth: {client_id: a}}\n",
			`exporter.yml:3: kafka.sasl.oauth.client_id = "a" has no effect with kafka.sasl.mechanism SCRAM-SHA-256; choose another mechanism, or remove it`},
		{"no such mechanism", "  sasl: {mechanism: SCRAM-SHA-521}\n",
			`exporter.yml:3: kafka.sasl.mechanism = "SCRAM-SHA-521" is not one of none, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER; choose one of them; did you mean SCRAM-SHA-512?`},
		{"no endpoint", oauth[:len(oauth)-2] + "}}\n",
			`exporter.yml: kafka.sasl.oauth.token_url = "" is empty, and kafka.sasl.mechanism OAUTHBEARER needs it; set it`},
		{"no URL", oauth + "token_url: sso.example/token}}\n",
			`exporter.yml:3: kafka.sasl.oauth.token_url = "sso.example/token" is no URL with http or https; write such as https://sso.example/oauth2/token`},
		{"a scope with a space", oauth + "token_url: 'https://a/t', scopes: [a b]}}\n",
			`exporter.yml:3: kafka.sasl.oauth.scopes = "[a b]" has the entry "a b", which is no scope; write one without spaces, quotes and backslashes`},
		{"an extension that is none", oauth + "token_url: 'https://a/t', extensions: [auth=x]}}\n",
			`exporter.yml:3: kafka.sasl.oauth.extensions = "[auth=x]" has the entry "auth=x", which is no extension; write NAME=VALUE with a name of letters other than auth, and printable characters after it`},
		{"an extension twice", oauth + "token_url: 'https://a/t', extensions: [a=x, a=y]}}\n",
			`exporter.yml:3: kafka.sasl.oauth.extensions = "[a=x, a=y]" has "a" twice; remove one of the two`},
		{"authority of an endpoint in clear", oauth + "token_url: 'http://a/t', ca_file: ca.pem}}\n",
			`exporter.yml:3: kafka.sasl.oauth.ca_file = "ca.pem" has no effect with a token_url in clear; write https there, or remove it`},
		{"TLS that is off", "  tls: {ca_file: ca.pem}\n",
			`exporter.yml:3: kafka.tls.ca_file = "ca.pem" has no effect in clear; set kafka.tls.enabled to true, or remove it`},
		{"certificate without key", "  tls: {enabled: true, cert_file: client.crt}\n",
			`exporter.yml:3: kafka.tls.cert_file = "client.crt" has no key; name the file with its key in kafka.tls.key_file`},
		{"key without certificate", "  tls: {enabled: true, key_file: client.key}\n",
			`exporter.yml:3: kafka.tls.key_file = "client.key" has no certificate; name the file with the client certificate in kafka.tls.cert_file`},
		{"another's key", "  tls: {enabled: true, cert_file: client.crt, key_file: other.key}\n",
			`exporter.yml:3: kafka.tls.cert_file = "client.crt" and kafka.tls.key_file cannot be used (private key does not match public key); name a certificate and its key, both PEM and the key unencrypted`},
		{"missing key", "  tls: {enabled: true, cert_file: client.crt, key_file: missing}\n",
			`exporter.yml:3: kafka.tls.key_file = "missing" names a file that cannot be read (no such file or directory); name one that this user may read`},
		{"missing authority", "  tls: {enabled: true, ca_file: missing}\n",
			`exporter.yml:3: kafka.tls.ca_file = "missing" names a file that cannot be read (no such file or directory); name one that this user may read`},
		{"no certificate", "  tls: {enabled: true, ca_file: password}\n",
			`exporter.yml:3: kafka.tls.ca_file = "password" names a file without a certificate in PEM; name one that has the authority's`},
		{"insecure, and not", "  tls: {enabled: true, ca_file: ca.pem, insecure_skip_verify: true}\n",
			`exporter.yml:3: kafka.tls.insecure_skip_verify = "true" accepts any certificate, and kafka.tls.ca_file says whose are trusted; remove one of the two`},
		{"a user in a URL", oauth + "token_url: 'https://a:b@c/t'}}\n",
			`exporter.yml:3: kafka.sasl.oauth.token_url = "https://<secret>@c/t" has a user in it; remove it, and set kafka.sasl.oauth.client_id and kafka.sasl.oauth.client_secret`},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := loadAndValidate(Sources{File: inSecuredFile(t, test.section)})
			if err == nil || err.Error() != test.want {
				t.Errorf("got\n%v\nwant\n%s", err, test.want)
			}
		})
	}
}
