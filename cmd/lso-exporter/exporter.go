package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/web"
)

// An exporter watches one cluster and serves what it sees.
type exporter struct {
	config config.Config
	logger zerolog.Logger
	kafka  *collector.Kafka
	// runner has the views. Who wants each of them subscribes before run.
	runner     *collector.Runner
	exposition *metrics.Exposition
	reports    *reports
	activity   *web.Activity
	// printed writes the configuration, without secrets; nil for no page of it.
	printed func(io.Writer) error
}

// newExporter returns an exporter that has not begun yet. It does not connect.
func newExporter(c config.Config, logger zerolog.Logger) (*exporter, error) {
	kafka, err := newKafka(c, func(message string) { logger.Warn().Msg(message) })
	if err != nil {
		return nil, err
	}
	options := collectorOptions(c)
	var without []string
	for _, each := range options.Disabled {
		without = append(without, string(each))
	}
	if !options.TransactionLog {
		without = append(without, string(collector.TransactionLog))
	}
	exposition := metrics.NewExposition(metrics.Options{
		Cluster:     c.Cluster,
		Granularity: metrics.Granularity(c.Granularity),
		Without:     without,
		Build:       buildOf(),
		Fingerprint: c.Fingerprint(),
		Process:     metrics.Process(),
	})
	activity := web.NewActivity()
	options.Observer = observer{exposition.Self, activity}
	e := &exporter{
		config: c, logger: logger, kafka: kafka,
		runner: collector.NewRunner(kafka, options), exposition: exposition,
		reports: newReports(c), activity: activity,
	}
	e.runner.Subscribe(exposition.Publish)
	e.runner.Subscribe(e.reports.see)
	e.runner.Subscribe((&sweepLog{logger: logger}).observe)
	return e, nil
}

// newKafka returns a client of the configured cluster. It does not connect. What
// an operator should know of how it does goes to warn.
func newKafka(c config.Config, warn func(message string)) (*collector.Kafka, error) {
	connector, err := newConnector(c, warn)
	if err != nil {
		return nil, err
	}
	kafka, err := collector.NewSecuredKafka(connector, kgo.SeedBrokers(c.Kafka.Brokers...), kgo.ClientID(c.Kafka.ClientID))
	if err != nil {
		return nil, fmt.Errorf("set up the Kafka client: %w", err)
	}
	return kafka, nil
}

// collectorOptions are what the configuration says about reading the cluster.
func collectorOptions(c config.Config) collector.Options {
	options := collector.Options{
		Period:         c.Sweep.Interval,
		Deadline:       c.Sweep.Timeout,
		BrokerTimeout:  c.Kafka.RequestTimeout,
		LookUpAfter:    c.Transactions.LookUpAfter,
		CensusPeriod:   c.Transactions.CensusInterval,
		TransactionLog: c.Collectors.TransactionLog,
		Application:    c.Transactions.Applications.Of,
		AuditPeriod:    c.Audit.Interval,
		StillAfter:     c.GroupStates.StillAfter,
		Topics:         matcher(c.Topics),
		Groups:         matcher(c.Groups),

		NoReadableLag:    !c.GroupStates.ReadableLag,
		NoTimeIndex:      !c.GroupStates.TimeIndex,
		NoPendingCommits: !c.GroupStates.PendingCommits,
	}
	if re := c.GroupStates.ReadUncommitted; re != nil {
		options.ReadUncommitted = re.MatchString
	}
	for _, each := range []struct {
		name    collector.Collector
		enabled bool
	}{
		{collector.Offsets, c.Collectors.Offsets},
		{collector.Groups, c.Collectors.Groups},
		{collector.Transactions, c.Collectors.Transactions},
		{collector.Replicas, c.Collectors.Replicas},
		{collector.Audits, c.Collectors.Audit},
	} {
		if !each.enabled {
			options.Disabled = append(options.Disabled, each.name)
		}
	}
	return options
}

// matcher is a filter as the collector takes it: nil for one that picks all,
// which then need not be asked.
func matcher(f config.Filter) func(string) bool {
	if f.All() {
		return nil
	}
	return f.Match
}

// run sweeps the cluster and serves the pages on listeners until ctx is done,
// and returns when the last sweep and the last request have ended. Its error
// is why it could not serve.
func (e *exporter) run(ctx context.Context, listeners []net.Listener) error {
	defer e.kafka.Close()
	ctx, cancel := context.WithCancel(ctx)
	var sweeps sync.WaitGroup
	sweeps.Go(func() { e.runner.Run(ctx) })
	defer sweeps.Wait()
	defer cancel()
	handler := web.NewHandler(web.Options{
		Metrics:       e.exposition,
		TelemetryPath: e.config.Web.TelemetryPath,
		View:          e.runner.View,
		Status: web.NewStatus(web.Status{
			Cluster: e.config.Cluster, Brokers: e.config.Kafka.Brokers, Version: versionText(buildOf()),
			View: e.runner.View, Report: e.reports.report, Activity: e.activity,
			TelemetryPath: e.config.Web.TelemetryPath, Configuration: e.printed,
		}),
	})
	return web.Serve(ctx, listeners, handler, e.config.Web.ConfigFile, slog.New(zerolog.NewSlogHandler(e.logger)))
}
