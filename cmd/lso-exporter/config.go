package main

import (
	"fmt"

	"github.com/alecthomas/kingpin/v2"

	"github.com/lso-exporter/lso-exporter/config"
)

// configCommand adds the commands that look at the configuration and start
// nothing. They take the sources that serve takes.
func configCommand(app *kingpin.Application, p *program) {
	parent := app.Command("config", "Look at the configuration; start nothing.")

	check := parent.Command("check", "Say whether serve would start with this configuration; exit status 2 if not.")
	checkFlags := config.AddFlags(check)
	check.Action(func(*kingpin.ParseContext) error {
		if _, err := p.configuration(checkFlags); err != nil {
			return err
		}
		fmt.Fprintln(p.stdout, "the configuration is good")
		return nil
	})

	parent.Command("schema", "Print the JSON schema of the configuration file, for editors.").Action(func(*kingpin.ParseContext) error {
		_, err := p.stdout.Write(config.Schema())
		return failed(err)
	})

	show := parent.Command("print", "Print every setting with its meaning, its value and where that comes from, as a configuration file.")
	showFlags := config.AddFlags(show)
	show.Action(func(*kingpin.ParseContext) error {
		loaded, err := p.load(showFlags)
		if err != nil {
			return err
		}
		return failed(loaded.Print(p.stdout))
	})
}
