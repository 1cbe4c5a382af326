package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// hidden is a secret that no output may hold.
const hidden = "hunter2 correct horse"

// withSecret declares the setting store.login.password for one test.
func withSecret(t *testing.T) *Secret {
	t.Helper()
	var value Secret
	declared, declaredSections := settings, sections
	t.Cleanup(func() { settings, sections = declared, declaredSections })
	sections = append(slices.Clone(sections), section{"store", "A store."}, section{"store.login", "A login."})
	settings = append(slices.Clone(settings),
		secret("store.login.password", "store.login.password", "A password.", func(*Config) *Secret { return &value }))
	return &value
}

func TestSecretIsNotShown(t *testing.T) {
	s := NewSecret(hidden)
	type holder struct {
		Public  Secret
		private Secret
	}
	h := holder{s, s}
	asJSON, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(map[string]Secret{"password": s})
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{
		s.String(), fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %q %s %x", s, s, s, s, s, s), fmt.Sprintf("%v %+v %#v", h, &h, h),
		string(asJSON), string(asYAML),
	} {
		if strings.Contains(shown, hidden) || strings.Contains(shown, fmt.Sprintf("%x", hidden)) {
			t.Errorf("shown as %s", shown)
		}
	}
	if s.String() != "<secret>" || (Secret{}).String() != "" {
		t.Errorf("%q and %q", s, Secret{})
	}
	if v, err := s.Value(); v != hidden || err != nil || !s.IsSet() || (Secret{}).IsSet() {
		t.Errorf("%q, %v", v, err)
	}
}

