package alerting

import (
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
)

// settings that make every kind of rule.
var everyKind = story{settings: []string{"CLUSTER=blue", "ALERTS_GROUP_LAG=billing-.* 10 1m,.* 1000 10m"}}

// allAlerts are the alerts of every kind, for all clusters and for one.
func allAlerts(t *testing.T) []Alert {
	t.Helper()
	c := everyKind.config(t)
	var alerts []Alert
	for _, cluster := range []string{"", c.Cluster} {
		for _, g := range All(cluster, c.Alerts) {
			alerts = append(alerts, g.Alerts...)
		}
	}
	if len(alerts) < 30 {
		t.Fatalf("only %d alerts", len(alerts))
	}
	return alerts
}

// queries are all queries of an alert: its condition, and those in annotations.
func (a *Alert) queries() []string {
	queries := []string{a.Expr}
	for _, text := range a.Annotations() {
		for _, m := range regexp.MustCompile("printf `([^`]*)`").FindAllStringSubmatch(text, -1) {
			queries = append(queries, strings.ReplaceAll(m[1], "%q", `"x"`))
		}
	}
	return queries
}

var (
	selector = regexp.MustCompile(`\b((?:kafka|lso_exporter)_[a-z_]+)(\{[^}]*\})?`)
	matched  = regexp.MustCompile(`([a-z_]+)(=~|=|!~|!=)("(?:[^"\\]|\\.)*")`)
)

// Queries name metrics of the catalogue, by labels that these have, and by
// values that those take: any other condition would be silent for ever.
func TestQueriesAreOfTheCatalogue(t *testing.T) {
	declared := make(map[string]metrics.Metric)
	for _, m := range metrics.Catalogue() {
		declared[m.Name] = m
	}
	known := map[string][]string{
		"verdict":    textsOf(lag.Verdicts()),
		"reason":     textsOf(lag.Reasons()),
		"age_source": textsOf([]lag.AgeSource{lag.AgeByCoordinator, lag.AgeByProducer, lag.AgeByObservation}),
		"state":      textsOf(lag.GroupStates()),
		"kind":       textsOf([]lag.MissKind{lag.MissUnauthorized, lag.MissAuthentication, lag.MissTLS}),
		"error":      textsOf([]lag.MissKind{lag.MissAuthentication, lag.MissTLS}),
	}
	tried := make(map[string]bool)
	for _, a := range allAlerts(t) {
		for _, query := range a.queries() {
			for _, m := range selector.FindAllStringSubmatch(query, -1) {
				metric, ok := declared[m[1]]
				if !ok {
					t.Errorf("%s asks for %s, which is not in the catalogue", a.Name, m[1])
					continue
				}
				for _, matcher := range matched.FindAllStringSubmatch(m[2], -1) {
					label, operator := matcher[1], matcher[2]
					ofTarget := label == "job" || label == "instance" || label == "cluster" && metric.Cluster
					if !ofTarget && !slices.Contains(metric.Labels, label) {
						t.Errorf("%s asks for %s by %s, which it has not", a.Name, m[1], label)
					}
					value, err := strconv.Unquote(matcher[3])
					if err != nil {
						t.Errorf("%s: %v", a.Name, err)
					}
					values, closed := known[label]
					if !closed {
						continue
					}
					tried[label] = true
					alternatives := []string{value}
					if strings.Contains(operator, "~") {
						alternatives = strings.Split(value, "|")
					}
					for _, alternative := range alternatives {
						whole := regexp.MustCompile("^(?:" + alternative + ")$")
						if !slices.ContainsFunc(values, whole.MatchString) {
							t.Errorf("%s asks for %s=%q, and none of %v is that", a.Name, label, alternative, values)
						}
					}
				}
			}
		}
	}
	if got := slices.Sorted(maps.Keys(tried)); len(got) != len(known) {
		t.Errorf("only the values of %v were looked at", got)
	}
}

