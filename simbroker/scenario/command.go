package scenario

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Action carries out a command and returns its output. An error means that the
// command makes no sense, which ends the scenario, unless it wraps ErrNoAnswer,
// which is an output like any other.
type Action func(ctx context.Context, p *Play) (string, error)

// Verb is a command of the language.
type Verb struct {
	// Name is the first word of the command.
	Name string
	// Usage is the form of the whole command, Doc what it does and prints.
	Usage, Doc string
	// Parse understands the words after the first.
	Parse func(words []string) (Action, error)

	own bool // of this package
}

// Commands begin with a word of the verb table, with a batch, or with what they
// look at: a partition.
const (
	batchVerb     = "BATCH"
	partitionVerb = "PARTITION"
)

// arguments are the words after a verb: options (NAME=VALUE), clauses (a word
// and the one after it, such as "at B"), and the rest by position.
type arguments struct {
	position []string
	named    map[string]string
}

// parseArguments sorts words. known lists the options and clauses that the verb
// has; a clause is written with a trailing space.
func parseArguments(words []string, known ...string) (arguments, error) {
	a := arguments{named: map[string]string{}}
	for i := 0; i < len(words); i++ {
		word := words[i]
		if key, value, ok := strings.Cut(word, "="); ok && !strings.ContainsAny(key, "({") {
			if !slices.Contains(known, key) {
				return a, fmt.Errorf("no option %s", key)
			}
			a.named[key] = value
			continue
		}
		if slices.Contains(known, word+" ") {
			if i+1 == len(words) {
				return a, fmt.Errorf("%s needs a word after it", word)
			}
			if word == "at" && !brokerLetter.MatchString(words[i+1]) {
				return a, fmt.Errorf("%s is no broker; expected A, B, …", words[i+1])
			}
			a.named[word] = words[i+1]
			i++
			continue
		}
		a.position = append(a.position, word)
	}
	return a, nil
}

// want checks the number of positional words: at least min, at most max if max
// is not negative.
func (a arguments) want(minimum, maximum int) error {
	if n := len(a.position); n < minimum || maximum >= 0 && n > maximum {
		return fmt.Errorf("%d words where %d are wanted", n, minimum)
	}
	return nil
}

const versionOption = "version"

// versionSuffix is the version that a command's first word can end with.
var versionSuffix = regexp.MustCompile(`^(.*)/v(\d+)$`)

func versionOf(args arguments) (int16, error) {
	value, given := args.named[versionOption]
	if !given {
		return -1, nil
	}
	v, err := strconv.ParseInt(value, 10, 16)
	return int16(v), err
}
