package chart

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"
)

// apiserverVariable asks for the tests that take an API server of Kubernetes.
const apiserverVariable = "LSO_APISERVER"

// The server's version, which is the one of apiserver/go.mod.
const apiserverVersion = "1.37.2"

// strimziVariable names a file with the definition (CRD) of Strimzi's KafkaUser.
const strimziVariable = "LSO_STRIMZI_CRD"

const controllerGen = "sigs.k8s.io/controller-tools/cmd/controller-gen@v0.23.0"

// A desk is where somebody sits who follows the pages: with a clone, helm, kubectl and
// the exporter, and a cluster of Kubernetes that has an API server and nothing else.
type desk struct {
	clone      string // what commands run in: the charts, and the files that pages speak of
	bin        string // where the programs are
	kubeconfig string
}

// Kubernetes itself takes what the charts install, upgrade and roll back, and what the
// pages say; nothing is left behind by what is uninstalled.
func TestAPIServer(t *testing.T) {
	if os.Getenv(apiserverVariable) == "" {
		t.Skipf("not run: an API server is asked for by %s=1 (a quarter of an hour to compile, once)", apiserverVariable)
	}
	d := sit(t)
	t.Run("it refuses what is wrong", func(t *testing.T) { refusals(t, d) })
	t.Run("commands of the pages", func(t *testing.T) { commandsOfThePages(t, d) })
	t.Run("commands of the examples", func(t *testing.T) { commandsOfTheExamples(t, d) })
	t.Run("a release, from its installation to its end", func(t *testing.T) { life(t, d) })
	t.Run("every mode and value", func(t *testing.T) { everyCase(t, d) })
}

// sit builds the programs and starts the server.
func sit(t *testing.T) *desk {
	t.Helper()
	d := &desk{clone: filepath.Join(t.TempDir(), "clone"), bin: t.TempDir()}
	number := strings.Split(apiserverVersion, ".")
	const version = "k8s.io/component-base/version."
	flags := fmt.Sprintf("-X %sgitVersion=v%s -X %sgitMajor=%s -X %sgitMinor=%s",
		version, apiserverVersion, version, number[0], version, number[1])
	for _, program := range []struct{ name, folder, of string }{
		{"helm", "apiserver", "helm.sh/helm/v3/cmd/helm"},
		{"apiserver", "apiserver", "."},
		{"kubectl", "apiserver", "k8s.io/kubernetes/cmd/kubectl"},
		{"lso-exporter", "../..", "./cmd/lso-exporter"},
	} {
		build := exec.Command("go", "build", "-ldflags="+flags, "-o", filepath.Join(d.bin, program.name), program.of)
		build.Dir = program.folder
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", program.name, err, output)
		}
	}
	if err := os.CopyFS(filepath.Join(d.clone, "deploy"), os.DirFS("../../deploy")); err != nil {
		t.Fatal(err)
	}
	d.serve(t)
	d.define(t)
	return d
}

// serve starts the server, and ends it with the test.
func (d *desk) serve(t *testing.T) {
	t.Helper()
	server := exec.Command(filepath.Join(d.bin, "apiserver"), t.TempDir())
	var log bytes.Buffer
	server.Stderr = &log
	output, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	hangs := time.AfterFunc(5*time.Minute, func() { _ = server.Process.Kill() })
	line := make([]byte, 4096)
	n, err := output.Read(line)
	hangs.Stop()
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		kill := time.AfterFunc(time.Minute, func() { _ = server.Process.Kill() })
		defer kill.Stop()
		_, _ = io.Copy(io.Discard, output)
		if err := server.Wait(); err != nil {
			t.Errorf("the API server ended: %v", err)
		}
		if t.Failed() {
			text := log.String()
			t.Logf("the end of the API server's log:\n%s", text[max(0, len(text)-4000):])
		}
	})
	if err != nil {
		t.Fatalf("the API server is not ready: %v", err)
	}
	d.kubeconfig = strings.TrimSpace(string(line[:n]))
}

// run gives a command to a shell, in a folder of the clone.
func (d *desk) run(t *testing.T, folder, command string, environment ...string) (output string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	shell := exec.CommandContext(ctx, "sh", "-c", command)
	shell.Dir = filepath.Join(d.clone, folder)
	shell.WaitDelay = 10 * time.Second
	shell.Env = append([]string{"PATH=" + d.bin + ":" + os.Getenv("PATH"), "HOME=" + d.bin, "KUBECONFIG=" + d.kubeconfig}, environment...)
	text, err := shell.CombinedOutput()
	return string(text), err
}