func textsOf[S ~string](values []S) []string {
	var texts []string
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return texts
}

// With a cluster in the configuration, every condition is about that one. A
// metric of the process has no cluster, and is asked for only beside one that
// has, of the same target.
func TestRulesOfOneCluster(t *testing.T) {
	c := everyKind.config(t)
	ofProcess := make(map[string]bool)
	for _, m := range metrics.Catalogue() {
		ofProcess[m.Name] = !m.Cluster
	}
	for _, g := range All(c.Cluster, c.Alerts) {
		if !strings.HasSuffix(g.Name, "-blue") {
			t.Errorf("a group of rules is named %s, as for another cluster", g.Name)
		}
		for _, a := range g.Alerts {
			for _, m := range selector.FindAllStringSubmatch(a.Expr, -1) {
				if ofProcess[m[1]] && strings.Contains(a.Expr, "\nand on (job, instance)\n"+m[1]) {
					continue
				}
				if !strings.Contains(m[2], `cluster="blue"`) {
					t.Errorf("%s asks for %s of all clusters", a.Name, m[0])
				}
			}
		}
	}
}

// Every condition that rests on what an exporter says of Kafka asks whether its
// sweeps are recent, beside each metric. What Prometheus remembers of a time
// ago, and what only takes something out, need not.
func TestConditionsDemandFreshness(t *testing.T) {
	for _, a := range allAlerts(t) {
		if !strings.HasPrefix(a.Name, "Kafka") {
			continue
		}
		lines := strings.Split(a.Expr, "\n")
		for i, line := range lines {
			line = strings.TrimSpace(line)
			if !regexp.MustCompile(`^kafka_[a-z_]+(\{[^}]*\})?$`).MatchString(line) {
				continue
			}
			fresh := i+1 < len(lines) && strings.Contains(lines[i+1], "lso_exporter_last_sweep_timestamp_seconds")
			takesOut := i > 0 && strings.Contains(lines[i-1], "unless on")
			if !fresh && !takesOut {
				t.Errorf("%s relies on %s of any age:\n%s", a.Name, line, a.Expr)
			}
		}
	}
}

// Each alert says what it is about, what to do, and has its runbook.
func TestAlertsAreComplete(t *testing.T) {
	c := everyKind.config(t)
	for _, a := range allAlerts(t) {
		for name, text := range map[string]string{
			"summary": a.Summary, "description": a.Description, "next step": a.NextStep, "meaning": a.Meaning, "runbook": a.Runbook,
		} {
			if text == "" {
				t.Errorf("%s has no %s", a.Name, name)
			}
		}
		if _, err := url.ParseRequestURI(a.RunbookURL); err != nil || a.RunbookURL != c.Alerts.Runbooks+a.Runbook+".md" {
			t.Errorf("%s links to %s: %v", a.Name, a.RunbookURL, err)
		}
		for _, label := range a.Subject {
			if !strings.Contains(a.Summary, "$labels."+label) && label != "job" {
				t.Errorf("the summary of %s does not name its %s", a.Name, label)
			}
		}
		if a.Severity != Critical && a.Severity != Warning {
			t.Errorf("%s has the severity %q", a.Name, a.Severity)
		}
	}
}

// Each runbook that is linked is there, with all its parts, and no other.
func TestRunbooks(t *testing.T) {
	const folder = "../docs/runbooks"
	linked := make(map[string]bool)
	for _, a := range allAlerts(t) {
		linked[a.Runbook+".md"] = true
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !linked[entry.Name()] && entry.Name() != "README.md" {
			t.Errorf("no alert links to %s", entry.Name())
		}
	}
	for name := range linked {
		content, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
			continue
		}
		at := 0
		for _, part := range []string{"# ", "\n## Meaning\n", "\n## Impact\n", "\n## Diagnosis\n", "\n## Mitigation\n", "\n## Verification\n"} {
			found := strings.Index(string(content)[at:], part)
			if found < 0 {
				t.Errorf("%s has no part %q in its place", name, strings.TrimSpace(part))
				break
			}
			at += found
		}
	}
}

