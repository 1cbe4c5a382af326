package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/simbroker"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario"
	"github.com/lso-exporter/lso-exporter/simbroker/scenario/simulated"
)

// scenarioCommand adds the commands for texts in the language of
// docs/scenarios.md.
func scenarioCommand(app *kingpin.Application, p *program) {
	parent := app.Command("scenario", "Play or format scenarios, texts of what happens to a cluster (docs/scenarios.md).")

	run := parent.Command("run", "Play scenarios and compare; exit status 1 if an output is another one. Each on a simulated cluster of its own, or all on one that runs.")
	flags := addScenarioFlags(run)
	run.Action(func(*kingpin.ParseContext) error {
		if err := flags.check(); err != nil {
			return &mistake{err}
		}
		texts, err := readTexts(flags.files)
		if err != nil {
			return err
		}
		if err := flags.checkTexts(texts); err != nil {
			return &mistake{err}
		}
		return p.runScenarios(texts, flags)
	})

	format := parent.Command("fmt", "Write scenarios in their canonical form.")
	check := format.Flag("check", "Write nothing; name the files that are in another form, with exit status 1.").Bool()
	files := format.Arg("file", "Scenarios.").Required().Strings()
	format.Action(func(*kingpin.ParseContext) error {
		return p.formatScenarios(*files, *check)
	})
}

// scenarioFlags are what can be chosen for playing scenarios.
type scenarioFlags struct {
	cluster  *clusterFlags
	features map[string]int16 // --feature
	files    []string
	overTCP  bool
	address  []string // of a cluster that runs
	control  string
	update   bool
	existing map[string]string // --property and --server.properties
}

// settleFor is how long an output must stay the same to be the one that --update
// writes behind an await without one.
const settleFor = time.Second

func addScenarioFlags(command *kingpin.CmdClause) *scenarioFlags {
	f := &scenarioFlags{cluster: &clusterFlags{brokers: 1, listen: "127.0.0.1:0"}}
	command.Arg("file", "Scenarios.").Required().StringsVar(&f.files)
	numberFlag(command, "brokers", "Number of brokers of a simulated cluster, 1 to 26, if the scenario wants no more. Default: what it wants.", &f.cluster.brokers, 1, maxBrokers)
	addPropertyFlags(command, f.cluster)
	addOfferFlags(command, f.cluster)
	command.Flag("tcp", "Play on the simulator over TCP and in real time, not in process and in simulated time.").BoolVar(&f.overTCP)
	command.Flag("kafka.brokers", "Addresses of a cluster that runs, to play there; it was started with the properties given. Its listener must want no login.").
		PlaceHolder("HOST:PORT,...").SetValue(checked{flag: "kafka.brokers", many: true, set: func(text string) error {
		for address := range strings.SplitSeq(text, ",") {
			if err := config.CheckBroker(address); err != nil {
				return err
			}
			f.address = append(f.address, address)
		}
		return nil
	}})
	command.Flag("control.url", "Control surface of that cluster, as \"lso-exporter sim\" has it, for scenarios with faults.").PlaceHolder("URL").StringVar(&f.control)
	command.Flag("update", "Write what was printed into the scenarios.").BoolVar(&f.update)
	return f
}

// check finds flags that exclude each other, and reads the properties.
func (f *scenarioFlags) check() (err error) {
	switch {
	case f.overTCP && f.address != nil:
		return errors.New("command line: --tcp is for a simulated cluster; leave out it or --kafka.brokers")
	case f.control != "" && f.address == nil:
		return config.OnCommandLine("--control.url", f.control, "is for a cluster that runs; write its addresses as --kafka.brokers")
	case f.address != nil && len(f.cluster.features) > 0:
		return config.OnCommandLine("--feature", strings.Join(f.cluster.features, " "), "is for a simulated cluster; leave out it or --kafka.brokers")
	case f.address != nil && f.cluster.vendor != "":
		return config.OnCommandLine("--vendor", f.cluster.vendor, "is for a simulated cluster; leave out it or --kafka.brokers")
	}
	if f.existing, err = f.cluster.ownProperties(); err != nil {
		return err
	}
	f.features, err = f.cluster.ownFeatures()
	return err
}

// checkTexts finds what is wrong with a text for a simulated cluster, or in its
// faults if the cluster runs elsewhere, which knows best what else it takes.
func (f *scenarioFlags) checkTexts(texts []text) error {
	for _, t := range texts {
		var err error
		if f.address == nil {
			_, err = simulated.Config(t.Scenario)
		} else {
			err = simulated.CheckFaults(t.Scenario)
		}
		if err != nil {
			return inFile(t.file, err)
		}
	}
	return nil
}

// text is a scenario with the file that it came from.
type text struct {
	file string
	*scenario.Scenario
}

