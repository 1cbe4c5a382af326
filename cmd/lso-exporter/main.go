// Command lso-exporter watches the last stable offsets, high watermarks and
// consumer groups of a Kafka cluster and serves them as Prometheus metrics.
//
// Each subcommand is a file of this package: a function that adds the command
// with its flags and its action, listed in subcommands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/alecthomas/kingpin/v2"

	"github.com/lso-exporter/lso-exporter/config"
)

// subcommands are all subcommands, in the order in which help shows them.
var subcommands = []subcommand{
	serveCommand,
	diagnoseCommand,
	demoCommand,
	simCommand,
	scenarioCommand,
	rulesCommand,
	dashboardCommand,
	configCommand,
	versionCommand,
}

// A subcommand adds a command to app. The command's action (see
// kingpin.CmdClause.Action) runs it; the action's error becomes the exit
// status.
type subcommand func(app *kingpin.Application, p *program)

// program is what a subcommand knows of the process that it runs in.
type program struct {
	// stop is done when the process is told to stop.
	stop context.Context
	// environment holds NAME=VALUE entries.
	environment []string
	// notifyHangUp has SIGHUP sent to a channel, instead of ending the process;
	// nil where there is no such signal.
	notifyHangUp   func(chan<- os.Signal)
	stdout, stderr io.Writer
}

// The exit statuses.
const (
	exitOK     = 0
	exitFailed = 1 // something that should work did not
	exitUsage  = 2 // the command line or the configuration is wrong
)

func main() {
	stop, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// Whoever asks a second time does not want to wait.
	context.AfterFunc(stop, release)
	p := &program{stop: stop, environment: os.Environ(), stdout: os.Stdout, stderr: os.Stderr}
	p.notifyHangUp = func(signals chan<- os.Signal) { signal.Notify(signals, syscall.SIGHUP) }
	os.Exit(p.run(os.Args[1:]))
}

// run executes a command line and returns the exit status.
func (p *program) run(arguments []string) (status int) {
	app := kingpin.New("lso-exporter", "Prometheus exporter for Kafka's last stable offsets, high watermarks, and the lag of consumer groups against both.")
	app.HelpFlag.Short('h')
	app.Version(versionText(buildOf()))
	app.UsageWriter(p.stdout)
	app.ErrorWriter(p.stderr)
	app.UsageTemplate(kingpin.DefaultUsageTemplate)
	// Help and version end the process by themselves; here, they end run.
	type exit int
	app.Terminate(func(status int) { panic(exit(status)) })
	defer func() {
		switch ended := recover().(type) {
		case nil:
		case exit:
			status = int(ended)
		default:
			panic(ended)
		}
	}()
	for _, add := range subcommands {
		add(app, p)
	}
	if len(arguments) > 0 && arguments[0] == helpCommand {
		arguments = append(slices.Clone(arguments[1:]), "--help")
	}
	parsed, err := app.ParseContext(arguments)
	if err == nil {
		_, err = app.Parse(arguments)
		var problems config.Problems
		var wrong *mistake
		var failure *failure
		var ended outcome
		switch {
		case err == nil:
			return exitOK
		case errors.As(err, &ended):
			return int(ended)
		case errors.As(err, &problems):
			fmt.Fprintln(p.stderr, problems)
			return exitUsage
		case errors.As(err, &wrong):
			fmt.Fprintln(p.stderr, wrong)
			return exitUsage
		case errors.As(err, &failure):
			fmt.Fprintf(p.stderr, "lso-exporter: %v\n", failure)
			return exitFailed
		}
	}
	// What is left are mistakes in the command line.
	var command *kingpin.CmdModel
	if parsed != nil && parsed.SelectedCommand != nil {
		command = parsed.SelectedCommand.Model()
	}
	fmt.Fprintln(p.stderr, commandLineProblem(app.Model(), command, arguments, err))
	return exitUsage
}

// A mistake is an error in what the user gave that says by itself where it is
// and what would be right.
type mistake struct{ error }

// A failure is an error of something that should work, as opposed to a mistake
// in the command line or the configuration.
type failure struct{ error }

// An outcome is an exit status with a meaning of its own, of a command that has
// said all there is to say. It is an error only on its way out.
type outcome int

// Error implements error.
func (o outcome) Error() string { return fmt.Sprintf("exit status %d", int(o)) }

// failed makes an error a failure; nil stays nil.
func failed(err error) error {
	if err == nil {
		return nil
	}
	return &failure{err}
}

func (f *failure) Unwrap() error { return f.error }

func (m *mistake) Unwrap() error { return m.error }