// The users' page holds the table of all alerts between two marks, with the
// thresholds as they are without a configuration.
func TestReferencePage(t *testing.T) {
	const (
		page  = "../docs/alerts.md"
		begin = "<!-- alerts: made by go test ./alerting -update -->\n"
		end   = "<!-- end of alerts -->\n"
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
	golden(t, page, before+begin+Reference(All("", defaults(t)))+end+after)
}

// The rules without a configuration, to be looked at and to be taken as they
// are.
func TestRulesFile(t *testing.T) {
	golden(t, "../deploy/prometheus/lso-exporter.rules.yml", string(PrometheusRules(All("", defaults(t)))))
}

// Alert names on pages for users are those of alerts.
func TestAlertsThatPagesName(t *testing.T) {
	known := make(map[string]bool)
	for _, a := range allAlerts(t) {
		known[a.Name] = true
	}
	pages, err := filepath.Glob("../docs/*")
	if err != nil {
		t.Fatal(err)
	}
	runbooks, err := filepath.Glob("../docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, page := range append(pages, runbooks...) {
		if !strings.HasSuffix(page, ".md") && !strings.HasSuffix(page, ".yml") {
			continue
		}
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range alertName.FindAllString(string(content), -1) {
			named++
			whole := regexp.MustCompile("^" + name + "$")
			if !slices.ContainsFunc(slices.Collect(maps.Keys(known)), whole.MatchString) {
				t.Errorf("%s names the alert %s, which does not exist", page, name)
			}
		}
	}
	if named < len(known)/2 {
		t.Errorf("only %d names found", named)
	}
}

// alertName matches what is written like the name of an alert, or like names
// that begin in the same way.
var alertName = regexp.MustCompile(`\b(?:Kafka(?:LSO|Transaction|Group)|LSOExporter)(?:[A-Z][A-Za-z]*\b)?(?:\.\*)?`)

// defaults are the thresholds without a configuration.
func defaults(t *testing.T) config.Alerts {
	t.Helper()
	loaded, err := config.Load(config.Sources{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loaded.ValidatedOffline()
	if err != nil {
		t.Fatal(err)
	}
	return c.Alerts
}

// An alert that silences another goes on for longer: else the consequence would be
// told when both end, and the cause is found to have ended first.
func TestCausesOutlastConsequences(t *testing.T) {
	content, err := os.ReadFile("../docs/alertmanager.yml")
	if err != nil {
		t.Fatal(err)
	}
	var example struct {
		Rules []struct {
			Sources []string `yaml:"source_matchers"`
			Targets []string `yaml:"target_matchers"`
		} `yaml:"inhibit_rules"`
	}
	if err := yaml.Unmarshal(content, &example); err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`^alertname =~? "(.*)"$`)
	matching := func(matchers []string) (found []Alert) {
		m := named.FindStringSubmatch(strings.Join(matchers, ", "))
		if m == nil {
			t.Fatalf("%v are not names of alerts", matchers)
		}
		name := regexp.MustCompile("^(?:" + m[1] + ")$")
		for _, a := range allAlerts(t) {
			if name.MatchString(a.Name) {
				found = append(found, a)
			}
		}
		return found
	}
	pairs := 0
	for _, rule := range example.Rules {
		for _, cause := range matching(rule.Sources) {
			for _, consequence := range matching(rule.Targets) {
				if consequence.KeepFiring == 0 {
					continue
				}
				pairs++
				if cause.KeepFiring <= consequence.KeepFiring {
					t.Errorf("%s goes on for %v, and %s, which it silences, for %v", cause.Name, cause.KeepFiring, consequence.Name, consequence.KeepFiring)
				}
			}
		}
	}
	if pairs < 12 {
		t.Errorf("the example for Alertmanager silences %d alerts that go on", pairs)
	}
}
