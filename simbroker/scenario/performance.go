package scenario

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// performance is a scenario that is being played: its text besides what its
// commands know.
type performance struct {
	*Play
	scenario *Scenario
	opts     Options
	within   time.Duration // what an awaited output may take
}

// newPerformance is one that can begin. The error wraps ErrNotOffered if the
// cluster lacks what the scenario requires, and names it.
func newPerformance(ctx context.Context, s *Scenario, cluster Cluster, opts Options) (*performance, error) {
	p := &performance{Play: newPlay(cluster), scenario: s, opts: opts, within: cmp.Or(opts.Within, DefaultWithin)}
	p.prefix, p.topics, p.coordinators = opts.Namespace+s.Name+"-", s.Topics, s.coordinators
	p.trace, p.most = opts.Trace, cmp.Or(opts.Requests, DefaultRequests)
	if err := p.learnVersions(ctx); err != nil {
		return nil, s.at(0, err)
	}
	return p, p.checkRequirements()
}

// Offered says whether the cluster has what the scenario requires. The error
// wraps ErrNotOffered if it has not, and names what is missing.
func (s *Scenario) Offered(ctx context.Context, cluster Cluster) error {
	_, err := newPerformance(ctx, s, cluster, Options{})
	return err
}

func (p *performance) checkRequirements() error {
	s := p.scenario
	if n := s.Brokers; len(p.brokers) < n {
		return s.at(s.LineOf("brokers", ""), fmt.Errorf("%w: brokers %d", ErrNotOffered, n))
	}
	for _, r := range s.Requirements {
		if !p.meets(r) {
			return s.at(s.LineOf("requires", r.Name), fmt.Errorf("%w: %v", ErrNotOffered, r))
		}
	}
	for _, step := range s.Steps {
		if !p.serves(step.needs) {
			return s.at(step.Line, fmt.Errorf("%w: %s in version %d", ErrNotOffered, step.needs.Name, step.needs.Level))
		}
	}
	if s.Vendor != "" {
		if c, ok := facet[Vendored](p.cluster); !ok || c.Vendor() != s.Vendor {
			return s.at(s.LineOf("vendor", ""), fmt.Errorf("%w: vendor %s", ErrNotOffered, s.Vendor))
		}
	}
	if _, ok := p.cluster.(Users); !ok && len(s.users()) > 0 {
		return s.at(0, fmt.Errorf("%w: users", ErrNotOffered))
	}
	if _, ok := facet[Injector](p.cluster); !ok && len(s.Faults()) > 0 {
		return s.at(s.Faults()[0].Line, fmt.Errorf("%w: faults", ErrNotOffered))
	}
	return nil
}

func (p *performance) meets(r Requirement) bool {
	if key := apiKey(r.Name); key >= 0 {
		offered, known := p.offered[key]
		return known && offered.highest >= r.Level
	}
	level := p.features[r.Name]
	if i := slices.IndexFunc(p.scenario.Features, func(f Feature) bool { return f.Name == r.Name }); i >= 0 {
		level = p.levelOf(p.scenario.Features[i])
	}
	return level >= r.Level
}

// serves says whether the cluster can be asked in the version that a step names.
// A name that is none needs nothing.
func (p *performance) serves(r Requirement) bool {
	if r.Name == "" {
		return true
	}
	offered, known := p.offered[apiKey(r.Name)]
	return known && offered.lowest <= r.Level && r.Level <= offered.highest
}

// levelOf is the level at which the story has a feature: the one that the cluster
// was given in the place of the text's, if it was, or the text's.
func (p *performance) levelOf(f Feature) int16 {
	if given, ok := p.opts.Features[f.Name]; ok {
		return given
	}
	return f.Level
}
