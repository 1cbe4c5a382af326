package oracle

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"
)

// Scrape is one scrape of one exporter.
type Scrape struct {
	// Exporter names one life of one exporter process: what it counts and
	// remembers ends with it.
	Exporter string
	// Start and End enclose the sweep whose view was rendered. Wider is safe
	// and judges less.
	Start, End time.Time
	// At is when the scrape was answered, Period the time between two sweeps. A
	// view whose sweep ended more than three periods before At must not show.
	At     time.Time
	Period time.Duration
	// Text is the body, in the text exposition format.
	Text []byte
}

// sample is one value of one series.
type sample struct {
	name   string
	labels map[string]string
	value  float64
	kind   dto.MetricType
}

// String is the series as Prometheus writes it.
func (s sample) String() string {
	keys := make([]string, 0, len(s.labels))
	for k := range s.labels {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	parts := make([]string, 0, len(keys))
	for _, k := range keys {
		parts = append(parts, k+"="+strconv.Quote(s.labels[k]))
	}
	return s.name + "{" + strings.Join(parts, ",") + "}"
}

// ref is what a sample is about: the labels by which samples meet.
type ref struct {
	group, topic, partition string
}

// page is a parsed scrape.
type page struct {
	samples []sample
	byName  map[string]map[ref]sample
}

// get is the sample of a metric about r.
func (p *page) get(name string, r ref) (float64, bool) {
	s, ok := p.byName[name][r]
	return s.value, ok
}

// sum adds the samples of a metric up.
func (p *page) sum(name string) (sum float64, found bool) {
	for _, s := range p.samples {
		if s.name == name {
			sum, found = sum+s.value, true
		}
	}
	return sum, found
}

func parse(text []byte) (*page, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("parse the scrape: %w", err)
	}
	names := make([]string, 0, len(families))
	for name := range families {
		names = append(names, name)
	}
	slices.Sort(names)
	p := &page{byName: map[string]map[ref]sample{}}
	for _, name := range names {
		p.byName[name] = map[ref]sample{}
		for _, m := range families[name].GetMetric() {
			s := sample{name: name, labels: map[string]string{}, kind: families[name].GetType(), value: valueOf(m)}
			for _, l := range m.GetLabel() {
				s.labels[l.GetName()] = l.GetValue()
			}
			p.samples = append(p.samples, s)
			p.byName[name][ref{s.labels["group"], s.labels["topic"], s.labels["partition"]}] = s
		}
	}
	return p, nil
}

// valueOf is a metric's value; of a histogram or summary the number of
// observations.
func valueOf(m *dto.Metric) float64 {
	switch {
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Untyped != nil:
		return m.Untyped.GetValue()
	case m.Histogram != nil:
		if math.IsNaN(m.Histogram.GetSampleSum()) {
			return math.NaN()
		}
		return float64(m.Histogram.GetSampleCount())
	case m.Summary != nil:
		return float64(m.Summary.GetSampleCount())
	}
	return math.NaN()
}

// Violation is one thing in a scrape that cannot be true.
type Violation struct {
	// Series is the series with its labels, or the one that is missing.
	Series string
	// Value is what was shown; NaN where nothing was and something had to be.
	Value float64
	// Allowed says which values would have been true.
	Allowed string
	// From and To enclose the sweep.
	From, To time.Time
	// Rule says what is broken.
	Rule string
}

// String is the violation in one line.
func (v Violation) String() string {
	shown := strconv.FormatFloat(v.Value, 'f', -1, 64)
	if math.IsNaN(v.Value) {
		shown = "nothing"
	}
	return fmt.Sprintf("%s: %s shows %s, true in [%s, %s] is %s", v.Rule, v.Series, shown,
		v.From.UTC().Format("15:04:05.000000"), v.To.UTC().Format("15:04:05.000000"), v.Allowed)
}
