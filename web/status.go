package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/lso-exporter/lso-exporter/diagnose"
	"github.com/lso-exporter/lso-exporter/lag"
)

// Status says what the status page shows. The page is for a person without
// Prometheus at hand: is the exporter well, what is held back and by whom, in
// the words of lso-exporter diagnose, and how far behind groups are. It needs no
// script and loads nothing from anywhere.
type Status struct {
	// Cluster is the configured name; empty for none. Brokers are the bootstrap
	// addresses.
	Cluster string
	Brokers []string
	Version string
	// View returns the last view, nil before the first, and Report what there is
	// to say of it, nil likewise.
	View   func() *lag.View
	Report func() *diagnose.Report
	// Activity is what the exporter has done since its start.
	Activity *Activity
	// TelemetryPath is where the metrics are.
	TelemetryPath string
	// Configuration writes the configuration, without secrets; nil for no page
	// of it.
	Configuration func(io.Writer) error
	// Now is the clock by which views expire; nil stands for time.Now.
	Now func() time.Time
}

// How much the page shows. The report's JSON form has all of it.
const (
	shownTransactions = 20
	shownGroups       = 20
	shownMisses       = 20
)

// documents is where the users' pages are.
const documents = "https://github.com/lso-exporter/lso-exporter/blob/main/docs/"

var (
	//go:embed templates/status.html
	statusText string
	//go:embed templates/status.css
	statusStyle string

	statusPage = template.Must(template.New("status").Funcs(template.FuncMap{
		"number": func(n int) string { return diagnose.Number(int64(n)) },
		"count":  diagnose.Count,
		"span":   diagnose.Span,
		"name":   diagnose.Name,
		"clock":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") },
	}).Parse(statusText))

	// statusPolicy lets the page have its own style, by its hash, and nothing else:
	// a name from the cluster that got into the page as markup could load nothing,
	// run nothing and send nothing.
	statusPolicy = func() string {
		hash := sha256.Sum256([]byte(statusStyle))
		return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]) +
			"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	}()
)

// statusPaths are the paths of all that NewStatus serves. The configuration takes
// none of them for the metrics.
var statusPaths = []string{"/{$}", "/config", "/api/report"}

// NewStatus returns the handler of the status page and of what it leads to:
//
//	/             the page; ?refresh=N has it loaded again every N seconds
//	/config       the configuration in effect, as "lso-exporter config print"
//	/api/report   the report as JSON, as "lso-exporter diagnose --output=json"
func NewStatus(s Status) http.Handler {
	if s.Now == nil {
		s.Now = time.Now
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.HandleFunc("GET /api/report", s.report)
	if s.Configuration != nil {
		mux.HandleFunc("GET /config", s.configuration)
	}
	return mux
}

// answer sends a body that no cache keeps and no browser takes for something
// else.
func answer(w http.ResponseWriter, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Security-Policy", statusPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	// An error is a client that went away; there is nobody to tell.
	_, _ = w.Write(body)
}

func (s *Status) page(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	if err := statusPage.Execute(&b, s.content(r.URL.Query().Get("refresh"))); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	answer(w, "text/html; charset=utf-8", b.Bytes())
}

func (s *Status) report(w http.ResponseWriter, _ *http.Request) {
	report := s.Report()
	if report == nil {
		http.Error(w, "no sweep has ended yet", http.StatusServiceUnavailable)
		return
	}
	var b bytes.Buffer
	if err := report.JSON(&b); err != nil {
		http.Error(w, "the report could not be made", http.StatusInternalServerError)
		return
	}
	answer(w, "application/json", b.Bytes())
}

func (s *Status) configuration(w http.ResponseWriter, _ *http.Request) {
	var b bytes.Buffer
	if err := s.Configuration(&b); err != nil {
		http.Error(w, "the configuration could not be shown", http.StatusInternalServerError)
		return
	}
	answer(w, "text/plain; charset=utf-8", b.Bytes())
}

// content is what the template shows.
type content struct {
	*Status
	Style   template.CSS
	Refresh int
	Docs    string

	// Class and Word are the answer: its colour, and what diagnose calls it.
	Class, Word, Summary string

	View   *lag.View
	Report *diagnose.Report
	Age    time.Duration
	Took   time.Duration

	Held, Untold []diagnose.Transaction
	// HeldGroups are held back, UntoldGroups may be; of Remarks there is something
	// else to say.
	HeldGroups, UntoldGroups, Remarks []diagnose.Group
	Misses                            []diagnose.Untold
	Weak                              []diagnose.Finding
	// More is how many of each of these there are beyond those that are shown.
	More map[string]int

	Groups     []groupRow
	GroupsMore int

	Sweeps, Errors []counted
	Collectors     []collectorRow
}

// groupRow is a group on a topic. What is not known is empty.
type groupRow struct {
	Group, Topic, Members string
	State                 lag.GroupState
	LSOLag, HWMLag        string
	LSOLagFor, HWMLagFor  string
	behind                lag.Count // the HWM lag; −1 where it is not known
}

// rowOf is a group on one of its topics.
func rowOf(g *lag.GroupView, t *lag.GroupTopicView) groupRow {
	row := groupRow{
		Group: g.Name, Topic: t.Topic, State: t.State, Members: amount(g.Members),
		LSOLag: amount(t.LSOLag), HWMLag: amount(t.HWMLag), LSOLagFor: length(t.LSOLagFor), HWMLagFor: length(t.HWMLagFor),
		behind: -1,
	}
	if n, known := t.HWMLag.Get(); known {
		row.behind = n
	}
	return row
}

// amount is a number that may be unknown.
func amount[T ~int | ~int64](o lag.Optional[T]) string {
	if n, known := o.Get(); known {
		return diagnose.Number(int64(n))
	}
	return ""
}

// length is a duration that may be unknown.
func length(o lag.Optional[time.Duration]) string {
	if d, known := o.Get(); known {
		return diagnose.Span(d)
	}
	return ""
}

// collectorRow is how a collector fared in the last sweep.
type collectorRow struct {
	Name    string
	Success bool
	Took    time.Duration
}

// content gathers what there is to show at this moment.
func (s *Status) content(refresh string) *content {
	now := s.Now()
	c := &content{Status: s, Style: template.CSS(statusStyle), Docs: documents, View: s.View()}
	if n, err := strconv.Atoi(refresh); err == nil && n >= 1 && n <= 3600 {
		c.Refresh = n
	}
	c.activity(s.Activity)
	if reason := NotReady(c.View, now); reason != "" {
		c.Class, c.Word, c.Summary = "unknown", "COULD NOT TELL", oneLine(reason)
	}
	if c.View == nil {
		return c
	}
	c.Age = now.Sub(c.View.Ended)
	c.Report = s.Report()
	if c.Report == nil || c.View.Expired(now) {
		c.Report = nil
		return c
	}
	c.told(c.Report)
	c.groups(c.View)
	return c
}

// activity fills in what the exporter has done.
func (c *content) activity(a *Activity) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c.Took, c.Sweeps, c.Errors = a.took, sorted(a.sweeps), sorted(a.errors)
	for _, name := range slices.Sorted(maps.Keys(a.collectors)) {
		run := a.collectors[name]
		c.Collectors = append(c.Collectors, collectorRow{name, run.success, run.took})
	}
}

