package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Problem is one mistake in the configuration.
type Problem struct {
	// Source is where the value comes from: the file's name, "environment" or
	// "command line"; "configuration" where something is missing altogether.
	Source string
	// Line is the line in the file, from 1; 0 outside a file.
	Line int
	// Key names the setting the way Source does: a key of the file, a variable
	// or a flag. Empty where the problem is with the file as a whole.
	Key string
	// Value is what was found there, empty where there is none.
	Value string
	// Fault says what is wrong and, after a semicolon, how to mend it.
	Fault string
}

// Error is the problem on one line, however odd the value.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.Source)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	if p.Key != "" {
		fmt.Fprintf(&b, "%s = ", cut(p.Key))
	}
	if p.Key != "" || p.Value != "" {
		b.WriteString(quote(p.Value) + " ")
	}
	b.WriteString(p.Fault)
	return printable(b.String())
}

// printable writes what would break a line, or could not be seen in it, as an
// escape of Go's.
func printable(text string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && size == 1 || !strconv.IsPrint(r) {
			quoted := strconv.Quote(rest[:size])
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	return b.String()
}

// shownLength is how many characters of a value a Problem shows.
const shownLength = 80

// cut is text as far as a Problem shows it.
func cut(text string) string {
	n := 0
	for i := range text {
		if n == shownLength {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// quote is a value as a Problem shows it.
func quote(value string) string { return strconv.Quote(cut(value)) }

// Problems are all mistakes that were found, in the order file, environment,
// command line, and within the file by line.
type Problems []Problem

// Error has one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}
