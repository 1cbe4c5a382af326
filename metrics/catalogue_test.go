package metrics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// The users' page holds the catalogue between two marks, and nothing but it.
func TestReferencePage(t *testing.T) {
	const (
		page  = "../docs/metrics.md"
		begin = "<!-- catalogue: made by go test ./metrics -update -->\n"
		end   = "<!-- end of catalogue -->\n"
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

	for _, kind := range missKinds {
		if !strings.Contains(after, "| `"+string(kind)+"` |") {
			t.Errorf("%s does not explain the error kind %s", page, kind)
		}
	}
}

// Every metric that is declared can be shown, and every metric that is shown is
// declared, with the labels, type and help of its declaration.
func TestCatalogueIsWhatPagesShow(t *testing.T) {
	e := at(0, Options{Cluster: "blue", KafkaExporter: true})
	e.Self.Request("Metadata", 1, time.Millisecond, "")
	e.Self.Collector("offsets", true, time.Millisecond)
	e.Publish(aView())
	shown := familiesOf(t, text(t, e))
	for _, m := range Catalogue() {
		family := shown[m.Name]
		if family == nil {
			t.Errorf("%s is declared, but no page shows it", m.Name)
			continue
		}
		delete(shown, m.Name)
		if got := strings.ToLower(family.GetType().String()); got != string(m.Type) {
			t.Errorf("%s is a %s, declared as %s", m.Name, got, m.Type)
		}
		if family.GetHelp() != m.Help() {
			t.Errorf("%s has the help %q, declared as %q", m.Name, family.GetHelp(), m.Help())
		}
		want := slices.Clone(m.Labels)
		if m.Cluster {
			want = append(want, "cluster")
		}
		slices.Sort(want)
		for _, metric := range family.GetMetric() {
			var got []string
			for _, pair := range metric.GetLabel() {
				got = append(got, pair.GetName())
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s has the labels %v, declared as %v", m.Name, got, want)
			}
		}
	}
	for name := range shown {
		t.Errorf("%s is shown, but not declared", name)
	}
}

func TestCatalogueIsConsistent(t *testing.T) {
	for _, m := range Catalogue() {
		if !strings.HasPrefix(m.Name, "kafka_") && !strings.HasPrefix(m.Name, "lso_exporter_") {
			t.Errorf("%s has neither prefix", m.Name)
		}
		if m.Meaning == "" || !strings.HasSuffix(m.Meaning, ".") {
			t.Errorf("%s: the meaning is no sentence: %q", m.Name, m.Meaning)
		}
		if info := strings.HasSuffix(m.Name, "_info"); info && m.Unit != "" {
			t.Errorf("%s is always 1 and has the unit %q", m.Name, m.Unit)
		}
		if strings.HasPrefix(m.Name, "kafka_") && m.Section == 0 {
			t.Errorf("%s names no section of measurements.md", m.Name)
		}
	}
	names := Catalogue()
	for i := 1; i < len(names); i++ {
		if names[i].Name == names[i-1].Name {
			t.Errorf("%s is declared twice", names[i].Name)
		}
	}
}

// Each kind of miss that package lag declares has a series from the start.
func TestEveryKindOfMissHasASeries(t *testing.T) {
	files, err := filepath.Glob("../lag/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared []lag.MissKind
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if name, ok := spec.Type.(*ast.Ident); ok && name.Name == "MissKind" {
				literal, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				declared = append(declared, lag.MissKind(literal))
			}
			return true
		})
	}
	if len(declared) == 0 {
		t.Fatal("package lag declares no kinds")
	}
	for _, kind := range declared {
		if !slices.Contains(missKinds, kind) {
			t.Errorf("no series for %s", kind)
		}
	}
}
