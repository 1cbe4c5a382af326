package chart

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// only is the one object of a kind.
func only(t *testing.T, files map[string]string, kind string) object {
	t.Helper()
	var found object
	for name, o := range objects(t, manifests(files)) {
		if strings.HasPrefix(name, kind+"/") {
			if found != nil {
				t.Fatalf("more than one %s", kind)
			}
			found = o
		}
	}
	if found == nil {
		t.Fatalf("no %s", kind)
	}
	return found
}

// The sidecar is a native one from Kubernetes 1.29 on, and a container among others
// below; either is forced by the value native.
func TestSidecarByVersion(t *testing.T) {
	for _, c := range []struct {
		version, native, want string
	}{
		{"1.28.15", "auto", "plain"}, {"1.29.0", "auto", "native"}, {"1.37.2", "auto", "native"},
		{"v1.29.3-eks-a5565ad", "auto", "native"}, {"v1.28.9-gke.1000000", "auto", "plain"},
		{"1.28.15", "always", "native"}, {"1.37.2", "never", "plain"},
	} {
		d := only(t, mustRender(t, application, c.version, minimalSidecar, "lso-exporter-sidecar: {native: "+c.native+"}"), "Deployment")
		spec := []any{"spec", "template", "spec"}
		got := "none"
		if d.text(append(spec, "initContainers", 0, "name")...) == "lso-exporter" {
			got = "native"
			if policy := d.text(append(spec, "initContainers", 0, "restartPolicy")...); policy != "Always" {
				t.Errorf("%s: restartPolicy is %q", c.version, policy)
			}
		}
		if d.text(append(spec, "containers", 1, "name")...) == "lso-exporter" {
			if got == "native" {
				t.Errorf("%s: two sidecars", c.version)
			}
			got = "plain"
		}
		if got != c.want {
			t.Errorf("Kubernetes %s, native %s: the sidecar is %s, want %s", c.version, c.native, got, c.want)
		}
	}
}

// Nothing of the sidecar can hold up the application or take it out of its Services,
// and what restarts the sidecar does not ask Kafka.
func TestSidecarLeavesTheApplicationAlone(t *testing.T) {
	for _, version := range []string{"1.28.15", "1.37.2"} {
		d := only(t, mustRender(t, application, version, minimalSidecar, "lso-exporter-sidecar: {secrets: {user: {existingSecret: u}}}"), "Deployment")
		sidecar := d.at("spec", "template", "spec", "initContainers", 0)
		if version < "1.29" {
			sidecar = d.at("spec", "template", "spec", "containers", 1)
		}
		container := object(sidecar.(map[string]any))
		for _, probe := range []string{"startupProbe", "readinessProbe"} {
			if container.at(probe) != nil {
				t.Errorf("%s: the sidecar has a %s", version, probe)
			}
		}
		if path := container.text("livenessProbe", "httpGet", "path"); path != "/healthz" {
			t.Errorf("%s: the sidecar is alive by %q", version, path)
		}
		if path := container.text("env", 0, "valueFrom", "fieldRef", "fieldPath"); container.text("env", 0, "name") != "POD_IP" || path != "status.podIP" {
			t.Errorf("%s: the sidecar does not know the pod's address: %v", version, container.at("env"))
		}
		if d.at("spec", "template", "spec", "volumes", 1, "secret", "optional") != true {
			t.Errorf("%s: a missing Secret holds up the pod", version)
		}
	}
}

// Without a sidecar nothing is left of it.
func TestSidecarOff(t *testing.T) {
	text := manifests(mustRender(t, application, "1.37.2", minimalSidecar, "lso-exporter-sidecar: {enabled: false}"))
	if strings.Contains(text, "lso-exporter") {
		t.Errorf("something is left:\n%s", text)
	}
}

// The standalone exporter is alive while its process is, whatever Kafka does, and
// ready by its view; a Service leads to it in either case.
func TestStandaloneProbes(t *testing.T) {
	files := mustRender(t, standalone, "1.37.2", minimal)
	container := object(only(t, files, "Deployment").at("spec", "template", "spec", "containers", 0).(map[string]any))
	if path := container.text("livenessProbe", "httpGet", "path"); path != "/healthz" {
		t.Errorf("alive by %q", path)
	}
	if path := container.text("readinessProbe", "httpGet", "path"); path != "/readyz" {
		t.Errorf("ready by %q", path)
	}
	if container.at("startupProbe") != nil {
		t.Error("there is a startup probe")
	}
	if only(t, files, "Service").at("spec", "publishNotReadyAddresses") != true {
		t.Error("an exporter that is not ready is not scraped")
	}
}

