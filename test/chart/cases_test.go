package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
)

// A renderCase is a chart with values that are right.
type renderCase struct {
	name   string
	chart  string
	values []string
}

// minimal is the least that must be set.
const (
	minimal        = `{image: {repository: registry.example/lso-exporter}, config: {kafka: {brokers: ["kafka-1:9092"]}}}`
	minimalSidecar = `lso-exporter-sidecar: {image: {repository: registry.example/lso-exporter}, config: {kafka: {brokers: ["kafka-1:9092"]}}}`
)

// toggles are what can be switched on, one at a time and all at once.
var toggles = []struct{ name, values string }{
	{"another image", `{image: {tag: "1.2.3", pullPolicy: Always, pullSecrets: [registry]}}`},
	{"an image by digest", `{image: {digest: "sha256:` + strings.Repeat("0", 64) + `"}}`},
	{"replicas", `{replicas: 2, podDisruptionBudget: {enabled: true}}`},
	{"spread", `{replicas: 3, topologySpread: [{topologyKey: topology.kubernetes.io/zone, maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]}`},
	{"secrets", `{secrets: {ca: {existingSecret: my-ca}, login: {data: {password: p}}}}`},
	{"sections of the configuration without keys", `{config: {kafka: {tls: null, sasl: null}, web: null}, monitor: {kind: PodMonitor}}`},
	{"another path", `{config: {web: {telemetry_path: /kafka}}, monitor: {kind: PodMonitor}}`},
	{"restart on change", `{restartOnChange: true}`},
	{"another port", `{port: 9090}`},
	{"web with TLS", `{web: {existingSecret: web, https: true}, monitor: {kind: PodMonitor, tlsConfig: {ca: {secret: {name: web, key: ca.crt}}, serverName: lso-exporter}}}`},
	{"web with a password", `{web: {existingSecret: web, healthPort: 9999}, monitor: {kind: ServiceMonitor, basicAuth: {username: {name: web, key: user}, password: {name: web, key: password}}}}`},
	{"no Service", `{service: {enabled: false}}`},
	{"a Service with annotations", `{service: {annotations: {a: b}}}`},
	{"PodMonitor", `{monitor: {kind: PodMonitor, labels: {release: prometheus}, interval: 15s, scrapeTimeout: 10s}}`},
	{"ServiceMonitor", `{service: {enabled: false}, monitor: {kind: ServiceMonitor}}`},
	{"rules", `{rules: {enabled: true, labels: {release: prometheus}}}`},
	{"rules of one's own", `{config: {alerts: {stalled: 1h}}, rules: {enabled: true, file: "groups: []\n"}}`},
	{"dashboard", `{dashboard: {enabled: true, labels: {grafana_dashboard: "1"}, annotations: {grafana_folder: Kafka}}}`},
	{"network policy", `{networkPolicy: {enabled: true}}`},
	{"network policy, both ways", `
networkPolicy:
  enabled: true
  from:
    - namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}
      podSelector: {matchExpressions: [{key: app.kubernetes.io/name, operator: In, values: [prometheus]}]}
  egress:
    enabled: true
    dnsPorts: [53, 5353]
    to:
      - ports: [9092, 9093]
        peers: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16]}}]
      - ports: [443]`},
	{"another ServiceAccount", `{serviceAccount: {create: false, name: mine}}`},
	{"a ServiceAccount with annotations", `{serviceAccount: {name: ours, annotations: {a: b}}}`},
	{"resources", `{resources: {requests: {cpu: 1, memory: 1Gi}, limits: {cpu: "2", memory: 1Gi, ephemeral-storage: 10Mi}}}`},
	{"user of the platform", `{user: null}`},
	{"another user", `{user: 1000}`},
	{"placement", `{nodeSelector: {kubernetes.io/os: linux}, tolerations: [{key: dedicated, operator: Equal, value: monitoring, effect: NoSchedule}], priorityClassName: monitoring}`},
	{"affinity", `
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}]}]
    preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, preference: {matchFields: [{key: metadata.name, operator: NotIn, values: [a]}]}}]
  podAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 100, podAffinityTerm: {topologyKey: topology.kubernetes.io/zone, namespaces: [kafka], labelSelector: {matchLabels: {strimzi.io/kind: Kafka}}}}
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - {topologyKey: kubernetes.io/hostname, namespaceSelector: {}, labelSelector: {matchExpressions: [{key: app, operator: Exists}]}}`},
	{"variables", `env: [{name: HTTPS_PROXY, value: "http://proxy.example:3128"}, {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}, {name: ZONE, valueFrom: {configMapKeyRef: {name: place, key: zone}}}]`},
	{"volumes", `
volumes:
  - {name: company-ca, configMap: {name: company-ca, optional: true}}
  - {name: more, secret: {secretName: more}}
  - {name: store, csi: {driver: secrets-store.csi.k8s.io, readOnly: true, volumeAttributes: {secretProviderClass: kafka}, nodePublishSecretRef: {name: store}}}
volumeMounts:
  - {name: company-ca, mountPath: /etc/company-ca}
  - {name: more, mountPath: /etc/more.pem, subPath: more.pem, readOnly: true}
  - {name: store, mountPath: /mnt/store, readOnly: true}`},
	{"hosts", `hostAliases: [{ip: 10.0.0.7, hostnames: [kafka-1.example, kafka-1]}]`},
	{"labels of all", `{commonLabels: {team: streams, app.kubernetes.io/part-of: kafka}, deploymentAnnotations: {a: b}}`},
	{"labels and annotations", `{podLabels: {team: kafka, app.kubernetes.io/name: not-theirs-to-set}, podAnnotations: {prometheus.io/scrape: "true"}}`},
	{"names", `{nameOverride: watch, fullnameOverride: ` + strings.Repeat("a-long-name-", 5) + `x}`},
	{"instances", `
instances:
  payments: {config: {groups: {include: "payments-.*"}}, replicas: 2, resources: {limits: {memory: 1Gi}}}
  rest: {config: {groups: {exclude: "payments-.*"}}}
  twenty-characters-xx:`},
}