// told fills in what the report says.
func (c *content) told(r *diagnose.Report) {
	if c.Word == "" {
		c.Class, c.Word = "healthy", "HEALTHY"
		switch r.Status {
		case diagnose.HeldBack:
			c.Class, c.Word = "held", "HELD BACK"
		case diagnose.Unknown:
			c.Class, c.Word = "unknown", "COULD NOT TELL"
		}
		c.Summary = r.Summary
	}
	for _, t := range r.Transactions {
		if t.HeldBack {
			c.Held = append(c.Held, t)
		} else {
			c.Untold = append(c.Untold, t)
		}
	}
	for _, g := range r.Groups {
		switch {
		case g.HeldBack:
			c.HeldGroups = append(c.HeldGroups, g)
		case g.Kind == diagnose.KindUndetermined:
			c.UntoldGroups = append(c.UntoldGroups, g)
		default:
			c.Remarks = append(c.Remarks, g)
		}
	}
	for _, u := range r.Untold {
		if u.Kind != "failure" { // it is the summary
			c.Misses = append(c.Misses, u)
		}
	}
	for _, f := range r.Audit.Checks {
		if f.Result == lag.Weak {
			c.Weak = append(c.Weak, f)
		}
	}
	c.More = map[string]int{
		"held": cut(&c.Held, shownTransactions), "heldGroups": cut(&c.HeldGroups, shownGroups),
		"untold": cut(&c.Untold, shownTransactions), "untoldGroups": cut(&c.UntoldGroups, shownGroups),
		"remarks": cut(&c.Remarks, shownGroups), "misses": cut(&c.Misses, shownMisses),
	}
}

// cut shortens a list to its first n, and returns how many it leaves out.
func cut[T any](list *[]T, n int) int {
	more := max(0, len(*list)-n)
	*list = (*list)[:len(*list)-more]
	return more
}

// groups fills in the groups that are the furthest behind the high watermark;
// those of which that is not known come last.
func (c *content) groups(view *lag.View) {
	for i := range view.Groups {
		g := &view.Groups[i]
		for j := range g.Topics {
			c.Groups = append(c.Groups, rowOf(g, &g.Topics[j]))
		}
	}
	slices.SortStableFunc(c.Groups, func(a, b groupRow) int { return cmp.Compare(b.behind, a.behind) })
	c.GroupsMore = cut(&c.Groups, shownGroups)
}
