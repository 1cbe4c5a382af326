package alerting

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/lso-exporter/lso-exporter/config"
)

// A story is how a cluster and its exporters fare, and which alerts fire when.
// Every alert is checked at every whole minute: one that is not among those
// that fire must be silent.
type story struct {
	name      string
	minutes   int
	settings  []string // SETTING=VALUE, as environment variables without their prefix
	exporters []*exporter
	firing    []firing
}

// firing is an alert that fires from one minute to another, both included.
type firing struct {
	alert    string
	labels   map[string]string
	from, to int
}

func (s *story) config(t *testing.T) config.Config {
	t.Helper()
	environment := []string{"LSO_EXPORTER_ALERTS_RUNBOOKS=https://runbooks/"}
	for _, setting := range s.settings {
		environment = append(environment, "LSO_EXPORTER_"+setting)
	}
	loaded, err := config.Load(config.Sources{Environment: environment})
	if err != nil {
		t.Fatal(err)
	}
	c, err := loaded.ValidatedOffline()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The file of tests that promtool reads.
type (
	testFile struct {
		RuleFiles          []string   `yaml:"rule_files"`
		EvaluationInterval string     `yaml:"evaluation_interval"`
		Tests              []testCase `yaml:"tests"`
	}
	testCase struct {
		Interval string        `yaml:"interval"`
		Series   []inputSeries `yaml:"input_series"`
		Alerts   []alertTest   `yaml:"alert_rule_test"`
	}
	inputSeries struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	}
	alertTest struct {
		At       string          `yaml:"eval_time"`
		Name     string          `yaml:"alertname"`
		Expected []expectedAlert `yaml:"exp_alerts,omitempty"`
	}
	expectedAlert struct {
		Labels map[string]string `yaml:"exp_labels"`
	}
)

// write makes a folder in which promtool can judge a story, and returns the file
// of tests in it. Annotations are left out: they are judged elsewhere.
func (s *story) write(t *testing.T, folder string) string {
	t.Helper()
	c := s.config(t)
	groups := All(c.Cluster, c.Alerts)
	severity := make(map[string]Severity)
	for _, g := range groups {
		for i := range g.Alerts {
			a := &g.Alerts[i]
			severity[a.Name] = a.Severity
			a.Summary, a.Description, a.NextStep, a.RunbookURL, a.Extra = "", "", "", "", nil
		}
	}
	var alerts []alertTest
	for m := range s.minutes + 1 {
		for _, name := range slices.Sorted(maps.Keys(severity)) {
			test := alertTest{At: fmt.Sprintf("%dm", m), Name: name}
			for _, f := range s.firing {
				if f.alert == name && f.from <= m && m <= f.to {
					l := maps.Clone(f.labels)
					l["severity"] = string(severity[name])
					test.Expected = append(test.Expected, expectedAlert{l})
				}
			}
			alerts = append(alerts, test)
		}
	}
	for _, f := range s.firing {
		if severity[f.alert] == "" {
			t.Fatalf("%s: no alert is named %s", s.name, f.alert)
		}
	}
	return s.writeFiles(t, folder, groups, alerts)
}

