package metrics

import (
	"fmt"
	"strings"
)

// Reference is the catalogue as a table in Markdown, for the users' pages.
func Reference() string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | unit | collector | meaning |\n|---|---|---|---|---|---|\n")
	for _, m := range Catalogue() {
		labels := make([]string, len(m.Labels))
		for i, l := range m.Labels {
			labels[i] = "`" + l + "`"
		}
		meaning := m.Meaning
		if m.Sparse != "" {
			meaning += " **Sparse**: a sample only " + m.Sparse + "."
		}
		if m.Section != 0 {
			meaning += fmt.Sprintf(" [Section %d](measurements.md)", m.Section)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n",
			m.Name, m.Type, strings.Join(labels, ", "), m.Unit, m.Collector, meaning)
	}
	return b.String()
}
