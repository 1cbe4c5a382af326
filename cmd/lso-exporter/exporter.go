package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/lag"
	"github.com/lso-exporter/lso-exporter/metrics"
	"github.com/lso-exporter/lso-exporter/web"
)

// An exporter watches one cluster and serves what it sees. What it does follows
// from a configuration, which can be replaced while it runs.
type exporter struct {
	logger   zerolog.Logger
	activity *web.Activity
	sweepLog *sweepLog
	// seen is called with each view; nil for nobody. It is set before run.
	seen func(*lag.View)
	// probes are listeners on which only health is served. They are set before
	// run.
	probes []net.Listener

	// mu guards the present setup: a view that comes while it is replaced must
	// be published once, and by the one that serves.
	mu      sync.Mutex
	present *setup
	pages   atomic.Pointer[http.Handler]

	sweeps     sync.WaitGroup
	stopSweeps context.CancelFunc // nil before run
}

// A setup is what follows from one configuration.
type setup struct {
	config config.Config
	// printed writes the configuration, without secrets; nil for no page of it.
	printed func(io.Writer) error

	kafka      *collector.Kafka
	runner     *collector.Runner
	exposition *metrics.Exposition
	reports    *reports
}

// newExporter returns an exporter that has not begun yet. It does not connect.
func newExporter(c config.Config, printed func(io.Writer) error, logger zerolog.Logger) (*exporter, error) {
	e := &exporter{logger: logger, activity: web.NewActivity(), sweepLog: &sweepLog{logger: logger}}
	kafka, err := e.newKafka(c)
	if err != nil {
		return nil, err
	}
	s := &setup{config: c, printed: printed, kafka: kafka, reports: newReports(c, kafka)}
	options := collectorOptions(c)
	s.exposition = metrics.NewExposition(expositionOptions(c))
	options.Observer = observer{s.exposition.Self, e.activity}
	s.runner = collector.NewRunner(kafka, options)
	s.runner.Subscribe(e.publish)
	e.use(s)
	return e, nil
}

// use makes a setup the one that serves. Its caller holds the lock, or is alone.
func (e *exporter) use(s *setup) {
	e.present = s
	handler := web.NewHandler(web.Options{
		Metrics:       s.exposition,
		TelemetryPath: s.config.Web.TelemetryPath,
		View:          s.runner.View,
		Status: web.NewStatus(web.Status{
			Cluster: s.config.Cluster, Brokers: s.config.Kafka.Brokers, Version: versionText(buildOf()),
			View: s.runner.View, Report: s.reports.report, Activity: e.activity,
			TelemetryPath: s.config.Web.TelemetryPath, Configuration: s.printed,
		}),
	})
	e.pages.Store(&handler)
}

// publish takes the view of the next sweep.
func (e *exporter) publish(view *lag.View) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.present.exposition.Publish(view)
	e.present.reports.see(view)
	e.sweepLog.observe(view)
	if e.seen != nil {
		e.seen(view)
	}
}

