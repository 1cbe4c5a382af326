package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/test/oracle"
	"github.com/lso-exporter/lso-exporter/web"
)

// exporter is the exporter's packages put together as the command serve does,
// but for the clock: it sweeps when it is told to.
type exporter struct {
	t       testing.TB
	name    string
	period  time.Duration
	now     func() time.Time
	client  collector.Client
	runner  *collector.Runner
	server  *httptest.Server
	mu      sync.Mutex
	sweeps  map[int64]sweepTime // by the millisecond of their end
	scrapes []oracle.Scrape
	judged  bool // the oracle is to judge the scrapes
}

// sweepTime is when a sweep began and ended.
type sweepTime struct{ began, ended time.Time }

// observer is as in the command serve.
type observer struct{ *metrics.Self }

func (o observer) Collector(name collector.Collector, success bool, took time.Duration) {
	o.Self.Collector(string(name), success, took)
}

func (o observer) Sweep(result collector.Result, took time.Duration) {
	o.Self.Sweep(string(result), took)
}

// period is the time between two sweeps unless a test says otherwise.
const period = 10 * time.Second

// newExporter starts an exporter of a cluster.
func newExporter(t testing.TB, name string, client collector.Client, now func() time.Time, options collector.Options, page metrics.Options) *exporter {
	if options.Period == 0 {
		options.Period = period
	}
	page.Now, options.Now = now, now
	page.Fingerprint = "fingerprint"
	page.Build = metrics.Build{Version: "v0", Revision: "r", GoVersion: "go"}
	exposition := metrics.NewExposition(page)
	options.Observer = observer{exposition.Self}
	e := &exporter{t: t, name: name, period: options.Period, now: now, client: client, runner: collector.NewRunner(client, options), judged: true, sweeps: map[int64]sweepTime{}}
	e.runner.Subscribe(func(v *lag.View) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.sweeps[v.Ended.UnixMilli()] = sweepTime{v.Started, v.Ended}
	})
	e.runner.Subscribe(exposition.Publish)
	e.server = httptest.NewServer(web.NewHandler(web.Options{
		Metrics: exposition, TelemetryPath: "/metrics", View: e.runner.View, Status: http.NotFoundHandler(), Now: now}))
	t.Cleanup(e.server.Close)
	return e
}

// sweep sweeps once and scrapes.
func (e *exporter) sweep() string {
	e.runner.Sweep(context.Background())
	return e.scrape()
}

// scrape fetches the page, keeps it for the oracle, and returns it.
func (e *exporter) scrape() string {
	status, text := e.get("/metrics")
	if status != http.StatusOK {
		e.t.Errorf("GET /metrics: status %d: %s", status, text)
	}
	sc := oracle.Scrape{Exporter: e.name, At: e.now(), Period: e.period, Text: withoutHelp(text)}
	if m := lastSweep.FindStringSubmatch(text); m != nil {
		ended, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			e.t.Error(err)
		}
		e.mu.Lock()
		at, known := e.sweeps[int64(math.Round(ended*1000))]
		e.mu.Unlock()
		if !known {
			e.t.Errorf("the page is of a sweep that ended at %v, which never was", ended)
		}
		sc.Start, sc.End = at.began, at.ended
	}
	e.scrapes = append(e.scrapes, sc)
	return text
}

// plainClient asks for pages that are not compressed, which takes most of the
// time of a scrape; package metrics tests that they are the same.
var plainClient = &http.Client{Transport: &http.Transport{DisableCompression: true}}

// withoutHelp is a page without its help texts and buckets, which are most of it.
func withoutHelp(text string) []byte {
	var b bytes.Buffer
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, "{")
		if !strings.HasPrefix(line, "# HELP ") && !strings.HasSuffix(name, "_bucket") {
			b.WriteString(line)
		}
	}
	return b.Bytes()
}

var lastSweep = regexp.MustCompile(`(?m)^lso_exporter_last_sweep_timestamp_seconds(?:\{.*\})? (\S+)$`)

// get fetches a page.
func (e *exporter) get(path string) (status int, body string) {
	resp, err := plainClient.Get(e.server.URL + path)
	if err != nil {
		e.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		e.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// judge has the oracle judge every scrape of the exporter.
func (e *exporter) judge(acts []oracle.Act) {
	e.t.Helper()
	if !e.judged {
		return
	}
	truth, err := oracle.Learn(acts)
	if err != nil {
		e.t.Error(err)
		return
	}
	judge := oracle.NewJudge(truth)
	shown := 0
	for _, sc := range e.scrapes {
		if sc.End.IsZero() {
			continue
		}
		for _, v := range judge.Judge(sc) {
			if shown++; shown <= 10 {
				e.t.Errorf("oracle: %v", v)
			}
		}
	}
	if shown > 10 {
		e.t.Errorf("oracle: %d violations more", shown-10)
	}
}

// inProcess is a collector.Client of a simulated cluster in this process.
type inProcess struct {
	cluster *simbroker.Cluster
	// before, if set, is called before each request.
	before func()
	// impatient: a broker that stands still is not waited for, so that a sweep
	// takes no time.
	impatient bool
	// seeds are the brokers to begin with; nil for all.
	seeds []int32

	mu     sync.Mutex
	counts map[string]int // requests by API
}

// Seeds implements collector.Client.
func (c *inProcess) Seeds() []int32 {
	if c.seeds != nil {
		return c.seeds
	}
	var ids []int32
	for _, id := range c.cluster.Brokers() {
		ids = append(ids, int32(id))
	}
	return ids
}

// Request implements collector.Client.
func (c *inProcess) Request(ctx context.Context, broker int32, req kmsg.Request) (kmsg.Response, error) {
	if c.before != nil {
		c.before()
	}
	c.mu.Lock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[kmsg.NameForKey(req.Key())]++
	c.mu.Unlock()
	if c.impatient && c.cluster.State(kafka.BrokerID(broker)) == simbroker.Paused {
		return nil, context.DeadlineExceeded
	}
	resp, err := c.cluster.RequestAs(ctx, "lso-exporter", kafka.BrokerID(broker), req)
	if errors.Is(err, simbroker.ErrTimeout) {
		err = fmt.Errorf("%w: %w", context.DeadlineExceeded, err)
	}
	return resp, err
}