// Where the pages may want a password, the probes ask on a port that does not.
func TestProbesWithoutPassword(t *testing.T) {
	files := mustRender(t, standalone, "1.37.2", minimal, `web: {existingSecret: web, https: true}`)
	container := object(only(t, files, "Deployment").at("spec", "template", "spec", "containers", 0).(map[string]any))
	for _, probe := range []string{"livenessProbe", "readinessProbe"} {
		if port, scheme := container.text(probe, "httpGet", "port"), container.at(probe, "httpGet", "scheme"); port != "health" || scheme != nil {
			t.Errorf("the %s asks at %s, scheme %v", probe, port, scheme)
		}
	}
	if got := container.at("ports", 1, "containerPort"); got != float64(10309) {
		t.Errorf("the port of the probes is %v", got)
	}
	if text := only(t, files, "ConfigMap").text("data", "lso-exporter.yml"); !strings.Contains(text, "health_listen_address: :10309\n") {
		t.Errorf("the exporter is told of another one:\n%s", text)
	}
}

// The sidecar shows what its own pod is assigned, unless it is told otherwise.
func TestSidecarScope(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{`{}`, "scope:\n  host: ${POD_IP}\n  kind: assigned\n"},
		{`lso-exporter-sidecar: {config: {scope: {host: "", client_id: "mine-.*"}}}`, "scope:\n  client_id: mine-.*\n  host: \"\"\n  kind: assigned\n"},
		{`lso-exporter-sidecar: {config: {scope: {kind: all, host: ""}}}`, "scope:\n  host: \"\"\n  kind: all\n"},
	} {
		text := only(t, mustRender(t, application, "1.37.2", minimalSidecar, c.values), "ConfigMap").text("data", "lso-exporter.yml")
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: the sidecar is told\n%swant\n%s", c.values, text, c.want)
		}
	}
}

// No pod of the charts has a token of Kubernetes' API.
func TestNoToken(t *testing.T) {
	files := mustRender(t, standalone, "1.37.2", minimal)
	if got := only(t, files, "Deployment").at("spec", "template", "spec", "automountServiceAccountToken"); got != false {
		t.Errorf("the pod's automountServiceAccountToken is %v", got)
	}
	if got := only(t, files, "ServiceAccount").at("automountServiceAccountToken"); got != false {
		t.Errorf("the account's automountServiceAccountToken is %v", got)
	}
}

// Without a user of the chart's, the platform or the pod chooses one, which must not
// be root all the same.
func TestUserOfThePlatform(t *testing.T) {
	pod := only(t, mustRender(t, standalone, "1.37.2", minimal, `user: null`), "Deployment").at("spec", "template", "spec", "securityContext")
	sidecar := only(t, mustRender(t, application, "1.37.2", minimalSidecar, `lso-exporter-sidecar: {user: null}`), "Deployment").at("spec", "template", "spec", "initContainers", 0, "securityContext")
	for name, context := range map[string]any{"the pod": pod, "the sidecar": sidecar} {
		c := object(context.(map[string]any))
		for _, key := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
			if c.at(key) != nil {
				t.Errorf("%s has %s %v", name, key, c.at(key))
			}
		}
		if c.at("runAsNonRoot") != true {
			t.Errorf("%s may be root", name)
		}
	}
}

// A change of the configuration or of a Secret that the chart makes changes the pods
// where that is asked for, and only there.
func TestRestartOnChange(t *testing.T) {
	pods := func(values ...string) any {
		return only(t, mustRender(t, standalone, "1.37.2", append([]string{minimal}, values...)...), "Deployment").at("spec", "template")
	}
	const change = `config: {cluster: other}`
	if !reflect.DeepEqual(pods(), pods(change)) {
		t.Error("a change that the exporter reads by itself replaces the pods")
	}
	const restart = `restartOnChange: true`
	if reflect.DeepEqual(pods(restart), pods(restart, change)) {
		t.Error("a change of the configuration does not replace the pods")
	}
	if reflect.DeepEqual(pods(restart, `secrets: {login: {data: {password: a}}}`), pods(restart, `secrets: {login: {data: {password: b}}}`)) {
		t.Error("a change of a Secret does not replace the pods")
	}
}

