package generate

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"

	"github.com/lso-exporter/lso-exporter/dashboards"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
)

var update = flag.Bool("update", false, "write the dashboard anew")

const file = "../lso-exporter.json"

// The dashboard that is committed, and printed by the program, is the one that
// is generated.
func TestDashboardIsGenerated(t *testing.T) {
	want, err := JSON()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(dashboards.LSOExporter, want) {
		t.Errorf("%s is not what is generated; run make generate", file)
	}
}

// panels are all panels of the dashboard.
func panels(t *testing.T) []*dashboard.Panel {
	t.Helper()
	d, err := Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	var all []*dashboard.Panel
	for _, p := range d.Panels {
		if p.Panel != nil {
			all = append(all, p.Panel)
			continue
		}
		for i := range p.RowPanel.Panels {
			all = append(all, &p.RowPanel.Panels[i])
		}
	}
	if len(all) < 25 {
		t.Fatalf("only %d panels", len(all))
	}
	return all
}

// A query is one of a panel.
type query struct{ panel, expr, legend string }

func queries(t *testing.T) []query {
	t.Helper()
	var all []query
	for _, p := range panels(t) {
		for _, target := range p.Targets {
			q := target.(prometheus.Dataquery)
			legend := ""
			if q.LegendFormat != nil {
				legend = *q.LegendFormat
			}
			all = append(all, query{*p.Title, q.Expr, legend})
		}
	}
	return all
}

var (
	selector = regexp.MustCompile(`\b((?:kafka|lso_exporter)_[a-z_]+)(\{[^}]*\})?`)
	matched  = regexp.MustCompile(`([a-z_]+)(=~|=|!~|!=)"((?:[^"\\]|\\.)*)"`)
	lists    = regexp.MustCompile(`\b(?:by|on|group_left) \(([^)]*)\)`)
	braces   = regexp.MustCompile(`\{\{([a-z_]+)\}\}`)
)

// Every metric is one of the catalogue, and is matched, told apart and named in
// legends by labels that it has, and by values that those take.
func TestQueriesAreOfTheCatalogue(t *testing.T) {
	values := map[string][]string{
		"verdict": textsOf(lag.Verdicts()),
		"state":   textsOf(lag.GroupStates()),
		"kind":    {string(lag.MissUnauthorized)},
		"result":  {"committed"},
	}
	for _, q := range queries(t) {
		has := map[string]bool{"cluster": true, "instance": true, "le": true}
		found := selector.FindAllStringSubmatch(q.expr, -1)
		if len(found) == 0 {
			t.Errorf("%s asks for no metric: %s", q.panel, q.expr)
		}
		for _, m := range found {
			name := m[1]
			metric, declared := catalogue[name]
			if !declared {
				name = strings.TrimSuffix(name, "_bucket")
				if metric, declared = catalogue[name]; !declared || metric.Type != metrics.Histogram {
					t.Errorf("%s asks for %s, which is not in the catalogue", q.panel, m[1])
					continue
				}
			}
			for _, label := range metric.Labels {
				has[label] = true
			}
			for _, matcher := range matched.FindAllStringSubmatch(m[2], -1) {
				label, value := matcher[1], matcher[3]
				if label != "cluster" && !slices.Contains(metric.Labels, label) {
					t.Errorf("%s asks for %s by %s, which it has not", q.panel, name, label)
				}
				if variable, ok := strings.CutPrefix(value, "$"); ok {
					if variable != label || !slices.Contains(picked, label) || matcher[2] != "=~" {
						t.Errorf("%s asks for %s with %s", q.panel, name, matcher[0])
					}
					continue
				}
				for _, alternative := range strings.Split(value, "|") {
					if !slices.Contains(values[label], alternative) {
						t.Errorf("%s asks for %s=%q, and none of %v is that", q.panel, label, alternative, values[label])
					}
				}
			}
			// What can be picked is picked everywhere, but where it is asked whether
			// a group has topics at all.
			for _, label := range picked {
				if label == "topic" && strings.Contains(q.expr, "unless on ("+byGroup+") "+m[0]) {
					continue
				}
				if (slices.Contains(metric.Labels, label) || label == "cluster" && metric.Cluster) && !strings.Contains(m[2], label+`=~"$`+label+`"`) {
					t.Errorf("%s asks for %s whatever is picked as %s", q.panel, name, label)
				}
			}
		}
		for _, list := range lists.FindAllStringSubmatch(q.expr, -1) {
			for label := range strings.SplitSeq(list[1], ", ") {
				if label != "" && !has[label] {
					t.Errorf("%s tells series apart by %s, which no metric of it has: %s", q.panel, label, q.expr)
				}
			}
		}
		for _, label := range braces.FindAllStringSubmatch(q.legend, -1) {
			if !has[label[1]] {
				t.Errorf("%s names series by %s, which no metric of it has", q.panel, label[1])
			}
		}
	}
}

