// Package chart judges the charts of deploy/helm as Helm and Kubernetes do: each is
// rendered by Helm's own engine with every mode and toggle, what comes out is put
// before Kubernetes' own code of several versions (judge), and the exporter's own
// "config check" reads the configuration.
//
// It is a module of its own, so that nobody who builds the exporter downloads Helm or
// Kubernetes.
package chart

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

const charts = "../../deploy/helm"

// The charts that can be rendered, below the folder of charts.
const (
	standalone = "lso-exporter"
	consumer   = "examples/consumer"
	library    = "lso-exporter-sidecar"
	// application is the chart consumer without what its values say of the sidecar.
	application = "application"
)

// load reads a chart; one that uses the library gets it as "helm dependency build"
// would fetch it.
func load(t *testing.T, name string) *chart.Chart {
	t.Helper()
	if name == application {
		c := load(t, consumer)
		delete(c.Values, library)
		return c
	}
	c, err := loader.LoadDir(filepath.Join(charts, name))
	if err != nil {
		t.Fatal(err)
	}
	for _, dependency := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(d *chart.Chart) bool { return d.Name() == dependency.Name }) {
			c.AddDependency(load(t, dependency.Name))
		}
	}
	return c
}

// render is what "helm template" would print of a chart, by file, for a version of
// Kubernetes. Values are YAML, the later ones over the earlier.
func render(t *testing.T, name, kubernetes string, values ...string) (map[string]string, error) {
	t.Helper()
	all := map[string]any{}
	for _, text := range values {
		overlay, err := chartutil.ReadValues([]byte(text))
		if err != nil {
			t.Fatalf("values: %v\n%s", err, text)
		}
		all = chartutil.MergeTables(overlay, all)
	}
	version, err := chartutil.ParseKubeVersion(kubernetes)
	if err != nil {
		t.Fatal(err)
	}
	c := load(t, name)
	if err := chartutil.ProcessDependenciesWithMerge(c, all); err != nil {
		return nil, err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	release := chartutil.ReleaseOptions{Name: "kafka-watch", Namespace: "monitoring", Revision: 1, IsInstall: true}
	rendered, err := chartutil.ToRenderValues(c, all, release, capabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, rendered)
}

// mustRender is render, of values that are right.
func mustRender(t *testing.T, name, kubernetes string, values ...string) map[string]string {
	t.Helper()
	files, err := render(t, name, kubernetes, values...)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// manifests is all that goes to Kubernetes: every file but the notes.
func manifests(files map[string]string) string {
	var b strings.Builder
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if !strings.HasSuffix(file, ".txt") {
			fmt.Fprintf(&b, "---\n%s\n", files[file])
		}
	}
	return b.String()
}

// An object is a document of manifests.
type object map[string]any

// objects is every document, by kind/name.
func objects(t *testing.T, text string) map[string]object {
	t.Helper()
	all := make(map[string]object)
	for _, document := range strings.Split("\n"+text, "\n---\n") {
		var o object
		if err := yaml.UnmarshalStrict([]byte(document), &o); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if o != nil {
			all[o.text("kind")+"/"+o.text("metadata", "name")] = o
		}
	}
	return all
}

// at is what stands at a path; nil where there is nothing. A path's parts are keys,
// and indexes of lists.
func (o object) at(path ...any) any {
	var here any = map[string]any(o)
	for _, part := range path {
		switch p := part.(type) {
		case string:
			m, _ := here.(map[string]any)
			here = m[p]
		case int:
			list, _ := here.([]any)
			if p >= len(list) {
				return nil
			}
			here = list[p]
		}
	}
	return here
}

// text is the text at a path.
func (o object) text(path ...any) string {
	s, _ := o.at(path...).(string)
	return s
}
