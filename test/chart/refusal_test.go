package chart

import (
	"strings"
	"testing"
)

// Values that are wrong are refused before anything is rendered, in a line that
// says where and what.
func TestWrongValuesAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, values string
		says         []string // parts of the message
	}{
		{"a key that does not exist", `replica: 2`, []string{"additional properties 'replica' not allowed"}},
		{"a key of a section that does not exist", `image: {repo: x}`, []string{"at '/image'", "additional properties 'repo' not allowed"}},
		{"no replica", `replicas: 0`, []string{"at '/replicas'", "minimum: got 0, want 1"}},
		{"a text for a number", `port: "10308"`, []string{"at '/port'", "got string, want integer"}},
		{"a port that is none", `port: 70000`, []string{"at '/port'", "maximum: got 70,000, want 65,535"}},
		{"root", `user: 0`, []string{"at '/user'", "minimum: got 0, want 1"}},
		{"a monitor of another kind", `monitor: {kind: podmonitor}`, []string{"at '/monitor/kind'", "value must be one of 'none', 'PodMonitor', 'ServiceMonitor'"}},
		{"an interval without a unit", `monitor: {interval: "15"}`, []string{"at '/monitor/interval'", "does not match pattern"}},
		{"a label that is no text", `podLabels: {a: 1}`, []string{"at '/podLabels/a'", "got number, want string"}},
		{"a secret in the wrong place", `secrets: {password: hunter2}`, []string{"at '/secrets/password'", "got string, want object"}},
		{"a secret that is existing and made", `secrets: {login: {existingSecret: a, data: {b: c}}}`, []string{"at '/secrets/login'", "maxProperties: got 2, want 1"}},
		{"a name that is none", `secrets: {Login: {existingSecret: a}}`, []string{"at '/secrets'", "additional properties 'Login' not allowed"}},
		{"an instance with a value of the release", `instances: {a: {port: 1}}`, []string{"at '/instances/a'", "additional properties 'port' not allowed"}},
		{"an instance with a long name", `instances: {` + strings.Repeat("a", 21) + `: {}}`, []string{"at '/instances'", "additional properties '" + strings.Repeat("a", 21) + "' not allowed"}},
		{"a quantity that is none", `resources: {limits: {memory: 1 GB}}`, []string{"at '/resources/limits/memory'", "does not match pattern"}},
		{"a resource that a container has not", `resources: {limits: {disk: 1Gi}}`, []string{"at '/resources/limits'", "additional properties 'disk' not allowed"}},
		{"a peer with another key", `networkPolicy: {from: [{pods: {}}]}`, []string{"at '/networkPolicy/from/0'", "additional properties 'pods' not allowed"}},
		{"a digest that is none", `image: {digest: "sha256:0"}`, []string{"at '/image/digest'", "does not match pattern"}},
		{"an affinity with another key", `affinity: {nodeAffinity: {required: []}}`, []string{"at '/affinity/nodeAffinity'", "additional properties 'required' not allowed"}},
		{"a secret as a variable", `env: [{name: A, valueFrom: {secretKeyRef: {name: a, key: b}}}]`, []string{"at '/env/0/valueFrom'", "additional properties 'secretKeyRef' not allowed"}},
		{"a folder of the host", `volumes: [{name: a, hostPath: {path: /}}]`, []string{"at '/volumes/0'", "additional properties 'hostPath' not allowed"}},
		{"a label by which pods are found", `commonLabels: {app.kubernetes.io/name: other}`, []string{"at '/commonLabels/app.kubernetes.io~1name'"}},
		{"pod security", `securityContext: {privileged: true}`, []string{"additional properties 'securityContext' not allowed"}},

		{"no image", `image: {repository: ""}`, []string{"image.repository is not set: name the image"}},
		{"no brokers", `config: {kafka: {brokers: []}}`, []string{"config: kafka.brokers is empty: list at least one host:port"}},
		{"an instance without brokers", `instances: {a: {config: {kafka: {brokers: []}}}}`, []string{"instances.a.config: kafka.brokers is empty"}},
		{"what the chart sets", `config: {web: {listen_address: [":1"]}}`, []string{"config: web.listen_address is set by the chart: remove it and use the values port and web.existingSecret"}},
		{"a password in the configuration", `config: {kafka: {sasl: {password: hunter2}}}`, []string{"config: kafka.sasl.password would stand in a ConfigMap: put it into a Secret"}},
		{"a client secret in the configuration", `instances: {a: {config: {kafka: {sasl: {oauth: {client_secret: hunter2}}}}}}`, []string{"instances.a.config: kafka.sasl.oauth.client_secret would stand in a ConfigMap"}},
		{"a key that the exporter does not know", `config: {kafka: {broker: a}}`, []string{"at '/config/kafka'", "additional properties 'broker' not allowed"}},
		{"a value that the exporter does not know", `config: {granularity: topics}`, []string{"at '/config/granularity'", "value must be one of 'partition', 'topic', 'group'"}},
		{"a secret that is not mounted", `config: {kafka: {sasl: {password: "file:/etc/lso-exporter/secrets/login/password"}}}`, []string{"names /etc/lso-exporter/secrets/login, and secrets.login is not set"}},
		{"thresholds that the rules have not", `{config: {alerts: {stalled: 1h}}, rules: {enabled: true}}`, []string{"rules.enabled: the rules of the chart have the default thresholds", "--set-file rules.file=RULES"}},
		{"a rhythm that the rules do not know", `{instances: {a: {config: {sweep: {interval: 5m}}}}, rules: {enabled: true}}`, []string{"rules.enabled: the rules of the chart have the default thresholds"}},
		{"one port for two", `{web: {existingSecret: web, healthPort: 10308}}`, []string{"port and web.healthPort are the same: choose another one"}},
		{"a budget for one pod", `podDisruptionBudget: {enabled: true}`, []string{"podDisruptionBudget.enabled: no exporter has more than one replica"}},
	} {
		refused(t, c.name, standalone, []string{minimal, c.values}, c.says)
	}
	for _, c := range []struct {
		name, values string
		says         []string
	}{
		{"a key that does not exist", `replicas: 2`, []string{"lso-exporter-sidecar", "additional properties 'replicas' not allowed"}},
		{"a choice that is none", `native: true`, []string{"at '/native'", "value must be one of 'auto', 'always', 'never'"}},
		{"root", `user: 0`, []string{"at '/user'", "minimum: got 0, want 1"}},
		{"no image", `image: {repository: ""}`, []string{"lso-exporter-sidecar: image.repository is not set"}},
		{"no brokers", `config: {kafka: {brokers: []}}`, []string{"lso-exporter-sidecar: config.kafka.brokers is empty"}},
		{"what the chart sets", `config: {web: {listen_address: [":1"]}}`, []string{"lso-exporter-sidecar: config.web.listen_address is set by the chart"}},
		{"pages that the probe cannot ask for", `config: {web: {config_file: web.yml}}`, []string{"lso-exporter-sidecar: config.web.config_file, config.web.health_listen_address: the sidecar has one port"}},
		{"a password in the configuration", `config: {kafka: {sasl: {password: hunter2}}}`, []string{"lso-exporter-sidecar: config.kafka.sasl.password would stand in a ConfigMap"}},
		{"a secret that is not mounted", `config: {cluster: /etc/lso-exporter/secrets/ca/ca.crt}`, []string{"lso-exporter-sidecar: the configuration names /etc/lso-exporter/secrets/ca, and secrets.ca is not set"}},
	} {
		refused(t, "sidecar: "+c.name, application, []string{minimalSidecar, "lso-exporter-sidecar:\n  " + c.values + "\n"}, c.says)
	}
}

// longestMessage is what a person still reads of a refusal.
const longestMessage = 600

func refused(t *testing.T, name, chart string, values, says []string) {
	t.Helper()
	_, err := render(t, chart, "1.37.2", values...)
	if err == nil {
		t.Errorf("%s: not refused", name)
		return
	}
	message := err.Error()
	for _, part := range says {
		if !strings.Contains(message, part) {
			t.Errorf("%s: the message\n%s\ndoes not say %q", name, message, part)
		}
	}
	if strings.Contains(message, "hunter2") {
		t.Errorf("%s: the message shows the secret:\n%s", name, message)
	}
	if len(message) > longestMessage {
		t.Errorf("%s: the message is too long to be read:\n%s", name, message)
	}
}

// The schemas allow the values that the charts have by themselves, once what is
// required is set.
func TestDefaultsAreRight(t *testing.T) {
	for _, version := range []string{"1.28.15", "1.29.15", "1.37.2"} {
		mustRender(t, standalone, version, minimal)
		mustRender(t, application, version, minimalSidecar)
	}
	if _, err := render(t, standalone, "1.28.15"); err == nil {
		t.Error("rendered without an image and brokers")
	}
}
