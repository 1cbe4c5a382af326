package e2e

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
)

// Field report F25: odd characters in names. Every series parses and gives back
// the very name; what no page can carry is altered by the documented limit, and
// stays unique.
func TestOddNames(t *testing.T) {
	names := []string{
		"Source: Custom Source -> Sink: Unnamed-7df19f87deec5680128845fd9a6ca18d-1",
		`quo"ted`, `back\slash`, `\`, `"`, `\"`, `\n`, "new\nline", "\n", "carriage\rreturn", "tab\tbed", "nul\x00", "",
		" ", " spaces around ", "colon:ised", "brace}", `a"} 1`, "a\",topic=\"b", "comma,", "#hash", "ünïcödé 日本語 🦊",
		"\u202eright-to-left", strings.Repeat("x", 1000), strings.Repeat("日", 1024),
	}
	altered := []string{
		strings.Repeat("y", 1025), strings.Repeat("y", 1024) + "z", strings.Repeat("y", 5000),
		"not \xff UTF-8", "not \xfe UTF-8", "x~" + strings.Repeat("0", 32),
	}
	w := newWorld(t, 1, nil)
	w.createTopic("topic.with_all-3", []int32{1})
	w.mustProduce(1, "topic.with_all-3", 0, 2000)
	offsets := map[string]int64{}
	for i, name := range slices.Concat(names, altered) {
		offsets[name] = int64(i)
		w.mustCommit(name, "topic.with_all-3", 0, int64(i))
		if name == "" {
			continue // no transactional id, for Kafka
		}
		// The same as a transactional id: what it does must not disturb the page.
		p := w.newProducer(name, time.Minute)
		if code := w.produce(1, "topic.with_all-3", 0, 1, -1, p); code != 0 {
			t.Fatalf("produce as %q: error %d", name, code)
		}
		w.end(p, true)
	}
	e, _ := w.exporter(collector.Options{}, metrics.Options{Cluster: `the "cluster"`})
	e.judged = false // altered names are not those of the record
	p := parsePage(e.sweep())

	got := map[string]float64{}
	for _, m := range p["kafka_group_partition_committed_offset"] {
		l := labelsOf(m)
		if _, twice := got[l["group"]]; twice {
			t.Errorf("group %q is shown twice", l["group"])
		}
		if l["cluster"] != `the "cluster"` || l["topic"] != "topic.with_all-3" {
			t.Errorf("labels %q", l)
		}
		got[l["group"]] = valueOf(m)
	}
	if len(got) != len(offsets) {
		t.Errorf("%d groups are shown, want %d", len(got), len(offsets))
	}
	for _, name := range names {
		if v, shown := got[name]; !shown || v != float64(offsets[name]) {
			t.Errorf("group %q: shown %v, %v; want %d", name, shown, v, offsets[name])
		}
	}
	for _, name := range altered {
		label, changed := metrics.LabelValue(name)
		if v, shown := got[label]; !changed || !shown || v != float64(offsets[name]) {
			t.Errorf("group %q as %q: shown %v, %v; want %d", name, label, shown, v, offsets[name])
		}
	}
	if n := value(t, p, "lso_exporter_altered_label_values", "label", "group"); n != float64(len(altered)) {
		t.Errorf("%v altered names are counted, want %d", n, len(altered))
	}
}
