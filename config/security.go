package config

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"strings"
)

// TLS is how connections to brokers are encrypted, and who is trusted. All files
// are PEM; they can be read and fit together.
type TLS struct {
	// Enabled says whether connections are encrypted. Without it, the other
	// fields are empty.
	Enabled bool
	// CAFile holds the authorities that are trusted; empty for the system's.
	CAFile string
	// CertFile and KeyFile are the client certificate and its key; both empty
	// for none.
	CertFile, KeyFile string
	// ServerName is what brokers' certificates must be for; empty for the host
	// that is connected to.
	ServerName string
	// InsecureSkipVerify accepts any certificate.
	InsecureSkipVerify bool
}

// SASL is how the exporter logs in to brokers.
type SASL struct {
	// Mechanism is none, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.
	Mechanism string
	// Username and Password are given for PLAIN and SCRAM only.
	Username string
	Password Secret
	// OAuth is given for OAUTHBEARER only.
	OAuth OAuth
}

// OAuth is where the tokens of OAUTHBEARER come from.
type OAuth struct {
	// TokenURL is a URL with the scheme http or https, and no user.
	TokenURL     string
	ClientID     string
	ClientSecret Secret
	// Scopes are what is asked for; none for what the endpoint gives by itself.
	Scopes []string
	// Extensions are NAME=VALUE each, no name twice.
	Extensions []string
	// CAFile holds the authorities that are trusted at the endpoint; empty for
	// the system's.
	CAFile string
}

// The mechanisms.
const (
	noMechanism    = "none"
	saslPlain      = "PLAIN"
	scramSHA256    = "SCRAM-SHA-256"
	scramSHA512    = "SCRAM-SHA-512"
	oauthMechanism = "OAUTHBEARER"
)

var textList = kind{name: "list of texts", tag: "!!str", list: true}

// securitySections are within the section kafka.
var securitySections = []section{
	{"kafka.tls", "Encryption of the connections to brokers. Files are read again for each connection, so that what was renewed is used from the next one on."},
	{"kafka.sasl", "Login at brokers. A password file is read again for each login."},
	{"kafka.sasl.oauth", "Where the tokens of the mechanism OAUTHBEARER come from: the client credentials grant of OAuth 2.0."},
}

// securitySettings declares the settings of those sections.
var securitySettings = []setting{
	boolean("kafka.tls.enabled", "kafka.tls.enabled", "Encrypt connections to brokers.",
		func(c *Config) *bool { return &c.Kafka.TLS.Enabled }),
	authoritiesFile("kafka.tls.ca_file", "kafka.tls.ca-file", "File (PEM) with the certificates of the authorities that may have signed the brokers'. Without it, those that the system trusts.",
		func(c *Config) *string { return &c.Kafka.TLS.CAFile }),
	namesFile(text("kafka.tls.cert_file", "kafka.tls.cert-file", "File (PEM) with the client certificate, and those of the authorities between it and a root if there are any. Needs kafka.tls.key_file.",
		func(c *Config) *string { return &c.Kafka.TLS.CertFile }, anyText)),
	namesFile(text("kafka.tls.key_file", "kafka.tls.key-file", "File (PEM) with the key of the client certificate, unencrypted.",
		func(c *Config) *string { return &c.Kafka.TLS.KeyFile }, anyText)),
	text("kafka.tls.server_name", "kafka.tls.server-name", "Name that the brokers' certificates must be for. Without it, the host that is connected to.",
		func(c *Config) *string { return &c.Kafka.TLS.ServerName }, anyText),
	boolean("kafka.tls.insecure_skip_verify", "kafka.tls.insecure-skip-verify", "INSECURE: accept any certificate, so that anybody on the way can read and change everything, logins included.",
		func(c *Config) *bool { return &c.Kafka.TLS.InsecureSkipVerify }),

	choice("kafka.sasl.mechanism", "kafka.sasl.mechanism", "How to log in.",
		func(c *Config) *string { return &c.Kafka.SASL.Mechanism }, noMechanism, saslPlain, scramSHA256, scramSHA512, oauthMechanism),
	text("kafka.sasl.username", "kafka.sasl.username", "User of PLAIN and SCRAM.",
		func(c *Config) *string { return &c.Kafka.SASL.Username }, anyText),
	secret("kafka.sasl.password", "kafka.sasl.password", "Password of PLAIN and SCRAM, best as a reference: `file:/path` or `${NAME}`.",
		func(c *Config) *Secret { return &c.Kafka.SASL.Password }),

	namesHost(text("kafka.sasl.oauth.token_url", "kafka.sasl.oauth.token-url", "URL of the token endpoint.",
		func(c *Config) *string { return &c.Kafka.SASL.OAuth.TokenURL }, tokenURL)),
	text("kafka.sasl.oauth.client_id", "kafka.sasl.oauth.client-id", "Id of the OAuth client.",
		func(c *Config) *string { return &c.Kafka.SASL.OAuth.ClientID }, anyText),
	secret("kafka.sasl.oauth.client_secret", "kafka.sasl.oauth.client-secret", "Secret of the OAuth client, best as a reference: `file:/path` or `${NAME}`.",
		func(c *Config) *Secret { return &c.Kafka.SASL.OAuth.ClientSecret }),
	texts("kafka.sasl.oauth.scopes", "kafka.sasl.oauth.scopes", "Scopes to ask for. Without them, those that the endpoint gives by itself.",
		func(c *Config) *[]string { return &c.Kafka.SASL.OAuth.Scopes }, scope),
	texts("kafka.sasl.oauth.extensions", "kafka.sasl.oauth.extensions", "SASL extensions that brokers are told with the token, NAME=VALUE each.",
		func(c *Config) *[]string { return &c.Kafka.SASL.OAuth.Extensions }, extension),
	authoritiesFile("kafka.sasl.oauth.ca_file", "kafka.sasl.oauth.ca-file", "File (PEM) with the certificates of the authorities that may have signed the token endpoint's. Without it, those that the system trusts.",
		func(c *Config) *string { return &c.Kafka.SASL.OAuth.CAFile }),
}

