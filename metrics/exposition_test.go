package metrics

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/lso-exporter/lso-exporter/lag"
)

var update = flag.Bool("update", false, "write golden files and docs/metrics.md anew")

// golden compares got with the file, or writes it there with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run go test ./metrics -update and read the difference\ngot:\n%s", file, got)
	}
}

// at returns an exposition whose clock stands that long after sweepEnd.
func at(age time.Duration, options Options) *Exposition {
	options.Now = func() time.Time { return sweepEnd.Add(age) }
	return NewExposition(options)
}

// scrape asks for a page with the given Accept and Accept-Encoding.
func scrape(t *testing.T, h http.Handler, target, accept, encoding string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Header.Set("Accept", accept)
	r.Header.Set("Accept-Encoding", encoding)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w
}

func text(t *testing.T, h http.Handler) string {
	t.Helper()
	return scrape(t, h, "/metrics", "text/plain", "").Body.String()
}

// ofKafka keeps the lines about Kafka's metrics.
func ofKafka(page string) string {
	var kept []string
	for line := range strings.Lines(page) {
		if strings.HasPrefix(strings.TrimPrefix(strings.TrimPrefix(line, "# HELP "), "# TYPE "), "kafka_") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

func TestPage(t *testing.T) {
	e := at(0, Options{Cluster: "blue", Build: Build{Version: "v1.2.3", Revision: "abcdef", GoVersion: "go1.26"}, Fingerprint: "0123456789ab"})
	e.Self.Request("Metadata", -2147483648, 3*time.Millisecond, "")
	e.Self.Request("ListOffsets", 1, 2*time.Millisecond, "")
	e.Self.Request("ListOffsets", 2, time.Second, lag.MissTimeout)
	e.Self.ReadGap(400 * time.Microsecond)
	e.Self.Collector("offsets", false, 80*time.Millisecond)
	e.Self.Collector("groups", true, 20*time.Millisecond)
	e.Self.Errors(lag.MissNoLeader, 1)
	e.Self.Sweep("partial", 100*time.Millisecond)
	e.Self.Sweep("skipped", 0)
	e.Publish(aView())
	golden(t, "testdata/page.txt", text(t, e))
}

func TestPageWithoutView(t *testing.T) {
	golden(t, "testdata/page_without_view.txt", text(t, at(0, Options{})))
}

func TestLint(t *testing.T) {
	e := at(0, Options{Cluster: "blue"})
	e.Self.Request("Metadata", 1, time.Millisecond, "")
	e.Self.Collector("offsets", true, time.Millisecond)
	e.Publish(aView())
	families, done, err := e.Gather()
	defer done()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Every form that is put together from kept bytes is, after decompression, the
// same text as promhttp makes of the families.
func TestFormsAgreeWithPromhttp(t *testing.T) {
	formats := []string{
		"text/plain",
		"",
		"application/openmetrics-text;version=1.0.0",
		"application/openmetrics-text;version=0.0.1;q=0.5,text/plain;q=0.1",
		"application/openmetrics-text;version=1.0.0;escaping=underscores",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=text",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=compact-text",
	}
	encodings := map[string]bool{
		"": false, "identity": false, "gzip": true, "x-gzip": true, "zstd, gzip;q=0.5": true, "*": true,
		"gzip;q=0": false, "gzip; q=0, *": false, "*;q=0": false, "deflate, br": false,
	}
	for name, view := range map[string]*lag.View{"view": aView(), "no view": nil} {
		e := at(0, Options{Cluster: "blue"})
		if view != nil {
			e.Publish(view)
		}
		reference := promhttp.HandlerForTransactional(e, promhttp.HandlerOpts{EnableOpenMetrics: true, DisableCompression: true})
		for _, accept := range formats {
			for encoding, compressed := range encodings {
				t.Run(fmt.Sprintf("%s/%s/%s", name, accept, encoding), func(t *testing.T) {
					want := scrape(t, reference, "/metrics", accept, "")
					got := scrape(t, e, "/metrics", accept, encoding)
					if g, w := got.Header().Get("Content-Type"), want.Header().Get("Content-Type"); g != w {
						t.Errorf("content type %q, want %q", g, w)
					}
					body := got.Body.Bytes()
					if g := got.Header().Get("Content-Encoding") == "gzip"; g != compressed {
						t.Fatalf("compressed %v, want %v", g, compressed)
					}
					if compressed {
						body = gunzip(t, body)
					}
					if accept != formats[len(formats)-2] && accept != formats[len(formats)-1] {
						if !bytes.Equal(body, want.Body.Bytes()) {
							t.Errorf("got\n%s\nwant\n%s", body, want.Body)
						}
					} else if squeeze(body) != squeeze(want.Body.Bytes()) { // protobuf's text has random blanks, by design
						t.Errorf("got\n%s\nwant\n%s", body, want.Body)
					}
				})
			}
		}
	}
}

func squeeze(b []byte) string { return strings.Join(strings.Fields(string(b)), "") }

// gunzip decodes a body that must be one gzip member, which is all that some
// clients read.
func gunzip(t *testing.T, b []byte) []byte {
	t.Helper()
	source := bytes.NewReader(b)
	r, err := gzip.NewReader(source)
	if err != nil {
		t.Fatal(err)
	}
	r.Multistream(false)
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if source.Len() > 0 {
		t.Fatalf("%d bytes after the first member", source.Len())
	}
	return plain
}

func TestMetricsByName(t *testing.T) {
	e := at(0, Options{})
	e.Publish(aView())
	got := scrape(t, e, "/metrics?"+url.Values{"name[]": {"kafka_partition_leader", "lso_exporter_groups"}}.Encode(), "text/plain", "").Body.String()
	for _, want := range []string{`kafka_partition_leader{partition="0",topic="orders"} 1`, "lso_exporter_groups 4"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s", want)
		}
	}
	if n := strings.Count(got, "# TYPE "); n != 2 {
		t.Errorf("%d families, want 2", n)
	}
}

// A view is served until no sweep has ended for three periods; after that only
// the exporter's own metrics are.
func TestExpiry(t *testing.T) {
	ended := fmt.Sprintf("lso_exporter_last_sweep_timestamp_seconds %v\n", float64(sweepEnd.Unix()))
	for age, partitions := range map[time.Duration]int{0: 4, 30 * time.Second: 4, 30*time.Second + 1: 0, time.Hour: 0} {
		e := at(age, Options{})
		e.Publish(aView())
		page := text(t, e)
		if got := ofKafka(page) != ""; got != (partitions > 0) {
			t.Errorf("after %v, the cluster's metrics are served: %v", age, got)
		}
		for _, line := range []string{fmt.Sprintf("lso_exporter_partitions %d\n", partitions), ended, "lso_exporter_last_sweep_success 0\n"} {
			if !strings.Contains(page, line) {
				t.Errorf("after %v: no %s", age, line)
			}
		}
	}
}

// A sweep that read nothing is published too: what was there before is unknown
// now, and gone.
func TestFailedSweepShowsNothing(t *testing.T) {
	e := at(0, Options{})
	e.Publish(aView())
	e.Publish(&lag.View{Ended: sweepEnd, Period: time.Second, Failure: "no broker reachable"})
	if got := ofKafka(text(t, e)); got != "" {
		t.Errorf("still served:\n%s", got)
	}
}

// Deleted groups and topics are gone with the next view (field report F14); a
// group without members keeps its lag.
// A page is of one view, with the time at which that view's sweep ended, though
// others are published while it is made.
func TestPageIsOfOneView(t *testing.T) {
	var e *Exposition
	published := 0
	publish := func() {
		published++
		e.Publish(&lag.View{
			Started: sweepEnd, Ended: sweepEnd.Add(time.Duration(published) * time.Second), Period: time.Hour,
			Groups: []lag.GroupView{{Name: strconv.FormatInt(sweepEnd.Unix()+int64(published), 10)}},
		})
	}
	e = at(0, Options{Process: prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		if published < 5 {
			publish()
		}
		return nil, nil
	})})
	publish()
	families := familiesOf(t, text(t, e))
	ended := families["lso_exporter_last_sweep_timestamp_seconds"].GetMetric()[0].GetGauge().GetValue()
	want := strconv.FormatFloat(ended, 'f', -1, 64)
	group := families["kafka_group_info"].GetMetric()[0].GetLabel()
	if !slices.ContainsFunc(group, func(l *dto.LabelPair) bool { return l.GetName() == "group" && l.GetValue() == want }) {
		t.Errorf("a page of %v says that its sweep ended at %s", group, want)
	}
	if published != 5 {
		t.Errorf("%d views were published", published)
	}
}

