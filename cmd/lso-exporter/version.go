package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/alecthomas/kingpin/v2"

	"github.com/lso-exporter/lso-exporter/metrics"
)

// versionCommand adds the command that says what was built.
func versionCommand(app *kingpin.Application, p *program) {
	app.Command("version", "Print what was built.").Action(func(*kingpin.ParseContext) error {
		_, err := fmt.Fprintln(p.stdout, versionText(buildOf()))
		return failed(err)
	})
}

// buildOf is what the Go tool recorded of this build: the module's version (a
// tag, or a pseudo-version from the commit) and the commit.
func buildOf() metrics.Build {
	build := metrics.Build{GoVersion: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build
	}
	build.Version = info.Main.Version
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			build.Revision = s.Value + build.Revision
		case s.Key == "vcs.modified" && s.Value == "true":
			build.Revision += "-modified"
		}
	}
	return build
}

func versionText(b metrics.Build) string {
	text := "lso-exporter " + b.Version
	if b.Revision != "" {
		text += " (" + b.Revision + ")"
	}
	return fmt.Sprintf("%s, %s, %s/%s", text, b.GoVersion, runtime.GOOS, runtime.GOARCH)
}
