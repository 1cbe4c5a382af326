package wire

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// groupReference is how Java's patterns name a group in a replacement.
var groupReference = regexp.MustCompile(`\$(\d+)`)

// substitution is one replacement of all that a pattern matches, by Java's rules.
type substitution struct {
	pattern     *regexp.Regexp
	replacement string
}

// replaceAll replaces each match in a text, as Java does: after a match that is not
// empty an empty one may follow at once, so that .* matches twice.
func (s substitution) replaceAll(text string) (string, error) {
	var b strings.Builder
	replacement := escapeMissingGroups(s.replacement, s.pattern.NumSubexp())
	for from := 0; from <= len(text); {
		at, err := s.find(text, from)
		if err != nil {
			return "", err
		}
		if at == nil {
			b.WriteString(text[from:])
			break
		}
		b.WriteString(text[from:at[0]])
		if err := s.expand(&b, text, replacement, at); err != nil {
			return "", err
		}
		from = at[1]
		if at[0] == at[1] {
			next := nextRune(text, from)
			b.WriteString(text[from:next])
			if from = next; at[1] == len(text) {
				break
			}
		}
	}
	return b.String(), nil
}

// nextRune is the place behind the rune at another.
func nextRune(text string, at int) int {
	for i := range text[at:] {
		if i > 0 {
			return at + i
		}
	}
	return len(text)
}

// find is the first match from a place in a text on, with what is before it in
// view: where it is, and its groups. Go's own search does not tell of empty matches
// behind others.
func (s substitution) find(text string, from int) ([]int, error) {
	behind, err := regexp.Compile(`\A` + regexp.QuoteMeta(text[:from]) + `(?s:.*?)(` + s.pattern.String() + `)`)
	if err != nil {
		return nil, fmt.Errorf("name of a certificate: %w", err)
	}
	at := behind.FindStringSubmatchIndex(text)
	if at == nil {
		return nil, nil
	}
	return at[2:], nil
}

// expand writes a replacement with the groups of a match: $1, ${name}, and what
// follows a backslash as it is.
func (s substitution) expand(b *strings.Builder, text, replacement string, at []int) error {
	for i := 0; i < len(replacement); i++ {
		group := 0
		switch c := replacement[i]; c {
		default:
			b.WriteByte(c)
			continue
		case '\\':
			if i++; i == len(replacement) {
				return errors.New("replacement ends with a backslash")
			}
			b.WriteByte(replacement[i])
			continue
		case '$':
			var err error
			if group, i, err = s.group(replacement, i+1); err != nil {
				return err
			}
		}
		if at[2*group] >= 0 {
			b.WriteString(text[at[2*group]:at[2*group+1]])
		}
	}
	return nil
}

// group reads which group a replacement names behind a $, and where that ends. Of
// digits those count that make a group there is.
func (s substitution) group(replacement string, i int) (group, last int, err error) {
	if name, _, ok := strings.Cut(replacement[i:], "}"); ok && strings.HasPrefix(name, "{") {
		if group = s.pattern.SubexpIndex(name[1:]); group < 0 {
			return 0, 0, fmt.Errorf("replacement %q: no group with name %s}", replacement, name)
		}
		return group, i + len(name), nil
	}
	last = i - 1
	for ; i < len(replacement) && '0' <= replacement[i] && replacement[i] <= '9'; i++ {
		longer := 10*group + int(replacement[i]-'0')
		if longer > s.pattern.NumSubexp() {
			break
		}
		group, last = longer, i
	}
	if replacement[last] == '$' {
		return 0, 0, fmt.Errorf("replacement %q: a $ without a group", replacement)
	}
	return group, last, nil
}

// escapeMissingGroups puts a backslash before each reference to a group that a
// pattern with groups does not have, so that it is left as it is. Kafka goes by
// where references were before there were other backslashes: of two only the first
// is left so, and so it is here.
func escapeMissingGroups(replacement string, groups int) string {
	if groups == 0 {
		return replacement
	}
	escaped := replacement
	for _, at := range groupReference.FindAllStringSubmatchIndex(replacement, -1) {
		digits := replacement[at[2]:at[3]]
		n, _ := strconv.Atoi(digits)
		for n > groups && n >= 10 {
			n /= 10
		}
		if n > groups && digits[0] != '0' {
			escaped = escaped[:at[0]] + `\` + escaped[at[0]:]
		}
	}
	return escaped
}
