package secured

import (
	"regexp"
	"strings"
	"testing"
)

// A row is one way to reach a listener, and what comes of it.
type row struct {
	name     string
	listener string
	section  string // of the file, below kafka; ${FILE:x} is the path of a file
	// want is what /readyz says after "not ready: no broker reachable: "; empty for
	// a cluster that is read. ADDRESS is the listener's, and … stands for anything.
	want string
	kind string // as which the failure counts
}

// Parts of sections.
const (
	trusting = "  tls: {enabled: true, ca_file: '${FILE:ca.crt}'}\n"
	plain    = "  sasl: {mechanism: PLAIN, username: " + plainUser + ", password: 'file:${FILE:plain.secret}'}\n"
	scram    = ", username: '" + scramUser + "', password: 'file:${FILE:scram.secret}'}\n"
	oauth    = "  sasl: {mechanism: OAUTHBEARER, oauth: {client_id: '" + oauthClient + "', client_secret: 'file:${FILE:oauth.secret}', ca_file: '${FILE:ca.crt}', scopes: [kafka], extensions: [traceId=a1], "
)

var rows = []row{
	{name: "in clear", listener: "PLAINTEXT"},
	{name: "TLS", listener: "TLS", section: trusting},
	{name: "TLS with a client certificate", listener: "MTLS", section: clientCertificate("client")},
	{name: "TLS and PLAIN", listener: "LOGIN", section: trusting + plain},
	{name: "TLS and SCRAM-SHA-256", listener: "LOGIN", section: trusting + "  sasl: {mechanism: SCRAM-SHA-256" + scram},
	{name: "TLS and SCRAM-SHA-512", listener: "LOGIN", section: trusting + "  sasl: {mechanism: SCRAM-SHA-512" + scram},
	{name: "TLS and OAUTHBEARER", listener: "LOGIN", section: trusting + oauth + "token_url: '${TOKENS}'}}\n"},
	{name: "PLAIN", listener: "BRIEF", section: plain},
	{name: "SCRAM-SHA-256", listener: "BRIEF", section: "  sasl: {mechanism: SCRAM-SHA-256" + scram},
	{name: "SCRAM-SHA-512", listener: "BRIEF", section: "  sasl: {mechanism: SCRAM-SHA-512" + scram},
	{name: "OAUTHBEARER", listener: "UNSIGNED", section: oauth + "token_url: '${UNSIGNED}'}}\n"},
	{name: "password of the environment", listener: "BRIEF", section: "  sasl: {mechanism: PLAIN, username: " + plainUser + ", password: '${PASSWORD}'}\n"},
	{name: "another host, by name", listener: "ELSEWHERE", section: "  tls: {enabled: true, ca_file: '${FILE:ca.crt}', server_name: kafka.elsewhere}\n"},
	{name: "expired, insecure", listener: "EXPIRED", section: "  tls: {enabled: true, insecure_skip_verify: true}\n"},

	{name: "wrong authority", listener: "TLS", section: "  tls: {enabled: true, ca_file: '${FILE:other-ca.crt}'}\n", kind: "tls",
		want: "the certificate of ADDRESS is not signed by an authority that is trusted (it names CN=Cluster CA); name the file with the authority's certificate in kafka.tls.ca_file"},
	{name: "authorities of the system", listener: "TLS", section: "  tls: {enabled: true}\n", kind: "tls",
		want: "the certificate of ADDRESS is not signed by an authority that is trusted (it names CN=Cluster CA); name the file with the authority's certificate in kafka.tls.ca_file"},
	{name: "expired", listener: "EXPIRED", section: trusting, kind: "tls",
		want: "the certificate of ADDRESS is valid from … to …, and not at present; renew it, or set the clock right"},
	{name: "another host", listener: "ELSEWHERE", section: trusting, kind: "tls",
		want: "the certificate of ADDRESS is not for the name 127.0.0.1, but for kafka.elsewhere; connect by a name that it is for, or set kafka.tls.server_name to one"},
	{name: "TLS to a port in clear", listener: "PLAINTEXT", section: trusting, kind: "tls",
		want: "ADDRESS closed the connection when TLS was begun: this port may not speak it; name the port of a listener with TLS, or switch TLS off"},
	{name: "in clear to a port with TLS", listener: "TLS", kind: "tls",
		want: "ADDRESS speaks TLS on this port, and it was spoken to in clear; set kafka.tls.enabled, or name the port of another listener"},
	{name: "no client certificate", listener: "MTLS", section: trusting, kind: "tls",
		want: "ADDRESS closed the connection after the TLS handshake: it wants a client certificate; set kafka.tls.cert_file and kafka.tls.key_file"},
	{name: "a stranger's client certificate", listener: "MTLS", section: clientCertificate("stranger"), kind: "tls",
		want: "ADDRESS closed the connection after the TLS handshake: it does not accept the client certificate …stranger.crt; have it signed by an authority that brokers trust (ssl.truststore)"},
	{name: "an old client certificate", listener: "MTLS", section: clientCertificate("old"), kind: "tls",
		want: "the client certificate …old.crt is valid from … to …, and not at present; renew it, or set the clock right"},

	{name: "no login", listener: "BRIEF", kind: "authentication",
		want: "ADDRESS closed the connection at the first request: this port may want a login; set kafka.sasl.mechanism, or name the port of another listener"},
	{name: "TLS and no login", listener: "LOGIN", section: trusting, kind: "authentication",
		want: "ADDRESS closed the connection at the first request: this port may want a login; set kafka.sasl.mechanism, or name the port of another listener"},
	{name: "login where none is wanted", listener: "TLS", section: trusting + plain, kind: "authentication",
		want: "ADDRESS takes no login on this port; name the port of a listener with SASL, or none in kafka.sasl.mechanism"},
	{name: "PLAIN, wrong password", listener: "LOGIN", section: trusting + strings.Replace(plain, "plain.secret", "wrong.secret", 1), kind: "authentication",
		want: "ADDRESS refused the login of the user " + plainUser + " by PLAIN (Authentication failed: Invalid username or password)"},
	{name: "PLAIN in clear, wrong password", listener: "BRIEF", section: strings.Replace(plain, "plain.secret", "wrong.secret", 1), kind: "authentication",
		want: "ADDRESS refused the login of the user " + plainUser + " by PLAIN (Authentication failed: Invalid username or password)"},
	{name: "SCRAM-SHA-256, wrong password", listener: "LOGIN", section: trusting + "  sasl: {mechanism: SCRAM-SHA-256" + strings.Replace(scram, "scram.secret", "wrong.secret", 1), kind: "authentication",
		want: "ADDRESS refused the login of the user " + scramUser + " by SCRAM-SHA-256 (Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256)"},
	{name: "SCRAM-SHA-512, wrong password", listener: "LOGIN", section: trusting + "  sasl: {mechanism: SCRAM-SHA-512" + strings.Replace(scram, "scram.secret", "wrong.secret", 1), kind: "authentication",
		want: "ADDRESS refused the login of the user " + scramUser + " by SCRAM-SHA-512 (Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512)"},
	{name: "SCRAM-SHA-512, unknown user", listener: "LOGIN", section: trusting + "  sasl: {mechanism: SCRAM-SHA-512" + strings.Replace(scram, scramUser, "nobody", 1), kind: "authentication",
		want: "ADDRESS refused the login of the user nobody by SCRAM-SHA-512 (Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512)"},
	{name: "mechanism that is not offered", listener: "UNSIGNED", section: "  sasl: {mechanism: SCRAM-SHA-256" + scram, kind: "authentication",
		want: "ADDRESS does not offer the mechanism SCRAM-SHA-256; choose one of its sasl.enabled.mechanisms"},

	{name: "OAUTHBEARER, wrong secret", listener: "LOGIN", section: trusting + strings.Replace(oauth, "oauth.secret", "wrong.secret", 1) + "token_url: '${TOKENS}'}}\n", kind: "authentication",
		want: "the token endpoint ${TOKENS} refused the client " + oauthClient + " (401 Unauthorized, invalid_client)"},
	{name: "token endpoint is broken", listener: "LOGIN", section: trusting + oauth + "token_url: '${BROKEN}'}}\n", kind: "authentication",
		want: "the token endpoint ${BROKEN} refused the client " + oauthClient + " (503 Service Unavailable)"},
	{name: "token endpoint is not there", listener: "LOGIN", section: trusting + oauth + "token_url: 'https://127.0.0.1:1/token'}}\n", kind: "authentication",
		want: "the token endpoint https://127.0.0.1:1/token cannot be reached (dial tcp 127.0.0.1:1: connect: connection refused)"},
	{name: "token endpoint, wrong authority", listener: "LOGIN", section: trusting + strings.Replace(oauth, "ca_file: '${FILE:ca.crt}'", "ca_file: '${FILE:other-ca.crt}'", 1) + "token_url: '${TOKENS}'}}\n", kind: "tls",
		want: "the certificate of ${TOKENHOST} is not signed by an authority that is trusted (it names CN=Cluster CA); name the file with the authority's certificate in kafka.sasl.oauth.ca_file"},
	{name: "token of another issuer", listener: "LOGIN", section: trusting + oauth + "token_url: '${ALIEN}'}}\n", kind: "authentication",
		want: `ADDRESS refused the login of the client ` + oauthClient + ` by OAUTHBEARER ({"status":"invalid_token"})`},
	{name: "signed token where none is wanted", listener: "UNSIGNED", section: oauth + "token_url: '${TOKENS}'}}\n", kind: "authentication",
		want: `ADDRESS refused the login of the client ` + oauthClient + ` by OAUTHBEARER ({"status":"invalid_token"})`},
}

