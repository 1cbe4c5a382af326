package metrics

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// A page in OpenMetrics names each metric once, with all of its samples below
// the name, and ends as it must.
func TestOpenMetricsPage(t *testing.T) {
	e := at(0, Options{Process: Process()})
	e.Publish(aView())
	r := httptest.NewRequest("GET", "/metrics", nil)
	r.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
	w := httptest.NewRecorder()
	e.ServeHTTP(w, r)
	body, ended := strings.CutSuffix(w.Body.String(), "# EOF\n")
	if !ended {
		t.Error("the page does not end with # EOF")
	}
	// The endings that a sample may have beyond its metric's name.
	endings := map[string][]string{
		"gauge": {""}, "counter": {"_total", "_created"}, "unknown": {""},
		"histogram": {"_bucket", "_count", "_sum", "_created"}, "summary": {"", "_count", "_sum", "_created"},
	}
	seen := make(map[string]bool)
	var name, kind string
	for line := range strings.Lines(body) {
		fields := strings.Fields(line)
		switch {
		case fields[1] == "HELP":
			if name, kind = fields[2], ""; seen[name] {
				t.Errorf("%s stands twice", name)
			}
			seen[name] = true
		case fields[1] == "TYPE":
			if kind = fields[3]; fields[2] != name || endings[kind] == nil {
				t.Errorf("after the help of %s: %s", name, line)
			}
		default:
			sample, _, _ := strings.Cut(fields[0], "{")
			ending, ok := strings.CutPrefix(sample, name)
			found := false
			for _, e := range endings[kind] {
				found = found || e == ending
			}
			if !ok || !found {
				t.Errorf("a sample of the %s %s is called %s", kind, name, sample)
			}
		}
	}
	for _, want := range []string{"go_memstats_alloc_bytes", "go_gc_heap_allocs_bytes", "process_start_time_seconds", "kafka_partition_last_stable_offset"} {
		if !seen[want] {
			t.Errorf("no %s", want)
		}
	}
}
