package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/term"

	"github.com/lso-exporter/lso-exporter/config"
	"github.com/lso-exporter/lso-exporter/lag"
)

// newLogger returns the logger that c describes, writing to w.
func newLogger(w io.Writer, c config.Log) zerolog.Logger { return newLogOutput(w, c).logger() }

// A logOutput is where log lines go. Which of them, and in what form, can change
// while it is used.
type logOutput struct {
	out     io.Writer
	present atomic.Pointer[logForm]
}

// logForm is what a configuration says about log lines.
type logForm struct {
	level  zerolog.Level
	writer io.Writer
}

func newLogOutput(w io.Writer, c config.Log) *logOutput {
	o := &logOutput{out: w}
	o.use(c)
	return o
}

// use goes on as c describes.
func (o *logOutput) use(c config.Log) {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		panic("lso-exporter: a validated configuration has the log level " + c.Level)
	}
	form := &logForm{level, o.out}
	if c.Format == "text" {
		form.writer = zerolog.ConsoleWriter{Out: o.out, NoColor: !isTerminal(o.out), TimeFormat: time.RFC3339}
	}
	o.present.Store(form)
}

func (o *logOutput) logger() zerolog.Logger { return zerolog.New(o).With().Timestamp().Logger() }

// Write implements io.Writer.
func (o *logOutput) Write(line []byte) (int, error) { return o.present.Load().writer.Write(line) }

// WriteLevel implements zerolog.LevelWriter.
func (o *logOutput) WriteLevel(level zerolog.Level, line []byte) (int, error) {
	if level < o.present.Load().level {
		return len(line), nil
	}
	return o.Write(line)
}

// isTerminal says whether somebody may be looking.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// sweepLog logs how sweeps fare: once when that changes, not at each sweep.
type sweepLog struct {
	logger zerolog.Logger
	last   string // what the last view was like
}

// shownMisses is how many of the things that a sweep missed are logged.
const shownMisses = 5

// observe takes the next view.
func (l *sweepLog) observe(view *lag.View) {
	state := sweepState(view)
	if state == l.last {
		return
	}
	l.last = state
	switch {
	case view.Failure != "":
		l.logger.Error().Str("reason", view.FailureLine()).Msg(view.FailureTitle())
	case !view.Complete():
		missed := make([]string, 0, shownMisses)
		for _, m := range view.Missed[:min(len(view.Missed), shownMisses)] {
			text := fmt.Sprintf("%s: %s", m.Subject, m.Kind)
			if m.Detail != "" {
				text += " (" + m.Detail + ")"
			}
			missed = append(missed, text)
		}
		l.logger.Warn().Strs("missed", missed).Int("misses", len(view.Missed)).Msg("the cluster is read in part")
	default:
		partitions := 0
		for _, t := range view.Topics {
			partitions += len(t.Partitions)
		}
		l.logger.Info().Int("topics", len(view.Topics)).Int("partitions", partitions).Int("groups", len(view.Groups)).
			Stringer("took", view.Ended.Sub(view.Started).Round(time.Millisecond)).Msg("the cluster is read completely")
	}
}

// sweepState is equal for views that need no second line: how many things of a
// kind are missing may change, what is missing may not. That a broker is there
// and refuses the exporter is worth a line after one that nobody was there.
func sweepState(view *lag.View) string {
	if view.Failure != "" {
		if slices.ContainsFunc(view.Missed, func(m lag.Miss) bool { return m.Kind == lag.MissTLS || m.Kind == lag.MissAuthentication }) {
			return "failed, refused"
		}
		return "failed"
	}
	missing := make([]string, len(view.Missed))
	for i, m := range view.Missed {
		missing[i] = string(m.Kind) + " " + m.Subject
	}
	slices.Sort(missing)
	return "read but for: " + strings.Join(missing, ", ")
}
