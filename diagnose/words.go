package diagnose

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
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

// shell is an argument in a command line for a POSIX shell.
func shell(s string) string {
	if plainName.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
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
