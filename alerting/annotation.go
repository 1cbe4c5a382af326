package alerting

import (
	"fmt"
	"strings"
)

// ofCluster goes on from a name, where the cluster has one.
const ofCluster = "{{ with $labels.cluster }} of cluster {{ . }}{{ end }}"

// notKnown is what an annotation says where there is nothing to be said.
const notKnown = "not known"

// notAsked stands for brokers of which no request is counted: where there is nothing to
// log in with, none is made.
const notAsked = "not known (without a token or a password, none is asked)"

// A question is a query that Prometheus runs while it makes an annotation, so
// that what it answers is no label of the alert.
type question struct {
	query string // with %q for each of the labels
	about []string
}

// ask makes a question of a query that is built for any cluster. Its matchers
// on the labels of the alert are those of [same].
func ask(query string, about ...string) question {
	lines := strings.Split(query, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return question{strings.Join(lines, " "), about}
}

// same matches the labels that the alert has. Their values are written as
// PromQL writes strings, whatever the names in the cluster.
func same(labels ...string) []string {
	matchers := make([]string, len(labels))
	for i, label := range labels {
		matchers[i] = label + "=%q"
	}
	return matchers
}

// answered is a template that goes on with the samples, or says otherwise when
// there are none.
func (q question) answered(then, otherwise string) string {
	arguments := ""
	for _, label := range q.about {
		arguments += " $labels." + label
	}
	return fmt.Sprintf("{{ with printf `%s`%s | query }}%s{{ else }}%s{{ end }}", q.query, arguments, then, otherwise)
}

// label is a label of the first sample.
func (q question) label(name string) string {
	return q.answered("{{ with (first .).Labels."+name+" }}{{ . }}{{ else }}"+notKnown+"{{ end }}", notKnown)
}

// list is a label of all samples, sorted.
func (q question) list(name, otherwise string) string {
	return q.answered("{{ range $i, $sample := sortByLabel `"+name+"` . }}{{ if $i }}, {{ end }}{{ with $sample.Labels."+name+" }}{{ . }}{{ else }}"+notKnown+"{{ end }}{{ end }}", otherwise)
}

// info is the metric with the transaction that holds a partition.
const info = "kafka_partition_blocking_transaction_info"

// blockerOfPartition asks for the transaction that holds the alert's partition.
// One about which something is certain comes first, as an exporter that has
// just started knows less than another.
func (s scope) blockerOfPartition() question {
	s.cluster = ""
	const by = "transactional_id, verdict, reason, producer_id, producer_epoch, coordinator"
	about := []string{"cluster", "topic", "partition"}
	matchers := same(about...)
	certain := s.most(by, info, append(matchers, `verdict!="unknown"`)...)
	return ask("sort_desc("+certain+" * 2 or "+s.most(by, info, matchers...)+")", append(about, about...)...)
}

// heldBy is a sentence about the transaction that holds the alert's partition.
func (s scope) heldBy() string {
	return s.blockerOfPartition().answered(`{{ with first . }}It is `+
		`{{ with .Labels.transactional_id }}that of transactional id {{ . }}{{ else }}one whose transactional id is not known{{ end }}: `+
		`verdict {{ .Labels.verdict }}`+
		`{{ if ne .Labels.reason "none" }}, reason {{ .Labels.reason }}{{ end }}`+
		`{{ with .Labels.producer_id }}, producer id {{ . }}{{ end }}`+
		`{{ with .Labels.producer_epoch }}, producer epoch {{ . }}{{ end }}`+
		`{{ with .Labels.coordinator }}, coordinator broker {{ . }}{{ end }}.{{ end }}`,
		"Which one, is not known.")
}

// lastStableOffset is where the alert's partition is held.
func (s scope) lastStableOffset() string {
	s.cluster = ""
	about := []string{"cluster", "topic", "partition"}
	return ask(s.most("topic", "kafka_partition_last_stable_offset", same(about...)...), about...).
		answered(`{{ first . | value | printf "%.0f" }}`, notKnown)
}

// blockedGroups are the groups that are blocked on the alert's topic, ten at
// most.
func (s scope) blockedGroups() string {
	s.cluster = ""
	about := []string{"cluster", "topic"}
	blocked := s.most("group", "kafka_group_topic_state", append(same(about...), `state="blocked"`)...)
	return ask("topk(10, "+blocked+")", about...).list("group", "none known")
}

// blockersOfGroup asks for the transactions that hold the alert's group back on
// its topic, five at most. Without series of the group's partitions they are
// all that hold the topic.
func (s scope) blockersOfGroup() question {
	s.cluster = ""
	ofTopic, ofGroup := []string{"cluster", "topic"}, []string{"cluster", "group", "topic"}
	held := s.fresh(info, same(ofTopic...)...)
	blocked := s.series("kafka_group_partition_blocked_seconds", same(ofGroup...)...)
	return ask("topk(5, "+greatest("transactional_id, verdict",
		held+"\nand on ("+byPartition+") "+blocked+"\nor\n"+held+"\nunless on (cluster, topic) "+blocked)+")",
		"cluster", "topic", "cluster", "group", "topic", "cluster", "topic", "cluster", "group", "topic")
}

// members is how many members the alert's group has.
func (s scope) members() string {
	s.cluster = ""
	about := []string{"cluster", "group"}
	return ask(s.most("group", "kafka_group_members", same(about...)...), about...).answered("{{ first . | value }}", notKnown)
}

// errors are the kinds of errors of the alert's exporter lately.
func (s scope) errors() string {
	s.cluster = ""
	about := []string{"cluster", "job", "instance"}
	return ask(fmt.Sprintf("sum by (kind) (increase(%s[10m])) > 0",
		s.series("lso_exporter_errors_total", same(about...)...)), about...).list("kind", "none in the last ten minutes")
}

// securing matches, by its label, errors of connections that could not be
// secured.
func securing(label string) string { return label + `=~"authentication|tls"` }

// howRefused is a sentence on each of the ways in which the alert's exporter
// fails to get a secured connection.
func (s scope) howRefused() string {
	s.cluster = ""
	about := []string{"cluster", "job", "instance"}
	return ask(fmt.Sprintf("sum by (kind) (increase(%s[10m])) > 0",
		s.series("lso_exporter_errors_total", append(same(about...), securing("kind"))...)), about...).
		answered("{{ range $i, $sample := sortByLabel `kind` . }}{{ if $i }} {{ end }}"+
			"{{ if eq $sample.Labels.kind `tls` }}TLS fails: a certificate is not trusted, has expired or has another name, or the port is none with TLS."+
			"{{ else }}The login fails: brokers refuse it, or there is nothing to log in with.{{ end }}{{ end }}",
			"The login fails, or TLS.")
}

// refusing are the brokers to which the alert's exporter gets no secured
// connection, ten at most.
func (s scope) refusing() string {
	s.cluster = ""
	about := []string{"cluster", "job", "instance"}
	return ask(fmt.Sprintf("topk(10, sum by (broker) (increase(%s[10m])) > 0)",
		s.series("lso_exporter_requests_total", append(same(about...), securing("error"))...)), about...).list("broker", notAsked)
}