// sidecarToggles are those of the library.
var sidecarToggles = []struct{ name, values string }{
	{"off", `enabled: false`},
	{"native always", `native: always`},
	{"native never", `native: never`},
	{"another image", `image: {tag: "1.2.3", pullPolicy: Always}`},
	{"an image by digest", `image: {digest: "sha256:` + strings.Repeat("0", 64) + `"}`},
	{"secrets", `secrets: {ca: {existingSecret: my-ca}, config: {data: {password: p}}}`},
	{"another port", `port: 9090`},
	{"PodMonitor", `podMonitor: {enabled: true, labels: {release: prometheus}, interval: 15s, scrapeTimeout: 10s}`},
	{"resources", `resources: {requests: {cpu: 1m, memory: 1Gi}, limits: {memory: 1Gi}}`},
	{"user of the pod", `user: null`},
	{"variables", `env: [{name: HTTPS_PROXY, value: "http://proxy.example:3128"}]`},
	{"volumes", `volumeMounts: [{name: lso-exporter, mountPath: /etc/more, readOnly: true}]`},
}

// cases are all modes, toggles and examples.
func cases(t *testing.T) []renderCase {
	t.Helper()
	all := []renderCase{{"standalone", standalone, []string{minimal}}}
	everything := []string{minimal}
	for _, toggle := range toggles {
		all = append(all, renderCase{"standalone, " + toggle.name, standalone, []string{minimal, toggle.values}})
		everything = append(everything, toggle.values)
	}
	all = append(all, renderCase{"standalone, all at once", standalone, everything})

	all = append(all, renderCase{"sidecar", application, []string{minimalSidecar}}, renderCase{"sidecar, example", consumer, nil})
	everything = []string{minimalSidecar}
	for _, toggle := range sidecarToggles {
		values := "lso-exporter-sidecar:\n  " + toggle.values + "\n"
		// Native always is not for every version of Kubernetes.
		if toggle.name != "native always" {
			all = append(all, renderCase{"sidecar, " + toggle.name, application, []string{minimalSidecar, values}})
		}
		if toggle.name != "off" && !strings.HasPrefix(toggle.name, "native") {
			everything = append(everything, values)
		}
	}
	all = append(all, renderCase{"sidecar, all at once", application, everything})

	for _, file := range examples(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, renderCase{"example " + filepath.Base(file), standalone, []string{string(text)}})
	}
	return all
}

// examples are the files of values for the standalone chart.
func examples(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(charts, "examples", "values-*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	return files
}

// The cases set every value that there is, so that one without a case is noticed.
func TestCasesSetEveryValue(t *testing.T) {
	set := make(map[string]bool)
	for _, toggle := range toggles {
		collect(t, set, standalone, toggle.values)
	}
	collect(t, set, standalone, minimal)
	for _, toggle := range sidecarToggles {
		collect(t, set, library, toggle.values)
	}
	collect(t, set, library, `{image: {repository: r}, config: {}, enabled: true, native: auto}`)
	for _, name := range []string{standalone, library} {
		values := load(t, name).Values
		for _, path := range leaves(name, values) {
			if !set[path] && !strings.Contains(path, ".config.") {
				t.Errorf("no case sets %s", path)
			}
		}
	}
}

// collect notes the paths of all that values set.
func collect(t *testing.T, set map[string]bool, name, text string) {
	t.Helper()
	values, err := chartutil.ReadValues([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var note func(path string, value any)
	note = func(path string, value any) {
		set[path] = true
		if m, ok := value.(map[string]any); ok {
			for key, v := range m {
				note(path+"."+key, v)
			}
		}
	}
	note(name, map[string]any(values))
}

// leaves are the paths of values that hold no others by default.
func leaves(path string, values map[string]any) []string {
	var all []string
	for key, value := range values {
		if m, ok := value.(map[string]any); ok && len(m) > 0 {
			all = append(all, leaves(path+"."+key, m)...)
			continue
		}
		all = append(all, path+"."+key)
	}
	slices.Sort(all)
	return all
}
