package scenario

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
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

// Verbs lists the commands of this package in the order of the documentation.
func Verbs() []Verb {
	return slices.Concat(produceVerbs(), transactionVerbs(), markerVerbs(), partitionVerbs(),
		fetchVerbs(), groupVerbs(), memberVerbs(), heartbeatVerbs(), sharingVerbs(), describeVerbs(), lookupVerbs(), adminVerbs(), aclVerbs(), faultVerbs(), injectVerbs(), applicationVerbs())
}

func verbTable(extra []Verb) map[string]Verb {
	table := map[string]Verb{}
	for _, v := range Verbs() {
		v.own = true
		table[v.Name] = v
	}
	for _, v := range extra {
		v.own = false
		table[v.Name] = v
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

// compiled is a command that was understood.
type compiled struct {
	action Action
	words  []string    // without a user's
	needs  Requirement // the API in the version that the command names, if it does
	verb   string      // its name; "" of a verb of another package
}

func compile(words []string, verbs map[string]Verb) (compiled, error) {
	first := words[0]
	if first == asUser {
		return compileAs(words, verbs)
	}
	c := compiled{words: words}
	name, version := first, ""
	if m := versionSuffix.FindStringSubmatch(first); m != nil {
		name, version = m[1], m[2]
	}
	rest := words[1:]
	switch {
	case batchWord.MatchString(first):
		c.verb, rest = batchVerb, words
	case partitionWord.MatchString(first):
		c.verb, rest = partitionVerb, words
	case name == batchVerb || name == partitionVerb:
		return c, fmt.Errorf("unknown command %s", name)
	default:
		c.verb = name
		if version != "" {
			rest = append([]string{versionOption + "=" + version}, rest...)
		}
	}
	verb, known := verbs[c.verb]
	if !known {
		return c, fmt.Errorf("unknown command %s", name)
	}
	if !verb.own {
		c.verb = ""
	}
	err := c.need(version)
	if err == nil {
		c.action, err = verb.Parse(rest)
	}
	if err != nil {
		return c, fmt.Errorf("%w; usage: %s", err, verb.Usage)
	}
	return c, nil
}

// need notes the API that the command wants in a version, which must be one that
// there is.
func (c *compiled) need(version string) error {
	api := c.verb
	if api == batchVerb {
		api = "Produce"
	}
	key := apiKey(api)
	if key < 0 || version == "" {
		return nil
	}
	highest := kmsg.RequestForKey(key).MaxVersion()
	n, err := strconv.ParseInt(version, 10, 16)
	if err != nil || int16(n) > highest {
		return fmt.Errorf("%s has no version %s; expected one from 0 to %d", api, version, highest)
	}
	c.needs = Requirement{api, int16(n)}
	return nil
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
