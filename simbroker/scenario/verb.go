package scenario

import (
	"context"
	"fmt"
	"regexp"
	"slices"
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
}

// Verbs lists the commands of this package in the order of the documentation.
func Verbs() []Verb {
	return slices.Concat(produceVerbs(), transactionVerbs(), markerVerbs(), partitionVerbs(),
		fetchVerbs(), groupVerbs(), memberVerbs(), heartbeatVerbs(), sharingVerbs(), describeVerbs(), lookupVerbs(), adminVerbs(), aclVerbs(), faultVerbs(), injectVerbs(), applicationVerbs())
}

func verbTable(extra []Verb) map[string]Verb {
	table := map[string]Verb{}
	for _, v := range slices.Concat(Verbs(), extra) {
		name, _, _ := strings.Cut(v.Name, " ")
		table[name] = v
	}
	return table
}

// Commands begin with a word of the verb table, with a batch, or with what they
// look at: a partition.
const (
	batchVerb     = "BATCH"
	partitionVerb = "PARTITION"
)

var (
	batchWord     = regexp.MustCompile(`^([TINCA]\(|empty$|empty/v)`)
	partitionWord = regexp.MustCompile(`^(T\d+-\d+|[GX]\d+-log)$`)
	versionSuffix = regexp.MustCompile(`^(.*)/v(\d+)$`)
)

func compile(words []string, verbs map[string]Verb) (Action, error) {
	first := words[0]
	switch {
	case first == asUser:
		return compileAs(words, verbs)
	case batchWord.MatchString(first):
		return verbs[batchVerb].Parse(words)
	case partitionWord.MatchString(first):
		return verbs[partitionVerb].Parse(words)
	}
	name, version := first, ""
	if m := versionSuffix.FindStringSubmatch(first); m != nil {
		name, version = m[1], m[2]
	}
	verb, ok := verbs[name]
	if !ok || name == batchVerb || name == partitionVerb {
		return nil, fmt.Errorf("unknown command %s", name)
	}
	rest := words[1:]
	if version != "" {
		rest = append([]string{versionOption + "=" + version}, rest...)
	}
	action, err := verb.Parse(rest)
	if err != nil {
		return nil, fmt.Errorf("%w; usage: %s", err, verb.Usage)
	}
	return action, nil
}

const versionOption = "version"

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
