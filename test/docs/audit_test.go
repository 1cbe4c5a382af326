package docs

import (
	"slices"
	"testing"

	"github.com/lso-exporter/lso-exporter/lag"
)

// The page about the audit explains every result and every check, and none that
// does not exist.
func TestAuditIsExplained(t *testing.T) {
	var explained []string
	for _, m := range row.FindAllStringSubmatch(pages(t)["docs/audit.md"], -1) {
		explained = append(explained, m[1])
	}
	want := []string{string(lag.Good), string(lag.Weak), string(lag.NotChecked)}
	for _, name := range lag.CheckNames() {
		want = append(want, string(name))
	}
	if !slices.Equal(explained, want) {
		t.Errorf("the page explains\n%v\nwant\n%v", explained, want)
	}
}
