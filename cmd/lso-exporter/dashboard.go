package main

import (
	"github.com/alecthomas/kingpin/v2"

	"github.com/lso-exporter/lso-exporter/dashboards"
)

// dashboardCommand adds the command that prints the dashboard.
func dashboardCommand(app *kingpin.Application, p *program) {
	app.Command("dashboard", "Print the dashboard for Grafana, a JSON file to import or provision; start nothing.").
		Action(func(*kingpin.ParseContext) error {
			_, err := p.stdout.Write(dashboards.LSOExporter)
			return failed(err)
		})
}
