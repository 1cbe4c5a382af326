// Package metrics declares every metric of the exporter once and renders views
// as Prometheus pages.
//
// A declaration holds name, help, type, labels and, for what is said of Kafka,
// the function that reads the value from a view (partition.go, group.go,
// cluster.go); the exporter's own metrics stand in self.go. [Catalogue] lists
// them all; docs/metrics.md is made from it.
//
// What the package guarantees:
//
//   - What a view does not know has no sample: never 0, −1, NaN or the value
//     before.
//   - No series stands twice on a page, and every page can be parsed, whatever
//     the names in the cluster (see [LabelValue]).
//   - A scrape writes bytes that were encoded and compressed when the view was
//     published or first asked for. It waits for no sweep.
//   - When a view has expired, or there is none yet, the exporter's own metrics
//     are still served.
//
// It leaves out the arithmetic: every number but the exporter's own comes from
// package lag as it is.
package metrics

import (
	"slices"
	"strconv"
	"strings"
)

// Type is a metric's type, in Prometheus' words.
type Type string

// The types in use.
const (
	Gauge     Type = "gauge"
	Counter   Type = "counter"
	Histogram Type = "histogram"
)

// Metric is the declaration of one metric.
type Metric struct {
	// Name is the full name.
	Name string
	Type Type
	// Meaning is the first part of the help text: whole sentences.
	Meaning string
	// Unit is what the value counts: "offsets", "seconds". Empty for metrics
	// whose value is always 1.
	Unit string
	// Section is where docs/measurements.md explains it; 0 for nowhere.
	Section int
	// Labels are the labels in order, but for "cluster", which every metric
	// with Cluster has where it is configured.
	Labels []string
	// Cluster says that the metric is about the cluster, not the process.
	Cluster bool
	// Sparse says when there is a sample at all, as the end of a sentence:
	// "while it is not zero". Empty: whenever the value is known.
	Sparse string
	// Collector is what must be switched on for it; empty for none.
	Collector string
}

// Help is the help text on the page: meaning, unit, section and sparseness.
func (m Metric) Help() string {
	var b strings.Builder
	b.WriteString(m.Meaning)
	if m.Unit != "" {
		b.WriteString(" Unit: " + m.Unit + ".")
	}
	if m.Sparse != "" {
		b.WriteString(" Sparse: a sample only " + m.Sparse + ".")
	}
	if m.Section != 0 {
		b.WriteString(" Measurements, section " + strconv.Itoa(m.Section) + ".")
	}
	return b.String()
}

// Catalogue lists every metric that the exporter can show, by name. The
// metrics of the Go runtime and of the process (go_*, process_*) are those of
// Prometheus' client library and not in it.
func Catalogue() []Metric {
	var all []Metric
	for _, s := range sources {
		all = append(all, s.Metric)
	}
	all = append(all, selfMetrics...)
	all = append(all, logMetrics...)
	slices.SortFunc(all, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return all
}
