package histories

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/test/oracle"
)

// exporter is one life of the exporter: its collector and its page, in process.
type exporter struct {
	*actor
	life    string
	runner  *collector.Runner
	page    *metrics.Exposition
	began   time.Time // of the last sweep
	ended   time.Time
	scrapes *[]oracle.Scrape
}

// sweepPeriod is the period of the exporter, which it keeps to only on average.
const sweepPeriod = 5 * time.Second

// observer is as in the command serve.
type observer struct{ *metrics.Self }

func (o observer) Collector(name collector.Collector, success bool, took time.Duration) {
	o.Self.Collector(string(name), success, took)
}

func (o observer) Sweep(result collector.Result, took time.Duration) {
	o.Self.Sweep(string(result), took)
}

// newExporter starts the exporter.
func (a *actor) newExporter(n int, scrapes *[]oracle.Scrape) *exporter {
	now := a.sim.Now
	page := metrics.NewExposition(metrics.Options{Now: now, Fingerprint: "fingerprint", Build: metrics.Build{Version: "v0", Revision: "r", GoVersion: "go"}})
	e := &exporter{actor: a, life: fmt.Sprintf("%s-%d", a.name, n), page: page, scrapes: scrapes}
	e.runner = collector.NewRunner(e, collector.Options{
		Period: sweepPeriod, LookUpAfter: 2 * time.Second, StillAfter: 20 * time.Second, Serial: true, Now: now,
		CensusPeriod: 15 * time.Second, AuditPeriod: time.Minute, Observer: observer{page.Self}, Random: a.random.Float64,
	})
	e.runner.Subscribe(func(v *lag.View) { e.began, e.ended = v.Started, v.Ended })
	e.runner.Subscribe(page.Publish)
	return e
}

// Seeds implements collector.Client.
func (e *exporter) Seeds() []int32 { return []int32{1, 2, 3} }

// Request implements collector.Client.
func (e *exporter) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	timeout := patience
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	till := e.sim.Now().Add(timeout)
	resp, err := e.request(broker, req.GetVersion(), req, timeout)
	if err != nil && !e.sim.Now().Before(till) {
		return nil, context.DeadlineExceeded
	}
	return resp, err
}

// observe sweeps and is scraped until the history is over, and once more then. It is
// started anew now and then.
func (a *actor) observe(scrapes *[]oracle.Scrape) {
	e := a.newExporter(0, scrapes)
	for n := 1; ; {
		over := a.over
		e.sweep()
		if over {
			return
		}
		a.pause(a.some(sweepPeriod/10, sweepPeriod*17/10))
		if a.chance(4) {
			e.scrape() // the same view again
		}
		if a.chance(20) {
			e = a.newExporter(n, scrapes)
			n++
		}
	}
}

func (e *exporter) sweep() {
	e.runner.Sweep(context.Background())
	e.scrape()
	if e.chance(8) {
		e.runner.Audit(context.Background())
	}
}

// scrape keeps the page for the oracle.
func (e *exporter) scrape() {
	w := httptest.NewRecorder()
	e.page.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		e.t.Errorf("%s: status %d: %s", e.life, w.Code, w.Body)
	}
	text := withoutHelp(w.Body.Bytes())
	e.tell("%s: a page of %d bytes, SHA-256 %x, of [%v, %v]", e.life, len(text), sha256.Sum256(text), e.began.Sub(epoch), e.ended.Sub(epoch))
	if e.ended.IsZero() {
		return
	}
	*e.scrapes = append(*e.scrapes, oracle.Scrape{Exporter: e.life, Start: e.began, End: e.ended, At: e.sim.Now(), Period: sweepPeriod, Text: text})
}

// withoutHelp is a page without its help texts and buckets, which are most of it.
func withoutHelp(page []byte) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(string(page)) {
		name, _, _ := strings.Cut(line, "{")
		if !strings.HasPrefix(line, "# HELP ") && !strings.HasSuffix(name, "_bucket") {
			b.WriteString(line)
		}
	}
	return b.Bytes()
}
