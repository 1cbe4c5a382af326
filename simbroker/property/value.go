package property

import (
	"fmt"
	"slices"
	"strings"
)

// CheckValue says whether a value is legal for a property of a resource: it
// must parse as the property's type and lie within its bounds. A property that
// Kafka does not know passes. What a value must be beside others is for the
// checks of Config. The error is a *ValueError.
func CheckValue(r Resource, name, value string) error {
	d, ok := Lookup(r, name)
	if !ok {
		return nil
	}
	if bad := d.checkType(value); bad != nil {
		return bad
	}
	if d.check != nil {
		if bad := d.check(d, strings.TrimSpace(value)); bad != nil {
			return bad
		}
	}
	return nil
}

func (d *Definition) checkType(value string) *ValueError {
	text := strings.TrimSpace(value)
	switch d.Type {
	case Boolean:
		if !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
			return d.bad(value, "Expected value to be either true or false", "true or false")
		}
	case Int, Short, Long, Double:
		return d.checkNumber(value, text)
	case List:
		return d.checkList(text)
	}
	if len(d.Values) > 0 && !slices.ContainsFunc(d.Values, func(word string) bool { return word == text || d.anyCase && strings.EqualFold(word, text) }) {
		return d.bad(text, d.oneOf(), "one of "+strings.Join(d.Values, ", "))
	}
	return nil
}

// oneOf is Kafka's reason against a word that is none of the legal ones.
func (d *Definition) oneOf() string {
	how := ""
	if d.anyCase {
		how = " (case insensitive)"
	}
	return "String must be one of" + how + ": " + strings.Join(d.Values, ", ")
}

func (d *Definition) checkNumber(value, text string) *ValueError {
	v, err := parseNumber(d.Type, text)
	if err != nil {
		return d.bad(value, "Not a number of type "+strings.ToUpper(d.Type.String()), d.number())
	}
	if d.Type == Double {
		text = javaDouble(v)
	}
	switch {
	case !d.Range.bounded:
	case v < d.Range.Low:
		return d.bad(text, "Value must be at least "+bound(d.Range.Low), d.number())
	case v > d.Range.High:
		return d.bad(text, "Value must be no more than "+bound(d.Range.High), d.number())
	}
	return nil
}

func (d *Definition) checkList(text string) *ValueError {
	elements := elementsOf(text)
	if len(elements) == 0 && d.notEmpty {
		legal := "any non-empty value"
		if len(d.Values) > 0 {
			legal = "[" + strings.Join(d.Values, ", ") + "]"
		}
		return d.refuse(text, fmt.Sprintf("Configuration '%s' must not be empty. Valid values include: %s", d.Name, legal), "one at least")
	}
	for _, e := range elements {
		switch {
		case e == "" && !d.emptyElements:
			return d.refuse(text, fmt.Sprintf("Configuration '%s' values must not be empty.", d.Name), "a value before and after each comma")
		case len(d.Values) > 0 && !slices.Contains(d.Values, e):
			return d.bad(e, d.oneOf(), "some of "+strings.Join(d.Values, ", ")+", with commas between")
		}
	}
	return nil
}

// number says what number a property wants.
func (d *Definition) number() string {
	kind := map[Type]string{Short: "a whole number of 16 bits", Int: "a whole number of 32 bits", Long: "a whole number of 64 bits", Double: "a number such as 0.5"}[d.Type]
	if !d.Range.bounded {
		return kind
	}
	return kind + ", " + d.Range.String()
}
