package property

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

func parseNumber(t Type, value string) (float64, error) {
	if t == Double {
		return strconv.ParseFloat(value, 64)
	}
	bits := map[Type]int{Short: 16, Int: 32, Long: 64}[t]
	n, err := strconv.ParseInt(value, 10, bits)
	return float64(n), err
}

// bound is the end of a range, without an exponent.
func bound(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// javaDouble is a number as Java's Double.toString has it.
func javaDouble(v float64) string {
	if a := math.Abs(v); a == 0 || a >= 1e-3 && a < 1e7 {
		s := bound(v)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(v, 'E', -1, 64), "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	n, _ := strconv.Atoi(exponent) // 'E' always has one
	return mantissa + "E" + strconv.Itoa(n)
}

// elementsOf is a list as ConfigDef.Type.LIST parses it: empty elements stay.
func elementsOf(text string) []string {
	if text == "" {
		return nil
	}
	elements := strings.Split(text, ",")
	for i := range elements {
		elements[i] = strings.TrimSpace(elements[i])
	}
	return elements
}

// split is a list's elements, without empty ones.
func split(s string) []string {
	return slices.DeleteFunc(elementsOf(s), func(e string) bool { return e == "" })
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
