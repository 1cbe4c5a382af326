package chart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The versions of Kubernetes that judge: the last without native sidecars, the first
// with them, and the current one.
var versions = []struct {
	version string // as Helm is told
	modfile string // of the judge
}{
	{"1.28.15", "kubernetes-1.28.mod"},
	{"1.29.15", "kubernetes-1.29.mod"},
	{"1.37.2", "go.mod"},
}

// A verdict is what the judge says of a set of manifests.
type verdict struct {
	Problems, Foreign []string
}

// judge puts manifests, by name, before a version of Kubernetes.
func judge(t *testing.T, modfile string, sets map[string]string) map[string]verdict {
	t.Helper()
	program := filepath.Join(t.TempDir(), "judge")
	build := exec.Command("go", "build", "-modfile="+modfile, "-o", program, ".")
	build.Dir = "judge"
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the judge: %v\n%s", err, output)
	}
	input, err := json.Marshal(sets)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(program)
	run.Stdin = bytes.NewReader(input)
	run.Stderr = os.Stderr
	output, err := run.Output()
	if err != nil {
		t.Fatal("run the judge:", err)
	}
	var verdicts map[string]verdict
	if err := json.Unmarshal(output, &verdicts); err != nil {
		t.Fatal(err)
	}
	return verdicts
}

// Kubernetes takes what the charts render in every mode and with every toggle.
func TestKubernetesTakesEverything(t *testing.T) {
	for _, v := range versions {
		t.Run(v.version, func(t *testing.T) {
			sets := make(map[string]string)
			for _, c := range cases(t) {
				sets[c.name] = manifests(mustRender(t, c.chart, v.version, c.values...))
			}
			verdicts := judge(t, v.modfile, sets)
			for _, name := range slices.Sorted(maps.Keys(sets)) {
				verdict := verdicts[name]
				for _, problem := range verdict.Problems {
					t.Errorf("%s: %s", name, problem)
				}
				for _, foreign := range verdict.Foreign {
					kind, _, _ := strings.Cut(foreign, "/")
					if operatorKinds[kind] == nil {
						t.Errorf("%s: nobody judges %s", name, foreign)
					}
				}
			}
		})
	}
}

// A judge that takes everything would be of no use. Each of these is one that
// kubeconform, which only knows the schemas, lets pass or could not know.
func TestJudgeRefuses(t *testing.T) {
	const pod = `apiVersion: apps/v1
kind: Deployment
metadata: {name: x}
spec:
  selector: {matchLabels: {app: x}}
  template:
    metadata: {labels: {app: x}}
    spec:
      securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
      containers:
        - name: c
          image: i
          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
`
	const deployment = "Deployment/x: "
	refused := []struct{ name, old, new, says string }{
		{"another label in the selector", "matchLabels: {app: x}", "matchLabels: {app: other}", "does not match template `labels`"},
		{"an unknown field", "image: i", "image: i\n          imagePullPolice: Always", `unknown field "spec.template.spec.containers[0].imagePullPolice"`},
		{"a key twice", "image: i", "image: i\n          image: j", `key "image" already set`},
		{"a volume that is not there", "image: i", "image: i\n          volumeMounts: [{name: v, mountPath: /v}]", `spec.template.spec.containers[0].volumeMounts[0].name: Not found: "v"`},
		{"a port's name that is too long", "image: i", "image: i\n          ports: [{containerPort: 1, name: a-name-of-sixteen}]", "must be no more than 15"},
		{"a probe of an unknown port", "image: i", "image: i\n          livenessProbe: {httpGet: {path: /, port: a_b}}", "must contain only alpha-numeric"},
		{"a request above its limit", "image: i", "image: i\n          resources: {requests: {memory: 2Mi}, limits: {memory: 1Mi}}", "must be less than or equal to memory limit"},
		{"root", "runAsNonRoot: true", "runAsNonRoot: false", "pod security, restricted: runAsNonRoot != true"},
		{"capabilities", "drop: [ALL]", "add: [NET_RAW]", "pod security, restricted: unrestricted capabilities"},
	}
	for _, v := range versions {
		t.Run(v.version, func(t *testing.T) {
			sets := map[string]string{"right": pod}
			for _, r := range refused {
				sets[r.name] = strings.Replace(pod, r.old, r.new, 1)
			}
			sidecar := strings.Replace(pod, "      containers:", "      initContainers:\n        - name: s\n          image: i\n          restartPolicy: Always\n          securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}\n      containers:", 1)
			sets["native sidecar"] = sidecar
			verdicts := judge(t, v.modfile, sets)
			if p := verdicts["right"].Problems; len(p) > 0 {
				t.Errorf("what is right is refused: %v", p)
			}
			for _, r := range refused {
				says := fmt.Sprint(verdicts[r.name].Problems)
				if !strings.Contains(says, deployment) || !strings.Contains(says, r.says) {
					t.Errorf("%s: the judge says %s, want %q", r.name, says, r.says)
				}
			}
			says := fmt.Sprint(verdicts["native sidecar"].Problems)
			if before := v.version < "1.29"; before != strings.Contains(says, "restartPolicy: Always is taken away") {
				t.Errorf("native sidecar: the judge says %s", says)
			}
		})
	}
}
