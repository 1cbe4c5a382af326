package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Options say how to play a scenario.
type Options struct {
	// Namespace is a prefix of the real names of topics, transactional ids and
	// groups, so that several scenarios, and several runs of one, can share a
	// cluster.
	Namespace string
	// Given are the scenario's properties that the cluster was started with.
	// The others are set dynamically, for all brokers, and reset at the end.
	Given map[string]string
	// Features are the levels that the cluster was given in the place of the text's.
	Features map[string]int16
	// Within is how long an awaited output may take; zero means DefaultWithin.
	Within time.Duration
	// Requests is how many requests one step may make, before it is taken for one
	// without an end; zero means DefaultRequests.
	Requests int
	// Settle is for writing new texts: an awaited command without an expected
	// output ends when its output has been the same for this long.
	Settle time.Duration
	// Observe, if set, is told each step as it ends.
	Observe func(StepResult)
	// Trace, if set, is told each request as it is answered.
	Trace func(Exchange)
}

// DefaultRequests is how many requests a step may make unless the Options say
// otherwise.
const DefaultRequests = 250_000

// DefaultWithin is how long an awaited output may take unless the step or the
// Options say otherwise, on the cluster's clock.
const DefaultWithin = 30 * time.Second

const (
	holdDefault = time.Second            // how long a held output must stay
	pollPeriod  = 20 * time.Millisecond  // between two attempts, or
	maxAttempts = 5000                   // so many in a long time
	sendWithin  = 500 * time.Millisecond // what a step that does not wait allows for the way
	// afterFailure replaces the deadline once an awaited output failed to come:
	// the rest is played for the reader of the differences.
	afterFailure = 2 * time.Second
)

// Exchange is one request with its answer, as it happened.
type Exchange struct {
	Begin, End time.Time // on the cluster's clock
	Broker     int32
	Request    kmsg.Request
	Response   kmsg.Response // nil if Err is not
	Err        error
}

// StepResult is a step with what it gave.
type StepResult struct {
	Step
	Got        string
	Begin, End time.Time // on the cluster's clock
	Attempts   int
}

// OK says whether the output is the expected one.
func (r StepResult) OK() bool { return r.Got == r.Want }

// String renders the step as it stands in a text, with the output that came,
// and says so if another was expected.
func (r StepResult) String() string {
	line := r.Command + renderOutput(r.Got)
	if !r.OK() {
		line += "\n# expected" + renderOutput(r.Want)
	}
	return line
}

// Result is what a scenario gave, step by step.
type Result struct {
	Name  string // by which errors call the text: its File, or its Name without one
	Steps []StepResult
}

