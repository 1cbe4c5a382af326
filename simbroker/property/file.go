package property

import (
	"fmt"
	"io"
)

// Setting is a property as it stands in a file or on a command line.
type Setting struct {
	Name  string
	Value string
	// File and Line say where it stands; Line is 0 outside files.
	File string
	Line int
}

// SettingError says what is wrong with a Setting and what would be right.
type SettingError struct {
	Setting Setting
	Reason  string // what is wrong
	Remedy  string // what would be right
}

// Error is one line: file, line, name, value, what is wrong, what would be right.
func (e *SettingError) Error() string {
	return fmt.Sprintf("%s:%d: %s=%s: %s: %s", e.Setting.File, e.Setting.Line, e.Setting.Name, e.Setting.Value, e.Reason, e.Remedy)
}

// ReadFile reads a server.properties file: Java's syntax for properties, with
// comments, escapes and continued lines. A property that is set twice has its
// last value, as in Java.
func ReadFile(name string) ([]Setting, error) { return nil, nil }

// Parse reads what ReadFile reads from r; name is the file's in messages.
func Parse(name string, r io.Reader) ([]Setting, error) { return nil, nil }

// ParseAssignment reads NAME=VALUE as given on a command line.
func ParseAssignment(s string) (Setting, error) { return Setting{}, nil }

// Check says whether a broker would start with this setting: the value must
// parse as the property's type and lie within its bounds. Unknown properties
// pass. The error is a *SettingError.
func Check(s Setting) error { return nil }

// Collect checks settings and gathers them, later ones winning.
func Collect(settings ...Setting) (Values, error) { return nil, nil }
