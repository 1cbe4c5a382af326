package scenario

import (
	"encoding/json"
	"regexp"
	"slices"
)

var userWord = regexp.MustCompile(`\bU\d+\b`)

// users lists the users that the text names.
func (s *Scenario) users() []string { return s.named(userWord) }

var keeperWord = regexp.MustCompile(`\b[XG]\d+\b`)

// keepers lists the transactional ids and groups that the text names.
func (s *Scenario) keepers() []string { return s.named(keeperWord) }

// named lists the symbols of a kind that commands name, each once.
func (s *Scenario) named(kind *regexp.Regexp) []string {
	var symbols []string
	for _, step := range s.Steps {
		symbols = append(symbols, kind.FindAllString(step.Command, -1)...)
	}
	slices.Sort(symbols)
	return slices.Compact(symbols)
}

// FaultStep is a step that puts a fault in place.
type FaultStep struct {
	Line int
	// Document is the fault as an Injector takes it, as far as the text tells it:
	// names are symbols, and brokers have the ids 1, 2, ….
	Document []byte
}

// Faults lists the steps that put faults in place, for who knows which there are.
func (s *Scenario) Faults() []FaultStep {
	var faults []FaultStep
	for _, step := range s.Steps {
		if step.verb != faultVerbName {
			continue
		}
		order, err := parseFaultOrder(step.words[1:])
		if err == nil {
			var content []byte
			if content, err = json.Marshal(order.sketch()); err == nil {
				faults = append(faults, FaultStep{step.Line, content})
			}
		}
	}
	return faults
}

// DisturbsBrokers says whether a step does something to a broker's process.
func (s *Scenario) DisturbsBrokers() bool {
	return slices.ContainsFunc(s.Steps, func(step Step) bool {
		return slices.Contains([]string{"pause", "resume", "kill", "stop", "start"}, step.verb)
	})
}