func clientCertificate(name string) string {
	return "  tls: {enabled: true, ca_file: '${FILE:ca.crt}', cert_file: '${FILE:" + name + ".crt}', key_file: '${FILE:" + name + ".key}'}\n"
}

// fill replaces what stands for files and addresses.
func (w *world) fill(text, listener string) string {
	text = regexp.MustCompile(`\$\{FILE:([^}]*)\}`).ReplaceAllStringFunc(text, func(m string) string {
		return w.file(strings.TrimSuffix(strings.TrimPrefix(m, "${FILE:"), "}"))
	})
	return strings.NewReplacer("${TOKENS}", w.tokenURL, "${TOKENHOST}", strings.TrimSuffix(strings.TrimPrefix(w.tokenURL, "https://"), "/token"),
		"${UNSIGNED}", w.unsignedURL, "${ALIEN}", w.alienURL, "${BROKEN}", w.brokenURL,
		"ADDRESS", w.address[listener]).Replace(text)
}

// try runs one row: serve, diagnose and config print.
func (w *world) try(t *testing.T, r row) {
	path := w.configuration(t, r.name, r.listener, w.fill(r.section, r.listener))
	environment := []string{"PASSWORD=" + w.secrets["plain"]}
	s := serve(t, environment, "--config.file="+path)
	wanted := "ready"
	if r.want != "" {
		wanted = "not ready: no broker reachable: " + w.fill(r.want, r.listener)
	}
	// What is held back by now says so.
	pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(wanted), "…", ".*") + `(?: \(tried .*\))?\n$`)
	var said string
	s.until("/readyz says "+wanted, func() bool {
		_, said = s.get("/readyz")
		return pattern.MatchString(said)
	})
	if r.want == "" {
		s.until("topic orders is seen", func() bool { return s.sample(seen) == "0" })
	} else {
		series := `lso_exporter_errors_total{kind="` + r.kind + `"}`
		s.until("it counts as "+r.kind, func() bool { return s.sample(series) != "" && s.sample(series) != "0" })
	}
	w.keep(r.name+": pages", s.pages())

	status, report := run(t, environment, "diagnose", "--config.file="+path, "--wait=0s")
	w.keep(r.name+": diagnose", report)
	if r.want == "" && status != 0 || r.want != "" && (status != 2 || !strings.Contains(unwrapped(report), "no broker answered")) {
		t.Errorf("diagnose: status %d\n%s", status, report)
	}
	status, printed := run(t, environment, "config", "print", "--config.file="+path)
	w.keep(r.name+": config print", printed)
	if status != 0 {
		t.Errorf("config print: status %d\n%s", status, printed)
	}
	t.Cleanup(func() { w.keep(r.name+": log", s.log.String()) })
}

// unwrapped is a text without its line breaks.
func unwrapped(text string) string { return strings.Join(strings.Fields(text), " ") }

func (w *world) tryAll(t *testing.T) {
	t.Run("rows", func(t *testing.T) {
		for _, r := range rows {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				w.try(t, r)
			})
		}
	})
	t.Run("passwords in addresses", w.misplace)
	t.Run("secrets", w.search)
	t.Run("answers", w.answers)
}

func TestOnSimulator(t *testing.T) { onSimulator(t).tryAll(t) }

func TestOnKafka(t *testing.T) { onKafka(t).tryAll(t) }
