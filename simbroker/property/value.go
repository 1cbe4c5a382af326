package property

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ValueError says what is wrong with a property's value and what would be
// right.
type ValueError struct {
	Name   string
	Value  string
	Reason string // what is wrong, in the words of Kafka's ConfigException
	Remedy string // what would be right
}

// Error is worded as Kafka's ConfigException.
func (e *ValueError) Error() string {
	return fmt.Sprintf("Invalid value %s for configuration %s: %s", e.Value, e.Name, e.Reason)
}

// CheckValue says whether a value is legal for a property of a resource: it
// must parse as the property's type and lie within its bounds. A property that
// Kafka does not know passes. The error is a *ValueError.
func CheckValue(r Resource, name, value string) error {
	d, ok := Lookup(r, name)
	if !ok {
		return nil
	}
	bad := func(reason, remedy string) error {
		return &ValueError{Name: name, Value: value, Reason: reason, Remedy: remedy}
	}
	value = strings.TrimSpace(value)
	switch d.Type {
	case Boolean:
		if !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
			return bad("Expected value to be either true or false", "true or false")
		}
	case Int, Short, Long, Double:
		v, err := parseNumber(d.Type, value)
		if err != nil {
			return bad("Not a number of type "+strings.ToUpper(d.Type.String()), number(d))
		}
		if !d.Range.contains(v) {
			return bad("Value must be "+d.Range.String(), number(d))
		}
	}
	return checkWords(d, value, bad)
}

func checkWords(d *Definition, value string, bad func(reason, remedy string) error) error {
	if len(d.Values) == 0 {
		return nil
	}
	words, remedy := []string{value}, "one of "+strings.Join(d.Values, ", ")
	if d.Type == List {
		words, remedy = split(value), "some of "+strings.Join(d.Values, ", ")+", with commas between"
	}
	for _, w := range words {
		if !slices.Contains(d.Values, w) {
			return bad("String must be one of: "+strings.Join(d.Values, ", "), remedy)
		}
	}
	return nil
}

// number says what number a property wants.
func number(d *Definition) string {
	if !d.Range.bounded {
		return "a number of type " + d.Type.String()
	}
	return "a number of type " + d.Type.String() + ", " + d.Range.String()
}

func parseNumber(t Type, value string) (float64, error) {
	if t == Double {
		return strconv.ParseFloat(value, 64)
	}
	bits := map[Type]int{Short: 16, Int: 32, Long: 64}[t]
	n, err := strconv.ParseInt(value, 10, bits)
	return float64(n), err
}

// split is a list's elements, as ConfigDef.Type.LIST parses them.
func split(s string) []string {
	var words []string
	for w := range strings.SplitSeq(s, ",") {
		if w = strings.TrimSpace(w); w != "" {
			words = append(words, w)
		}
	}
	return words
}

// milliseconds converts the value of a property that a duration in
// milliseconds falls back to (log.retention.hours for retention.ms).
func milliseconds(name, value string) string {
	unit := int64(1)
	switch {
	case strings.HasSuffix(name, ".hours"):
		unit = 3_600_000
	case strings.HasSuffix(name, ".minutes"):
		unit = 60_000
	default:
		return value
	}
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	if err != nil || n < 0 {
		return "-1"
	}
	return strconv.FormatInt(n*unit, 10)
}
