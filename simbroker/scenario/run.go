package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	holdDefault = time.Second            // how long a held output must stay
	maxAttempts = 5000                   // of a step; where its time is long they lie further apart
	sendWithin  = 500 * time.Millisecond // what a step that does not wait allows for the way
	// afterFailure replaces the deadline once an awaited output failed to come:
	// the rest is played for the reader of the differences.
	afterFailure = 2 * time.Second
)

// Run plays the scenario: it prepares the topics, carries out each step, and
// leaves the cluster with all brokers running and the properties as they were.
// The error says that the scenario could not be played; a step with another
// output than expected is in the Result.
func (s *Scenario) Run(ctx context.Context, cluster Cluster, opts Options) (*Result, error) {
	p, err := newPerformance(ctx, s, cluster, opts)
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

// step carries out one step in its mode.
func (p *performance) step(ctx context.Context, s Step) (StepResult, error) {
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

func attempts(ctx context.Context, p *performance, s Step, r *StepResult) (n int, err error) {
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

func (p *performance) duration(s Step) time.Duration {
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
