package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lso-exporter/lso-exporter/lag"
)

// txnlog is the collector of what is read of __transaction_state.
const txnlog = "txnlog"

// ofLog declares a metric of the transactions in the log.
func ofLog(name string, t Type, unit, meaning string, labels ...string) Metric {
	return Metric{Name: name, Type: t, Unit: unit, Meaning: meaning, Labels: labels, Cluster: true, Section: 6, Collector: txnlog}
}

var (
	transactionsCompleted = ofLog("kafka_transactions_completed_total", Counter, "transactions",
		"Transactions that were completed since the exporter started, by result: committed, aborted or timed_out (by its coordinator), and application (transactions.applications). An abort of a producer that had not begun does not count.", "result", "application")
	idInitializations = ofLog("kafka_transactional_id_initializations_total", Counter, "initializations",
		"How often producers have initialized transactional ids. A storm of them is two producers with one id, each of which fences the other.", "application")
	transactionDuration = ofLog("kafka_transaction_duration_seconds", Histogram, "seconds",
		"How long transactions took from their start to their completion.", "result", "application")
	transactionCompletion = ofLog("kafka_transaction_completion_seconds", Histogram, "seconds",
		"How long transactions took from the decision, which producers wait for, to their completion, when the end markers are written: what consumers wait for on top.", "result", "application")
	transactionPartitions = ofLog("kafka_transaction_partitions", Histogram, "partitions",
		"In how many partitions transactions wrote, those of committed offsets included. Not known of transactions that were decided before the exporter started.", "result", "application")
)

// logMetrics are the metrics of the transaction log.
var logMetrics = []Metric{transactionsCompleted, idInitializations, transactionDuration, transactionCompletion, transactionPartitions}

// Bounds of the classic buckets: a transaction lasts from milliseconds to the 15
// minutes that brokers allow by default, its completion rarely more than one, and
// it writes to a few partitions or to all that an application has.
var (
	transactionBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900}
	completionBuckets  = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}
	partitionBuckets   = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}
)

// logSums counts what the transaction log says.
type logSums struct {
	registry *prometheus.Registry

	completed, initialized           *prometheus.CounterVec
	duration, completion, partitions *prometheus.HistogramVec
}

// newLogSums returns sums to which nothing was added.
func newLogSums(o Options) *logSums {
	s := &logSums{
		registry:  prometheus.NewRegistry(),
		completed: counterVec(o, transactionsCompleted), initialized: counterVec(o, idInitializations),
		duration:   bothHistograms(o, transactionDuration, transactionBuckets),
		completion: bothHistograms(o, transactionCompletion, completionBuckets),
		partitions: bothHistograms(o, transactionPartitions, partitionBuckets),
	}
	s.registry.MustRegister(s.completed, s.initialized, s.duration, s.completion, s.partitions)
	return s
}

// bothHistograms is a histogram with classic buckets, and native ones for who
// scrapes them, of at most 160 with a growth of a tenth.
func bothHistograms(o Options, m Metric, buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: m.Name, Help: m.Help(), ConstLabels: constLabels(o, m), Buckets: buckets,
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
	}, m.Labels)
}

// add counts what a view says; nil for nothing.
func (s *logSums) add(log *lag.TransactionLog) {
	if log == nil {
		return
	}
	for _, application := range log.Initialized {
		name, _ := LabelValue(application)
		s.initialized.WithLabelValues(name).Inc()
	}
	for i := range log.Ended {
		e := &log.Ended[i]
		name, _ := LabelValue(e.Application)
		labels := []string{string(e.Result), name}
		s.completed.WithLabelValues(labels...).Inc()
		if d, ok := e.Duration.Get(); ok {
			s.duration.WithLabelValues(labels...).Observe(d.Seconds())
		}
		if d, ok := e.Completion.Get(); ok {
			s.completion.WithLabelValues(labels...).Observe(d.Seconds())
		}
		if n, ok := e.Partitions.Get(); ok {
			s.partitions.WithLabelValues(labels...).Observe(float64(n))
		}
	}
}
