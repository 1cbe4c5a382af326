package clients

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	dto "github.com/prometheus/client_model/go"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
)

// exporter sweeps a cluster when it is told to.
type exporter struct {
	cluster    *cluster
	runner     *collector.Runner
	exposition *metrics.Exposition
	page       map[string][]*dto.Metric
}

func newExporter(c *cluster) *exporter {
	c.t.Helper()
	client, err := collector.NewKafka(kgo.SeedBrokers(c.bootstrap...))
	c.must(err)
	c.t.Cleanup(client.Close)
	// On a busy machine a broker may take its time.
	e := &exporter{cluster: c, exposition: metrics.NewExposition(metrics.Options{}),
		runner: collector.NewRunner(client, collector.Options{Period: time.Minute, BrokerTimeout: 10 * time.Second})}
	e.runner.Subscribe(e.exposition.Publish)
	return e
}

// sweep sweeps once and reads the metrics.
func (e *exporter) sweep() {
	e.cluster.t.Helper()
	e.runner.Sweep(context.Background())
	families, done, err := e.exposition.Gather()
	e.cluster.must(err)
	defer done()
	e.page = map[string][]*dto.Metric{}
	for _, f := range families {
		e.page[f.GetName()] = f.GetMetric()
	}
}

// show is the value of the sample of a metric with these labels, given as name
// and value in turn, or "absent".
func (e *exporter) show(name string, labels ...string) string {
	for _, m := range e.page[name] {
		if matches(m, labels) {
			return strconv.FormatFloat(m.GetGauge().GetValue(), 'f', -1, 64)
		}
	}
	return "absent"
}

func matches(m *dto.Metric, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		if label(m, labels[i]) != labels[i+1] {
			return false
		}
	}
	return true
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// of writes down what the metrics say of a group, in the form of what the tool
// tells. Whose a partition is, is in no metric: it is taken from the view, as
// diagnose does.
func (e *exporter) of(group string) []string {
	var lines []string
	for _, m := range e.page["kafka_group_state"] {
		if label(m, "group") == group && m.GetGauge().GetValue() == 1 {
			lines = append(lines, fmt.Sprintf("group %s, %s members, coordinator %s",
				label(m, "state"), e.show("kafka_group_members", "group", group), e.coordinatorOf(group)))
		}
	}
	for _, g := range e.runner.View().Groups {
		if g.Name == group {
			lines = append(lines, e.ofView(&g)...)
		}
	}
	slices.Sort(lines)
	return lines
}

func (e *exporter) coordinatorOf(group string) string {
	for _, m := range e.page["kafka_group_info"] {
		if label(m, "group") == group {
			return label(m, "coordinator")
		}
	}
	return "absent"
}

func (e *exporter) ofView(g *lag.GroupView) (lines []string) {
	for _, m := range g.MemberList {
		lines = append(lines, fmt.Sprintf("member %s %s %s", m.ID, m.Host, m.ClientID))
	}
	for _, t := range g.Topics {
		for _, p := range t.Partitions {
			of := []string{"topic", t.Topic, "partition", strconv.Itoa(int(p.Partition))}
			ofGroup := slices.Concat([]string{"group", g.Name}, of)
			owner := "- - -"
			if p.Owner != nil {
				owner = fmt.Sprintf("%s %s %s", p.Owner.ID, p.Owner.Host, p.Owner.ClientID)
			}
			lines = append(lines, fmt.Sprintf("%s-%d committed %s high %s lag %s owner %s", t.Topic, p.Partition,
				e.show("kafka_group_partition_committed_offset", ofGroup...), e.show("kafka_partition_high_watermark", of...),
				e.show("kafka_group_partition_hwm_lag", ofGroup...), owner))
		}
	}
	return lines
}

// figuresOf are the metrics of a group in partition 0 of a topic, those that
// there are.
func (e *exporter) figuresOf(group, topic string) string {
	var found []string
	add := func(what, value string) {
		if value != "absent" {
			found = append(found, what+" "+value)
		}
	}
	of := []string{"group", group, "topic", topic, "partition", "0"}
	add("committed", e.show("kafka_group_partition_committed_offset", of...))
	add("high", e.show("kafka_partition_high_watermark", of[2:]...))
	for _, what := range []string{"hwm_lag", "lso_lag", "lost_offsets", "ahead_offsets"} {
		add(what, e.show("kafka_group_partition_"+what, of...))
	}
	if e.show("kafka_group_partition_pending_offset_commit_seconds", of...) != "absent" {
		found = append(found, "pending")
	}
	if e.show("kafka_group_partition_unassigned", of...) != "absent" {
		found = append(found, "unassigned")
	}
	return strings.Join(found, ", ")
}
