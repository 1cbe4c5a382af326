package config

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Print writes every setting with its meaning, its value and where that comes
// from, as a file that can be loaded again. What is required and was not given
// stands there as a comment. A value that came from a ${NAME}
// is printed as that reference.
func (l *Loaded) Print(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Configuration of lso-exporter, with all defaults.\n")
	b.WriteString("# A flag wins over an environment variable, that over this file.\n")
	last := ""
	for _, s := range settings {
		b.WriteString("\n")
		if s.section() != last {
			for _, opened := range sections {
				if within(s.section(), opened.key) && !within(last, opened.key) {
					indent := strings.Repeat("  ", opened.depth())
					comment(&b, indent, opened.help)
					fmt.Fprintf(&b, "%s%s:\n", indent, opened.name())
				}
			}
			last = s.section()
		}
		indent := strings.Repeat("  ", strings.Count(s.key, "."))
		comment(&b, indent, s.help)
		comment(&b, indent, fmt.Sprintf("--%s, %s; here: %s", s.flag, s.environment(), l.origins[s.key]))
		_, isReference := l.written[s.key]
		texts := l.texts(s)
		if s.example != "" && len(texts) == 0 {
			// An empty list could not be loaded.
			fmt.Fprintf(&b, "%s# %s: %s\n", indent, s.name(), yamlValue(s, []string{s.example}, false))
			continue
		}
		fmt.Fprintf(&b, "%s%s: %s\n", indent, s.name(), yamlValue(s, texts, isReference))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// within says whether a section is the other one or part of it.
func within(section, other string) bool {
	return section == other || strings.HasPrefix(section, other+".")
}

// commentWidth is the column at which comments are broken.
const commentWidth = 90

func comment(b *strings.Builder, indent, text string) {
	line := indent + "#"
	for word := range strings.FieldsSeq(text) {
		if line != indent+"#" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > commentWidth {
			b.WriteString(line + "\n")
			line = indent + "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

// yamlValue writes texts in YAML's flow style. A plain ${ is escaped, unless
// the texts are references themselves.
func yamlValue(s setting, texts []string, references bool) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		if !references {
			text = strings.ReplaceAll(text, "${", "$${")
		}
		quoted[i] = text
		if s.kind != boolKind && s.kind != durationKind || references {
			quoted[i] = yamlQuote(text)
		}
	}
	if s.kind.list {
		return "[" + strings.Join(quoted, ", ") + "]"
	}
	return quoted[0]
}

// yamlQuote writes text as a double-quoted YAML scalar.
func yamlQuote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// inline is a value as prose shows it; empty for a value that says nothing.
func inline(texts []string) string { return strings.Join(texts, ",") }
