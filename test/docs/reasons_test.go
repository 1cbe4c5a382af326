package docs

import (
	"regexp"
	"slices"
	"testing"

	"github.com/lso-exporter/lso-exporter/lag"
)

// row is a row of a table whose first cell is a value of a label.
var row = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|")

// The page about blocking transactions explains every verdict, every reason and
// every source of ages, and none that does not exist.
func TestBlockingTransactionsAreExplained(t *testing.T) {
	var explained []string
	for _, m := range row.FindAllStringSubmatch(pages(t)["docs/blocking-transactions.md"], -1) {
		explained = append(explained, m[1])
	}
	var want []string
	for _, v := range lag.Verdicts() {
		want = append(want, string(v))
	}
	for _, r := range lag.Reasons() {
		want = append(want, string(r))
	}
	for _, s := range []lag.AgeSource{lag.AgeByCoordinator, lag.AgeByProducer, lag.AgeByObservation} {
		want = append(want, string(s))
	}
	slices.Sort(explained)
	slices.Sort(want)
	if !slices.Equal(explained, want) {
		t.Errorf("the page explains\n%v\nwant\n%v", explained, want)
	}
}
