package chart

import (
	"maps"
	"slices"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

// operatorKinds makes an empty object of each kind of the Prometheus operator that
// the charts render.
var operatorKinds = map[string]func() any{
	"PodMonitor":     func() any { return new(monitoring.PodMonitor) },
	"ServiceMonitor": func() any { return new(monitoring.ServiceMonitor) },
	"PrometheusRule": func() any { return new(monitoring.PrometheusRule) },
}

// What is for the Prometheus operator has only fields that it knows.
func TestOperatorTakesEverything(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range cases(t) {
		all := objects(t, manifests(mustRender(t, c.chart, "1.37.2", c.values...)))
		for _, name := range slices.Sorted(maps.Keys(all)) {
			kind := all[name].text("kind")
			if operatorKinds[kind] == nil {
				continue
			}
			seen[kind] = true
			if version := all[name].text("apiVersion"); version != "monitoring.coreos.com/v1" {
				t.Errorf("%s: %s has the version %q", c.name, name, version)
			}
			text, err := yaml.Marshal(all[name])
			if err != nil {
				t.Fatal(err)
			}
			if err := yaml.UnmarshalStrict(text, operatorKinds[kind]()); err != nil {
				t.Errorf("%s: %s: %v", c.name, name, err)
			}
		}
	}
	for kind := range operatorKinds {
		if !seen[kind] {
			t.Errorf("no case renders a %s", kind)
		}
	}
}