// A secret in a file is read whenever it is asked for.
func TestSecretFile(t *testing.T) {
	t.Chdir(t.TempDir())
	s := SecretFile("password")
	for _, step := range []struct{ content, value, fault string }{
		{"one\n", "one", ""},
		{" two \r\n\n", " two ", ""},
		{"\n", "", "names a file that is empty; put the secret into it"},
	} {
		if err := os.WriteFile("password", []byte(step.content), 0o600); err != nil {
			t.Fatal(err)
		}
		value, err := s.Value()
		if value != step.value || (err == nil) != (step.fault == "") || err != nil && err.Error() != step.fault {
			t.Errorf("%q gives %q, %v", step.content, value, err)
		}
	}
	if err := os.Remove("password"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Value(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}
}

func TestSecretSources(t *testing.T) {
	value := withSecret(t)
	file := inFile(t, "")
	if err := os.WriteFile("password", []byte(hidden+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const key = "store: {login: {password: "
	tests := []struct {
		name, file string
		env, args  []string
		printed    string
	}{
		{"literal", key + `"` + hidden + `"}}`, nil, nil, `"<secret>"`},
		{"variable", key + `"${PW}"}}`, []string{"PW=" + hidden}, nil, `"${PW}"`},
		{"part of it from a variable", key + `"hunter2${PW}"}}`, []string{"PW= correct horse"}, nil, `"<secret>"`},
		{"file", key + "file:password}}", nil, nil, `"file:password"`},
		{"file, named by a variable", key + `"file:${PW}"}}`, []string{"PW=password"}, nil, `"file:${PW}"`},
		{"environment", "", []string{"LSO_EXPORTER_STORE_LOGIN_PASSWORD=" + hidden}, nil, `"<secret>"`},
		{"environment, file", "", []string{"LSO_EXPORTER_STORE_LOGIN_PASSWORD=file:password"}, nil, `"file:password"`},
		{"flag", "", nil, []string{"--store.login.password=file:password"}, `"file:password"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := os.WriteFile(file, []byte(brokers+test.file+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			loaded, err := Load(Sources{File: file, Environment: test.env, Flags: parsed(t, test.args...)})
			if err != nil {
				t.Fatal(err)
			}
			c, err := loaded.Validated()
			if err != nil {
				t.Fatal(err)
			}
			if got, err := value.Value(); got != hidden || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
			var printed strings.Builder
			if err := loaded.Print(&printed); err != nil {
				t.Fatal(err)
			}
			if want := "\nstore:\n  # A login.\n  login:\n    # A password.\n"; !strings.Contains(printed.String(), want) {
				t.Errorf("printed without %q", want)
			}
			if want := "    password: " + test.printed + "\n"; !strings.HasSuffix(printed.String(), want) {
				t.Errorf("printed as %q, want %q", printed.String()[strings.LastIndex(printed.String(), "\n    "):], want)
			}
			// A short secret could be guessed from a digest of it.
			before := c.Fingerprint()
			if *value = NewSecret("another"); test.printed == `"<secret>"` && c.Fingerprint() != before {
				t.Error("the fingerprint depends on the secret")
			}
		})
	}
}

// No mistake shows a secret, and none is made of what was meant for one.
func TestSecretProblems(t *testing.T) {
	withSecret(t)
	const login = brokers + "store:\n  login:\n    "
	tests := []struct {
		name, file string
		env, args  []string
		want       string
	}{
		{"a number", login + "password: 4711\n", nil, nil,
			`exporter.yml:4: store.login.password = "<secret>" is read as int by YAML, not as text; put it in quotes`},
		{"a list", login + "password: [hunter2]\n", nil, nil,
			`exporter.yml:4: store.login.password = "<secret>" is a list where a secret belongs; write one value`},
		{"twice", login + "password: a\n    password: hunter2\n", nil, nil,
			`exporter.yml:5: store.login.password = "<secret>" stands in line 4 already; remove one of the two`},
		{"an unknown key", login + "pasword: hunter2\n    api_token: hunter2\n", nil, nil,
			`exporter.yml:4: store.login.pasword = "<secret>" is an unknown key; remove it; did you mean store.login.password?
exporter.yml:5: store.login.api_token = "<secret>" is an unknown key; remove it`},
		{"an unknown section", brokers + "stor:\n  login: {password: hunter2, user: alice}\n", nil, nil,
			`exporter.yml:2: stor = "{login: {password: <secret>, user: alice}}" is an unknown key; remove it; did you mean store?`},
		{"no YAML", login + "password: \"hunter2\": 5\n", nil, nil,
			`exporter.yml:4: "password: <secret>" is not YAML (mapping values are not allowed in this context); mend indentation and quotes here or in the line before`},
		{"a broken reference", login + "password: hunter2${hunter\n", nil, nil,
			`exporter.yml:4: store.login.password = "<secret>" has a ${ that is no reference to a variable that is set; write ${NAME} for one, or $${ for the characters themselves`},
		{"a variable that is not set", login + "password: ${PW}\n", nil, nil,
			`exporter.yml:4: store.login.password = "${PW}" refers to the environment variable PW, which is not set; set it, or write the value`},
		{"a variable with what looks like a file", login + "password: ${PW}\n", []string{"PW=file:hunter2"}, nil,
			`exporter.yml:4: store.login.password = "${PW}" refers to a text that begins with file:, which would be taken for a file's name; write file: before the reference, or put the secret into a file`},
		{"a missing file", login + "password: file:missing\n", nil, nil,
			`exporter.yml:4: store.login.password = "file:missing" names a file that cannot be read (no such file or directory); name one that this user may read`},
		{"no file", login + "password: 'file:'\n", nil, nil,
			`exporter.yml:4: store.login.password = "file:" names no file; write such as file:/run/secrets/password`},
		{"what config print shows", login + "password: <secret>\n", nil, nil,
			`exporter.yml:4: store.login.password = "<secret>" stands for a secret that was not shown; write a reference such as ${NAME} or file:/path`},
		{"a flag", brokers, nil, []string{"--store.login.password=hunter2"},
			`command line: --store.login.password = "<secret>" stands where every user of this machine can read it; write the file that holds it, such as file:/run/secrets/password, or set LSO_EXPORTER_STORE_LOGIN_PASSWORD`},
		{"an unknown variable", brokers, []string{"LSO_EXPORTER_STORE_PASSWORD=hunter2"}, nil,
			`environment: LSO_EXPORTER_STORE_PASSWORD = "<secret>" is an unknown variable; remove it`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := loadAndValidate(Sources{File: inFile(t, test.file), Environment: test.env, Flags: parsed(t, test.args...)})
			if err == nil || err.Error() != test.want {
				t.Errorf("got\n%v\nwant\n%s", err, test.want)
			}
		})
	}
}

// No mistake shows what stands before the @ of an address or a URL: there may be
// a password.
func TestUsersInAddresses(t *testing.T) {
	const (
		hushed = "hush"
		user   = " has an @, as a user has before a host; write host:port alone"
		inURL  = " has a user in it; remove it, and set kafka.sasl.oauth.client_id and kafka.sasl.oauth.client_secret"
		noURL  = " is no URL with http or https; write such as https://sso.example/oauth2/token"
	)
	token := func(url string) string { return "kafka:\n  sasl:\n    oauth:\n      token_url: '" + url + "'\n" }
	tests := []struct {
		name, file string
		env, args  []string
		want       string
	}{
		{"token URL", token("https://u:hush@sso/t"), nil, nil,
			`exporter.yml:4: kafka.sasl.oauth.token_url = "https://<secret>@sso/t"` + inURL},
		{"a password with what ends a host", token("https://u:hush/@hush@sso/t"), nil, nil,
			`exporter.yml:4: kafka.sasl.oauth.token_url = "https://<secret>@sso/t"` + noURL},
		{"a password longer than what is shown", token("https://u:" + strings.Repeat("hush", 40) + "@sso/t"), nil, nil,
			`exporter.yml:4: kafka.sasl.oauth.token_url = "https://<secret>@sso/t"` + inURL},
		{"token URL in a flag", "", nil, []string{"--kafka.sasl.oauth.token-url=ftp://u:hush@sso/t"},
			`command line: --kafka.sasl.oauth.token-url = "ftp://<secret>@sso/t"` + noURL},
		{"token URL in the environment", "", []string{"LSO_EXPORTER_KAFKA_SASL_OAUTH_TOKEN_URL=u:hush@sso/t"}, nil,
			`environment: LSO_EXPORTER_KAFKA_SASL_OAUTH_TOKEN_URL = "<secret>@sso/t"` + noURL},
		{"broker in a flag", "", nil, []string{"--kafka.brokers=sasl://u:hush@h:9"},
			`command line: --kafka.brokers = "sasl://<secret>@h:9"` + user},
		{"broker without a scheme", "kafka: {brokers: ['a:1', 'u:hush@h:9']}\n", nil, nil,
			`exporter.yml:1: kafka.brokers = "[<secret>@h:9]"` + user},
		{"a password with a comma", "", []string{"LSO_EXPORTER_KAFKA_BROKERS=sasl://u:hush,hush@h:9"}, nil,
			`environment: LSO_EXPORTER_KAFKA_BROKERS = "sasl://<secret>@h:9"` + user},
		{"listen address", "", nil, []string{"--web.health-listen-address=u:hush@h:9"},
			`command line: --web.health-listen-address = "<secret>@h:9"` + user},
		{"runbooks", "alerts: {runbooks: 'https://u:hush@wiki'}\n", nil, nil,
			`exporter.yml:1: alerts.runbooks = "https://<secret>@wiki" does not end with a slash; write such as https://wiki.example/runbooks/`},
		{"a section", "kafka: {brokers: {a: 'u:hush@h:9'}}\n", nil, nil,
			`exporter.yml:1: kafka.brokers = "<secret>@h:9}" is a section where a list of addresses belongs; write the value on the key's own line`},
		{"an unknown key", "kafka: {broker: 'u:hush@h:9'}\n", nil, nil,
			`exporter.yml:1: kafka.broker = "<secret>@h:9" is an unknown key; remove it; did you mean kafka.brokers?`},
		{"an unknown section", "kafak: {brokers: ['sasl://u:hush@h:9']}\n", nil, nil,
			`exporter.yml:1: kafak = "<secret>@h:9]}" is an unknown key; remove it; did you mean kafka?`},
		{"an unknown variable", "", []string{"LSO_EXPORTER_KAFKA_BROKER=sasl://u:hush@h:9"}, nil,
			`environment: LSO_EXPORTER_KAFKA_BROKER = "sasl://<secret>@h:9" is an unknown variable; remove it; did you mean LSO_EXPORTER_KAFKA_BROKERS?`},
		{"no YAML", "kafka:\n  brokers: [sasl://u:hush@h:9\n", nil, nil, ""},
		{"a second document", brokers + "---\nsasl://u:hush@h:9\n", nil, nil,
			`exporter.yml:3: "sasl://<secret>@h:9" is in a second document; keep one, without a line of three dashes after it`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := loadAndValidate(Sources{File: inFile(t, test.file), Environment: test.env, Flags: parsed(t, test.args...)})
			if err == nil || strings.Contains(err.Error(), hushed) || test.want != "" && !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("got\n%v\nwant\n%s", err, test.want)
			}
		})
	}
}