// must is run, of what has to succeed.
func (d *desk) must(t *testing.T, folder, command string, environment ...string) string {
	t.Helper()
	output, err := d.run(t, folder, command, environment...)
	if err != nil {
		t.Errorf("%s\n%v\n%s", command, err, output)
	}
	return output
}

// write writes a file of the clone.
func (d *desk) write(t *testing.T, file, text string) {
	t.Helper()
	path := filepath.Join(d.clone, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// standIn is the definition of a kind of which nothing is known but its name.
const standIn = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kafkausers.kafka.strimzi.io}
spec:
  group: kafka.strimzi.io
  names: {kind: KafkaUser, plural: kafkausers, singular: kafkauser}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// define tells the server of the kinds of the Prometheus operator, as its own types have
// them, and of Strimzi's.
func (d *desk) define(t *testing.T) {
	t.Helper()
	folder := filepath.Join(d.clone, "definitions")
	generate := exec.Command("go", "run", controllerGen, "crd",
		"paths=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1", "output:crd:dir="+folder)
	if output, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	strimzi := standIn
	if file := os.Getenv(strimziVariable); file != "" {
		strimzi = read(t, file)
	} else {
		t.Logf("not run: what stands in a KafkaUser is not judged, as %s names no file with Strimzi's definition", strimziVariable)
	}
	d.write(t, "definitions/strimzi.yaml", strimzi)
	d.must(t, ".", "kubectl apply --server-side -f definitions && kubectl wait --for condition=Established crd --all")
	if t.Failed() {
		t.FailNow()
	}
}

// namespace makes one whose pods are held to the restricted level of pod security.
func (d *desk) namespace(t *testing.T, name string) {
	t.Helper()
	d.must(t, ".", fmt.Sprintf("kubectl create namespace %[1]s --dry-run=client --output yaml | kubectl apply -f - && "+
		"kubectl label --overwrite namespace %[1]s pod-security.kubernetes.io/enforce=restricted && "+
		// A controller makes this account in every namespace; there is none here.
		"kubectl --namespace %[1]s create serviceaccount default --dry-run=client --output yaml | kubectl apply -f -", name))
}

// refusals holds that the server judges at all: each of these is refused, in its words.
func refusals(t *testing.T, d *desk) {
	d.namespace(t, "refusals")
	const pod = `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}`
	for _, c := range []struct{ name, manifest, says string }{
		{"a field that does not exist", `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, dat: {a: b}}`, `unknown field "dat"`},
		{"a field that a monitor has not", `{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: m}, spec: {selector: {}, podMetricsEndpoints: [{prt: metrics}]}}`, `unknown field "spec.podMetricsEndpoints[0].prt"`},
		{"an interval that is none", `{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, metadata: {name: m}, spec: {selector: {}, podMetricsEndpoints: [{port: metrics, interval: "15"}]}}`, `podMetricsEndpoints[0].interval`},
		{"a pod that may do what it likes", pod, `violates PodSecurity "restricted:latest"`},
		{"a pod without its account", strings.Replace(pod, "spec: {", "spec: {serviceAccountName: nobody, ", 1), `nobody`},
	} {
		d.write(t, "refused.yaml", c.manifest)
		output, err := d.run(t, ".", "kubectl create --namespace refusals --dry-run=server -f refused.yaml")
		if err == nil || !strings.Contains(output, c.says) {
			t.Errorf("%s: %v, and the server says\n%s\nwant %s", c.name, err, output, c.says)
		}
	}
	// Helm hands on what the schema of the values says, and nothing is installed.
	output, err := d.run(t, ".", "helm install wrong deploy/helm/lso-exporter --namespace refusals --set image.repository=r --set 'config.kafka.brokers={a:1}' --set monitor.kind=podmonitor")
	if err == nil || !strings.Contains(output, "value must be one of 'none', 'PodMonitor', 'ServiceMonitor'") {
		t.Errorf("a wrong value: %v, and Helm says\n%s", err, output)
	}
	if output := d.must(t, ".", "helm list --namespace refusals --all --short"); output != "" {
		t.Errorf("what was refused is installed: %s", output)
	}
}

// installs matches a command that installs a release, perhaps into a namespace.
var installs = regexp.MustCompile(`^helm install (\S+) .*?(?:--namespace (\S+) |--set)`)

// commandsOfThePages runs what apiserver/commands.txt lists, which a test of the pages
// holds to what they say.
func commandsOfThePages(t *testing.T, d *desk) {
	page := read(t, "../../docs/kubernetes.md")
	d.write(t, "lso-exporter.yml", "kafka: {brokers: [kafka-1.example:9092, kafka-2.example:9092]}\ncluster: main\nalerts: {stalled: 15m}\n")
	d.must(t, ".", "lso-exporter rules --config.file=lso-exporter.yml > rules.yml")
	d.write(t, "values.yaml", block(t, page, "# values.yaml\nimage:"))
	// The application is that of the example, with what the page says of the library.
	for from, to := range map[string]string{"examples/consumer": "my-application", library: library} {
		if err := os.CopyFS(filepath.Join(d.clone, to), os.DirFS(filepath.Join(charts, from))); err != nil {
			t.Fatal(err)
		}
	}
	chart, _, _ := strings.Cut(read(t, filepath.Join(charts, "examples/consumer/Chart.yaml")), "dependencies:")
	d.write(t, "my-application/Chart.yaml", chart+block(t, page, "# Chart.yaml"))
	d.write(t, "my-application/templates/lso-exporter.yaml", block(t, page, "# templates/lso-exporter.yaml"))
	d.write(t, "my-application/values.yaml", "image: i\nreplicas: 3\n"+block(t, page, "# values.yaml\nlso-exporter-sidecar:"))
	d.namespace(t, "kafka")

	for line := range strings.Lines(read(t, "apiserver/commands.txt")) {
		command := strings.TrimPrefix(strings.TrimSpace(line), "+ ")
		if command == "" || strings.HasPrefix(command, "#") {
			continue
		}
		if m := installs.FindStringSubmatch(command); m != nil {
			// Another page may have installed it.
			namespace := m[2]
			if namespace == "" {
				namespace = "default"
			}
			d.must(t, ".", "helm uninstall --ignore-not-found "+m[1]+" --namespace "+namespace)
		}
		if strings.Contains(command, " exec ") {
			// As far as one gets that has no nodes.
			d.pod(t, "monitoring", "lso-exporter")
			output, err := d.run(t, ".", command)
			if err == nil || !strings.Contains(output, "does not have a host assigned") {
				t.Errorf("%s\n%v\n%s", command, err, output)
			}
			continue
		}
		t.Logf("%s\n%s", command, d.must(t, ".", command))
	}
	if pods := d.must(t, ".", "helm template my-application my-application --kube-version "+apiserverVersion); !strings.Contains(pods, "restartPolicy: Always") {
		t.Errorf("the application has no sidecar:\n%s", pods)
	}
}

// exampleCommand matches the commands in the head of an example.
var exampleCommand = regexp.MustCompile(`(?m)^# {2,}((?:kubectl|helm) .*)$`)

// commandsOfTheExamples runs those that the examples begin with, in a namespace of their
// own, and installs the others.
func commandsOfTheExamples(t *testing.T, d *desk) {
	const folder = "deploy/helm/examples"
	d.write(t, folder+"/ca.crt", "a certificate\n")
	for _, file := range examples(t) {
		name := filepath.Base(file)
		namespace := strings.TrimSuffix(name, ".yaml")
		d.namespace(t, namespace)
		kubeconfig := filepath.Join(d.clone, namespace+".kubeconfig")
		if err := os.WriteFile(kubeconfig, []byte(read(t, d.kubeconfig)), 0o600); err != nil {
			t.Fatal(err)
		}
		own := "KUBECONFIG=" + kubeconfig
		d.must(t, folder, "kubectl config set-context --current --namespace "+namespace, own)
		commands := exampleCommand.FindAllStringSubmatch(read(t, file), -1)
		if len(commands) == 0 {
			commands = [][]string{{"", "helm install lso-exporter ../lso-exporter -f " + name}}
		}
		for _, c := range commands {
			d.must(t, folder, c[1], own)
		}
		for _, deployment := range strings.Fields(d.must(t, ".", "kubectl get deployments --output name", own)) {
			d.pod(t, namespace, strings.TrimPrefix(deployment, "deployment.apps/"))
		}
	}
	// The consumer is a chart, whose sidecar is a native one here.
	d.namespace(t, "consumer")
	d.must(t, folder, "helm dependency build consumer && helm install orders consumer --namespace consumer")
	d.pod(t, "consumer", "orders")
	if policy := d.must(t, ".", "kubectl --namespace consumer get deployment orders --output 'jsonpath={.spec.template.spec.initContainers[0].restartPolicy}'"); policy != "Always" {
		t.Errorf("the restart policy of the sidecar is %q", policy)
	}
}

// pod makes a pod of a Deployment's template, as its controller would, and so has it
// admitted: by pod security, and by the account that it names.
func (d *desk) pod(t *testing.T, namespace, deployment string) {
	t.Helper()
	var object struct {
		Spec struct {
			Template map[string]any `json:"template"`
		} `json:"spec"`
	}
	text := d.must(t, ".", fmt.Sprintf("kubectl --namespace %s get deployment %s --output yaml", namespace, deployment))
	if err := yaml.Unmarshal([]byte(text), &object); err != nil || object.Spec.Template == nil {
		t.Errorf("%s/%s: %v\n%s", namespace, deployment, err, text)
		return
	}
	template := object.Spec.Template
	template["apiVersion"], template["kind"] = "v1", "Pod"
	template["metadata"].(map[string]any)["name"] = deployment + "-pod"
	manifest, err := yaml.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	d.write(t, "pod.yaml", string(manifest))
	d.must(t, ".", fmt.Sprintf("kubectl --namespace %s create -f pod.yaml", namespace))
}

// life installs a release, changes it, goes back, and ends it.
func life(t *testing.T, d *desk) {
	d.namespace(t, "life")
	const chart = " watch deploy/helm/lso-exporter --namespace life --set image.repository=r --set 'config.kafka.brokers={kafka-1:9092}'"
	const kinds = "configmaps,deployments,networkpolicies,podmonitors,poddisruptionbudgets,prometheusrules,secrets,serviceaccounts,servicemonitors,services"
	objects := func() []string {
		return strings.Fields(d.must(t, ".", "kubectl --namespace life get "+kinds+" --selector app.kubernetes.io/instance=watch --output name"))
	}
	notes := d.must(t, ".", "helm install"+chart)
	for _, part := range []string{
		"watch-lso-exporter watches kafka-1:9092.", "kubectl --namespace life port-forward deployment/watch-lso-exporter 10308:10308 &",
		"curl --silent http://localhost:10308/readyz", "Nothing scrapes it yet.", "helm upgrade watch CHART --namespace life --reuse-values --set monitor.kind=PodMonitor",
	} {
		if !strings.Contains(notes, part) {
			t.Errorf("the notes do not say %q:\n%s", part, notes)
		}
	}
	first := objects()
	if want := []string{"configmap/watch-lso-exporter", "deployment.apps/watch-lso-exporter", "serviceaccount/watch-lso-exporter", "service/watch-lso-exporter"}; !slices.Equal(first, want) {
		t.Errorf("installed are %v, want %v", first, want)
	}

	// What the notes say comes next.
	d.must(t, ".", "helm upgrade watch deploy/helm/lso-exporter --namespace life --reuse-values --set monitor.kind=PodMonitor")
	if notes := d.must(t, ".", "helm get notes watch --namespace life"); !strings.Contains(notes, "The PodMonitor watch-lso-exporter tells Prometheus.") {
		t.Errorf("the notes do not speak of the monitor:\n%s", notes)
	}
	d.must(t, ".", "helm upgrade"+chart+" --set monitor.kind=ServiceMonitor --set rules.enabled=true --set dashboard.enabled=true --set networkPolicy.enabled=true"+
		" --set replicas=2 --set podDisruptionBudget.enabled=true --set secrets.login.data.password=p --set restartOnChange=true")
	if all := objects(); len(all) != len(first)+6 || slices.Contains(all, "podmonitor.monitoring.coreos.com/watch-lso-exporter") {
		t.Errorf("after the upgrade there are %v", all)
	}
	d.must(t, ".", "helm rollback watch 1 --namespace life")
	if all := objects(); !slices.Equal(all, first) {
		t.Errorf("after the way back there are %v, want %v", all, first)
	}
	if history := d.must(t, ".", "helm history watch --namespace life"); !strings.Contains(history, "Rollback to 1") {
		t.Errorf("the history is\n%s", history)
	}
	d.must(t, ".", "helm uninstall watch --namespace life")
	if all := objects(); len(all) > 0 {
		t.Errorf("left behind are %v", all)
	}
}

// everyCase has the server judge all that the charts can render.
func everyCase(t *testing.T, d *desk) {
	d.namespace(t, "monitoring")
	for _, c := range cases(t) {
		d.write(t, "case.yaml", manifests(mustRender(t, c.chart, apiserverVersion, c.values...)))
		if output, err := d.run(t, ".", "kubectl create --namespace monitoring --dry-run=server -f case.yaml"); err != nil {
			t.Errorf("%s: %v\n%s", c.name, err, output)
		}
	}
}

// block is the first of a page's blocks that begins with a text.
func block(t *testing.T, page, begin string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, "```yaml\n"+begin)
	text, _, ended := strings.Cut(rest, "\n```")
	if !found || !ended {
		t.Fatalf("the page has no block that begins with %s", begin)
	}
	return begin + text + "\n"
}

// read is the text of a file.
func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