// authoritiesFile declares a file with certificates.
func authoritiesFile(key, flag, help string, field func(*Config) *string) setting {
	s := namesFile(text(key, flag, help, field, anyText))
	s.verify = func(c *Config) error {
		name := *field(c)
		if name == "" {
			return nil
		}
		content, err := readCertificates(name)
		if err == nil && !x509.NewCertPool().AppendCertsFromPEM(content) {
			err = errors.New("names a file without a certificate in PEM; name one that has the authority's")
		}
		return err
	}
	return s
}

// readCertificates reads a file; its error is worded as fault and remedy.
func readCertificates(name string) ([]byte, error) {
	content, err := readAtMost(name, maxFileSize)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, fmt.Errorf("names a file that cannot be read (%w); name one that this user may read", err)
	}
	return content, nil
}

// texts declares a list of texts, of which each is checked.
func texts(key, flag, help string, field func(*Config) *[]string, check func(string) error) setting {
	return setting{
		key: key, flag: flag, help: help, kind: textList,
		set: func(c *Config, list []string) error {
			names := make(map[string]bool)
			for _, entry := range list {
				if err := check(entry); err != nil {
					return fmt.Errorf("has the entry %q, which %w", entry, err)
				}
				name, _, _ := strings.Cut(entry, "=")
				if names[name] {
					return fmt.Errorf("has %q twice; remove one of the two", name)
				}
				names[name] = true
			}
			*field(c) = append([]string(nil), list...) // nil for none
			return nil
		},
		get: func(c *Config) []string { return *field(c) },
	}
}

func tokenURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return errors.New("is no URL with http or https; write such as https://sso.example/oauth2/token")
	case u.User != nil:
		return errors.New("has a user in it; remove it, and set kafka.sasl.oauth.client_id and kafka.sasl.oauth.client_secret")
	}
	return nil
}

// scope accepts a scope-token (RFC 6749, section 3.3).
func scope(text string) error {
	if !regexp.MustCompile(`^[\x21\x23-\x5B\x5D-\x7E]+$`).MatchString(text) {
		return errors.New("is no scope; write one without spaces, quotes and backslashes")
	}
	return nil
}

// extension accepts an extension as Kafka reads it (RFC 7628, section 3.1). The
// name auth is the token's.
func extension(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || !regexp.MustCompile(`^[A-Za-z]+$`).MatchString(name) || !regexp.MustCompile(`^[\x21-\x7E \t\r\n]+$`).MatchString(value) || strings.EqualFold(name, "auth") {
		return errors.New("is no extension; write NAME=VALUE with a name of letters other than auth, and printable characters after it")
	}
	return nil
}

