package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Injector is what a Cluster's Faults are as well if requests, markers and
// fetches can be disturbed. A real Kafka has none.
type Injector interface {
	// Inject puts a fault in place, given as the JSON document that the control
	// surface of "lso-exporter sim" takes (docs/simulator.md), until withdraw is
	// called.
	Inject(ctx context.Context, document []byte) (withdraw func(context.Context) error, err error)
}

func injectVerbs() []Verb {
	return []Verb{
		{
			Name:  "fault",
			Usage: "fault KIND [PARTITION…|TOPIC|ID] [apis=API,…] [error=NAME] [times=N] [delay=DURATION] [unaware=DURATION] [loading=DURATION] [bytes=N] [every=DURATION] [by=DURATION] [at BROKER]",
			Doc:   "Puts a fault of the simulator in place, of a kind that docs/simulator.md lists with what it takes. Prints F1, F2, … It ends with the scenario.",
			Parse: parseFault,
		},
		{
			Name:  "heal",
			Usage: "heal FAULT",
			Doc:   "Takes a fault away.",
			Parse: parseHeal,
		},
	}
}

// faultVerbName is the verb that a cluster without an Injector cannot play.
const faultVerbName = "fault"

// injects says whether the text puts faults in place.
func (s *Scenario) injects() bool {
	return slices.ContainsFunc(s.Steps, func(step Step) bool {
		verb, _, _ := strings.Cut(step.Command, " ")
		return verb == faultVerbName
	})
}

// injector is what can disturb a cluster, if there is one.
func injector(c Cluster) (Injector, bool) {
	if n, over := c.(interface{ processes() Faults }); over {
		i, ok := n.processes().(Injector)
		return i, ok
	}
	i, ok := c.(Injector)
	return i, ok
}

func parseFault(words []string) (Action, error) {
	args, err := parseArguments(words, "at ", "apis", "error", "times", "delay", "unaware", "loading", "bytes", "every", "by")
	if err != nil {
		return nil, err
	}
	if err := args.want(1, -1); err != nil {
		return nil, err
	}
	document := map[string]any{"fault": args.position[0]}
	for _, name := range []string{"error", "delay", "unaware", "loading", "every", "by"} {
		if value, ok := args.named[name]; ok {
			document[name] = value
		}
	}
	if apis, ok := args.named["apis"]; ok {
		document["apis"] = strings.Split(apis, ",")
	}
	for _, name := range []string{"times", "bytes"} {
		if value, ok := args.named[name]; ok {
			if document[name], err = strconv.Atoi(value); err != nil {
				return nil, fmt.Errorf("%s wants a number", name)
			}
		}
	}
	targets, at := args.position[1:], args.named["at"]
	return func(ctx context.Context, p *Play) (string, error) {
		document := cloneDocument(document)
		if at != "" {
			if document["broker"], err = p.broker(at); err != nil {
				return "", err
			}
		}
		if err := p.aim(ctx, document, targets); err != nil {
			return "", err
		}
		return p.inject(ctx, document)
	}, nil
}

func cloneDocument(d map[string]any) map[string]any {
	clone := make(map[string]any, len(d)+3)
	for name, value := range d {
		clone[name] = value
	}
	return clone
}

// aim adds what the fault is about: partitions of one topic, a topic, or an id.
func (p *Play) aim(ctx context.Context, document map[string]any, targets []string) error {
	var partitions []int32
	for _, target := range targets {
		switch {
		case idSymbol.MatchString(target):
			name, err := p.name(ctx, target)
			if err != nil {
				return err
			}
			document["transactional_id"] = name
		case topicSymbol.MatchString(target):
			document["topic"] = p.topicName(target)
		default:
			ref, err := parsePartition(target)
			if err != nil {
				return err
			}
			log, err := p.locate(ctx, ref)
			if err != nil {
				return err
			}
			if topic, given := document["topic"]; given && topic != log.topic {
				return fmt.Errorf("a fault is about partitions of one topic")
			}
			document["topic"] = log.topic
			partitions = append(partitions, log.partition)
		}
	}
	if partitions != nil {
		document["partitions"] = partitions
	}
	return nil
}

func (p *Play) inject(ctx context.Context, document map[string]any) (string, error) {
	content, err := json.Marshal(document)
	if err != nil {
		return "", err
	}
	i, ok := injector(p.cluster)
	if !ok {
		return "", fmt.Errorf("%w: faults", ErrNotOffered)
	}
	withdraw, err := i.Inject(ctx, content)
	if err != nil {
		return "", err
	}
	p.injected = append(p.injected, withdraw)
	return fmt.Sprintf("F%d", len(p.injected)), nil
}

func parseHeal(words []string) (Action, error) {
	if len(words) != 1 {
		return nil, fmt.Errorf("heal wants a fault, F1")
	}
	number, isSymbol := strings.CutPrefix(words[0], "F")
	n, err := strconv.Atoi(number)
	if !isSymbol || err != nil || n < 1 {
		return nil, fmt.Errorf("%s is no fault", words[0])
	}
	return func(ctx context.Context, p *Play) (string, error) {
		if n > len(p.injected) || p.injected[n-1] == nil {
			return "", fmt.Errorf("fault F%d is not in place", n)
		}
		withdraw := p.injected[n-1]
		p.injected[n-1] = nil
		return "", withdraw(ctx)
	}, nil
}

// healAll takes away the faults that are still in place.
func (p *Play) healAll(ctx context.Context) []error {
	var errs []error
	for _, withdraw := range p.injected {
		if withdraw != nil {
			errs = append(errs, withdraw(ctx))
		}
	}
	p.injected = nil
	return errs
}
