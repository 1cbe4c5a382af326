package web

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/diagnose"
	"github.com/lso-exporter/lso-exporter/lag"
)

var update = flag.Bool("update", false, "write the golden pages anew")

// golden compares a page with the one in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("not what is in %s:\n%s", name, got)
	}
}

// statusOf is the status of an exporter that has seen the view, twice with a
// minute between.
func statusOf(view *lag.View) Status {
	s := Status{
		Cluster: "blue", Brokers: []string{"kafka-1:9092", "kafka-2:9092"}, Version: "lso-exporter v1.2.3",
		View:     func() *lag.View { return view },
		Report:   func() *diagnose.Report { return nil },
		Activity: NewActivity(), TelemetryPath: "/m",
		Configuration: func(w io.Writer) error { _, err := io.WriteString(w, "cluster: \"blue\"\n"); return err },
		Now:           func() time.Time { return now },
	}
	if view == nil {
		return s
	}
	watch := diagnose.NewWatch(diagnose.Options{
		Bootstrap: "kafka-1:9092", Principal: func() string { return "User:exporter" }, Unending: true,
		HeldAfter: 10 * time.Second, StillAfter: time.Minute,
	})
	before := *view
	before.Ended = view.Ended.Add(-time.Minute)
	watch.See(&before)
	watch.See(view)
	s.Report = watch.Report
	for range 12 {
		s.Activity.Sweep("complete", 12*time.Millisecond)
	}
	s.Activity.Sweep("partial", 31*time.Millisecond)
	s.Activity.Collector("offsets", true, 9*time.Millisecond)
	s.Activity.Collector("groups", false, 31*time.Millisecond)
	s.Activity.Errors(lag.MissTimeout, 2)
	return s
}

// aView is a view of two topics and a group that has read all of orders.
func aView() *lag.View {
	partition := func(n int32) lag.PartitionView {
		return lag.PartitionView{
			Number: n, Leader: 1, Replicas: 3, InSync: 3, LogStart: lag.Known[lag.Offset](0), LastStable: lag.Known[lag.Offset](20500),
			HighWatermark: lag.Known[lag.Offset](20500), LogEnd: lag.Known[lag.Offset](20500),
		}
	}
	return &lag.View{
		Started: now.Add(-4 * time.Second), Ended: now.Add(-3 * time.Second), Period: 10 * time.Second,
		Cluster: lag.Known(lag.Cluster{ID: "4L6g3nShT-eMCtK--X86sw", Controller: 1, Brokers: []lag.Broker{{ID: 1, Host: "kafka-1", Port: 9092}, {ID: 2, Host: "kafka-2", Port: 9092}}}),
		Topics: []lag.TopicView{
			{Name: "__consumer_offsets", Internal: true, Partitions: []lag.PartitionView{partition(0)}},
			{Name: "__transaction_state", Internal: true, Partitions: []lag.PartitionView{partition(0)}},
			{Name: "orders", Partitions: []lag.PartitionView{partition(0), partition(1)}},
		},
		Groups: []lag.GroupView{groupOn("billing", "orders", lag.StateCaughtUp, 0, 0)},
	}
}

// groupOn is a group with one member and a commit in partition 0 of a topic.
func groupOn(group, topic string, state lag.GroupState, lso, hwm lag.Count) lag.GroupView {
	return lag.GroupView{
		Name: group, Type: lag.Classic, ProtocolType: "consumer", State: "Stable", Members: lag.Known(1), Coordinator: 2,
		Topics: []lag.GroupTopicView{{
			Topic: topic, State: state, LSOLag: lag.Known(lso), HWMLag: lag.Known(hwm), HWMLagFor: lag.Known(95 * time.Second),
			Partitions: []lag.GroupPartitionView{{
				Partition: 0, Committed: lag.Known(lag.Offset(20500 - hwm)), LSOLag: lag.Known(lso), HWMLag: lag.Known(hwm), State: state,
				Owner: &lag.Member{ID: "m-1", ClientID: "worker-1", Host: "/10.0.0.5"},
			}},
		}},
	}
}