func TestSeriesEndWithTheirObject(t *testing.T) {
	e := at(0, Options{})
	e.Publish(aView())
	next := aView()
	next.Topics = next.Topics[:1]
	next.Groups = next.Groups[1:2]
	e.Publish(next)
	page := ofKafka(text(t, e))
	for _, gone := range []string{`kafka_topic_info{internal="false"`, `group="billing"`, `group="refused"`, `kafka_partition_high_watermark{partition="0",topic="orders"}`} {
		if strings.Contains(page, gone) {
			t.Errorf("%s is still there", gone)
		}
	}
	for _, kept := range []string{`kafka_group_members{group="late"} 0`, `kafka_group_partition_hwm_lag{group="late",partition="0",topic="orders"} 240`} {
		if !strings.Contains(page, kept) {
			t.Errorf("%s is not there", kept)
		}
	}
}

func TestGranularity(t *testing.T) {
	perTopic := []string{
		"kafka_group_read_uncommitted_evidence", "kafka_group_topic_hwm_lag", "kafka_group_topic_lso_lag",
		"kafka_group_topic_max_hwm_lag_seconds", "kafka_group_topic_max_lso_lag_seconds", "kafka_group_topic_state",
	}
	perPartition := []string{
		"kafka_group_partition_ahead_offsets", "kafka_group_partition_blocked_seconds", "kafka_group_partition_committed_offset",
		"kafka_group_partition_hwm_lag", "kafka_group_partition_hwm_lag_seconds", "kafka_group_partition_lost_offsets",
		"kafka_group_partition_lso_lag", "kafka_group_partition_lso_lag_seconds",
		"kafka_group_partition_pending_offset_commit_seconds", "kafka_group_partition_readable_lag", "kafka_group_partition_unassigned",
	}
	perShare := []string{"kafka_share_group_partition_lag", "kafka_share_group_partition_start_offset"}
	always := []string{
		"kafka_group_hwm_lag", "kafka_group_info", "kafka_group_lso_lag", "kafka_group_max_hwm_lag_seconds", "kafka_group_max_lso_lag_seconds",
		"kafka_group_members", "kafka_group_orphan_commits", "kafka_group_state", "kafka_group_uncommitted_partitions",
	}
	for granularity, want := range map[Granularity][]string{
		"":           slices.Concat(always, perPartition, perTopic, perShare),
		PerPartition: slices.Concat(always, perPartition, perTopic, perShare),
		PerTopic:     slices.Concat(always, perTopic),
		PerGroup:     always,
	} {
		e := at(0, Options{Granularity: granularity})
		e.Publish(aView())
		var got []string
		for _, f := range familiesOf(t, text(t, e)) {
			if name := f.GetName(); strings.HasPrefix(name, "kafka_group_") || strings.HasPrefix(name, "kafka_share_group_") {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("granularity %q shows %v, want %v", granularity, got, want)
		}
	}
}

// The metrics of a collector that is switched off are left out, and no others.
func TestWithoutCollectors(t *testing.T) {
	all := at(0, Options{})
	all.Publish(aView())
	for _, collector := range []string{"offsets", "groups", "replicas"} {
		e := at(0, Options{Without: []string{collector}})
		e.Publish(aView())
		page := familiesOf(t, text(t, e))
		for name := range familiesOf(t, text(t, all)) {
			at := slices.IndexFunc(Catalogue(), func(m Metric) bool { return m.Name == name })
			if got, want := page[name] != nil, Catalogue()[at].Collector != collector; got != want {
				t.Errorf("without %s: %s is shown: %v, want %v", collector, name, got, want)
			}
		}
	}
}

func familiesOf(t *testing.T, page string) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// Names with odd characters give pages that can be parsed, and come back as
// they were (field report F25).
func TestOddNames(t *testing.T) {
	names := []string{
		"", " ", `"`, `\`, `\"`, "\n", `\n`, "\r\n", "\t", "{}", `a="b",c`, "#", "\x00", "\u2028", "ünïcödé", "日本語", "\U0001F600",
		"Source: Custom Source -> Sink: Unnamed-7df19f87deec5680128845fd9a6ca18d-1",
		strings.Repeat("x", 1000), strings.Repeat("界", 1000), strings.Repeat(`"`, MaxLabelValue),
		strings.Repeat("x", MaxLabelValue-1) + "~",
	}
	slices.Sort(names)
	e := at(0, Options{})
	e.Publish(viewOfGroups(names))
	for _, accept := range []string{"text/plain", string(expfmt.FmtProtoDelim)} {
		got := groupsOn(t, e, accept)
		if !slices.Equal(got, names) {
			t.Errorf("%s: got %q\nwant %q", accept, got, names)
		}
	}
	if page := text(t, e); !strings.Contains(page, `lso_exporter_altered_label_values{label="group"} 0`) {
		t.Error("names that are shown as they are count as altered")
	}
}

// Names that no page can carry are altered, counted, and stay different.
func TestAlteredNames(t *testing.T) {
	long := strings.Repeat("x", MaxLabelValue+1)
	names := []string{
		long, long + "y", long + "z", strings.Repeat("界", MaxLabelValue+1),
		"\xff", "\xfe", "a\xffb", "a\xfeb", "a\xff\xffb", "a\uFFFDb", "\xed\xa0\x80", "\xc3(",
	}
	for _, name := range slices.Clone(names) { // a group may bear the altered name of another
		value, _ := LabelValue(name)
		again, _ := LabelValue(value)
		names = append(names, value, again)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	e := at(0, Options{})
	e.Publish(viewOfGroups(names))
	for _, accept := range []string{"text/plain", string(expfmt.FmtProtoDelim)} {
		got := groupsOn(t, e, accept)
		if len(got) != len(names) {
			t.Errorf("%s: %d groups, want %d", accept, len(got), len(names))
		}
		if different := slices.Compact(slices.Sorted(slices.Values(got))); len(different) != len(got) {
			t.Errorf("%s: %d of %d groups have different names", accept, len(different), len(got))
		}
		for _, name := range got {
			if n := len([]rune(name)); n > MaxLabelValue {
				t.Errorf("%s: a name of %d characters", accept, n)
			}
		}
	}
	// Only a\uFFFDb is shown as it is.
	want := fmt.Sprintf("lso_exporter_altered_label_values{label=\"group\"} %d\n", len(names)-1)
	if page := text(t, e); !strings.Contains(page, want) {
		t.Errorf("no %s", want)
	}
}

// viewOfGroups is a view of groups without anything, which are in order.
func viewOfGroups(names []string) *lag.View {
	view := &lag.View{Ended: sweepEnd, Period: time.Second}
	for _, name := range names {
		view.Groups = append(view.Groups, lag.GroupView{Name: name, Coordinator: lag.NoBroker, Members: lag.Known(1)})
	}
	return view
}

// groupsOn lists the groups on a page, in its order.
func groupsOn(t *testing.T, e *Exposition, accept string) []string {
	t.Helper()
	w := scrape(t, e, "/metrics", accept, "gzip")
	decoder := expfmt.NewDecoder(bytes.NewReader(gunzip(t, w.Body.Bytes())), expfmt.Format(w.Header().Get("Content-Type")))
	var groups []string
	for {
		var family dto.MetricFamily
		if err := decoder.Decode(&family); err == io.EOF {
			return groups
		} else if err != nil {
			t.Fatal(err)
		}
		if family.GetName() != "kafka_group_members" {
			continue
		}
		for _, m := range family.GetMetric() {
			groups = append(groups, m.GetLabel()[0].GetValue())
		}
	}
}

// Whatever the names, no two have one label value.
func TestLabelValuesAreUnique(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	alphabet := []string{"a", "~", "0", "f", "\xff", "\uFFFD", strings.Repeat("x", 1000), "~0123456789abcdef0123456789abcdef", "界"}
	seen := make(map[string]string)
	add := func(name string) string {
		value, altered := LabelValue(name)
		if other, twice := seen[value]; twice && other != name {
			t.Fatalf("seed %d: %q and %q both give %q", seed, other, name, value)
		}
		if !altered && value != name {
			t.Fatalf("seed %d: %q became %q and counts as unaltered", seed, name, value)
		}
		seen[value] = name
		return value
	}
	for range 20000 {
		var b strings.Builder
		for range random.IntN(5) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		add(add(add(b.String())))
	}
}

// A view that holds a thing twice is a broken invariant, whatever the thing.
func TestThingsThatStandTwice(t *testing.T) {
	for name, breakIt := range map[string]func(*lag.View){
		"brokers": func(v *lag.View) {
			v.Cluster = lag.Known(lag.Cluster{Brokers: []lag.Broker{{ID: 1}, {ID: 1}}})
		},
		"topics":              func(v *lag.View) { v.Topics[1].Name = v.Topics[0].Name },
		"partitions":          func(v *lag.View) { v.Topics[1].Partitions[2].Number = 1 },
		"groups":              func(v *lag.View) { v.Groups[0], v.Groups[1] = v.Groups[1], v.Groups[0] },
		"topics of a group":   func(v *lag.View) { v.Groups[0].Topics = append(v.Groups[0].Topics, v.Groups[0].Topics[0]) },
		"partitions of group": func(v *lag.View) { v.Groups[0].Topics[0].Partitions[1].Partition = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			view := aView()
			breakIt(view)
			defer func() {
				if recover() == nil {
					t.Error("published")
				}
			}()
			at(0, Options{}).Publish(view)
		})
	}
}

// A body is made once in each form, and beforehand in the forms that the view
// before was asked for.
func TestBodiesAreKept(t *testing.T) {
	e := at(0, Options{})
	e.Publish(aView())
	first := e.current()
	if len(first.bodies) != 0 {
		t.Errorf("%d bodies before anybody asked", len(first.bodies))
	}
	scrape(t, e, "/metrics", "text/plain", "gzip")
	f := form{format: unescaped(expfmt.NewFormat(expfmt.TypeTextPlain)), gzip: true}
	made := first.bodies[f]
	if made == nil || len(first.bodies) != 1 {
		t.Fatalf("bodies %v, want one of %v", first.bodies, f)
	}
	scrape(t, e, "/metrics", "text/plain", "gzip")
	if first.bodies[f] != made {
		t.Error("the second scrape made the body again")
	}
	e.Publish(aView())
	if second := e.current(); second == first || second.bodies[f] == nil || len(second.bodies) != 1 {
		t.Errorf("bodies of the second view %v, want one of %v", second.bodies, f)
	}
	e.Publish(aView())
	e.Publish(aView())
	if last := e.current(); len(last.bodies) != 0 {
		t.Errorf("a form that is asked for no more is still encoded: %v", last.bodies)
	}
}

// Views may be published while pages are served.
func TestPublishWhileServing(t *testing.T) {
	e := at(0, Options{})
	e.Publish(aView())
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			for range 50 {
				switch i {
				case 0:
					e.Publish(aView())
				case 1:
					e.Self.Request("ListOffsets", 1, time.Millisecond, "")
					text(t, e)
				default:
					page := string(gunzip(t, scrape(t, e, "/metrics", "application/openmetrics-text;version=1.0.0", "gzip").Body.Bytes()))
					if !strings.HasSuffix(page, "# EOF\n") || strings.Count(page, "# EOF") != 1 {
						t.Error("the page does not end")
					}
				}
			}
		})
	}
	wait.Wait()
}
