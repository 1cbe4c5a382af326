package alerting

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Reference is the alerts as tables in Markdown, one for each group, for the
// users' pages. Runbooks are linked in the folder beside the page.
func Reference(groups []Group) string {
	var b strings.Builder
	for _, g := range groups {
		fmt.Fprintf(&b, "\n### %s\n\n| alert | severity | labels | thresholds | meaning | runbook |\n|---|---|---|---|---|---|\n", g.Title)
		for _, a := range g.Alerts {
			labels := slices.Concat(a.Subject, slices.Sorted(maps.Keys(a.Labels)))
			for i := range labels {
				labels[i] = "`" + labels[i] + "`"
			}
			thresholds := make([]string, len(a.Thresholds))
			for i, t := range a.Thresholds {
				thresholds[i] = fmt.Sprintf("`%s`: `%s`", t.Setting, t.Value)
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | [%s](runbooks/%s.md) |\n",
				a.Name, a.Severity, strings.Join(labels, ", "), strings.Join(thresholds, "<br>"), a.Meaning, a.Runbook, a.Runbook)
		}
	}
	return b.String()
}
