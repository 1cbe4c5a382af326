package diagnose

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Span writes a duration as reports do: 12 m, 2 h 4 m, 3 d.
func Span(d time.Duration) string { return span(d) }

// Number writes n as reports do: 1,200.
func Number(n int64) string { return number(n) }

// Count writes n with the noun that it counts as reports do: 1 partition, 1,200
// partitions.
func Count(n int, noun string) string { return count(n, noun) }

// Name writes a name of Kafka's as reports do: in quotes where it holds
// characters that would break a sentence.
func Name(s string) string { return name(s) }

// span writes a duration in at most two units, as people say it: 12 m, 2 h 4 m,
// 3 d.
func span(d time.Duration) string {
	d = d.Abs()
	units := []struct {
		size time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}}
	for i, u := range units {
		if d < u.size {
			continue
		}
		n := d / u.size
		text := number(int64(n)) + " " + u.name
		if i+1 < len(units) && n < 10 {
			if rest := d % u.size / units[i+1].size; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return text
	}
	if ms := d.Milliseconds(); ms > 0 {
		return fmt.Sprintf("%d ms", ms)
	}
	return "0 s"
}

// number writes n with commas between thousands.
func number[T ~int | ~int64](n T) string {
	text := strconv.FormatInt(int64(n), 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return sign + text
}

// count writes n with the noun that it counts: "1 partition", "1,200 partitions".
func count[T ~int | ~int64](n T, noun string) string {
	if n != 1 {
		noun = plural(noun)
	}
	return number(n) + " " + noun
}

// plural is the plural of a noun.
func plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return stem + "ies"
	}
	return noun + "s"
}

// plainName matches names that need no quotes in a sentence, nor in a shell.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_.:/=+,@-]+$`)

// name is a name of Kafka's in a sentence: in quotes where it holds characters
// that would break it.
func name(s string) string {
	if plainName.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}

// shell is an argument in a command line for a POSIX shell; with characters that
// do not print, for one that knows $'…' (POSIX.1-2024, bash, zsh).
func shell(s string) string {
	switch {
	case plainName.MatchString(s):
		return s
	case printable(s) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\\' || r == '\'':
			b.WriteByte('\\')
			b.WriteRune(r)
		case prints(r, size):
			b.WriteRune(r)
		default:
			for _, c := range []byte(s[i : i+size]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		}
		i += size
	}
	b.WriteByte('\'')
	return b.String()
}

// option is an option with its value in a command line. One that begins like an
// option is given with =, as a tool would take it for one otherwise.
func option(name, value string) string {
	if strings.HasPrefix(value, "-") {
		return name + "=" + shell(value)
	}
	return name + " " + shell(value)
}

// prints says whether a character of some bytes is one that a terminal shows.
func prints(r rune, size int) bool {
	return strconv.IsPrint(r) && !(r == utf8.RuneError && size == 1)
}

// printable is a text of others in a sentence, a broker's error for example, in
// which what does not print is written as in a name in quotes.
func printable(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if prints(r, size) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.Quote(s[i:i+size]), `"`))
		}
		i += size
	}
	return b.String()
}

// enumerate writes a list with "and", cut to a few.
func enumerate(names []string) string {
	const most = 5
	shown := names
	if len(names) > most+1 {
		shown = append(append([]string{}, names[:most]...), number(len(names)-most)+" more")
	}
	if len(shown) == 1 {
		return shown[0]
	}
	return strings.Join(shown[:len(shown)-1], ", ") + " and " + shown[len(shown)-1]
}

// clock writes a moment.
func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }
