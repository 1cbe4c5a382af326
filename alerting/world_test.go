package alerting

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/metrics"
)

// ticksPerMinute is how often exporters sweep and are scraped in a story.
const ticksPerMinute = 4

// A course is how a value goes, by minutes since the story's beginning.
type course func(minute float64) float64

func steady(value float64) course { return func(float64) float64 { return value } }

// growing grows by so much a minute.
func growing(first, perMinute float64) course {
	return func(m float64) float64 { return math.Floor(first + perMinute*m) }
}

// until goes one way until a minute, then another.
func (c course) until(minute float64, then course) course {
	return func(m float64) float64 {
		if m < minute {
			return c(m)
		}
		return then(m)
	}
}

// present reports whether something is there at a minute.
type present func(minute float64) bool

func always(float64) bool { return true }
func never(float64) bool  { return false }

// between is there from one minute to just before another.
func between(from, to float64) present { return func(m float64) bool { return m >= from && m < to } }

func from(minute float64) present { return func(m float64) bool { return m >= minute } }

func (p present) not() present { return func(m float64) bool { return !p(m) } }

// A blocker is what an exporter finds out about the transaction that holds a
// partition.
type blocker struct {
	id, verdict, reason, source string
	began                       float64 // minute
}

// A partition is how the offsets of one go.
type partition struct {
	topic    string
	number   int
	lso, hwm course
	// blocker is who holds it, when somebody looks; nil for nobody known.
	blocker func(minute float64) *blocker
}

// A row is what there is to be seen of a group on a partition. What is nil is
// not shown.
type row struct {
	partition                   int
	committed, lag              course
	readable, seconds           course
	unassigned, blocked, pended present // the last two for as long as they last
}

// A group is what there is to be seen of a group on a topic.
type group struct {
	name, topic string
	members     course
	state       func(minute float64) string
	rows        []row
}

func inState(state string) func(float64) string { return func(float64) string { return state } }

// A cluster is what exporters watch.
type cluster struct {
	name       string
	partitions []partition
	groups     []group
	// completing is for how many seconds the oldest decided transaction of broker
	// 2 has been seen not to be completed, below 0 for none; nil for none ever.
	completing course
}

// reloadSuccessful is the one metric of stories that has no cluster's name.
const reloadSuccessful = "lso_exporter_config_last_reload_successful"

// An exporter is one process that watches a cluster.
type exporter struct {
	of       *cluster
	instance string
	// up is when it can be scraped, frozen when it shows what it last showed;
	// nil for always and never.
	up, frozen present
	// starts are the minutes in which it has forgotten everything.
	starts []float64
	// without are the prefixes of metrics that it does not show.
	without []string
	// incomplete is when its sweeps miss something, of the kind.
	incomplete present
	kind       string
	// sweepless is one whose first sweep does not end.
	sweepless bool
	// misread is when the configuration that it read last is bad; nil for never.
	misread present

	held   map[string]memory  // by partition
	since  map[string]float64 // by what began
	errors float64
}

// memory is what an exporter knows of a partition's last stable offset.
type memory struct {
	lso   float64
	since float64 // NaN while it does not stand still
}

// A world is the series that Prometheus scrapes in a story.
type world struct {
	ticks  int
	series map[string][]float64 // NaN where there is no sample
}

// watch scrapes exporters for so many minutes.
func watch(exporters []*exporter, minutes int) *world {
	w := &world{ticks: minutes*ticksPerMinute + 1, series: make(map[string][]float64)}
	for _, e := range exporters {
		e.forget()
		var page map[string]float64
		for tick := range w.ticks {
			m := float64(tick) / ticksPerMinute
			if slices.Contains(e.starts, m) {
				e.forget()
			}
			up := e.up == nil || e.up(m)
			if page == nil || e.frozen == nil || !e.frozen(m) {
				page = e.page(m)
			}
			w.set(tick, "up{"+labels(e.target())+"}", boolean(up))
			if !up {
				continue
			}
			for series, value := range page {
				w.set(tick, series, value)
			}
		}
	}
	return w
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func (w *world) set(tick int, series string, value float64) {
	values := w.series[series]
	if values == nil {
		values = make([]float64, w.ticks)
		for i := range values {
			values[i] = math.NaN()
		}
		w.series[series] = values
	}
	values[tick] = value
}

func labels(l map[string]string) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(l)) {
		pairs = append(pairs, name+"="+strconv.Quote(l[name]))
	}
	return strings.Join(pairs, ",")
}

func (e *exporter) forget() {
	e.held, e.since, e.errors = make(map[string]memory), make(map[string]float64), 0
}

// target is the labels that Prometheus adds to what it scrapes.
func (e *exporter) target() map[string]string {
	return map[string]string{"job": "lso-exporter", "instance": e.instance}
}

// page is what Prometheus scrapes after a sweep.
func (e *exporter) page(m float64) map[string]float64 {
	page := make(map[string]float64)
	add := func(value float64, name string, pairs ...string) {
		for _, prefix := range e.without {
			if strings.HasPrefix(name, prefix) {
				return
			}
		}
		l := e.target()
		if e.of.name != "" && name != reloadSuccessful { // that is of the process
			l["cluster"] = e.of.name
		}
		for i := 0; i < len(pairs); i += 2 {
			l[pairs[i]] = pairs[i+1]
		}
		page[name+"{"+labels(l)+"}"] = value
	}
	complete := (e.incomplete == nil || !e.incomplete(m)) && !e.sweepless
	if !complete {
		e.errors++
	}
	add(boolean(complete), "lso_exporter_last_sweep_success")
	add(float64(len(e.of.partitions)), "lso_exporter_partitions")
	if !e.sweepless {
		add(m*60, "lso_exporter_last_sweep_timestamp_seconds")
	}
	kind := e.kind
	if kind == "" {
		kind = "unreachable"
	}
	add(e.errors, "lso_exporter_errors_total", "kind", kind)
	add(e.errors, "lso_exporter_requests_total", "api", "ListOffsets", "broker", "2", "error", kind)
	add(boolean(e.misread == nil || !e.misread(m)), reloadSuccessful)
	for _, p := range e.of.partitions {
		e.partition(m, p, add)
	}
	for _, g := range e.of.groups {
		e.group(m, g, add)
	}
	if c := e.of.completing; c != nil && c(m) >= 0 {
		add(c(m), "kafka_transactions_max_completing_seconds", "broker", "2")
	}
	return page
}

func (e *exporter) partition(m float64, p partition, add func(float64, string, ...string)) {
	at := []string{"topic", p.topic, "partition", strconv.Itoa(p.number)}
	lso, hwm := p.lso(m), p.hwm(m)
	key := fmt.Sprint(p.topic, p.number)
	known, before := e.held[key]
	switch {
	case lso >= hwm:
		known = memory{lso, math.NaN()}
	case !before || lso != known.lso || math.IsNaN(known.since):
		known = memory{lso, m}
	}
	e.held[key] = known
	stalled := 0.0
	if lso < hwm {
		stalled = (m - known.since) * 60
	}
	add(lso, "kafka_partition_last_stable_offset", at...)
	add(hwm, "kafka_partition_high_watermark", at...)
	add(hwm-lso, "kafka_partition_unstable_offsets", at...)
	add(stalled, "kafka_partition_lso_stalled_seconds", at...)
	if p.blocker == nil {
		return
	}
	if b := p.blocker(m); b != nil {
		reason, producer, coordinator := b.reason, "4012", "2"
		if reason == "" {
			reason = "none"
		}
		if b.verdict == "unknown" {
			coordinator = ""
		}
		source := b.source
		if source == "" {
			source = "coordinator"
		}
		add(max(stalled, (m-b.began)*60), "kafka_partition_blocking_transaction_age_seconds", at...)
		add(1, info, append(slices.Clone(at), "transactional_id", b.id, "verdict", b.verdict, "reason", reason,
			"producer_id", producer, "producer_epoch", "3", "coordinator", coordinator, "age_source", source)...)
	}
}