// Every word that the exporter has for a verdict or a state has a colour.
func TestEveryWordHasAColour(t *testing.T) {
	for _, verdict := range lag.Verdicts() {
		if verdictColours[string(verdict)] == "" {
			t.Errorf("the verdict %s has no colour", verdict)
		}
	}
	for _, state := range lag.GroupStates() {
		if stateColours[string(state)] == "" {
			t.Errorf("the state %s has no colour", state)
		}
	}
}

// A name that is not of the catalogue ends the generation.
func TestUnknownMetric(t *testing.T) {
	for name, ask := range map[string]func(){
		"no metric":    func() { of("kafka_partition_lso_stalled") },
		"no histogram": func() { buckets(stalled) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			ask()
		}()
	}
}

// Grafana's own declaration of the format takes the file, strictly.
func TestDashboardIsWellFormed(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	var d board
	err := d.UnmarshalJSONStrict(dashboards.LSOExporter)
	var faults cog.BuildErrors
	if err != nil && !(errors.As(err, &faults) && len(faults) == 0) {
		t.Error(err)
	}
	var raw map[string]any
	if err := json.Unmarshal(dashboards.LSOExporter, &raw); err != nil {
		t.Fatal(err)
	}
	if raw["__inputs"] != nil || raw["id"] != nil {
		t.Error("the file has inputs or an id: it cannot be provisioned")
	}
}

// What a variable offers depends on those before it, so that Grafana can ask for
// one after the other.
func TestVariablesDependOnEarlierOnes(t *testing.T) {
	d, err := Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	before := []string{"datasource"}
	for _, v := range d.Templating.List[1:] {
		for _, m := range regexp.MustCompile(`\$([a-z]+)`).FindAllStringSubmatch(*v.Query.String, -1) {
			if !slices.Contains(before, m[1]) {
				t.Errorf("variable %s depends on %s, which is not before it", v.Name, m[1])
			}
		}
		before = append(before, v.Name)
	}
	if len(before) != 5 {
		t.Errorf("the variables are %v", before)
	}
}

// Panels stand side by side without gaps, say what they show, and lead to pages
// that exist.
func TestPanels(t *testing.T) {
	ids, titles := map[uint32]bool{}, map[string]bool{}
	width := uint32(0)
	for _, p := range panels(t) {
		if ids[*p.Id] || titles[*p.Title] {
			t.Errorf("%s: its id or title stands twice", *p.Title)
		}
		ids[*p.Id], titles[*p.Title] = true, true
		if len(*p.Description) < 20 {
			t.Errorf("%s has no description", *p.Title)
		}
		if len(p.Links) == 0 {
			t.Errorf("%s has no link", *p.Title)
		}
		if p.GridPos.X != width {
			t.Errorf("%s begins at column %d, and the one before ends at %d", *p.Title, p.GridPos.X, width)
		}
		if width = p.GridPos.X + p.GridPos.W; width == fullWidth {
			width = 0
		}
	}
	text := string(dashboards.LSOExporter)
	links := regexp.MustCompile(regexp.QuoteMeta(docs)+`([a-z./-]+\.md)(#[a-z-]+)?`).FindAllStringSubmatch(text, -1)
	if len(links) < 20 {
		t.Fatalf("only %d links", len(links))
	}
	for _, l := range links {
		page, err := os.ReadFile(filepath.Join("../../docs", l[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		heading := strings.ReplaceAll(strings.TrimPrefix(l[2], "#"), "-", " ")
		if l[2] != "" && !regexp.MustCompile(`(?mi)^#+ `+heading+`$`).Match(page) {
			t.Errorf("%s has no heading %q", l[1], heading)
		}
	}
	if !strings.HasPrefix(defaults.Alerts.Runbooks, docs) {
		t.Errorf("runbooks are at %s, and the dashboard looks for them at %s", defaults.Alerts.Runbooks, docs)
	}
}

// Prometheus' own parser takes every query.
func TestQueriesParse(t *testing.T) {
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not here; Debian's package is prometheus")
	}
	var rules strings.Builder
	rules.WriteString("groups: [{name: queries, rules: [\n")
	for i, q := range queries(t) {
		expr := strings.NewReplacer("$__rate_interval", "1m", "$__range", "1h").Replace(q.expr)
		fmt.Fprintf(&rules, "  {record: 'query:%d', expr: %s},\n", i, strconv.Quote(expr))
	}
	rules.WriteString("]}]\n")
	name := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(name, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if output, err := exec.Command("promtool", "check", "rules", name).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
