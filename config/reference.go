package config

import (
	"fmt"
	"strings"
)

// Reference is the table of all settings in Markdown, for the users' pages.
func Reference() string {
	var b strings.Builder
	c := defaults()
	heading := func(key, help string) {
		fmt.Fprintf(&b, "\n### `%s`\n\n%s\n\n| key | flag, environment | kind | default | meaning |\n|---|---|---|---|---|\n", key, help)
	}
	fmt.Fprint(&b, "| key | flag, environment | kind | default | meaning |\n|---|---|---|---|---|\n")
	last := ""
	for _, s := range settings {
		if s.section() != last {
			last = s.section()
			for _, section := range sections {
				if section.key == last {
					heading(section.key, section.help)
				}
			}
		}
		value := inline(s.get(&c))
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `--%s`<br>`%s` | %s | %s | %s |\n",
			s.key, s.flag, s.environment(), s.kind.name, value, s.help)
	}
	return b.String()
}
