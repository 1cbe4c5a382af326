package litmus

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
)

// scenarios parses the texts, or ends the test.
func scenarios(t *testing.T) []*scenario.Scenario {
	t.Helper()
	all, err := Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// report fails the test with each line that differs, and skips it if the cluster
// lacks what the scenario requires.
func report(t *testing.T) func(*scenario.Result, error) {
	return func(result *scenario.Result, err error) {
		t.Helper()
		if errors.Is(err, scenario.ErrNotOffered) {
			t.Skip("not run: ", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := result.Err(); err != nil {
			t.Error(err)
		}
	}
}

// propertiesFor are the broker properties of a cluster that plays s alone.
func propertiesFor(s *scenario.Scenario) map[string]string {
	properties := Properties()
	for _, property := range s.Properties {
		properties[property.Name] = property.Value
	}
	return properties
}

// Each text tells its story before its first line, with the rules it is about.
func TestTextsTellTheirStory(t *testing.T) {
	for _, s := range scenarios(t) {
		if s.Title == "" || len(s.Steps) == 0 {
			t.Errorf("%s: no title or no steps", s.Name)
		}
	}
}

// The page lists every text.
func TestPageListsTexts(t *testing.T) {
	page, err := os.ReadFile("../../docs/litmus.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios(t) {
		if link := "(../test/litmus/" + s.Name + ".txt)"; !strings.Contains(string(page), link) {
			t.Errorf("docs/litmus.md has no link %s", link)
		}
	}
}
