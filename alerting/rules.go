package alerting

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// fileHeader stands at the top of every file of rules.
const fileHeader = `# Alert rules of lso-exporter, printed by "lso-exporter rules". The thresholds are
# those of the section "alerts" of its configuration; docs/alerts.md explains them.
`

// PrometheusRules is the alerts as a file of rules of Prometheus, Thanos or
// Mimir.
func PrometheusRules(groups []Group) []byte {
	return file(mapping("groups", groupNodes(groups)))
}

// PrometheusRule is the alerts as a custom resource of the Prometheus operator,
// with the name and labels that it is given; the namespace is that of whoever
// applies it if it is empty.
func PrometheusRule(groups []Group, name, namespace string, labels map[string]string) []byte {
	metadata := mapping("name", text(name))
	if namespace != "" {
		add(metadata, "namespace", text(namespace))
	}
	if len(labels) > 0 {
		add(metadata, "labels", texts(labels))
	}
	return file(mapping(
		"apiVersion", text("monitoring.coreos.com/v1"),
		"kind", text("PrometheusRule"),
		"metadata", metadata,
		"spec", mapping("groups", groupNodes(groups))))
}

func groupNodes(groups []Group) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, g := range groups {
		rules := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range g.Alerts {
			rules.Content = append(rules.Content, g.Alerts[i].node())
		}
		if len(rules.Content) > 0 {
			list.Content = append(list.Content, mapping("name", text(g.Name), "rules", rules))
		}
	}
	return list
}

// node is the alert as a rule.
func (a *Alert) node() *yaml.Node {
	rule := mapping("alert", text(a.Name), "expr", text(a.Expr+"\n"))
	if a.For > 0 {
		add(rule, "for", text(duration(a.For)))
	}
	if a.KeepFiring > 0 {
		add(rule, "keep_firing_for", text(duration(a.KeepFiring)))
	}
	labels := map[string]string{"severity": string(a.Severity)}
	maps.Copy(labels, a.Labels)
	add(rule, "labels", texts(labels))
	if annotations := a.Annotations(); len(annotations) > 0 {
		add(rule, "annotations", texts(annotations))
	}
	return rule
}

// Annotations are the alert's annotations by name, as templates of Prometheus.
// There are none that are empty.
func (a *Alert) Annotations() map[string]string {
	all := map[string]string{
		"summary": a.Summary, "description": a.Description,
		"next_step": a.NextStep, "runbook_url": a.RunbookURL,
	}
	maps.Copy(all, a.Extra)
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all
}

// file is a document with its header.
func file(document *yaml.Node) []byte {
	var b bytes.Buffer
	b.WriteString(fileHeader)
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(document); err != nil {
		panic("alerting: encode rules: " + err.Error()) // only for nodes that are none
	}
	return b.Bytes()
}

// mapping is a mapping of keys and nodes in turns.
func mapping(keysAndNodes ...any) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(keysAndNodes); i += 2 {
		add(m, keysAndNodes[i].(string), keysAndNodes[i+1].(*yaml.Node))
	}
	return m
}

func add(m *yaml.Node, key string, value *yaml.Node) { m.Content = append(m.Content, text(key), value) }

// texts is a mapping of texts, in the order of their keys.
func texts(values map[string]string) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		add(m, key, text(values[key]))
	}
	return m
}

// text is a scalar; one of several lines is written as it is.
func text(value string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(value)
	if strings.Contains(value, "\n") {
		n.Style = yaml.LiteralStyle
	}
	return n
}