// replace goes on under another configuration; printed writes it. Pages are
// served all the time, and what was counted and remembered stays unless it may
// be of another cluster. When replace returns an error, nothing has changed. It
// must not be called beside itself, nor before run.
func (e *exporter) replace(ctx context.Context, c config.Config, printed func(io.Writer) error) error {
	before := e.present
	after := &setup{config: c, printed: printed, kafka: before.kafka, runner: before.runner, reports: before.reports}
	anew := !before.config.SweepsLike(c)
	if anew {
		var err error
		if after.kafka, err = e.newKafka(c); err != nil {
			return err
		}
		e.stopSweeps()
		e.sweeps.Wait()
		before.kafka.Close()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	after.exposition = before.exposition.Succeed(expositionOptions(c))
	if anew {
		e.succeed(before, after)
		e.startSweeps(ctx, after)
	}
	e.use(after)
	return nil
}

// succeed gives the setup after a runner, and reports, that go on where those of
// before ended.
func (e *exporter) succeed(before, after *setup) {
	options := collectorOptions(after.config)
	options.Observer = observer{after.exposition.Self, e.activity}
	after.reports = newReports(after.config, after.kafka)
	sameCluster := slices.ContainsFunc(after.config.Kafka.Brokers, func(address string) bool {
		return slices.Contains(before.config.Kafka.Brokers, address)
	})
	if sameCluster {
		after.runner = before.runner.Succeed(after.kafka, options)
		if view := after.runner.View(); view != nil {
			after.reports.see(view)
		}
	} else {
		after.runner = collector.NewRunner(after.kafka, options)
		after.exposition.Withdraw()
	}
	after.runner.Subscribe(e.publish)
}

// startSweeps lets a setup sweep until ctx is done or stopSweeps is called.
func (e *exporter) startSweeps(ctx context.Context, s *setup) {
	ctx, e.stopSweeps = context.WithCancel(ctx)
	e.sweeps.Go(func() { s.runner.Run(ctx) })
}

// expositionOptions are what the configuration says about the page.
func expositionOptions(c config.Config) metrics.Options {
	options := collectorOptions(c)
	var without []string
	for _, each := range options.Disabled {
		without = append(without, string(each))
	}
	if !options.TransactionLog {
		without = append(without, string(collector.TransactionLog))
	}
	return metrics.Options{
		Cluster:     c.Cluster,
		Granularity: metrics.Granularity(c.Granularity),
		Without:     without,
		Build:       buildOf(),
		Fingerprint: c.Fingerprint(),
		Process:     metrics.Process(),

		Scoped:        c.Scope.Kind != config.ScopeAll,
		OwnIDs:        c.Scope.Kind == config.ScopeTransactionalID,
		KafkaExporter: c.Compatibility.KafkaExporter,
	}
}

// newKafka returns a client that logs what an operator should know.
func (e *exporter) newKafka(c config.Config) (*collector.Kafka, error) {
	return newKafka(c, func(message string) { e.logger.Warn().Msg(message) })
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
		SightTopic:     c.Topics.Example(),
		SightGroup:     c.Groups.Example(),

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
	// What is said of the whole cluster is for others to say.
	others := []collector.Collector{collector.Audits}
	switch c.Scope.Kind {
	case config.ScopeAll:
		return options
	case config.ScopeAssigned:
		options.Assigned = assigned(c.Scope)
		options.CensusPeriod = 0
	case config.ScopeTransactionalID:
		options.TransactionalIDs = c.Scope.TransactionalIDs
		options.SightID = config.Filter{Include: c.Scope.TransactionalIDs}.Example()
		others = append(others, collector.Groups)
	}
	options.TransactionLog = false
	for _, name := range others {
		if !slices.Contains(options.Disabled, name) {
			options.Disabled = append(options.Disabled, name)
		}
	}
	return options
}

// assigned says which members a scope tells. Brokers show where a member
// connects from with a slash before it, and IPv6 addresses in their long form.
func assigned(s config.Scope) func(lag.Member) bool {
	host := net.ParseIP(s.Host)
	return func(m lag.Member) bool {
		from, _, _ := strings.Cut(m.Host[strings.LastIndexByte(m.Host, '/')+1:], "%")
		return (host == nil || host.Equal(net.ParseIP(from))) && (s.ClientID == nil || s.ClientID.MatchString(m.ClientID))
	}
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
// is why it could not serve. reload, unless nil, runs meanwhile.
func (e *exporter) run(ctx context.Context, listeners []net.Listener, reload func(context.Context)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	webConfigFile := e.present.config.Web.ConfigFile
	e.startSweeps(ctx, e.present)
	var reloads sync.WaitGroup
	if reload != nil {
		reloads.Go(func() { reload(ctx) })
	}
	logger := slog.New(zerolog.NewSlogHandler(e.logger))
	probed := make(chan error, 1)
	go func() {
		var err error
		if len(e.probes) > 0 {
			err = web.Serve(ctx, e.probes, web.HealthOnly(e), "", logger)
			cancel()
		}
		probed <- err
	}()
	err := web.Serve(ctx, listeners, e, webConfigFile, logger)
	cancel()
	err = errors.Join(err, <-probed)
	reloads.Wait()
	e.sweeps.Wait()
	e.present.kafka.Close()
	return err
}

// ServeHTTP answers with the pages of the present setup.
func (e *exporter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*e.pages.Load()).ServeHTTP(w, r)
}
