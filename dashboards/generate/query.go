package generate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
)

// What series are told apart by.
const (
	byCluster        = "cluster"
	byTopic          = "cluster, topic"
	byPartition      = "cluster, topic, partition"
	byGroup          = "cluster, group"
	byGroupTopic     = "cluster, group, topic"
	byGroupPartition = "cluster, group, topic, partition"
	byExporter       = "cluster, instance"
)

// info is the metric with the transaction that holds a partition.
const info = "kafka_partition_blocking_transaction_info"

// stalled is the metric that is there for every partition that was read.
const stalled = "kafka_partition_lso_stalled_seconds"

// catalogue is the declarations by name.
var catalogue = func() map[string]metrics.Metric {
	all := make(map[string]metrics.Metric)
	for _, m := range metrics.Catalogue() {
		all[m.Name] = m
	}
	return all
}()

// named is a name of the catalogue, alone. It panics if there is none such.
func named(name string) string {
	if _, declared := catalogue[name]; !declared {
		panic("generate: no metric is named " + name)
	}
	return name
}

// picked are the labels by which the variables of the same name pick series.
var picked = []string{"cluster", "topic", "partition", "group"}

// without is in place of a matcher, and has a query not depend on one of the
// variables.
func without(label string) string { return "-" + label }

// of selects those series of a metric that the variables pick, by the labels
// that it has. Matchers are in PromQL, without braces.
func of(name string, matchers ...string) string { return suffixed(name, "", matchers...) }

// buckets are the buckets of a histogram.
func buckets(name string, matchers ...string) string {
	if m := catalogue[name]; m.Type != metrics.Histogram {
		panic("generate: no histogram is named " + name)
	}
	return suffixed(name, "_bucket", matchers...)
}

func suffixed(name, suffix string, matchers ...string) string {
	m := catalogue[named(name)]
	var all []string
	for _, label := range picked {
		has := slices.Contains(m.Labels, label) || label == "cluster" && m.Cluster
		if at := slices.Index(matchers, without(label)); at >= 0 {
			matchers = slices.Delete(slices.Clone(matchers), at, at+1)
			has = false
		}
		if has {
			all = append(all, fmt.Sprintf(`%s=~"$%s"`, label, label))
		}
	}
	all = append(all, matchers...)
	if len(all) == 0 {
		return name + suffix
	}
	return name + suffix + "{" + strings.Join(all, ", ") + "}"
}

// most is one series for each thing, whatever the number of exporters that know
// it.
func most(by, query string) string { return fmt.Sprintf("max by (%s) (%s)", by, query) }

// orNone is the series of a sparse metric, and 0 for what has another metric and
// not this one.
func orNone(by, name, another string) string {
	return most(by, of(name)) + " or 0 * " + most(by, of(another))
}

// number counts the series of a query. It is 0 where there is none and Kafka is
// seen: as long as a metric that is there of every partition or group is.
func number(query, where string) string {
	return fmt.Sprintf("count(%s) or 0 * count(%s)", query, where)
}

// numberBy counts the series of a query that have the same labels.
func numberBy(by, query string) string { return fmt.Sprintf("count by (%s) (%s)", by, query) }

// top narrows a query over a time to the few things of which a measure is the
// greatest at its end, so that a graph shows the same ones from beginning to end.
// The measure is a query of which every metric is taken [atTheEnd].
func top(n int, by, query, measure string) string {
	return fmt.Sprintf("%s\nand on (%s) topk(%d, max by (%s) (%s))", query, by, n, by, measure)
}

// end follows a metric that is taken at the end of the time that is shown.
const end = " @ end()"

// atTheEnd is the series of a metric at the end of the time that is shown.
func atTheEnd(name string) string { return of(name) + end }

// blocker is the transaction that holds a partition, always 1: one series for
// each partition, with the labels by which info is told apart. One about which
// something is certain comes first, as an exporter that has just started knows
// less than another.
func blocker(labels string) string {
	return fmt.Sprintf("(topk by (%s) (1, max by (%s, %s) (2 * %s or %s)) > bool 0)",
		byPartition, byPartition, labels, of(info, `verdict!="unknown"`), of(info))
}

// ofBlocker gives the series of a query, one for each partition, labels of the
// transaction that holds the partition.
func ofBlocker(query, labels string) string {
	return fmt.Sprintf("(%s)\n* on (%s) group_left (%s) %s", query, byPartition, labels, blocker(labels))
}

// each is 1 for each series of a query.
func each(query string) string { return "(" + query + " >= bool 0)" }

// rate is the rate of a counter.
func rate(series string) string { return "rate(" + series + "[$__rate_interval])" }

// share is the share of time with the last stable offset below the high
// watermark: of each exporter for itself, as two have not begun at the same
// time; then one series for each thing. Rates of two counters over a few samples
// reach a little beyond 1 where the offset is below all the time.
func share(by, within string) string {
	return "clamp_max(" + most(by, shareOf("["+within+"]")) + ", 1)"
}

// shareOf is the share of each exporter, over a range of time.
func shareOf(within string) string {
	over := func(name string) string { return "rate(" + of(name) + within + ")" }
	return over("kafka_partition_lso_below_hwm_seconds_total") + " / " + over("kafka_partition_observed_seconds_total")
}

// quantile is a quantile of a histogram, for each of by; nothing where nothing was
// counted.
func quantile(q string, by, name string) string {
	return fmt.Sprintf("histogram_quantile(%s, sum by (%s, le) (%s)) >= 0", q, by, rate(buckets(name)))
}

// groupsIn are the groups on topics that are in one of some states.
func groupsIn(states ...lag.GroupState) string {
	return most(byGroupTopic, of("kafka_group_topic_state", fmt.Sprintf("state=~%q", strings.Join(textsOf(states), "|"))))
}

// finest is a metric of groups on topics, and the metric of groups in its place
// where exporters tell no more (granularity group). at is what follows every
// metric: empty, or [end].
func finest(ofTopic, ofGroup, at string) string {
	return fmt.Sprintf("%s or %s unless on (%s) %s", most(byGroupTopic, of(ofTopic)+at), most(byGroup, of(ofGroup)+at),
		byGroup, of(ofTopic, without("topic"))+at)
}

// textsOf are words as texts.
func textsOf[S ~string](words []S) []string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return texts
}