// checkSecurity complains of settings of the sections that do not agree with
// each other, and of a certificate and a key that do not, if files may be
// opened.
func (c *Config) checkSecurity(complain func(key, fault string), open bool) {
	c.Kafka.TLS.check(complain)
	c.Kafka.SASL.check(complain)
	if t := c.Kafka.TLS; open && t.CertFile != "" && t.KeyFile != "" {
		t.checkPair(complain)
	}
}

func (t TLS) check(complain func(key, fault string)) {
	switch {
	case t.CertFile != "" && t.KeyFile == "":
		complain("kafka.tls.cert_file", "has no key; name the file with its key in kafka.tls.key_file")
	case t.KeyFile != "" && t.CertFile == "":
		complain("kafka.tls.key_file", "has no certificate; name the file with the client certificate in kafka.tls.cert_file")
	}
	if t.InsecureSkipVerify && t.CAFile != "" {
		complain("kafka.tls.insecure_skip_verify", "accepts any certificate, and kafka.tls.ca_file says whose are trusted; remove one of the two")
	}
	if t.InsecureSkipVerify && t.ServerName != "" {
		complain("kafka.tls.insecure_skip_verify", "accepts a certificate for any name, and kafka.tls.server_name names one; remove one of the two")
	}
	if t.Enabled {
		return
	}
	for _, s := range []struct {
		key string
		set bool
	}{
		{"kafka.tls.ca_file", t.CAFile != ""}, {"kafka.tls.cert_file", t.CertFile != ""}, {"kafka.tls.key_file", t.KeyFile != ""},
		{"kafka.tls.server_name", t.ServerName != ""}, {"kafka.tls.insecure_skip_verify", t.InsecureSkipVerify},
	} {
		if s.set {
			complain(s.key, "has no effect in clear; set kafka.tls.enabled to true, or remove it")
		}
	}
}

// checkPair opens certificate and key.
func (t TLS) checkPair(complain func(key, fault string)) {
	certificate, err := readCertificates(t.CertFile)
	if err != nil {
		complain("kafka.tls.cert_file", err.Error())
		return
	}
	key, err := readCertificates(t.KeyFile)
	if err != nil {
		complain("kafka.tls.key_file", err.Error())
		return
	}
	if _, err := tls.X509KeyPair(certificate, key); err != nil {
		complain("kafka.tls.cert_file", fmt.Sprintf("and kafka.tls.key_file cannot be used (%s); name a certificate and its key, both PEM and the key unencrypted", strings.TrimPrefix(err.Error(), "tls: ")))
	}
}

func (s SASL) check(complain func(key, fault string)) {
	password := s.Mechanism == saslPlain || strings.HasPrefix(s.Mechanism, "SCRAM-")
	oauth := s.Mechanism == oauthMechanism
	for _, each := range []struct {
		key               string
		set, used, needed bool
	}{
		{"kafka.sasl.username", s.Username != "", password, true},
		{"kafka.sasl.password", s.Password.IsSet(), password, true},
		{"kafka.sasl.oauth.token_url", s.OAuth.TokenURL != "", oauth, true},
		{"kafka.sasl.oauth.client_id", s.OAuth.ClientID != "", oauth, true},
		{"kafka.sasl.oauth.client_secret", s.OAuth.ClientSecret.IsSet(), oauth, true},
		{"kafka.sasl.oauth.scopes", len(s.OAuth.Scopes) > 0, oauth, false},
		{"kafka.sasl.oauth.extensions", len(s.OAuth.Extensions) > 0, oauth, false},
		{"kafka.sasl.oauth.ca_file", s.OAuth.CAFile != "", oauth, false},
	} {
		switch {
		case each.used && each.needed && !each.set:
			complain(each.key, fmt.Sprintf("is empty, and kafka.sasl.mechanism %s needs it; set it", s.Mechanism))
		case !each.used && each.set:
			complain(each.key, fmt.Sprintf("has no effect with kafka.sasl.mechanism %s; choose another mechanism, or remove it", s.Mechanism))
		}
	}
	if strings.HasPrefix(s.OAuth.TokenURL, "http:") && s.OAuth.CAFile != "" {
		complain("kafka.sasl.oauth.ca_file", "has no effect with a token_url in clear; write https there, or remove it")
	}
}
