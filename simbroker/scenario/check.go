package scenario

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// check finds the mistakes of a text that no line shows alone: brokers that it does
// not have, and numbers of what was never made. The error is a *SyntaxError.
func (s *Scenario) check() error {
	for _, t := range s.Topics {
		for _, letter := range t.Replicas {
			if err := s.checkBroker(letter); err != nil {
				return s.Mistake(s.LineOf("topic", t.Symbol), err)
			}
		}
	}
	for symbol, letter := range s.coordinators {
		if err := s.checkBroker(letter); err != nil {
			return s.Mistake(max(s.LineOf("id", symbol), s.LineOf("group", symbol)), err)
		}
	}
	for i, step := range s.Steps {
		if err := s.checkStep(step, s.Steps[:i]); err != nil {
			return s.Mistake(step.Line, err)
		}
	}
	return nil
}

// checkBroker says whether the story has a broker.
func (s *Scenario) checkBroker(name string) error {
	if int(name[0]-'A') < s.Brokers {
		return nil
	}
	return fmt.Errorf("no broker %s: the text has %d, up to %s; the directive for more is brokers %d", name, s.Brokers, letter(s.Brokers-1), name[0]-'A'+1)
}

func (s *Scenario) checkStep(step Step, before []Step) error {
	if step.verb == "" {
		return nil // of another package, which knows what its words mean
	}
	for _, word := range step.words {
		for _, part := range strings.Split(word, ",") {
			// A capital letter alone is always a broker.
			if !brokerLetter.MatchString(part) {
				continue
			}
			if err := s.checkBroker(part); err != nil {
				return err
			}
		}
	}
	switch step.verb {
	case "heal":
		return checkMade(step.words[1], "fault", before, func(earlier Step) bool { return earlier.verb == faultVerbName })
	case "wake":
		return checkMade(step.words[1], "paused instance", before, func(earlier Step) bool {
			return slices.ContainsFunc(earlier.words, func(word string) bool { return strings.HasPrefix(word, "pause=") })
		})
	case "tally":
		for _, word := range step.words {
			if topicSymbol.MatchString(word) && s.LineOf("topic", word) == 0 {
				return fmt.Errorf("the text has no topic %s; topic %s is the directive for it", word, word)
			}
		}
	}
	return nil
}

// checkMade says whether enough steps have made something for it to have a number
// such as that of F2. What is repeated may make more than one.
func checkMade(symbol, what string, before []Step, makes func(Step) bool) error {
	n, err := strconv.Atoi(symbol[1:])
	if err != nil {
		return err
	}
	made := 0
	for _, step := range before {
		if makes(step) {
			if made++; step.Mode == Await || step.Mode == Hold {
				return nil
			}
		}
	}
	if n > made {
		return fmt.Errorf("there is no %s %s: the lines before make %d", what, symbol, made)
	}
	return nil
}
