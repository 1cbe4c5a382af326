package property

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Setting is a property as it stands in a file or on a command line.
type Setting struct {
	Name  string
	Value string
	// File and Line say where it stands; File is empty outside files.
	File string
	Line int
}

// SettingError says what is wrong with a Setting and what would be right.
type SettingError struct {
	Setting Setting
	Reason  string // what is wrong
	Remedy  string // what would be right
}

// Error is one line: file and line if it stands in a file, name, value, what is
// wrong, what would be right.
func (e *SettingError) Error() string {
	at := ""
	if e.Setting.File != "" {
		at = fmt.Sprintf("%s:%d: ", e.Setting.File, e.Setting.Line)
	}
	return fmt.Sprintf("%s%s=%s: %s; expected %s", at, e.Setting.Name, e.Setting.Value, e.Reason, e.Remedy)
}

// ReadFile reads a server.properties file.
func ReadFile(name string) ([]Setting, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read broker properties: %w", err)
	}
	defer f.Close()
	return Parse(name, f)
}

// Parse reads properties in the syntax of java.util.Properties: comments after
// # or !, names ended by =, : or space, escapes, and lines continued by a
// backslash, in ISO 8859-1. A name that comes twice stands twice in the result.
// The name of the file is for messages.
func Parse(file string, r io.Reader) ([]Setting, error) {
	var settings []Setting
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimLeft(latin1(lines.Bytes()), " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		first := n
		for continued(line) {
			line = line[:len(line)-1]
			if !lines.Scan() {
				break
			}
			n++
			line += strings.TrimLeft(latin1(lines.Bytes()), " \t\f")
		}
		s, err := parseLine(line)
		if err != nil {
			return nil, &SettingError{Setting: Setting{Name: s.Name, Value: s.Value, File: file, Line: first}, Reason: err.Error(), Remedy: `four hexadecimal digits after \u`}
		}
		s.File, s.Line = file, first
		settings = append(settings, s)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read broker properties file=%s: %w", file, err)
	}
	return settings, nil
}

// ParseAssignment reads NAME=VALUE as given on a command line.
func ParseAssignment(s string) (Setting, error) {
	name, value, ok := strings.Cut(s, "=")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return Setting{}, &SettingError{Setting: Setting{Name: name, Value: value}, Reason: fmt.Sprintf("%q is no assignment", s), Remedy: "NAME=VALUE"}
	}
	return Setting{Name: name, Value: strings.TrimSpace(value)}, nil
}

// Collect checks settings as a broker does when it starts, each by itself and
// all together, and gathers them, later ones winning. The error is a
// *SettingError.
func Collect(settings ...Setting) (Values, error) {
	values := make(Values, len(settings))
	for _, s := range settings {
		var bad *ValueError
		if err := CheckValue(Broker, s.Name, s.Value); errors.As(err, &bad) {
			return nil, &SettingError{Setting: s, Reason: bad.Reason, Remedy: bad.Remedy}
		}
		values[s.Name] = strings.TrimSpace(s.Value)
	}
	var bad *ValueError
	if err := NewConfig(values).Check(); errors.As(err, &bad) {
		wrong := Setting{Name: bad.Name, Value: bad.Value}
		for _, s := range settings {
			if s.Name == bad.Name {
				wrong = s
			}
		}
		return nil, &SettingError{Setting: wrong, Reason: bad.Reason, Remedy: bad.Remedy}
	}
	return values, nil
}

// continued says whether a line ends in an odd number of backslashes.
func continued(line string) bool {
	return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1
}

// parseLine splits a logical line into name and value.
func parseLine(line string) (Setting, error) {
	end := strings.IndexFunc(line, nameEnder())
	if end < 0 {
		end = len(line)
	}
	rest := strings.TrimLeft(line[end:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	s := Setting{Name: line[:end], Value: rest}
	name, err := unescape(s.Name)
	if err != nil {
		return s, err
	}
	value, err := unescape(s.Value)
	if err != nil {
		return s, err
	}
	return Setting{Name: name, Value: value}, nil
}

// nameEnder finds the first =, : or space that is not escaped.
func nameEnder() func(rune) bool {
	escaped := false
	return func(r rune) bool {
		if escaped {
			escaped = false
			return false
		}
		escaped = r == '\\'
		return strings.ContainsRune("=: \t\f", r)
	}
}

func unescape(s string) (string, error) {
	if !strings.Contains(s, `\`) {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		if i++; i == len(s) {
			break
		}
		switch s[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			if i+4 >= len(s) {
				return "", errors.New(`malformed \uxxxx encoding`)
			}
			r, err := strconv.ParseUint(s[i+1:i+5], 16, 16)
			if err != nil {
				return "", errors.New(`malformed \uxxxx encoding`)
			}
			b.WriteRune(rune(r))
			i += 4
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// latin1 decodes ISO 8859-1, in which Java reads properties.
func latin1(line []byte) string {
	runes := make([]rune, len(line))
	for i, c := range line {
		runes[i] = rune(c)
	}
	return strings.TrimSuffix(string(runes), "\r")
}
