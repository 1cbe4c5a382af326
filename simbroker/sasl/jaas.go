package sasl

import (
	"errors"
	"fmt"
	"strings"
)

// The login modules that a JAAS line of a mechanism must name.
const (
	plainModule = "org.apache.kafka.common.security.plain.PlainLoginModule"
	scramModule = "org.apache.kafka.common.security.scram.ScramLoginModule"
	oauthModule = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
)

// Module is the login module that a JAAS line of the mechanism names.
func (m Mechanism) Module() string {
	switch m {
	case Plain:
		return plainModule
	case OAuthBearer:
		return oauthModule
	}
	return scramModule
}

// ErrJAAS is wrapped by what ParseJAAS returns.
var ErrJAAS = errors.New("expected MODULE required NAME=\"VALUE\" … ;")

// ParseJAAS reads the value of sasl.jaas.config for a mechanism: one login
// module with its options. The error says what is wrong with the line, and
// nothing of its values.
func ParseJAAS(m Mechanism, line string) (options map[string]string, err error) {
	words, err := jaasWords(line)
	if err != nil {
		return nil, err
	}
	fail := func(format string, args ...any) (map[string]string, error) {
		return nil, fmt.Errorf("JAAS configuration: %s: %w", fmt.Sprintf(format, args...), ErrJAAS)
	}
	if len(words) == 0 || words[len(words)-1].text != ";" || words[len(words)-1].quoted {
		return fail("not terminated by a semicolon")
	}
	words = words[:len(words)-1]
	if len(words) == 0 || words[0].text != m.Module() {
		return fail("the login module of %s is %s", m, m.Module())
	}
	if len(words) == 1 || !isControlFlag(words[1].text) {
		return fail("no control flag (required) after the login module")
	}
	options = make(map[string]string)
	for i := 2; i < len(words); i += 3 {
		if i+2 >= len(words) || words[i+1].text != "=" || words[i+1].quoted {
			return fail("option %d has no name or no value", (i-2)/3+1)
		}
		options[words[i].text] = words[i+2].text
	}
	return options, nil
}

// Passwords are those of PLAIN's users, from options such as user_alice="secret".
func Passwords(options map[string]string) map[string]string {
	passwords := make(map[string]string)
	for name, value := range options {
		if user, ok := strings.CutPrefix(name, "user_"); ok {
			passwords[user] = value
		}
	}
	return passwords
}

func isControlFlag(word string) bool {
	switch strings.ToLower(word) {
	case "required", "requisite", "sufficient", "optional":
		return true
	}
	return false
}

type jaasWord struct {
	text   string
	quoted bool
}

// jaasWords splits a line into words, quoted texts, = and ;.
func jaasWords(line string) ([]jaasWord, error) {
	var words []jaasWord
	for i := 0; i < len(line); {
		switch c := line[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '=' || c == ';':
			words = append(words, jaasWord{text: string(c)})
			i++
		case c == '"':
			end := strings.IndexByte(line[i+1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("JAAS configuration: a quote is not closed: %w", ErrJAAS)
			}
			words = append(words, jaasWord{text: line[i+1 : i+1+end], quoted: true})
			i += end + 2
		default:
			end := strings.IndexAny(line[i:], " \t\r\n=;\"")
			if end < 0 {
				end = len(line) - i
			}
			words = append(words, jaasWord{text: line[i : i+end]})
			i += end
		}
	}
	return words, nil
}
