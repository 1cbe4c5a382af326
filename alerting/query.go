package alerting

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"github.com/lso-exporter/lso-exporter/config"
)

// What series are told apart by: every alert is about one of these.
const (
	byPartition      = "cluster, topic, partition"
	byGroup          = "cluster, group"
	byGroupTopic     = "cluster, group, topic"
	byGroupPartition = "cluster, group, topic, partition"
	byBroker         = "cluster, broker"
	byTarget         = "cluster, job, instance"
	byCluster        = "cluster"
)

// subject is a list of labels as Alert.Subject has it.
func subject(by string) []string { return strings.Split(by, ", ") }

// scope builds queries for the clusters and thresholds of one configuration.
type scope struct {
	cluster string // empty for all
	config.Alerts
}

// keepFiring is how long an alert goes on when its condition is not seen any more.
// It is shorter by a tenth for each alert in a row that may be its cause, and
// silences it (docs/alertmanager.yml): conditions that end with each other are not
// found to have ended at one moment, and a consequence that outlasts its cause
// would be told alone.
func (s scope) keepFiring(causes int) time.Duration {
	return s.KeepFiring * time.Duration(10-causes) / 10
}

// series selects the series of a metric. Matchers are in PromQL, without braces.
func (s scope) series(metric string, matchers ...string) string {
	if s.cluster != "" {
		matchers = append([]string{"cluster=" + quote(s.cluster)}, matchers...)
	}
	if len(matchers) == 0 {
		return metric
	}
	return metric + "{" + strings.Join(matchers, ", ") + "}"
}

// fresh selects the series of a metric whose exporter has ended a sweep lately.
func (s scope) fresh(metric string, matchers ...string) string {
	return fmt.Sprintf("%s\nand on (%s) (time() - %s < %s)", s.series(metric, matchers...),
		byTarget, s.series("lso_exporter_last_sweep_timestamp_seconds"), seconds(s.ExporterStale))
}

// greatest is one series for each thing, whatever the number of exporters that
// know it.
func greatest(by, query string) string { return fmt.Sprintf("max by (%s) %s", by, block(query)) }

// most is greatest of the fresh series of a metric.
func (s scope) most(by, metric string, matchers ...string) string {
	return greatest(by, s.fresh(metric, matchers...))
}

// before is the last value that a metric had a while ago. It bridges five
// minutes in which there was none, as nothing was scraped then.
func (s scope) before(by, metric string, ago time.Duration) string {
	return fmt.Sprintf("max by (%s) (last_over_time(%s[5m] offset %s))", by, s.series(metric), duration(ago))
}

// seen is the things of which a metric, within a while, has had a value that
// passes the test ("> 0"), even if who said so is gone. The whole time is looked
// through in strides, the last hundredth of it sample by sample.
func (s scope) seen(by, metric, test string, within time.Duration) string {
	return anyOf(
		fmt.Sprintf("max_over_time((max by (%s) (%s))[%s:%s]) %s", by, s.series(metric), duration(within), duration(within/144), test),
		fmt.Sprintf("max by (%s) (max_over_time(%s[%s])) %s", by, s.series(metric), duration(within/96), test),
	)
}

// block puts a query in brackets, on lines of its own if it has several.
func block(query string) string {
	if !strings.Contains(query, "\n") && !strings.HasPrefix(query, "#") {
		return "(" + query + ")"
	}
	return "(\n" + indented(query) + "\n)"
}

// anyOf is the series of all queries; of those with the same labels, the first.
func anyOf(queries ...string) string { return strings.Join(queries, "\nor\n") }

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// comment puts sentences above a query.
func comment(text, query string) string {
	return "# " + strings.ReplaceAll(text, "\n", "\n# ") + "\n" + query
}

// quote is a text in PromQL, whose strings are written as Go's.
func quote(text string) string { return strconv.Quote(text) }

// duration is a time in PromQL, for ranges.
func duration(d time.Duration) string { return model.Duration(d.Round(time.Millisecond)).String() }

// seconds is a time in PromQL, as a number.
func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
