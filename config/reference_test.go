package config

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write golden files and docs/configuration.md anew")

// golden compares got with the file, or writes it there with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test ./config -update and read the difference\ngot:\n%s", file, got)
	}
}

// The users' page holds the table of all settings between two marks.
func TestReferencePage(t *testing.T) {
	const (
		page  = "../docs/configuration.md"
		begin = "<!-- settings: made by go test ./config -update -->\n"
		end   = "<!-- end of settings -->\n"
	)
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no marks %q and %q", page, begin, end)
	}
	golden(t, page, before+begin+Reference()+end+after)
}

// Keys, flags and variables are unique, and every section is declared.
func TestSettingsAreConsistent(t *testing.T) {
	seen := make(map[string]string)
	for _, s := range settings {
		for _, name := range []string{s.key, "--" + s.flag, s.environment()} {
			if other, twice := seen[name]; twice {
				t.Errorf("%s belongs to %s and %s", name, other, s.key)
			}
			seen[name] = s.key
		}
		if serviceLink.MatchString(s.environment()) {
			t.Errorf("%s would be taken for a variable that Kubernetes sets", s.environment())
		}
		if !strings.HasSuffix(s.help, ".") {
			t.Errorf("help of %s is no sentence: %q", s.key, s.help)
		}
		if section := s.section(); section != "" {
			found := false
			for _, declared := range sections {
				found = found || declared.key == section
			}
			if !found {
				t.Errorf("section %s of %s is not declared", section, s.key)
			}
		}
	}
}