func readTexts(files []string) (texts []text, err error) {
	for _, file := range files {
		content, err := readText(file)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		s, err := scenario.Parse(name, content)
		if err != nil {
			return nil, &mistake{inFile(file, err)}
		}
		s.File = file
		texts = append(texts, text{file, s})
	}
	return texts, nil
}

func readText(file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", &mistake{fmt.Errorf("%s: %s", file, config.Unreadable(err))}
	}
	return string(content), nil
}

// inFile has a mistake in a text name the whole file.
func inFile(file string, err error) error {
	var mistake *scenario.SyntaxError
	if !errors.As(err, &mistake) {
		return fmt.Errorf("%s: %w", file, err)
	}
	mistake.Name = file
	return err
}

// runScenarios plays each text and says at the end how many gave their outputs.
// What differs, and why a text could not be played, is told as it comes.
func (p *program) runScenarios(texts []text, f *scenarioFlags) error {
	stage, release, err := f.running(p.stop)
	if err != nil {
		return failed(err)
	}
	defer release()
	good := 0
	for _, t := range texts {
		fmt.Fprintf(p.stdout, "# %s: %s\n", t.file, t.Title)
		if err := p.runScenario(t, stage, f); err != nil {
			fmt.Fprintln(p.stderr, err)
			continue
		}
		good++
	}
	fmt.Fprintf(p.stdout, "# %d of %d scenarios gave their outputs\n", good, len(texts))
	if good < len(texts) {
		return outcome(exitFailed)
	}
	return nil
}

// running is the cluster that the flags name, nil if none.
func (f *scenarioFlags) running(ctx context.Context) (stage scenario.Cluster, release func(), err error) {
	if f.address == nil {
		return nil, func() {}, nil
	}
	var faults scenario.Faults
	if f.control != "" {
		faults = scenario.Control{URL: f.control}
	}
	network, err := scenario.Dial(ctx, f.address, faults)
	if err != nil {
		return nil, nil, err
	}
	return network, network.Close, nil
}

// runScenario plays one text, on a cluster of its own if there is none yet.
func (p *program) runScenario(t text, stage scenario.Cluster, f *scenarioFlags) (err error) {
	opts := scenario.Options{Given: f.existing, Features: f.features}
	if f.update {
		opts.Settle = settleFor
	}
	if stage == nil {
		cluster, err := f.simulated(t.Scenario)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, cluster.Close()) }()
		stage = simulated.New(cluster)
		if f.overTCP {
			var release func()
			if stage, release, err = overTCP(p.stop, cluster); err != nil {
				return err
			}
			defer release()
		}
		opts.Given = propertiesOf(t.Scenario)
	} else {
		opts.Namespace = fmt.Sprintf("run-%x-", time.Now().UnixNano())
	}
	result, err := p.playOn(p.stop, t.Scenario, stage, opts)
	if result != nil && f.update {
		return os.WriteFile(t.file, []byte(t.Update(result)), filePermissions(t.file))
	}
	return err
}

// simulated starts a cluster for a text: what the text names, and over it what the
// flags do.
func (f *scenarioFlags) simulated(s *scenario.Scenario) (*simbroker.Cluster, error) {
	settings, err := simulated.Config(s)
	if err != nil {
		return nil, err
	}
	settings.Brokers, settings.Seed = max(f.cluster.brokers, s.Brokers), 1
	settings.Vendor = cmp.Or(f.cluster.vendor, s.Vendor)
	maps.Copy(settings.Properties, f.existing)
	maps.Copy(settings.Features, f.features)
	if f.overTCP {
		settings.ListenAddress = f.cluster.listen
	} else {
		settings.Clock = simbroker.Simulated(simulatedStart)
	}
	return simbroker.Start(settings)
}

// simulatedStart is when simulated time begins.
var simulatedStart = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// formatScenarios writes each file in its canonical form and names those that
// were in another one; with check it names them only.
func (p *program) formatScenarios(files []string, check bool) error {
	different := false
	for _, file := range files {
		before, err := readText(file)
		if err != nil {
			return err
		}
		after, err := scenario.Format(file, before)
		switch {
		case err != nil:
			return &mistake{err}
		case after == before:
			continue
		}
		different = true
		fmt.Fprintln(p.stdout, file)
		if check {
			continue
		}
		if err := os.WriteFile(file, []byte(after), filePermissions(file)); err != nil {
			return failed(err)
		}
	}
	if check && different {
		return outcome(exitFailed)
	}
	return nil
}

// filePermissions are those that a file has.
func filePermissions(file string) fs.FileMode {
	info, err := os.Stat(file)
	if err != nil {
		return 0o644
	}
	return info.Mode().Perm()
}
