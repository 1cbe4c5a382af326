// Package deploy holds what the charts of deploy/helm take over from the exporter to
// what it is there, and their schemas to being closed. What Helm and Kubernetes make
// of them is judged by test/chart, a module of its own.
package deploy

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/lso-exporter/lso-exporter/config"
)

var update = flag.Bool("update", false, "write what the charts take over")

const helm = "../../deploy/helm"

// charts are those whose values have a schema.
var charts = []string{"lso-exporter", "lso-exporter-sidecar"}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// same compares a file with what it must be, or makes it so with -update.
func same(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(read(t, file), want) {
		t.Errorf("%s is not what it is made from; run make generate", file)
	}
}

// Rules and dashboard of the chart are the generated ones, byte for byte.
func TestRulesAndDashboard(t *testing.T) {
	for _, generated := range []string{"../../deploy/prometheus/lso-exporter.rules.yml", "../../dashboards/lso-exporter.json"} {
		same(t, filepath.Join(helm, "lso-exporter/files", filepath.Base(generated)), read(t, generated))
	}
}

// The charts know the keys of the exporter's configuration by its own schema, which
// stands as the last definition in theirs.
func TestSchemaOfTheConfiguration(t *testing.T) {
	own, found := bytes.CutPrefix(config.Schema(), []byte("{\n  \"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"))
	if !found {
		t.Fatal("the schema of the configuration does not begin with that of JSON schema itself")
	}
	own = append([]byte("{\n"), bytes.TrimSuffix(own, []byte("\n"))...)
	own = bytes.ReplaceAll(own, []byte("\n"), []byte("\n    "))
	for _, chart := range charts {
		file := filepath.Join(helm, chart, "values.schema.json")
		const key = "\n    \"config\": "
		text := read(t, file)
		at := bytes.LastIndex(text, []byte(key))
		if at < 0 {
			t.Fatalf("%s has no definition of config", file)
		}
		same(t, file, slices.Concat(text[:at], []byte(key), own, []byte("\n  }\n}\n")))
	}
}

// An object of the schemas that takes keys it does not name would take misspelt ones.
func TestSchemasAreClosed(t *testing.T) {
	for _, chart := range charts {
		file := filepath.Join(helm, chart, "values.schema.json")
		var schema any
		if err := json.Unmarshal(read(t, file), &schema); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		// What stands in "global" is the business of the chart around it.
		for _, path := range open("", schema) {
			if path != "/properties/global" {
				t.Errorf("%s: %s takes keys that it does not name", file, path)
			}
		}
	}
}

// open is the paths of all objects that take any key.
func open(path string, schema any) (paths []string) {
	switch s := schema.(type) {
	case []any:
		for i, element := range s {
			paths = append(paths, open(fmt.Sprintf("%s/%d", path, i), element)...)
		}
	case map[string]any:
		_, isSchema := s["type"]
		if isSchema && strings.Contains(fmt.Sprint(s["type"]), "object") {
			// A schema for other keys is good as well: labels have any.
			if _, closed := s["additionalProperties"]; !closed || s["additionalProperties"] == true {
				paths = append(paths, path)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(s)) {
			paths = append(paths, open(path+"/"+key, s[key])...)
		}
	}
	return paths
}

// values.yaml names every value that the schema knows, and no other; the chart's page
// says what each makes.
func TestValuesAndSchema(t *testing.T) {
	for _, chart := range charts {
		var values map[string]any
		if err := yaml.Unmarshal(read(t, filepath.Join(helm, chart, "values.yaml")), &values); err != nil {
			t.Fatal(err)
		}
		var schema struct{ Properties map[string]any }
		if err := json.Unmarshal(read(t, filepath.Join(helm, chart, "values.schema.json")), &schema); err != nil {
			t.Fatal(err)
		}
		delete(schema.Properties, "global")
		shown, known := slices.Sorted(maps.Keys(values)), slices.Sorted(maps.Keys(schema.Properties))
		if !slices.Equal(shown, known) {
			t.Errorf("%s: values.yaml has\n%v\nthe schema\n%v", chart, shown, known)
		}
		page := string(read(t, filepath.Join(helm, chart, "README.md")))
		for _, value := range known {
			if !strings.Contains(page, "`"+value+"`") && !strings.Contains(page, "`"+value+".") {
				t.Errorf("%s: README.md does not tell of %s", chart, value)
			}
		}
	}
}

// The exporter knows every key and value of the examples' configurations, and finds
// them to agree. That the charts render them so is seen by test/chart.
func TestConfigurationsOfExamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(helm, "examples", "values-*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, file := range append(files, filepath.Join(helm, "examples/consumer/values.yaml")) {
		var values struct {
			Config    yaml.Node
			Instances map[string]struct{ Config yaml.Node }
			Sidecar   struct{ Config yaml.Node } `yaml:"lso-exporter-sidecar"`
		}
		if err := yaml.Unmarshal(read(t, file), &values); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		configurations := []yaml.Node{values.Config, values.Sidecar.Config}
		for _, instance := range values.Instances {
			configurations = append(configurations, instance.Config)
		}
		for _, c := range configurations {
			if c.IsZero() {
				continue
			}
			text, err := yaml.Marshal(&c)
			if err != nil {
				t.Fatal(err)
			}
			own := filepath.Join(t.TempDir(), "lso-exporter.yml")
			if err := os.WriteFile(own, text, 0o600); err != nil {
				t.Fatal(err)
			}
			loaded, err := config.Load(config.Sources{File: own})
			if err == nil {
				_, err = loaded.ValidatedOffline()
			}
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// What both charts define means the same in both.
func TestDefinitionsAgree(t *testing.T) {
	definitions := make([]struct{ Definitions map[string]any }, len(charts))
	for i, chart := range charts {
		if err := json.Unmarshal(read(t, filepath.Join(helm, chart, "values.schema.json")), &definitions[i]); err != nil {
			t.Fatal(err)
		}
	}
	for name, one := range definitions[0].Definitions {
		if other, both := definitions[1].Definitions[name]; both && fmt.Sprint(one) != fmt.Sprint(other) {
			t.Errorf("%s is defined in two ways", name)
		}
	}
}
