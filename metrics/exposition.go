package metrics

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Granularity is the finest level at which a group has series of its own.
type Granularity string

// The granularities.
const (
	PerPartition Granularity = "partition"
	PerTopic     Granularity = "topic"
	PerGroup     Granularity = "group"
)

// Options say what a page looks like.
type Options struct {
	// Cluster is the value of the label "cluster"; empty for no such label.
	Cluster string
	// Granularity; empty stands for PerPartition.
	Granularity Granularity
	// Without names the collectors whose metrics are left out. A view may hold
	// what they would show, as others need it too.
	Without []string
	// Scoped leaves out all that is not about one partition: what N exporters
	// that share a group between them would each show.
	Scoped bool
	// OwnIDs says that what the view tells of transactional ids is of those of a
	// scope: with Scoped, it is kept.
	OwnIDs bool
	// KafkaExporter adds metrics with the names and labels of kafka_exporter.
	KafkaExporter bool
	// Build and Fingerprint are shown as metrics.
	Build       Build
	Fingerprint string
	// Process has the metrics of the process and the Go runtime; nil for none.
	Process prometheus.Gatherer
	// Now is the clock by which views expire; nil stands for time.Now.
	Now func() time.Time
}

// shows says whether a metric has series under these options.
func (o Options) shows(s source) bool {
	switch {
	case slices.Contains(o.Without, s.Collector), s.kafkaExporter && !o.KafkaExporter:
		return false
	case o.Scoped && !slices.Contains(s.Labels, "partition") && !(o.OwnIDs && s.Collector == "transactions"):
		return false
	case s.level == perTopic:
		return o.Granularity != PerGroup
	case s.level == perPartition:
		return o.Granularity == PerPartition
	}
	return true
}

// Exposition serves the last view that was published, and the exporter's own
// metrics with it. It is safe for concurrent use.
//
// It is an http.Handler for scrapes, and a prometheus.TransactionalGatherer for
// whoever wants the families themselves.
type Exposition struct {
	// Self counts what the exporter itself does.
	Self *Self

	options Options
	sources []source
	page    atomic.Pointer[page]
	own     prometheus.Gatherers
	named   http.Handler
}

// NewExposition returns an exposition that has no view yet.
func NewExposition(options Options) *Exposition {
	options = options.withDefaults()
	return newExposition(options, newSelf(options))
}

// Succeed returns an exposition under other options that goes on where e is:
// with its counters, if the value of the label cluster is the same, and with its
// last view until another one is published.
func (e *Exposition) Succeed(options Options) *Exposition {
	options = options.withDefaults()
	self := e.Self
	if options.Cluster != e.options.Cluster {
		self = newSelf(options)
	}
	self.forget(options.Without)
	next := newExposition(options, self)
	if last := e.page.Load(); last != nil {
		next.show(last.view)
	}
	return next
}

// withDefaults fills in what was left zero.
func (o Options) withDefaults() Options {
	if o.Granularity == "" {
		o.Granularity = PerPartition
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

func newExposition(options Options, self *Self) *Exposition {
	e := &Exposition{Self: self, options: options}
	for _, s := range sources {
		if options.shows(s) {
			e.sources = append(e.sources, s)
		}
	}
	page := prometheus.NewRegistry()
	page.MustRegister(newPageCollector(e))
	page.MustRegister(infos(options)...)
	e.own = prometheus.Gatherers{e.Self.registry, page}
	if !slices.Contains(options.Without, txnlog) {
		e.own = append(e.own, prometheus.GathererFunc(e.gatherLog))
	}
	if options.Process != nil {
		e.own = append(e.own, options.Process)
	}
	e.named = promhttp.HandlerForTransactional(e, promhttp.HandlerOpts{EnableOpenMetrics: true})
	return e
}

// Withdraw leaves out the last view until another one is published.
func (e *Exposition) Withdraw() { e.page.Store(nil) }

// Publish makes view the one that is served; views are published in the order
// in which they were made. The forms in which the view before was asked for
// are encoded before Publish returns. It panics when the view holds a thing
// twice.
func (e *Exposition) Publish(view *lag.View) {
	cut := e.show(view)
	if !slices.Contains(e.options.Without, "transactions") {
		e.Self.seriesCut.WithLabelValues(blockingTransactionInfo).Add(float64(cut))
	}
	e.Self.log.add(view.TransactionLog)
}

// show is Publish without counting; it returns how many series were cut.
func (e *Exposition) show(view *lag.View) (cut int) {
	next := &page{
		view: view, sources: e.sources, objects: objectsOf(view, e.options.Cluster),
		bodies: make(map[form]*body), asked: make(map[form]bool),
	}
	if last := e.page.Load(); last != nil {
		for _, f := range last.formsAsked() {
			next.encode(f)
		}
	}
	e.page.Store(next)
	return max(0, next.objects.cut)
}

// current is the page to be served now; nil when the last view has expired or
// there is none yet.
func (e *Exposition) current() *page {
	p := e.page.Load()
	if p == nil || p.view.Expired(e.options.Now()) {
		return nil
	}
	return p
}

// Gather implements prometheus.TransactionalGatherer: all families of the
// page, those of the view first. They must not be changed.
func (e *Exposition) Gather() ([]*dto.MetricFamily, func(), error) {
	p, own, err := e.gather()
	var families []*dto.MetricFamily
	if p != nil {
		families = p.families()
	}
	return append(families, own...), func() {}, err
}

// gather returns the page to be served now, nil for none, with the exporter's
// own metrics, among which is when that page's sweep ended: both are of one
// view, though another one may be published meanwhile.
func (e *Exposition) gather() (*page, []*dto.MetricFamily, error) {
	for {
		p := e.current()
		own, err := e.own.Gather()
		if e.current() == p {
			return p, own, err
		}
	}
}

// gatherLog returns what the transaction log has said so far, unless nothing is
// to be said of Kafka now.
func (e *Exposition) gatherLog() ([]*dto.MetricFamily, error) {
	if p := e.current(); p == nil || p.view.Failure != "" {
		return nil, nil
	}
	return e.Self.log.registry.Gather()
}

// accepted are the formats that are offered, in order of preference; those of
// promhttp with OpenMetrics enabled.
var accepted = expfmt.DefaultOpenMetricsAcceptedFormats()

// ServeHTTP answers a scrape. The format is negotiated as by promhttp; name[]
// parameters pick metrics by name, as there.
func (e *Exposition) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Has("name[]") {
		e.named.ServeHTTP(w, r)
		return
	}
	// This package's collectors do not fail. Those of the process may, on a
	// system that hides what they look for; then only their families lack.
	p, families, _ := e.gather()
	format := expfmt.NegotiateAccept(r.Header, accepted...)
	header := w.Header()
	header.Set("Content-Type", string(format))
	header.Add("Vary", "Accept")
	header.Add("Vary", "Accept-Encoding")
	f := form{format: unescaped(format), gzip: acceptsGzip(r.Header)}
	if f.gzip {
		header.Set("Content-Encoding", "gzip")
	}
	var view *body
	if p != nil {
		view = p.body(f)
	}
	// An error here is a client that went away; there is nobody to tell.
	_ = writePage(w, f, view, families)
}

// acceptsGzip says whether the client takes a gzip-encoded answer (RFC 9110,
// 12.5.3).
func acceptsGzip(header http.Header) bool {
	any := false
	for part := range strings.SplitSeq(strings.Join(header.Values("Accept-Encoding"), ","), ",") {
		coding, parameters, _ := strings.Cut(part, ";")
		weight := 1.0
		if q, ok := strings.CutPrefix(strings.TrimSpace(parameters), "q="); ok {
			weight, _ = strconv.ParseFloat(q, 64) // what is no number is 0: not wanted
		}
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip", "x-gzip":
			return weight > 0
		case "*":
			any = weight > 0
		}
	}
	return any
}