// hold has a hanging transaction hold partition 0 of the topic that is third by
// name.
func hold(v *lag.View, id string) {
	p := &v.Topics[2].Partitions[0]
	p.LastStable, p.Below, p.StalledFor = lag.Known[lag.Offset](9123), true, 2*time.Hour
	p.Blocker = &lag.Blocker{
		Verdict: lag.Hanging, Reason: lag.ReasonNone, TransactionalID: id, State: lag.CompleteAbort, Coordinator: 1,
		Producer: lag.Known(lag.Producer{ID: 4012, Epoch: 3, CoordinatorEpoch: 5, Start: lag.Known[lag.Offset](9123)}),
		Age:      2 * time.Hour, AgeSource: lag.AgeByCoordinator,
	}
}

// heldView is one in which something of everything is wrong.
func heldView() *lag.View {
	v := aView()
	hold(v, "billing-7")
	v.Groups = []lag.GroupView{
		groupOn("audit", "orders", lag.StateUndetermined, 500, 12000),
		groupOn("billing", "orders", lag.StateBlocked, 0, 11377),
		groupOn("reports", "orders", lag.StateStopped, 9000, 20377),
	}
	v.Groups[0].Topics[0].HWMLag = lag.Optional[lag.Count]{}
	v.Missed = []lag.Miss{
		{Kind: lag.MissTimeout, Subject: "broker 2", Count: 3},
		{Kind: lag.MissUnauthorized, Subject: "group secret", Count: 1},
	}
	v.Audit = &lag.Audit{At: now, Checks: []lag.Check{{Name: lag.TransactionStateMinInSync, Result: lag.Weak, Value: "1"}}}
	return v
}

// oddNames are names that Kafka takes for groups and transactional ids, and that
// are markup.
var oddNames = []string{
	`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `</style><script>alert(1)</script>`,
	`' onmouseover='alert(1)`, `javascript:alert(1)`, `{{.Version}}`, "line\nbreak", `&lt;b&gt;`, "\u202etxt", strings.Repeat("x", 300),
}

func oddView() *lag.View {
	v := aView()
	hold(v, oddNames[0])
	v.Groups = nil
	for _, name := range oddNames {
		v.Groups = append(v.Groups, groupOn(name, "orders", lag.StateBlocked, 0, 11377))
	}
	slices.SortFunc(v.Groups, func(a, b lag.GroupView) int { return strings.Compare(a.Name, b.Name) })
	v.Missed = []lag.Miss{{Kind: lag.MissOther, Subject: `group <b>x</b>`, Count: 1, Detail: `<svg onload=alert(1)>`}}
	v.Cluster = lag.Known(lag.Cluster{ID: `<i>id</i>`})
	return v
}

func TestStatusPage(t *testing.T) {
	failed := aView()
	failed.Topics, failed.Groups, failed.Cluster = nil, nil, lag.Optional[lag.Cluster]{}
	failed.Failure = "dial tcp 127.0.0.1:9092: connection refused"
	expired := heldView()
	expired.Ended = now.Add(-31 * time.Second)
	for name, view := range map[string]*lag.View{
		"none": nil, "healthy": aView(), "held": heldView(), "failed": failed, "expired": expired, "odd": oddView(),
	} {
		t.Run(name, func(t *testing.T) {
			w := get(handler(view), http.MethodGet, "/")
			if w.Code != http.StatusOK {
				t.Fatalf("status %d", w.Code)
			}
			golden(t, "status-"+name+".html", w.Body.String())
			for _, fault := range harm(w.Body.String()) {
				t.Error(fault)
			}
		})
	}
}

var (
	tag       = regexp.MustCompile(`<([a-zA-Z/!][a-zA-Z0-9]*)([^>]*)>`)
	attribute = regexp.MustCompile(`^\s+([a-z-]+)(?:="([^"<>]*)")?`)
)