// writeFiles writes rules, and the file of tests that it returns.
func (s *story) writeFiles(t *testing.T, folder string, groups []Group, alerts []alertTest) string {
	t.Helper()
	world := watch(s.exporters, s.minutes)
	world.check(t)
	test := testCase{Interval: fmt.Sprintf("%ds", 60/ticksPerMinute), Alerts: alerts}
	for _, series := range slices.Sorted(maps.Keys(world.series)) {
		test.Series = append(test.Series, inputSeries{series, values(world.series[series])})
	}
	content, err := yaml.Marshal(testFile{[]string{"rules.yml"}, "1m", []testCase{test}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "test.yml")
	for name, content := range map[string][]byte{file: content, filepath.Join(folder, "rules.yml"): PrometheusRules(groups)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// promtool is the path of Prometheus' own judge of rules.
func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not here; on Debian it is in the package prometheus")
	}
	return path
}

// Every story is told to promtool, which says whether the alerts fire as they
// should.
func TestStories(t *testing.T) {
	tool := promtool(t)
	folder := t.TempDir()
	var files []string
	for i := range stories {
		own := filepath.Join(folder, fmt.Sprintf("%02d", i))
		if err := os.Mkdir(own, 0o700); err != nil {
			t.Fatal(err)
		}
		files = append(files, stories[i].write(t, own))
	}
	var output bytes.Buffer
	command := exec.Command(tool, append([]string{"test", "rules"}, files...)...)
	command.Stdout, command.Stderr = &output, &output
	err := command.Run()
	parts := strings.Split(output.String(), "Unit Testing: ")
	for i := range stories {
		t.Run(stories[i].name, func(t *testing.T) {
			for _, part := range parts {
				if verdict, mine := strings.CutPrefix(strings.TrimSpace(part), files[i]); mine {
					if verdict = strings.TrimSpace(verdict); verdict != "SUCCESS" {
						t.Error(verdict)
					}
					return
				}
			}
			t.Errorf("promtool says nothing of it: %v\n%s", err, &output)
		})
	}
	if err != nil && !t.Failed() {
		t.Errorf("promtool: %v\n%s", err, &output)
	}
}

// Each alert fires in some story, so that none is silent because it cannot
// fire.
func TestEveryAlertFires(t *testing.T) {
	fires := make(map[string]bool)
	for _, s := range stories {
		for _, f := range s.firing {
			fires[f.alert] = true
		}
	}
	for _, g := range All("", (&story{}).config(t).Alerts) {
		for _, a := range g.Alerts {
			if !fires[a.Name] {
				t.Errorf("%s fires in no story", a.Name)
			}
		}
	}
}

// Rules in either form are read by promtool without a word; the resource's
// specification is a file of rules.
func TestRulesParse(t *testing.T) {
	tool := promtool(t)
	folder := t.TempDir()
	check := func(name string, content []byte) {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		output, err := exec.Command(tool, "check", "rules", "--lint=all", "--lint-fatal", file).CombinedOutput()
		if err != nil || !regexp.MustCompile(`^Checking .*\n  SUCCESS: \d+ rules found\n\n$`).Match(output) {
			t.Errorf("%s: %v\n%s", name, err, output)
		}
	}
	for name, s := range map[string]story{
		"defaults.yml": {},
		"scoped.yml": {settings: []string{
			"CLUSTER=a \"b\" \\ `c` %d", "ALERTS_KEEP_FIRING=0s", "ALERTS_GROUP_LAG=pay\\.d{2}.* 10 1m,.* - 90s", "ALERTS_STALLED=1m30s"}},
		"nothing.yml": {settings: []string{"ALERTS_GROUP_LAG="}},
	} {
		c := s.config(t)
		groups := All(c.Cluster, c.Alerts)
		check(name, PrometheusRules(groups))
		var resource struct {
			APIVersion, Kind string
			Metadata         struct {
				Name, Namespace string
				Labels          map[string]string
			}
			Spec yaml.Node
		}
		if err := yaml.Unmarshal(PrometheusRule(groups, "alerts", "monitoring", map[string]string{"release": "kps"}), &resource); err != nil {
			t.Fatal(err)
		}
		spec, err := yaml.Marshal(&resource.Spec)
		if err != nil {
			t.Fatal(err)
		}
		check("spec-"+name, spec)
		if resource.Kind != "PrometheusRule" || resource.Metadata.Name != "alerts" || resource.Metadata.Namespace != "monitoring" || resource.Metadata.Labels["release"] != "kps" {
			t.Errorf("%+v", resource)
		}
	}
}

// The example for Alertmanager can be loaded, and sends each alert to somebody,
// by its severity.
func TestAlertmanagerExample(t *testing.T) {
	tool, err := exec.LookPath("amtool")
	if err != nil {
		t.Skip("amtool is not here; on Debian it is in the package prometheus-alertmanager")
	}
	const file = "../docs/alertmanager.yml"
	if output, err := exec.Command(tool, "check-config", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	receivers := map[Severity]string{Critical: "kafka-pager", Warning: "kafka-tickets"}
	for _, g := range All("", defaults(t)) {
		for _, a := range g.Alerts {
			output, err := exec.Command(tool, "config", "routes", "test", "--config.file="+file, "alertname="+a.Name, "severity="+string(a.Severity)).Output()
			if got := strings.TrimSpace(string(output)); err != nil || got != receivers[a.Severity] {
				t.Errorf("%s goes to %s, want %s: %v", a.Name, got, receivers[a.Severity], err)
			}
		}
	}
}
