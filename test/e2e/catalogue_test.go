package e2e

import (
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
)

// proven are the metrics of which some text demands a value: not that it is
// there, not that it is absent, but which it is.
func proven(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, folder := range []string{"both", "long", "simulated"} {
		for name, text := range texts(t, folder) {
			story, err := scenario.Parse(name, text, newStage().verbs()...)
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range story.Steps {
				words := strings.Fields(step.Command)
				if words[0] == "show" && step.Want != "absent" && step.Want != "" {
					all[words[1]] = true
				}
			}
		}
	}
	return all
}

// Every metric of the catalogue is proven by a scenario with an exact value, and
// the scenarios know no metric that is not in it.
func TestCatalogueIsProven(t *testing.T) {
	proven := proven(t)
	for _, m := range metrics.Catalogue() {
		if !proven[m.Name] {
			t.Errorf("%s: no scenario demands a value of it", m.Name)
		}
		delete(proven, m.Name)
	}
	for name := range proven {
		t.Errorf("%s: a scenario shows it, but it is not in the catalogue", name)
	}
}
