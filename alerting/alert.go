// Package alerting holds the conditions under which somebody should be told,
// and writes them as rules for Prometheus.
//
// Each alert is declared once: its condition as a query over the metrics of
// package metrics, its thresholds taken from the configuration, what it means,
// what to do next, and its runbook. [All] lists them; the rule files
// ([PrometheusRules], [PrometheusRule]) and the table in docs/alerts.md
// ([Reference]) are made from that list.
//
// What the conditions guarantee:
//
//   - A stalled last stable offset is told with no transaction known at all,
//     after a restart of the exporter too, whose own memory of the stall is gone.
//   - What an exporter says counts only while its sweeps are recent: one that is
//     frozen shows everything as stalled.
//   - Two exporters of one cluster make one alert, two clusters two (by the label
//     cluster), and a metric that is missing none.
//   - An alert's labels name its subject only. What may change while it lasts,
//     such as the transaction and its verdict, is in annotations, so that a change
//     does not start the alert anew.
//
// It leaves out the evaluation: Prometheus, or anything that takes its rules,
// does that.
package alerting

import (
	"time"

	"github.com/lso-exporter/lso-exporter/config"
)

// Severity is the label by which alerts are routed.
type Severity string

const (
	// Critical: records cannot be read, are lost, or nobody would know. Somebody
	// should look now.
	Critical Severity = "critical"
	// Warning: somebody should look today.
	Warning Severity = "warning"
)

// Alert is one condition under which somebody should be told.
type Alert struct {
	// Name is the alert's name; two alerts with one name differ in Labels.
	Name     string
	Severity Severity
	// Subject is what the alert is about: the labels that its series have.
	Subject []string
	// Labels are further labels, with their values.
	Labels map[string]string

	// Expr is the condition in PromQL, of one series for each thing that is in
	// trouble.
	Expr string
	// For is how long the condition must hold, KeepFiring how long the alert goes
	// on after that; 0 for neither.
	For, KeepFiring time.Duration

	// Summary and Description are what is sent, NextStep the first thing to do:
	// templates of Prometheus.
	Summary, Description, NextStep string
	// Extra are further annotations by name, templates too.
	Extra map[string]string
	// Runbook is the name of its page in docs/runbooks, without ".md"; RunbookURL
	// is where alerts link to.
	Runbook, RunbookURL string

	// Meaning is what the alert says, for the reference: a sentence.
	Meaning string
	// Thresholds are those of its condition.
	Thresholds []Threshold
}

// Threshold is a setting on which a condition depends.
type Threshold struct {
	// Setting is its key in the configuration, Value what it is set to.
	Setting, Value string
}

// A section is what alerts are about, in the order of the reference. Each is a
// group of rules.
type section struct {
	name   string // of the group of rules
	title  string // in the reference
	alerts func(scope) []Alert
}

var sections = []section{
	{"partitions", "Partitions and the transactions that hold them", partitionAlerts},
	{"coordinators", "Transaction coordinators", coordinatorAlerts},
	{"groups", "Consumer groups", groupAlerts},
	{"exporter", "The exporter itself", exporterAlerts},
}

// Group is alerts about one kind of thing.
type Group struct {
	// Name names the group among those of one file.
	Name string
	// Title is what its alerts are about.
	Title  string
	Alerts []Alert
}

// All lists the alerts with the thresholds of a configuration. With a cluster
// they are about that one alone, without about all that Prometheus knows.
func All(cluster string, thresholds config.Alerts) []Group {
	s := scope{cluster: cluster, Alerts: thresholds}
	var groups []Group
	for _, section := range sections {
		g := Group{Name: "lso-exporter-" + section.name, Title: section.title, Alerts: section.alerts(s)}
		if cluster != "" {
			g.Name += "-" + cluster
		}
		for i := range g.Alerts {
			a := &g.Alerts[i]
			a.RunbookURL = thresholds.Runbooks + a.Runbook + ".md"
		}
		groups = append(groups, g)
	}
	return groups
}