// Err is nil if every step gave its expected output; otherwise it shows each
// difference with the line of the text.
func (r *Result) Err() error {
	var b strings.Builder
	for _, s := range r.Steps {
		if !s.OK() {
			fmt.Fprintf(&b, "\n%s:%d: %s\n  want %s\n  got  %s", r.Name, s.Line, s.Command, indent(s.Want), indent(s.Got))
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return errors.New(strings.TrimPrefix(b.String(), "\n"))
}

func indent(output string) string { return strings.ReplaceAll(output, "\n", "\n       ") }

// Transcript renders commands and outputs, one a line, without the story.
func (r *Result) Transcript() string {
	var b strings.Builder
	for _, s := range r.Steps {
		b.WriteString(s.Command + renderOutput(s.Got) + "\n")
	}
	return b.String()
}

// ErrNotOffered is wrapped by what Run returns when the cluster lacks what the
// scenario requires; the error names it.
var ErrNotOffered = errors.New("not offered by this cluster")

// Run plays the scenario: it prepares the topics, carries out each step, and
// leaves the cluster with all brokers running and the properties as they were.
// The error says that the scenario could not be played; a step with another
// output than expected is in the Result.
func (s *Scenario) Run(ctx context.Context, cluster Cluster, opts Options) (*Result, error) {
	p, err := newPlay(ctx, s, cluster, opts)
	if err != nil {
		return nil, err
	}
	result := &Result{Name: s.file()}
	err = p.prepare(ctx)
	for _, step := range s.Steps {
		if err != nil {
			break
		}
		var r StepResult
		r, err = p.step(ctx, step)
		if err != nil {
			err = s.at(step.Line, err)
			break
		}
		result.Steps = append(result.Steps, r)
		if opts.Observe != nil {
			opts.Observe(r)
		}
	}
	if cleanErr := p.restore(ctx); err == nil && cleanErr != nil {
		err = fmt.Errorf("%s: restore the cluster: %w", s.file(), cleanErr)
	}
	return result, err
}

// at is an error about a line of the text, which is as it stands there but for its
// output. Line 0 is the text as a whole.
func (s *Scenario) at(line int, err error) error {
	switch {
	case err == nil:
		return nil
	case line == 0:
		return fmt.Errorf("%s: %w", s.file(), err)
	}
	command, _, _ := strings.Cut(s.lines[line-1], arrow)
	return fmt.Errorf("%s:%d: %s: %w", s.file(), line, strings.Join(strings.Fields(command), " "), err)
}

// step carries out one step in its mode.
func (p *Play) step(ctx context.Context, s Step) (StepResult, error) {
	r := StepResult{Step: s, Begin: p.cluster.Now()}
	ctx, p.giveUp = context.WithCancelCause(ctx)
	defer func() { p.giveUp(nil); p.giveUp = nil }()
	p.requests = 0
	attempts, err := attempts(ctx, p, s, &r)
	r.Attempts, r.End = attempts, p.cluster.Now()
	if s.Mode == Await && err == nil && !r.OK() {
		p.within = min(p.within, afterFailure)
	}
	return r, err
}

func attempts(ctx context.Context, p *Play, s Step, r *StepResult) (n int, err error) {
	deadline := r.Begin.Add(p.duration(s))
	sameSince, settling := r.Begin, s.Mode == Await && !s.arrow && p.opts.Settle > 0
	for {
		before := p.symbols.clone()
		last := r.Got
		if r.Got, err = p.carryOut(ctx, s); err != nil {
			return n, err
		}
		n++
		now := p.cluster.Now()
		if last != r.Got {
			sameSince = now
		}
		switch {
		case s.Mode == Once, s.Mode == Send,
			settling && now.Sub(sameSince) >= p.opts.Settle,
			s.Mode == Await && !settling && r.OK(),
			s.Mode == Hold && !r.OK(),
			!now.Before(deadline):
			return n, nil
		}
		p.symbols = before
		if err := p.cluster.Wait(ctx, max(pollPeriod, p.duration(s)/maxAttempts)); err != nil {
			return n, err
		}
	}
}

func (p *Play) duration(s Step) time.Duration {
	switch {
	case s.Within > 0:
		return s.Within
	case s.Mode == Hold:
		return holdDefault
	}
	return p.within
}

// carryOut gives the output of a step's command.
func (p *Play) carryOut(ctx context.Context, s Step) (string, error) {
	within, missing := ctx, noAnswer
	if s.Mode == Send {
		var cancel context.CancelFunc
		within, cancel = context.WithTimeout(ctx, sendWithin)
		defer cancel()
		missing = "sent"
	}
	output, err := s.action(within, p)
	if cause := context.Cause(ctx); errors.Is(cause, errEndless) {
		return "", cause
	}
	if errors.Is(err, ErrNoAnswer) && ctx.Err() == nil {
		return missing, nil
	}
	return output, err
}

// ErrNoAnswer is wrapped by the errors of requests that got no answer.
var ErrNoAnswer = errors.New("no answer")

const noAnswer = "no answer"

// errEndless is why a step is given up that makes more and more requests.
var errEndless = errors.New("it has no end")

// count counts a request of a step, and gives the step up when there were too
// many.
func (p *Play) count() error {
	if p.giveUp == nil {
		return nil // of the preparation, which has its deadlines
	}
	if most := cmp.Or(p.opts.Requests, DefaultRequests); p.requests >= most {
		err := fmt.Errorf("%w: %d requests were made, as many as a step may make; what it reads must not grow by what it does, and what it repeats must be fewer", errEndless, most)
		p.giveUp(err)
		return err
	}
	p.requests++
	return nil
}
