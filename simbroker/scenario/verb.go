package scenario

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

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

// batchWord is how batches begin.
var batchWord = regexp.MustCompile(`^([TINCA]\(|empty$|empty/v)`)

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

// asUser is the word before a user's command.
const asUser = "as"

// compileAs understands a command that a user gives: as U1 COMMAND. Looking up
// leaders and coordinators is not part of it.
func compileAs(words []string, verbs map[string]Verb) (compiled, error) {
	if len(words) < 3 || !userSymbol.MatchString(words[1]) {
		return compiled{}, fmt.Errorf("as wants a user, U1, and a command")
	}
	c, err := compile(words[2:], verbs)
	if err != nil {
		return c, err
	}
	action := c.action
	c.action = func(ctx context.Context, p *Play) (string, error) {
		p.user = p.userName(words[1])
		defer func() { p.user = "" }()
		return action(ctx, p)
	}
	return c, nil
}
