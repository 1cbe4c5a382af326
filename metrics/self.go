package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lso-exporter/lso-exporter/lag"
)

// own declares a metric of the exporter itself.
func own(name string, t Type, unit, meaning string, labels ...string) Metric {
	return Metric{Name: name, Type: t, Unit: unit, Meaning: meaning, Labels: labels, Cluster: true}
}

// ofProcess marks a metric as one of the process, not of one cluster's sweeps.
func ofProcess(m Metric) Metric {
	m.Cluster = false
	return m
}

var (
	sweepDuration = own("lso_exporter_sweep_duration_seconds", Histogram, "seconds",
		"How long sweeps took from beginning to end. Skipped ones do not count.")
	sweeps = own("lso_exporter_sweeps_total", Counter, "sweeps",
		"Sweeps by result: complete, partial (something is missing), failed (nothing could be read) or skipped (the one before still ran).", "result")
	lastSweepTimestamp = Metric{
		Name: "lso_exporter_last_sweep_timestamp_seconds", Type: Gauge, Unit: "seconds since the epoch", Section: 2, Cluster: true,
		Meaning: "When the last sweep ended. Rules on stalls demand that this is recent.",
		Sparse:  "once a sweep has ended",
	}
	lastSweepSuccess = Metric{
		Name: "lso_exporter_last_sweep_success", Type: Gauge, Section: 2, Cluster: true,
		Meaning: "1 when the last sweep read everything, 0 while anything that should have been read is missing.",
	}
	readGap = Metric{
		Name: "lso_exporter_read_gap_seconds", Type: Histogram, Unit: "seconds", Section: 2, Cluster: true,
		Meaning: "Time between a broker's answers for the high watermark and for the last stable offset. The share of time below is understated by about this over the length of a transaction.",
	}
	collectorSuccess = own("lso_exporter_collector_success", Gauge, "",
		"1 when the collector read everything in the last sweep, else 0.", "collector")
	collectorDuration = own("lso_exporter_collector_duration_seconds", Gauge, "seconds",
		"How long the collector took in the last sweep.", "collector")
	requests = own("lso_exporter_requests_total", Counter, "requests",
		"Requests to Kafka, by API, broker id (seed for a bootstrap address) and error (none, or a kind as in lso_exporter_errors_total).", "api", "broker", "error")
	auditRequests = own("lso_exporter_audit_requests_total", Counter, "requests",
		"Requests of audits. They are among lso_exporter_requests_total, and not of the budget of sweeps.")
	requestDuration = own("lso_exporter_request_duration_seconds", Histogram, "seconds",
		"How long Kafka took to answer a request, by API.", "api")
	partitions = own("lso_exporter_partitions", Gauge, "partitions",
		"Partitions on this page; 0 when the last view has expired.")
	groups = own("lso_exporter_groups", Gauge, "groups",
		"Groups on this page; 0 when the last view has expired.")
	errorsTotal = own("lso_exporter_errors_total", Counter, "errors",
		"What sweeps should have read and did not, by kind. A broker that fails is one error, whatever the number of its partitions.", "kind")
	seriesCut = Metric{
		Name: "lso_exporter_series_cut_total", Type: Counter, Unit: "series", Section: 4, Cluster: true,
		Meaning: "Series that were left out of pages because there were more than the metric may have, once for each sweep.",
		Labels:  []string{"metric"},
	}
	clockSkew = own("lso_exporter_clock_skew_total", Counter, "answers",
		"Answers of brokers that dated a record more than a second later than it was seen: the clock of its producer, or of the broker, is ahead of the exporter's. The age is then told as of when it was seen, never below 0.")
	alteredLabelValues = own("lso_exporter_altered_label_values", Gauge, "values",
		"Names on this page that could not be shown as they are, by label: they are longer than 1,024 characters or not valid UTF-8.", "label")
	buildInfo = ofProcess(own("lso_exporter_build_info", Gauge, "",
		"Always 1. What was built.", "version", "revision", "goversion"))
	reloadSuccessful = ofProcess(own("lso_exporter_config_last_reload_successful", Gauge, "",
		"1 when the configuration was good that was read last, at the start or for a reload; 0 while it was not and the one before is in effect."))
	reloadTimestamp = ofProcess(own("lso_exporter_config_last_reload_success_timestamp_seconds", Gauge, "seconds since the epoch",
		"When the configuration in effect was read."))
	configInfo = ofProcess(own("lso_exporter_config_info", Gauge, "",
		"Always 1. Fingerprint of the configuration in effect, and the granularity of group metrics.", "fingerprint", "granularity"))
)

