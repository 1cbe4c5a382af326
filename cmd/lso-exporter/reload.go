package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/config"
)

// A reloader replaces the configuration of an exporter while it runs: when one of
// the files has changed, and on SIGHUP. What is bad is logged once, and the
// configuration before stays in effect as a whole.
type reloader struct {
	program  *program
	flags    *config.Flags
	exporter *exporter
	output   *logOutput
	loaded   *config.Loaded // what is in effect
	hangUps  <-chan os.Signal
}

// readTimeout is how long the configuration file may take to come, which is a
// while only through a pipe.
const readTimeout = 5 * time.Second

// run watches for changes until ctx is done.
func (r *reloader) run(ctx context.Context) {
	var watch config.Watch
	watch.Know(r.loaded)
	for {
		files := r.loaded.Files()
		var look <-chan time.Time
		if interval := r.exporter.present.config.Reload.Interval; interval > 0 {
			look = time.After(interval)
		}
		select {
		case <-ctx.Done():
			return
		case <-r.hangUps:
			watch.KnowPresent(files)
		case <-look:
			if !watch.Changed(files) {
				continue
			}
		}
		if r.reload(ctx) {
			watch.Know(r.loaded)
		}
	}
}

// reload reads everything anew and has it in effect, or says that it is bad.
func (r *reloader) reload(ctx context.Context) (good bool) {
	before, logger := r.exporter.present.config, r.exporter.logger
	loaded, c, err := r.read(ctx, before)
	if err == nil {
		err = r.exporter.replace(ctx, c, loaded.Print)
	}
	r.exporter.present.exposition.Self.Reloaded(time.Now(), err == nil)
	if err != nil {
		logger.Error().Str("reason", inOneLine(err)).
			Msg("the configuration was not reloaded, and the one before stays in effect")
		return false
	}
	r.loaded = loaded
	r.output.use(c.Log)
	if changed := c.Changes(before); len(changed) > 0 {
		logger.Info().Strs("changed", changed).Str("fingerprint", c.Fingerprint()).Msg("the configuration was reloaded")
	} else {
		logger.Info().Str("fingerprint", c.Fingerprint()).Msg("the configuration was read anew, with the files that it names, and no setting has changed")
	}
	return true
}

// loggedMistakes is how many mistakes of a configuration are logged.
const loggedMistakes = 20

// inOneLine is an error of several lines as one.
func inOneLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	if more := len(lines) - loggedMistakes; more > 0 {
		lines = append(lines[:loggedMistakes], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "; ")
}

// read loads a configuration that can follow the one in effect.
func (r *reloader) read(ctx context.Context, inEffect config.Config) (*config.Loaded, config.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	loaded, err := config.LoadContext(ctx, config.Sources{File: r.flags.File, Environment: r.program.environment, Flags: r.flags})
	if err != nil {
		return nil, config.Config{}, err
	}
	c, err := loaded.Validated()
	if err == nil {
		err = loaded.Follows(inEffect)
	}
	return loaded, c, err
}
