package application

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Moment is a point in an application's life at which it can be stopped, named
// for what it has just done: "committed". Each App tells its own.
type Moment string

// App is an application of this package.
type App interface {
	// live does the application's work until its input is used up. It reaches its
	// moments by l.reach, and ends with the error that this returns.
	live(l *Life) error
}

// errStopped is what a moment returns to an application that is not to go on.
var errStopped = errors.New("stopped")

// Life is an instance of an application, from its start to its end. It is used
// from one goroutine, and must have ended when it is let go: by itself, or by
// Crash.
type Life struct {
	// Counts is what the instance has done so far.
	Counts Counts

	client *client
	next   func() (Moment, bool)
	stop   func()
	reach  func(Moment) error
	ended  bool
	err    error
}

// Start starts an instance, which does nothing before it is let go on.
func Start(cluster Cluster, app App) *Life {
	l := &Life{client: &client{cluster: cluster}}
	l.next, l.stop = iter.Pull(func(yield func(Moment) bool) {
		l.reach = func(m Moment) error {
			if !yield(m) {
				return errStopped
			}
			return nil
		}
		if err := app.live(l); !errors.Is(err, errStopped) {
			l.err = err
		}
		if Fenced(l.err) {
			l.Counts.Fenced++
		}
		l.ended = true
	})
	return l
}

// Until lets the instance go on until it reaches a moment for the nth time from
// now, n being at least 1; reached says that it did, and that its work did not
// end before. The error is what ended it (see Fenced), or says why the cluster
// could not be used.
func (l *Life) Until(ctx context.Context, m Moment, n int) (reached bool, err error) {
	l.client.ctx = ctx
	for {
		at, more := l.next()
		if !more {
			return false, l.err
		}
		if at == m {
			if n--; n <= 0 {
				return true, nil
			}
		}
	}
}

// Finish lets the instance do all of its work. The error is that of Until.
func (l *Life) Finish(ctx context.Context) error {
	_, err := l.Until(ctx, "", 1)
	return err
}

// Crash ends the instance where it is, as SIGKILL does: it sends nothing any
// more. It is allowed after the end.
func (l *Life) Crash() { l.stop() }

// Run runs an application from its start to its end.
func Run(ctx context.Context, cluster Cluster, app App) (Counts, error) {
	l := Start(cluster, app)
	err := l.Finish(ctx)
	return l.Counts, err
}

// Fenced says whether an error means that another instance has taken over, which
// is how Kafka ends zombies.
func Fenced(err error) bool {
	for _, fatal := range []error{kerr.InvalidProducerEpoch, kerr.ProducerFenced} {
		if errors.Is(err, fatal) {
			return true
		}
	}
	return false
}

// Counts is what an instance has done.
type Counts struct {
	Started   int // producers that were initialized, where there is more than one
	Handled   int // records whose effect happened outside Kafka
	Skipped   int // records that had been handled before
	Written   int // records that were acknowledged
	Committed int // transactions
	Aborted   int // transactions, by the instance
	Fenced    int // times that another instance had taken over
}

// String lists what is not 0: "9 written, 3 committed", or "nothing".
func (c Counts) String() string {
	var words []string
	for _, count := range []struct {
		n    int
		what string
	}{
		{c.Started, "started"}, {c.Handled, "handled"}, {c.Skipped, "skipped"}, {c.Written, "written"},
		{c.Committed, "committed"}, {c.Aborted, "aborted"}, {c.Fenced, "fenced"},
	} {
		if count.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", count.n, count.what))
		}
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}
