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
