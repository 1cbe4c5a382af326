package main

import (
	"os"
	"slices"

	"github.com/alecthomas/kingpin/v2"

	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/web"
)

// serveCommand adds the default command: watch a cluster and serve its metrics
// until told to stop.
func serveCommand(app *kingpin.Application, p *program) {
	command := app.Command("serve", "Watch a cluster and serve its metrics (the default command).").Default()
	flags := config.AddFlags(command)
	command.Action(func(*kingpin.ParseContext) error {
		hangUps := make(chan os.Signal, 1)
		if p.notifyHangUp != nil {
			p.notifyHangUp(hangUps)
		}
		loaded, err := p.load(flags)
		if err != nil {
			return err
		}
		c, err := loaded.Validated()
		if err != nil {
			return err
		}
		return failed(p.serve(loaded, c, flags, hangUps))
	})
}

// load reads what flags, environment and file say.
func (p *program) load(flags *config.Flags) (*config.Loaded, error) {
	return config.LoadContext(p.stop, config.Sources{File: flags.File, Environment: p.environment, Flags: flags})
}

// configuration loads and validates what flags, environment and file say.
func (p *program) configuration(flags *config.Flags) (config.Config, error) {
	loaded, err := p.load(flags)
	if err != nil {
		return config.Config{}, err
	}
	return loaded.Validated()
}

// serve runs an exporter until the process is told to stop. c is what loaded
// says; both are read anew when files change or a signal comes on hangUps.
func (p *program) serve(loaded *config.Loaded, c config.Config, flags *config.Flags, hangUps <-chan os.Signal) error {
	output := newLogOutput(p.stderr, c.Log)
	logger := output.logger()
	addresses := slices.Clone(c.Web.ListenAddresses)
	if c.Web.HealthListenAddress != "" {
		addresses = append(addresses, c.Web.HealthListenAddress)
	}
	listeners, err := web.Listen(addresses)
	if err != nil {
		return err
	}
	e, err := newExporter(c, loaded.Print, logger)
	if err != nil {
		return err
	}
	e.probes = listeners[len(c.Web.ListenAddresses):]
	r := &reloader{program: p, flags: flags, exporter: e, output: output, loaded: loaded, hangUps: hangUps}
	build := buildOf()
	logger.Info().Str("version", build.Version).Str("revision", build.Revision).
		Strs("brokers", c.Kafka.Brokers).Stringer("sweep_interval", c.Sweep.Interval).Msg("starting")
	err = e.run(p.stop, listeners[:len(c.Web.ListenAddresses)], r.run)
	logger.Info().Msg("stopped")
	return err
}
