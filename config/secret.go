package config

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// A Secret is a text that must not be shown: a password, a token, a private key.
// It is held in the configuration itself or in a file, and whatever prints a
// Secret (fmt, encoding/json, yaml, a log) prints "<secret>". The zero value
// is a secret that was not given.
type Secret struct {
	// at is a pointer so that a Secret inside a field that fmt may not look
	// into is shown as an address.
	at *secretAt
}

type secretAt struct {
	file string // where the secret stands; empty if text is the secret
	text string
}

// NewSecret returns a secret that is text itself.
func NewSecret(text string) Secret { return Secret{&secretAt{text: text}} }

// SecretFile returns a secret that stands in a file.
func SecretFile(name string) Secret { return Secret{&secretAt{file: name}} }

// IsSet says whether a secret was given.
func (s Secret) IsSet() bool { return s.at != nil }

// File is the file in which the secret stands; empty if it stands in none.
func (s Secret) File() string {
	if s.at == nil {
		return ""
	}
	return s.at.file
}

// Value is the secret at present: a file is read each time, as its content may
// have been replaced. Line breaks at the end of a file do not count. The value
// of a secret that was not given is empty. An error is worded as fault and
// remedy, and does not hold the secret.
func (s Secret) Value() (string, error) {
	switch {
	case s.at == nil:
		return "", nil
	case s.at.file == "":
		return s.at.text, nil
	}
	content, err := readAtMost(s.at.file, maxFileSize)
	if err != nil {
		// The path is in the value already.
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return "", fmt.Errorf("names a file that cannot be read (%w); name one that this user may read", err)
	}
	text := strings.TrimRight(string(content), "\r\n")
	if text == "" {
		return "", errors.New("names a file that is empty; put the secret into it")
	}
	return text, nil
}

// shownSecret is what is shown in the place of a secret.
const shownSecret = "<secret>"

// String is "<secret>", or empty if none was given.
func (s Secret) String() string {
	if s.at == nil {
		return ""
	}
	return shownSecret
}

// GoString is for the verb %#v of fmt.
func (s Secret) GoString() string { return fmt.Sprintf("config.Secret(%q)", s.String()) }

// MarshalText implements encoding.TextMarshaler, and by it what encoding/json
// and yaml show.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// secretFilePrefix begins the value of a secret that stands in a file.
const secretFilePrefix = "file:"

var secretKind = kind{name: "secret", tag: "!!str", secret: true}

// secret declares a secret: literal, or by reference to a file. A reference to
// an environment variable has been replaced before.
func secret(key, flag, help string, field func(*Config) *Secret) setting {
	return setting{
		key: key, flag: flag, help: help, kind: secretKind,
		set: func(c *Config, texts []string) error {
			name, inFile := strings.CutPrefix(texts[0], secretFilePrefix)
			switch {
			case texts[0] == "":
				*field(c) = Secret{}
			case texts[0] == shownSecret:
				return errors.New("stands for a secret that was not shown; write a reference such as ${NAME} or file:/path")
			case inFile && name == "":
				return errors.New("names no file; write such as file:/run/secrets/password")
			case inFile:
				*field(c) = SecretFile(name)
			default:
				*field(c) = NewSecret(texts[0])
			}
			return nil
		},
		get: func(c *Config) []string {
			s := field(c)
			if s.File() != "" {
				return []string{secretFilePrefix + s.File()}
			}
			return []string{s.String()}
		},
		verify: func(c *Config) error {
			_, err := field(c).Value()
			return err
		},
		files: func(c *Config) []string {
			if name := field(c).File(); name != "" {
				return []string{name}
			}
			return nil
		},
	}
}

// secretReference matches values of a secret that only say where it stands.
var secretReference = regexp.MustCompile(`^(?:file:.*|\$\{[A-Za-z_][A-Za-z0-9_]*\})?$`)

// maskSecret is the value of a secret as it may be shown: references as they
// are.
func maskSecret(text string) string {
	if secretReference.MatchString(text) {
		return text
	}
	return shownSecret
}

// sensitive matches keys, variables and flags that may be meant for a secret,
// also those that do not exist.
var sensitive = regexp.MustCompile(`(?i)pas+w|pass|pwd|secret|token|credential|private|sasl|key`)

// isSensitive says whether what stands at a key must not be shown.
func isSensitive(key string) bool {
	for _, s := range settings {
		if s.key == key {
			return s.kind.secret
		}
	}
	return sensitive.MatchString(key)
}

// Shown is a value as it may be shown beside a key that is not known.
func Shown(key, value string) string {
	if sensitive.MatchString(key) {
		return maskSecret(value)
	}
	return maskUser(value) // it may be meant for an address
}

// beforeAt matches what an address or a URL has before its last @, or a list of
// them: a user, and perhaps a password, which may have any character in it.
var beforeAt = regexp.MustCompile(`(?s)^(\[?(?:[A-Za-z][A-Za-z0-9+.-]*://)?).*@`)

// maskUser is an address, a URL or a list of them as it may be shown.
func maskUser(text string) string { return beforeAt.ReplaceAllString(text, "${1}"+shownSecret+"@") }

// lineUser matches what a line has between its key and its last @.
var lineUser = regexp.MustCompile(`^(\s*(?:- +)?(?:[\w.-]+: +)?["'\[]*(?:[A-Za-z][A-Za-z0-9+.-]*://)?).*@`)

// maskLine is the last of some lines of a file that is not YAML, as it may be
// shown. A line without a key of its own may go on with what stands above it.
func maskLine(lines []string) string {
	last := lineUser.ReplaceAllString(strings.TrimSpace(lines[len(lines)-1]), "${1}"+shownSecret+"@")
	for i := len(lines) - 1; i >= 0; i-- {
		key, _, isKey := strings.Cut(lines[i], ":")
		switch {
		case sensitive.MatchString(lines[i]) && isKey && i == len(lines)-1:
			return strings.TrimSpace(key) + ": " + shownSecret
		case sensitive.MatchString(lines[i]):
			return shownSecret
		case isKey:
			return last
		}
	}
	return last
}

// maskNode is the value of node as a Problem may name it, if it stands at key.
func maskNode(key string, node *yaml.Node) string {
	if isSensitive(key) {
		if node.Kind == yaml.ScalarNode {
			return maskSecret(node.Value)
		}
		return shownSecret
	}
	for _, s := range settings {
		if s.key == key {
			return s.shown(show(node))
		}
	}
	return maskUser(show(node))
}