// selfMetrics are the exporter's own metrics.
var selfMetrics = []Metric{
	sweepDuration, sweeps, lastSweepTimestamp, lastSweepSuccess, readGap,
	collectorSuccess, collectorDuration, requests, auditRequests, requestDuration,
	partitions, groups, errorsTotal, clockSkew, seriesCut, alteredLabelValues, buildInfo, configInfo,
	reloadSuccessful, reloadTimestamp,
}

// missKinds are the kinds of errors, so that each has a sample from the start.
var missKinds = []lag.MissKind{
	lag.MissUnreachable, lag.MissTLS, lag.MissAuthentication, lag.MissTimeout, lag.MissSuspended, lag.MissNoLeader, lag.MissLeaderChanged,
	lag.MissOffsetNotAvailable, lag.MissTopicGone, lag.MissInconsistent, lag.MissNoCoordinator, lag.MissUnauthorized,
	lag.MissAPIMissing, lag.MissDeadline, lag.MissOther,
}

// SweepResults are the results of a sweep, so that each has a sample from the
// start.
var SweepResults = []string{"complete", "partial", "failed", "skipped"}

// alterableLabels are the labels whose values are names that clients choose.
var alterableLabels = []string{"application", "group", "protocol_type", "topic", "transactional_id"}

// durationBuckets reach from a loopback answer to the longest deadline.
var durationBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// Build says what was built.
type Build struct {
	// Version is a release or Go's pseudo-version, Revision the commit, each
	// empty where unknown; GoVersion is the compiler's.
	Version, Revision, GoVersion string
}

// Self counts what the exporter itself does. Its methods are safe for
// concurrent use and quick.
type Self struct {
	registry *prometheus.Registry
	log      *logSums

	sweepDuration     *prometheus.HistogramVec
	sweeps            *prometheus.CounterVec
	readGap           *prometheus.HistogramVec
	collectorSuccess  *prometheus.GaugeVec
	collectorDuration *prometheus.GaugeVec
	requests          *prometheus.CounterVec
	auditRequests     *prometheus.CounterVec
	requestDuration   *prometheus.HistogramVec
	errors            *prometheus.CounterVec
	clockSkew         *prometheus.CounterVec
	seriesCut         *prometheus.CounterVec
	reloadSuccessful  *prometheus.GaugeVec
	reloadTimestamp   *prometheus.GaugeVec
}

// newSelf registers the exporter's own metrics, but for those that describe a
// page.
func newSelf(o Options) *Self {
	s := &Self{
		registry:          prometheus.NewRegistry(),
		log:               newLogSums(o),
		sweepDuration:     histogramVec(o, sweepDuration),
		sweeps:            counterVec(o, sweeps),
		readGap:           histogramVec(o, readGap),
		collectorSuccess:  gaugeVec(o, collectorSuccess),
		collectorDuration: gaugeVec(o, collectorDuration),
		requests:          counterVec(o, requests),
		auditRequests:     counterVec(o, auditRequests),
		requestDuration:   histogramVec(o, requestDuration),
		errors:            counterVec(o, errorsTotal),
		clockSkew:         counterVec(o, clockSkew),
		seriesCut:         counterVec(o, seriesCut),
		reloadSuccessful:  gaugeVec(o, reloadSuccessful),
		reloadTimestamp:   gaugeVec(o, reloadTimestamp),
	}
	s.sweepDuration.WithLabelValues()
	s.readGap.WithLabelValues()
	s.clockSkew.WithLabelValues()
	s.auditRequests.WithLabelValues()
	for _, result := range SweepResults {
		s.sweeps.WithLabelValues(result)
	}
	s.seriesCut.WithLabelValues(blockingTransactionInfo)
	for _, kind := range missKinds {
		s.errors.WithLabelValues(string(kind))
	}
	s.registry.MustRegister(s.sweepDuration, s.sweeps, s.readGap, s.collectorSuccess, s.collectorDuration,
		s.requests, s.auditRequests, s.requestDuration, s.errors, s.clockSkew, s.seriesCut, s.reloadSuccessful, s.reloadTimestamp)
	s.Reloaded(o.Now(), true)
	return s
}

