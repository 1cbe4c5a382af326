package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/diagnose"
	"github.com/lso-exporter/lso-exporter/lag"
)

// diagnoseFlags are what can be asked for besides settings.
type diagnoseFlags struct {
	output string
	groups []string
	topics []string
	ids    []string

	wait      time.Duration
	waitGiven bool
}

// Between two sweeps of a diagnosis.
const (
	// diagnosePause is the time from the end of a sweep to the next one, or that
	// of sweep.interval if it is shorter.
	diagnosePause = 2 * time.Second
	// atOnce has everything looked up that has not moved since the sweep before.
	atOnce = time.Nanosecond
)

// diagnoseCommand adds the command that looks at a cluster, says what is held
// back, and ends.
func diagnoseCommand(app *kingpin.Application, p *program) {
	command := app.Command("diagnose", "Look at a cluster once and say what is held back, by what, and what to do. Exit status 0: nothing; 1: something is; 2: could not tell.")
	flags := &diagnoseFlags{output: "text"}
	choiceFlag(command, "output", "Form of the report: text for people, or json (docs/diagnose.md). Default: text.", &flags.output, "text", "json")
	command.Flag("group", "Tell of this group only. May be repeated.").PlaceHolder("NAME").StringsVar(&flags.groups)
	command.Flag("topic", "Tell of this topic only. May be repeated.").PlaceHolder("NAME").StringsVar(&flags.topics)
	command.Flag("transactional-id", "Tell of this transactional id only. May be repeated.").PlaceHolder("ID").StringsVar(&flags.ids)
	durationFlag(command, "wait", "How long to go on looking, every 2 s, where a verdict needs it; 0s looks once. Default: groups.still_after, and 15s.", &flags.wait, 0, 24*time.Hour).
		IsSetByUser(&flags.waitGiven)
	settings := config.AddFlags(command)
	command.Action(func(*kingpin.ParseContext) error {
		c, err := p.configuration(settings)
		if err != nil {
			return err
		}
		if !flags.waitGiven {
			flags.wait = c.GroupStates.StillAfter + 15*time.Second
		}
		return p.diagnose(c, flags)
	})
}

// diagnose looks at the cluster until nothing more can be settled by looking
// again, and prints the report. Whatever goes wrong, the status says that it
// could not tell.
func (p *program) diagnose(c config.Config, flags *diagnoseFlags) error {
	unknown := func(err error) error {
		fmt.Fprintf(p.stderr, "lso-exporter: %v\n", err)
		return outcome(diagnose.Unknown.ExitCode())
	}
	kafka, err := newKafka(c, func(message string) { fmt.Fprintf(p.stderr, "lso-exporter: %s\n", message) })
	if err != nil {
		return unknown(err)
	}
	defer kafka.Close()
	about := diagnoseOptions(c, kafka)
	about.Groups, about.Topics, about.TransactionalIDs = flags.groups, flags.topics, flags.ids
	watch := diagnose.NewWatch(about)
	progress := newProgress(p.stderr)
	seen := p.watch(watch, kafka, c, flags, progress)
	progress.end()
	if !seen {
		return unknown(fmt.Errorf("interrupted before the cluster was seen"))
	}
	report := watch.Report()
	if flags.output == "json" {
		err = report.JSON(p.stdout)
	} else {
		err = report.Text(p.stdout, isTerminal(p.stdout) && !slices.ContainsFunc(p.environment, noColour))
	}
	if err != nil {
		return unknown(fmt.Errorf("write the report: %w", err))
	}
	return outcome(report.Status.ExitCode())
}

// diagnoseOptions are what the configuration, and who the client is, say of
// reports.
func diagnoseOptions(c config.Config, kafka *collector.Kafka) diagnose.Options {
	return diagnose.Options{
		Bootstrap: strings.Join(c.Kafka.Brokers, ","), Principal: kafka.Principal,
		HeldAfter: c.Transactions.LookUpAfter, StillAfter: c.GroupStates.StillAfter, ReadUncommitted: collectorOptions(c).ReadUncommitted,
	}
}

// noColour is what an environment says that wants no colours
// (https://no-color.org).
func noColour(entry string) bool {
	value, named := strings.CutPrefix(entry, "NO_COLOR=")
	return named && value != ""
}

// watch sweeps the cluster, and audits it once, until nothing is pending, the
// time is over, or the process is told to stop. It returns whether a sweep has
// ended.
func (p *program) watch(watch *diagnose.Watch, kafka *collector.Kafka, c config.Config, flags *diagnoseFlags, progress *progress) bool {
	options := flags.options(c)
	runner := collector.NewRunner(kafka, options)
	begun := time.Now()
	for n := 1; ; n++ {
		progress.show("looking at the cluster")
		runner.Sweep(p.stop)
		view := runner.View()
		if p.stop.Err() != nil || view == nil {
			return n > 1
		}
		watch.See(view)
		if view.Failure != "" {
			return true
		}
		if n == 1 && !slices.Contains(options.Disabled, collector.Audits) {
			progress.show("looking at how it is set up")
			if a := p.auditOnce(kafka, options); a != nil {
				watch.Audited(a)
			}
		}
		pending := watch.Pending()
		spent := time.Since(begun)
		pause := min(diagnosePause, c.Sweep.Interval)
		if len(pending) == 0 || spent+pause > flags.wait {
			return true
		}
		progress.show(fmt.Sprintf("watching for %v, at most %v: %s", spent.Round(time.Second), flags.wait, strings.Join(pending, ", ")))
		timer := time.NewTimer(pause)
		select {
		case <-p.stop.Done():
			timer.Stop()
			return true
		case <-timer.C:
		}
	}
}

// auditOnce audits the cluster; nil if the process was told to stop.
func (p *program) auditOnce(kafka *collector.Kafka, options collector.Options) *lag.Audit {
	sample := collector.NewAuditor(kafka, options).Audit(p.stop)
	if p.stop.Err() != nil {
		return nil
	}
	return sample.Judge()
}

// options are those of the configuration, for what is asked about. A topic that
// is asked about takes the one that keeps commits with it, as a commit in a
// transaction that has not ended shows there.
func (f *diagnoseFlags) options(c config.Config) collector.Options {
	options := collectorOptions(c)
	options.LookUpAfter, options.StillAfter = atOnce, atOnce
	options.Groups = among(f.groups, options.Groups)
	if len(f.topics) > 0 {
		options.Topics = among(append([]string{"__consumer_offsets"}, f.topics...), options.Topics)
	}
	return options
}

// among narrows a filter to some names, if there are any.
func among(names []string, filter func(string) bool) func(string) bool {
	if len(names) == 0 {
		return filter
	}
	return func(name string) bool { return slices.Contains(names, name) && (filter == nil || filter(name)) }
}

// progress shows on a terminal what is going on, in one line that goes away.
type progress struct{ terminal io.Writer }

// newProgress returns one that shows nothing where nobody looks.
func newProgress(w io.Writer) *progress {
	if !isTerminal(w) {
		return &progress{}
	}
	return &progress{w}
}

// show replaces the line.
func (p *progress) show(text string) {
	if p.terminal != nil {
		fmt.Fprintf(p.terminal, "\r\x1b[K%s…", text)
	}
}

// end takes the line away.
func (p *progress) end() {
	if p.terminal != nil {
		fmt.Fprint(p.terminal, "\r\x1b[K")
	}
}