func (e *exporter) group(m float64, g group, add func(float64, string, ...string)) {
	if g.members != nil {
		add(g.members(m), "kafka_group_members", "group", g.name)
	}
	onTopic := []string{"group", g.name, "topic", g.topic}
	if g.state != nil {
		if state := g.state(m); state != "" {
			add(1, "kafka_group_topic_state", append(slices.Clone(onTopic), "state", state)...)
		}
	}
	total, oldest := 0.0, math.NaN()
	for _, r := range g.rows {
		at := append(slices.Clone(onTopic), "partition", strconv.Itoa(r.partition))
		show := func(c course, name string) {
			if c != nil {
				add(c(m), name, at...)
			}
		}
		show(r.committed, "kafka_group_partition_committed_offset")
		show(r.lag, "kafka_group_partition_lso_lag")
		show(r.readable, "kafka_group_partition_readable_lag")
		show(r.seconds, "kafka_group_partition_lso_lag_seconds")
		if r.lag != nil {
			total += r.lag(m)
		}
		if r.seconds != nil {
			oldest = max(r.seconds(m), 0)
		}
		if r.unassigned != nil && r.unassigned(m) {
			add(1, "kafka_group_partition_unassigned", at...)
		}
		for name, lasts := range map[string]present{
			"kafka_group_partition_blocked_seconds":               r.blocked,
			"kafka_group_partition_pending_offset_commit_seconds": r.pended,
		} {
			key := fmt.Sprint(name, at)
			if lasts == nil || !lasts(m) {
				delete(e.since, key)
				continue
			}
			if _, began := e.since[key]; !began {
				e.since[key] = m
			}
			add((m-e.since[key])*60, name, at...)
		}
	}
	if len(g.rows) > 0 {
		add(total, "kafka_group_topic_lso_lag", onTopic...)
	}
	if !math.IsNaN(oldest) {
		add(oldest, "kafka_group_topic_max_lso_lag_seconds", onTopic...)
	}
}

// values writes a series as promtool reads it. A sample that does not come any
// more is stale, as Prometheus finds it.
func values(series []float64) string {
	var words []string
	for i := 0; i < len(series); {
		n := 1
		missing := math.IsNaN(series[i])
		for i+n < len(series) && (series[i+n] == series[i] || missing && math.IsNaN(series[i+n])) {
			n++
		}
		switch {
		case !missing && n == 1:
			words = append(words, number(series[i]))
		case !missing:
			words = append(words, fmt.Sprintf("%s+0x%d", number(series[i]), n-1))
		case i == 0:
			words = append(words, fmt.Sprintf("_x%d", n))
		case n == 1:
			words = append(words, "stale")
		default:
			words = append(words, "stale", fmt.Sprintf("_x%d", n-1))
		}
		i += n
	}
	return strings.Join(words, " ")
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// check holds the series to the catalogue: what no exporter shows proves
// nothing about rules.
func (w *world) check(t *testing.T) {
	t.Helper()
	declared := make(map[string][]string)
	for _, m := range metrics.Catalogue() {
		declared[m.Name] = m.Labels
	}
	strangers := make(map[string]bool)
	for series := range w.series {
		name, rest, _ := strings.Cut(series, "{")
		if name == "up" {
			continue
		}
		want, ok := declared[name]
		if !ok {
			strangers[name] = true
			continue
		}
		var got []string
		for _, m := range labelName.FindAllStringSubmatch("{"+rest, -1) {
			if !slices.Contains([]string{"cluster", "job", "instance"}, m[1]) {
				got = append(got, m[1])
			}
		}
		slices.Sort(got)
		if sorted := slices.Sorted(slices.Values(want)); !slices.Equal(got, sorted) {
			t.Errorf("%s has the labels %v in a story, want %v", name, got, sorted)
		}
	}
	if len(strangers) > 0 {
		t.Errorf("not in the catalogue: %v", slices.Sorted(maps.Keys(strangers)))
	}
}

// labelName matches the labels of a selector or a series.
var labelName = regexp.MustCompile(`[{,]\s*([a-z_]+)(?:=~|!~|!=|=)`)
