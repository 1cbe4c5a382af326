package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	// OtherApplication is the application of the transactional ids that no
	// pattern matches, and of those beyond maxApplications.
	OtherApplication = "other"

	// maxApplications bounds the names that patterns make, whatever the ids.
	maxApplications = 200
)

// readyPatterns are the patterns that go by a name: how clients make
// transactional ids of the application's name.
var readyPatterns = map[string][]string{
	// <application.id>-<random UUID>-<thread>, and with a producer for each task
	// <application.id>-<subtopology>_<partition>.
	"streams": {`(.+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-\d+`, `(.+)-\d+_\d+`},
	// <prefix>-<subtask>-<checkpoint>, and before that sink
	// <operators>-<operator id>-<number>.
	"flink": {`(.+)-[0-9a-f]{32}-\d+`, `(.+)-\d+-\d+`},
	// connect-cluster-<group.id> of the leader, <group.id>-<connector>-<task>.
	"connect": {`(connect-cluster-.+)`, `(.+)-\d+`},
	// <prefix><number>, <prefix><group>.<topic>.<partition>.
	"spring": {`(.*[^-._\d])[-._]?\d+`},
	// The names of pods: of a Deployment <name>-<hash>-<random>, of a StatefulSet
	// <name>-<index>; perhaps with a number behind them.
	"kubernetes": {`(.+)-[bcdf-hj-np-tv-z2456789]{6,10}-[bcdf-hj-np-tv-z2456789]{5}(?:[-._]\d+)?`, `(.+)-\d+(?:[-._]\d+)?`},
	// An id without a digit is the application's name.
	"plain": {`(\D+)`},
}

// defaultPatterns are in the order in which the more special comes first.
var defaultPatterns = []string{"streams", "flink", "kubernetes", "connect", "spring", "plain"}

// defaultApplications are those of the default patterns.
func defaultApplications() *Applications {
	a, err := parseApplications(defaultPatterns)
	if err != nil {
		panic("config: a ready pattern " + err.Error())
	}
	return a
}

// Applications makes the names of applications of transactional ids, which can be
// unbounded. Its method is safe for concurrent use.
type Applications struct {
	patterns []applicationPattern

	mu    sync.Mutex
	names map[string]bool // that were made
}

// applicationPattern is one entry of the setting.
type applicationPattern struct {
	text string
	all  []*regexp.Regexp
}

// parseApplications compiles the entries of the setting.
func parseApplications(entries []string) (*Applications, error) {
	a := &Applications{names: make(map[string]bool)}
	for _, text := range entries {
		p := applicationPattern{text: text}
		expressions, ready := readyPatterns[text]
		if !ready {
			expressions = []string{text}
		}
		for _, expression := range expressions {
			re, err := wholeName(expression)
			if err != nil {
				return nil, fmt.Errorf("has the entry %q, which %w", text, err)
			}
			if re.NumSubexp() != 1 {
				known := slices.Sorted(maps.Keys(readyPatterns))
				return nil, fmt.Errorf("has the entry %q, which has not one group; put parentheses, and no others but (?:…), around the part that names the application, or write one of %s%s",
					text, strings.Join(known, ", "), Suggestion(text, known, ""))
			}
			p.all = append(p.all, re)
		}
		a.patterns = append(a.patterns, p)
	}
	return a, nil
}

// Of returns the application of a transactional id: what the group of the first
// pattern matches that matches the id.
func (a *Applications) Of(id string) string {
	name := a.match(id)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.names[name]:
	case len(a.names) >= maxApplications:
		return OtherApplication
	default:
		a.names[strings.Clone(name)] = true
	}
	return name
}

// match is Of without a bound.
func (a *Applications) match(id string) string {
	for _, p := range a.patterns {
		for _, re := range p.all {
			if at := re.FindStringSubmatchIndex(id); at != nil && at[2] >= 0 && at[3] > at[2] {
				return id[at[2]:at[3]]
			}
		}
	}
	return OtherApplication
}

// applications declares the patterns of applications.
func applications(key, flag, help string, field func(*Config) **Applications) setting {
	return setting{
		key: key, flag: flag, help: help, kind: patternList,
		set: func(c *Config, texts []string) error {
			a, err := parseApplications(texts)
			if err == nil {
				*field(c) = a
			}
			return err
		},
		get: func(c *Config) []string {
			texts := []string{}
			for _, p := range (*field(c)).patterns {
				texts = append(texts, p.text)
			}
			return texts
		},
	}
}