// A page is a view with the bodies that were made of it.
type page struct {
	view    *lag.View
	sources []source

	mu      sync.Mutex // guards all below: a body is made once, and by one
	objects *objects
	arena   arena
	bodies  map[form]*body
	asked   map[form]bool
}

// body is the page in a form that somebody asked for.
func (p *page) body(f form) *body {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[f] = true
	if p.bodies[f] == nil {
		p.encode(f)
	}
	return p.bodies[f]
}

// encode makes the body of a form. Its caller holds the lock, or is alone.
func (p *page) encode(f form) {
	p.bodies[f] = newBody(f, func(yield func(*dto.MetricFamily)) {
		for _, s := range p.sources {
			if family := s.build(p.objects, &p.arena); len(family.Metric) > 0 {
				yield(family)
			}
		}
	})
}

// formsAsked are the forms that were asked for since the page was published.
func (p *page) formsAsked() []form {
	p.mu.Lock()
	defer p.mu.Unlock()
	var forms []form
	for f := range p.asked {
		forms = append(forms, f)
	}
	return forms
}

// families are the page's families, all at once.
func (p *page) families() []*dto.MetricFamily {
	p.mu.Lock()
	defer p.mu.Unlock()
	var families []*dto.MetricFamily
	for _, s := range p.sources {
		if family := s.build(p.objects, &arena{}); len(family.Metric) > 0 {
			families = append(families, family)
		}
	}
	return families
}

// pageCollector makes the metrics that describe the page itself.
type pageCollector struct {
	exposition *Exposition

	partitions, groups, timestamp, success, altered *prometheus.Desc
}

func newPageCollector(e *Exposition) *pageCollector {
	desc := func(m Metric) *prometheus.Desc {
		return prometheus.NewDesc(m.Name, m.Help(), m.Labels, constLabels(e.options, m))
	}
	return &pageCollector{
		exposition: e,
		partitions: desc(partitions), groups: desc(groups),
		timestamp: desc(lastSweepTimestamp), success: desc(lastSweepSuccess), altered: desc(alteredLabelValues),
	}
}

// Describe implements prometheus.Collector.
func (c *pageCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.partitions, c.groups, c.timestamp, c.success, c.altered} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (c *pageCollector) Collect(samples chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		samples <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	success := 0.0
	if last := c.exposition.page.Load(); last != nil {
		gauge(c.timestamp, float64(last.view.Ended.UnixMilli())/1000)
		if last.view.Complete() {
			success = 1
		}
	}
	gauge(c.success, success)
	shown := c.exposition.current()
	if shown == nil {
		shown = &page{objects: &objects{}}
	}
	gauge(c.partitions, float64(len(shown.objects.partitions)))
	gauge(c.groups, float64(len(shown.objects.groups)))
	for _, label := range alterableLabels {
		gauge(c.altered, float64(shown.objects.altered[label]), label)
	}
}