// harm is what a page has that the template has not: elements, attributes, and
// links that lead elsewhere than to the exporter and its documents.
func harm(page string) (faults []string) {
	fault := func(format string, a ...any) { faults = append(faults, fmt.Sprintf(format, a...)) }
	before, rest, _ := strings.Cut(page, "<style>")
	_, after, found := strings.Cut(rest, "</style>")
	if !found {
		fault("the page has no style")
	}
	elements := strings.Fields("!DOCTYPE html head meta title style body header h1 h2 h3 nav a p b span details summary pre ul li table tr th td dl dt dd")
	for _, m := range tag.FindAllStringSubmatch(before+after, -1) {
		if !slices.Contains(elements, strings.TrimPrefix(m[1], "/")) {
			fault("the page has the element %s", m[0])
		}
		for attributes := m[2]; m[1] != "!DOCTYPE" && attributes != ""; {
			a := attribute.FindStringSubmatch(attributes)
			if a == nil {
				fault("odd attributes in %s", m[0])
				break
			}
			attributes = attributes[len(a[0]):]
			switch a[1] {
			case "href":
				if !strings.HasPrefix(a[2], "/") && !strings.HasPrefix(a[2], documents) || strings.HasPrefix(a[2], "//") {
					fault("the page leads to %s", a[2])
				}
			case "class", "lang", "charset", "name", "content", "http-equiv":
			default:
				fault("the page has the attribute %s", a[0])
			}
		}
	}
	return faults
}

// harm finds what it is for.
func TestHarm(t *testing.T) {
	for _, markup := range []string{
		`<script>`, `<img src=x>`, `<b onclick="x">`, `<a href="https://elsewhere/">`, `<a href="//elsewhere">`, `<a href=javascript:x>`, `<svg/onload=x>`,
	} {
		if harm("<style></style>"+markup) == nil {
			t.Errorf("%s is taken for harmless", markup)
		}
	}
}

// Every page says that it loads nothing; the style that it has is allowed by its
// hash alone.
func TestStatusHeaders(t *testing.T) {
	for _, path := range []string{"/", "/config", "/api/report"} {
		h := get(handler(heldView()), http.MethodGet, path).Header()
		policy := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s has the policy %q", path, policy)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
	// html/template leaves the style as it is, or the hash is another's.
	if page := get(handler(aView()), http.MethodGet, "/").Body.String(); !strings.Contains(page, "<style>"+statusStyle+"</style>") {
		t.Error("the style in the page is not the one that is allowed")
	}
	if strings.Contains(statusStyle, "url(") || strings.Contains(statusStyle, "@import") {
		t.Error("the style loads something")
	}
}

// Long lists are cut, and the page says by how much.
func TestStatusPageOfALargeCluster(t *testing.T) {
	v := aView()
	v.Groups = nil
	for n := range 1200 {
		v.Groups = append(v.Groups, groupOn(fmt.Sprintf("group-%04d", n), "orders", lag.StateStopped, lag.Count(n), lag.Count(n)))
	}
	page := get(handler(v), http.MethodGet, "/").Body.String()
	for _, want := range []string{
		"and 1,180 more, which are less far behind", "<td>group-1199</td>", "<td>group-1180</td>",
		`and 1,180 more; <a href="/api/report">the report as JSON</a> has all`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	if strings.Contains(page, "<td>group-1179</td>") || len(page) > 100_000 {
		t.Errorf("the page has %d bytes", len(page))
	}
}

func TestStatusPageLoadsAgain(t *testing.T) {
	for query, want := range map[string]string{
		"": "", "?refresh=10": `content="10"`, "?refresh=0": "", "?refresh=-1": "", "?refresh=3601": "", "?refresh=1;url=//x": "", "?refresh=x": "",
	} {
		page := get(handler(aView()), http.MethodGet, "/"+query).Body.String()
		if got := strings.Contains(page, `http-equiv="refresh"`); got != (want != "") || !strings.Contains(page, want) {
			t.Errorf("%q: the page loads again: %v", query, got)
		}
	}
}

// The report is the one that diagnose prints.
func TestReportAsJSON(t *testing.T) {
	view := heldView()
	w := get(handler(view), http.MethodGet, "/api/report")
	var want bytes.Buffer
	if err := statusOf(view).Report().JSON(&want); err != nil {
		t.Fatal(err)
	}
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" || w.Body.String() != want.String() {
		t.Errorf("%d %s %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
}

func TestConfigurationPage(t *testing.T) {
	s := statusOf(aView())
	s.Configuration = func(io.Writer) error { return errors.New("secret") }
	if w := get(NewStatus(s), http.MethodGet, "/config"); w.Code != 500 || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	s.Configuration = nil
	if w := get(NewStatus(s), http.MethodGet, "/config"); w.Code != 404 {
		t.Errorf("%d", w.Code)
	}
	if page := get(NewStatus(s), http.MethodGet, "/").Body.String(); strings.Contains(page, "/config") {
		t.Error("the page leads to a configuration that is not there")
	}
}
