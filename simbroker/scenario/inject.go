package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
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

// faultOrder is a fault command.
type faultOrder struct {
	document map[string]any // but for broker and targets
	targets  []string
	at       string // a broker, or empty
}

func parseFaultOrder(words []string) (o faultOrder, err error) {
	args, err := parseArguments(words, "at ", "apis", "error", "times", "delay", "unaware", "loading", "bytes", "every", "by")
	if err != nil {
		return o, err
	}
	if err := args.want(1, -1); err != nil {
		return o, err
	}
	o = faultOrder{map[string]any{"fault": args.position[0]}, args.position[1:], args.named["at"]}
	for _, name := range []string{"error", "delay", "unaware", "loading", "every", "by"} {
		if value, ok := args.named[name]; ok {
			o.document[name] = value
		}
	}
	if apis, ok := args.named["apis"]; ok {
		o.document["apis"] = strings.Split(apis, ",")
	}
	for _, name := range []string{"times", "bytes"} {
		if value, ok := args.named[name]; ok {
			if o.document[name], err = strconv.Atoi(value); err != nil {
				return o, fmt.Errorf("%s wants a number", name)
			}
		}
	}
	for _, target := range o.targets {
		if !idSymbol.MatchString(target) && !topicSymbol.MatchString(target) && !partitionWord.MatchString(target) {
			return o, fmt.Errorf("%s is no partition, topic or id", target)
		}
	}
	return o, nil
}

// sketch is the document without a cluster.
func (o faultOrder) sketch() map[string]any {
	document := maps.Clone(o.document)
	if o.at != "" {
		document["broker"] = o.at[0] - 'A' + 1
	}
	var partitions []int
	for _, target := range o.targets {
		symbol, rest := partitionRef(target).split()
		switch {
		case idSymbol.MatchString(target):
			document["transactional_id"] = target
		case topicSymbol.MatchString(target):
			document["topic"] = target
		case symbol[0] == 'G':
			document["topic"], partitions = kafka.ConsumerOffsetsTopic, append(partitions, 0)
		case symbol[0] == 'X':
			document["topic"], partitions = kafka.TransactionStateTopic, append(partitions, 0)
		default:
			n, _ := strconv.Atoi(rest) // its form was checked
			document["topic"], partitions = symbol, append(partitions, n)
		}
	}
	if partitions != nil {
		document["partitions"] = partitions
	}
	return document
}

func parseFault(words []string) (Action, error) {
	order, err := parseFaultOrder(words)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p *Play) (string, error) {
		document := maps.Clone(order.document)
		if order.at != "" {
			if document["broker"], err = p.broker(order.at); err != nil {
				return "", err
			}
		}
		if err := p.aim(ctx, document, order.targets); err != nil {
			return "", err
		}
		return p.inject(ctx, document)
	}, nil
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
	i, ok := facet[Injector](p.cluster)
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
