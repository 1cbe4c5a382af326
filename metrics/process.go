package metrics

import (
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// clashing is a counter of the Go runtime beside which there is a gauge of the
// same name but for "_total". In OpenMetrics that ending is no part of a
// counter's name, so that the two would be one metric of two types, and strict
// parsers refuse the page. runtimeAllocated has the same value.
const clashing = "go_memstats_alloc_bytes_total"

// runtimeAllocated is the Go runtime's own name for what clashing shows; it is
// shown as go_gc_heap_allocs_bytes_total.
var runtimeAllocated = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/allocs:bytes$`)}

// Process has the metrics of the process and of the Go runtime, as Prometheus'
// client library names them, but for the one that cannot stand on a page in
// OpenMetrics.
func Process() prometheus.Gatherer {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(runtimeAllocated)),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		families, err := registry.Gather()
		kept := families[:0]
		for _, f := range families {
			if f.GetName() != clashing {
				kept = append(kept, f)
			}
		}
		return kept, err
	})
}