// infos are the metrics that say what was built and how it is configured.
func infos(o Options) []prometheus.Collector {
	build, config := gaugeVec(o, buildInfo), gaugeVec(o, configInfo)
	build.WithLabelValues(o.Build.Version, o.Build.Revision, o.Build.GoVersion).Set(1)
	config.WithLabelValues(o.Fingerprint, string(o.Granularity)).Set(1)
	return []prometheus.Collector{build, config}
}

// constLabels are the labels that a metric has by configuration.
func constLabels(o Options, m Metric) prometheus.Labels {
	if o.Cluster == "" || !m.Cluster {
		return nil
	}
	value, _ := LabelValue(o.Cluster)
	return prometheus.Labels{"cluster": value}
}

func counterVec(o Options, m Metric) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: m.Name, Help: m.Help(), ConstLabels: constLabels(o, m),
	}, m.Labels)
}

func gaugeVec(o Options, m Metric) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: m.Name, Help: m.Help(), ConstLabels: constLabels(o, m),
	}, m.Labels)
}

func histogramVec(o Options, m Metric) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: m.Name, Help: m.Help(), ConstLabels: constLabels(o, m), Buckets: durationBuckets,
	}, m.Labels)
}

// Request counts one request to a broker, negative for a bootstrap address. An
// empty failure is a request that was answered.
func (s *Self) Request(api string, broker int32, took time.Duration, failure lag.MissKind) {
	id, outcome := "seed", "none"
	if broker >= 0 {
		id = strconv.Itoa(int(broker))
	}
	if failure != "" {
		outcome = string(failure)
	} else {
		s.requestDuration.WithLabelValues(api).Observe(took.Seconds())
	}
	s.requests.WithLabelValues(api, id, outcome).Inc()
}

// AuditRequest counts one request as one of an audit.
func (s *Self) AuditRequest() { s.auditRequests.WithLabelValues().Inc() }

// ReadGap counts one gap between the answers for two offsets.
func (s *Self) ReadGap(took time.Duration) { s.readGap.WithLabelValues().Observe(took.Seconds()) }

// Collector records how a collector fared in the sweep.
func (s *Self) Collector(name string, success bool, took time.Duration) {
	value := 0.0
	if success {
		value = 1
	}
	s.collectorSuccess.WithLabelValues(name).Set(value)
	s.collectorDuration.WithLabelValues(name).Set(took.Seconds())
}

// Sweep counts a sweep with one of SweepResults. One that was skipped has no
// duration.
func (s *Self) Sweep(result string, took time.Duration) {
	s.sweeps.WithLabelValues(result).Inc()
	if took > 0 {
		s.sweepDuration.WithLabelValues().Observe(took.Seconds())
	}
}

// Errors counts n errors of one kind.
func (s *Self) Errors(kind lag.MissKind, n int) {
	s.errors.WithLabelValues(string(kind)).Add(float64(n))
}

// forget leaves out how collectors fared that are switched off.
func (s *Self) forget(collectors []string) {
	for _, name := range collectors {
		s.collectorSuccess.DeleteLabelValues(name)
		s.collectorDuration.DeleteLabelValues(name)
	}
}

// Reloaded records that a configuration was read at a time, and whether it is in
// effect.
func (s *Self) Reloaded(at time.Time, success bool) {
	if !success {
		s.reloadSuccessful.WithLabelValues().Set(0)
		return
	}
	s.reloadSuccessful.WithLabelValues().Set(1)
	s.reloadTimestamp.WithLabelValues().Set(float64(at.UnixMilli()) / 1000)
}

// Skew counts n answers that dated a record later than it was seen.
func (s *Self) Skew(n int) { s.clockSkew.WithLabelValues().Add(float64(n)) }
