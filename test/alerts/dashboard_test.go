package alerts

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/dashboards"
)

// crowd is the configuration of a Prometheus for which the demo's exporter is
// three: two that watch a cluster of the same name, and one that has no name for
// its cluster.
const crowd = `
global: {scrape_interval: 1s}
scrape_configs:
  - {job_name: one, honor_labels: true, static_configs: [{targets: [%[1]q], labels: {instance: one}}]}
  - {job_name: two, honor_labels: true, static_configs: [{targets: [%[1]q], labels: {instance: two}}]}
  - job_name: nameless
    honor_labels: true
    static_configs: [{targets: [%[1]q], labels: {instance: nameless}}]
    metric_relabel_configs: [{action: labeldrop, regex: cluster}]
`

// startCrowd starts that Prometheus and returns its address.
func startCrowd(t *testing.T, folder, exporter string) string {
	t.Helper()
	configuration := filepath.Join(folder, "crowd.yml")
	write(t, configuration, fmt.Sprintf(crowd, exporter))
	return start(t, "prometheus", "--config.file="+configuration, "--storage.tsdb.path="+filepath.Join(folder, "crowd"),
		"--web.listen-address=127.0.0.1:0").await(t, `msg="Listening on" address=(\S+)`)[1]
}

// A panel is what of a dashboard's panel matters for its data; a closed row is
// one with panels of its own.
type panel struct {
	Title   string
	Panels  []panel
	Targets []struct {
		Expr, LegendFormat, RefID string
		Instant                   bool
	}
}

// A series is one that Prometheus answers.
type series struct {
	Metric map[string]string
	Value  sample
	Values []sample
}

// A sample is a time and a value.
type sample [2]any

// last is the last value.
func (s series) last(t *testing.T) float64 {
	t.Helper()
	at := s.Value
	if len(s.Values) > 0 {
		at = s.Values[len(s.Values)-1]
	}
	v, err := strconv.ParseFloat(at[1].(string), 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// picks are the values of variables, as Grafana puts them into queries.
type picks map[string]string

// filled is an expression with the values of variables.
func (p picks) filled(expression string) string {
	values := []string{"$__rate_interval", "10s", "$__range", "1m"}
	for _, name := range []string{"cluster", "topic", "partition", "group"} {
		value, picked := p[name]
		if !picked {
			value = ".*"
		}
		values = append(values, "$"+name, value)
	}
	return strings.NewReplacer(values...).Replace(expression)
}

// ask runs a query from a moment to another, or at the latter.
func ask(t *testing.T, prometheus, expression string, instant bool, from, to time.Time) []series {
	t.Helper()
	path, values := "query_range", url.Values{"query": {expression}, "step": {"1"}}
	seconds := func(at time.Time) string { return strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64) }
	values.Set("start", seconds(from))
	values.Set("end", seconds(to))
	if instant {
		path = "query"
		values.Set("time", seconds(to))
	}
	var answer struct {
		Data struct{ Result []series }
	}
	if err := json.Unmarshal(get(t, "http://"+prometheus+"/api/v1/"+path+"?"+values.Encode()), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Data.Result
}

var inLegend = regexp.MustCompile(`\{\{([a-z_]+)\}\}`)

// dashboardHasData says of every query of the dashboard that Prometheus answers
// it with data, at a moment at which ledger and shipments were held: for a
// cluster that two exporters watch, and for one without a name.
func (s *site) dashboardHasData(t *testing.T, begun, held time.Time) {
	var board struct {
		Panels     []panel
		Templating struct {
			List []struct{ Name, Type, Query string }
		}
	}
	if err := json.Unmarshal(dashboards.LSOExporter, &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		board.Panels = append(board.Panels, p.Panels...)
	}
	asked := 0
	for name, picked := range map[string]picks{"everything": {}, "two exporters": {"cluster": "demo"}, "no name": {"cluster": ""}} {
		for _, p := range board.Panels {
			for _, target := range p.Targets {
				asked++
				answer := ask(t, s.crowd, picked.filled(target.Expr), target.Instant, begun, held)
				if len(answer) == 0 {
					t.Errorf("%s: %s, query %s: no data: %s", name, p.Title, target.RefID, picked.filled(target.Expr))
				}
				for _, one := range answer {
					for _, label := range inLegend.FindAllStringSubmatch(target.LegendFormat, -1) {
						if label[1] != "cluster" && one.Metric[label[1]] == "" {
							t.Errorf("%s: %s, query %s: the legend names %s, and there is a series %v", name, p.Title, target.RefID, label[1], one.Metric)
						}
					}
				}
			}
		}
	}
	if asked < 150 {
		t.Errorf("only %d queries were asked", asked)
	}

	// What is counted is counted once.
	find := func(title string) panel {
		i := slices.IndexFunc(board.Panels, func(p panel) bool { return p.Title == title })
		if i < 0 {
			t.Fatalf("no panel %s", title)
		}
		return board.Panels[i]
	}
	for _, cluster := range []string{"demo", ""} {
		picked := picks{"cluster": cluster}
		for title, want := range map[string]float64{
			"Partitions held back": 2, "No timeout ends them": 1, "Groups blocked": 2, "Groups stopped or lost": 0, "Incomplete": -1,
		} {
			answer := ask(t, s.crowd, picked.filled(find(title).Targets[0].Expr), true, begun, held)
			if len(answer) != 1 {
				t.Errorf("cluster %q: %s has %d series", cluster, title, len(answer))
			} else if got := answer[0].last(t); want >= 0 && got != want {
				t.Errorf("cluster %q: %s is %v, want %v", cluster, title, got, want)
			}
		}
		table := find("Transactions that hold partitions back")
		var rows []string
		for _, row := range ask(t, s.crowd, picked.filled(table.Targets[0].Expr), true, begun, held) {
			m := row.Metric
			rows = append(rows, strings.Join([]string{m["cluster"], m["topic"], m["partition"], m["transactional_id"], m["verdict"]}, " "))
		}
		slices.Sort(rows)
		want := []string{cluster + " ledger 0 ledger-import hanging", cluster + " shipments 0 carrier-sync ongoing"}
		if !slices.Equal(rows, want) {
			t.Errorf("cluster %q: the table's rows are %q, want %q", cluster, rows, want)
		}
	}

	// Exporters of granularity group have no series of topics.
	for _, title := range []string{"Groups: state and both lags", "LSO lag", "HWM lag", "LSO lag in time", "HWM lag in time"} {
		expression := picks{"cluster": "demo"}.filled(find(title).Targets[0].Expr)
		if answer := ask(t, s.crowd, strings.ReplaceAll(expression, "kafka_group_topic_", "absent_"), true, begun, held); len(answer) == 0 {
			t.Errorf("%s has no data at the granularity group: %s", title, expression)
		}
	}

	// Variables offer what there is.
	for _, v := range board.Templating.List {
		if v.Type != "query" {
			continue
		}
		selector, label, found := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(v.Query, "label_values("), ")"), "}, ")
		if found {
			selector += "}"
		} else {
			selector, label, _ = strings.Cut(selector, ", ")
		}
		var values struct{ Data []string }
		address := "http://" + s.crowd + "/api/v1/label/" + label + "/values?" + url.Values{"match[]": {picks{}.filled(selector)}}.Encode()
		if err := json.Unmarshal(get(t, address), &values); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"cluster": "demo", "topic": "shipments", "partition": "2", "group": "dispatch"}[v.Name]
		if want == "" || !slices.Contains(values.Data, want) {
			t.Errorf("variable %s offers %q by %s, and %q is not among them", v.Name, values.Data, v.Query, want)
		}
	}
}