// Rules and dashboard arrive as the exporter makes them, byte for byte.
func TestRulesAndDashboardAsGenerated(t *testing.T) {
	files := mustRender(t, standalone, "1.37.2", minimal, `{rules: {enabled: true}, dashboard: {enabled: true}, service: {enabled: false}}`)
	want, err := os.ReadFile("../../dashboards/lso-exporter.json")
	if err != nil {
		t.Fatal(err)
	}
	got := objects(t, manifests(files))["ConfigMap/kafka-watch-lso-exporter-dashboard"].text("data", "lso-exporter.json")
	if got != string(want) {
		t.Error("the dashboard differs from dashboards/lso-exporter.json")
	}

	text, err := os.ReadFile("../../deploy/prometheus/lso-exporter.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	var generated map[string]any
	if err := yaml.UnmarshalStrict(text, &generated); err != nil {
		t.Fatal(err)
	}
	if got := only(t, files, "PrometheusRule").at("spec"); !reflect.DeepEqual(got, any(generated)) {
		t.Error("the rules differ from deploy/prometheus/lso-exporter.rules.yml")
	}
}

// Each exporter of a release has what its instance says over what all have.
func TestInstances(t *testing.T) {
	all := objects(t, manifests(mustRender(t, standalone, "1.37.2", minimal, `
config: {cluster: main, topics: {include: "all", exclude: "__.*"}}
instances:
  a: {config: {topics: {include: "a-.*"}}, replicas: 2}
  b:`)))
	for name, want := range map[string]map[string]any{
		"a": {"include": "a-.*", "exclude": "__.*"},
		"b": {"include": "all", "exclude": "__.*"},
	} {
		var config map[string]any
		text := all["ConfigMap/kafka-watch-lso-exporter-"+name].text("data", "lso-exporter.yml")
		if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
			t.Fatal(err)
		}
		if config["cluster"] != "main" || !reflect.DeepEqual(config["topics"], any(want)) {
			t.Errorf("instance %s is told\n%s", name, text)
		}
	}
	a, b := all["Deployment/kafka-watch-lso-exporter-a"], all["Deployment/kafka-watch-lso-exporter-b"]
	if reflect.DeepEqual(a.at("spec", "selector"), b.at("spec", "selector")) {
		t.Error("two Deployments select the same pods")
	}
	if a.at("spec", "replicas") == b.at("spec", "replicas") {
		t.Error("an instance cannot have its own number of replicas")
	}
}

// The notes say what to do next, in each mode.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		name, values string
		says         []string
	}{
		{"nothing scrapes", `{}`, []string{"kubectl --namespace monitoring port-forward", "monitor.kind=PodMonitor", "rules.enabled=true"}},
		{"everything is on", `{monitor: {kind: PodMonitor}, rules: {enabled: true}, dashboard: {enabled: true}}`, []string{"PodMonitor kafka-watch-lso-exporter", "podMonitorSelector"}},
		{"brokers as a text", `config: {kafka: {brokers: "kafka-1:9092,kafka-2:9092"}}`, []string{"watches kafka-1:9092,kafka-2:9092."}},
		{"instances", `instances: {a: {}, b: {}}`, []string{"kafka-watch-lso-exporter-a", "kafka-watch-lso-exporter-b", "no series of a group is in two of them"}},
	} {
		notes := ""
		for file, text := range mustRender(t, standalone, "1.37.2", minimal, c.values) {
			if strings.HasSuffix(file, "NOTES.txt") {
				notes = text
			}
		}
		for _, part := range c.says {
			if !strings.Contains(notes, part) {
				t.Errorf("%s: the notes\n%s\ndo not say %q", c.name, notes, part)
			}
		}
	}
}

// The exporter starts with every configuration that the charts render.
func TestConfigurationsAreGood(t *testing.T) {
	program := filepath.Join(t.TempDir(), "lso-exporter")
	build := exec.Command("go", "build", "-o", program, "./cmd/lso-exporter")
	build.Dir = "../.."
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the exporter: %v\n%s", err, output)
	}
	checked := 0
	for _, c := range cases(t) {
		for name, o := range objects(t, manifests(mustRender(t, c.chart, "1.37.2", c.values...))) {
			text := o.text("data", "lso-exporter.yml")
			if text == "" {
				continue
			}
			checked++
			folder := t.TempDir()
			text = mounted(t, text, folder)
			file := filepath.Join(folder, "lso-exporter.yml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			check := exec.Command(program, "config", "check", "--config.file="+file)
			check.Env = []string{"POD_IP=10.0.0.1"}
			if output, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %s: %s%s", c.name, name, output, text)
			}
		}
	}
	if checked == 0 {
		t.Error("no configuration was rendered")
	}
}

// mounted is a configuration with all files that it names in a folder, where they
// are as a pod would have them mounted.
func mounted(t *testing.T, text, folder string) string {
	t.Helper()
	const mounts = "/etc/lso-exporter/"
	certificate, key := selfSigned(t)
	for _, path := range regexp.MustCompile(mounts+`\S+`).FindAllString(text, -1) {
		content := []byte("secret")
		switch filepath.Ext(path) {
		case ".crt":
			content = certificate
		case ".key":
			content = key
		case ".yml":
			content = nil // a web configuration file may be empty
		}
		file := filepath.Join(folder, strings.TrimPrefix(path, mounts))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return strings.ReplaceAll(text, mounts, folder+"/")
}

// selfSigned is a certificate and its key, in PEM.
func selfSigned(t *testing.T) (certificate, key []byte) {
	t.Helper()
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, signer.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}
