package scenario

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func lookupVerbs() []Verb {
	return []Verb{
		{
			Name:  "Metadata",
			Usage: "Metadata all|TOPIC…",
			Doc:   "Asks the first broker that runs, and prints the scenario's topics in its answer, each with ok or its error, or none.",
			Parse: parseMetadata,
		},
		{
			Name:  "FindCoordinator",
			Usage: "FindCoordinator GROUP|ID",
			Doc:   "Asks the first broker that runs, and prints the coordinator, or the error.",
			Parse: parseFindCoordinator,
		},
		{
			Name:  "ListGroups",
			Usage: "ListGroups [kinds] [state=STATE,…] [type=TYPE,…]",
			Doc: "Asks every broker that runs and prints the scenario's own groups with their states, or none; with kinds, their types and " +
				"protocol types as well. The brokers leave out what is in other states or of other types.",
			Parse: parseListGroups,
		},
	}
}

func parseMetadata(words []string) (Action, error) {
	if len(words) == 0 {
		return nil, fmt.Errorf("all, or topics, are wanted")
	}
	all := len(words) == 1 && words[0] == "all"
	for _, word := range words {
		if !all && !topicSymbol.MatchString(word) {
			return nil, fmt.Errorf("%s is no topic", word)
		}
	}
	return func(ctx context.Context, p *Play) (string, error) {
		broker, err := p.anyBroker()
		if err != nil {
			return "", err
		}
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.AllowAutoTopicCreation = p.version(req.Key(), -1), false
		for _, word := range words {
			if all {
				break
			}
			t := kmsg.NewMetadataRequestTopic()
			t.Topic = kmsg.StringPtr(p.topicName(word))
			req.Topics = append(req.Topics, t)
		}
		resp, err := p.ask(ctx, broker, req)
		if err != nil {
			return "", err
		}
		var rows []string
		for _, t := range resp.(*kmsg.MetadataResponse).Topics {
			if symbol, own := p.topicSymbol(*t.Topic); own {
				rows = append(rows, symbol+" "+renderError(t.ErrorCode))
			}
		}
		return rowsOf(rows), nil
	}, nil
}

// topicSymbol is the symbol of a topic of this scenario.
func (p *Play) topicSymbol(name string) (string, bool) {
	symbol, own := strings.CutPrefix(name, p.prefix)
	symbol = strings.ToUpper(symbol)
	return symbol, own && topicSymbol.MatchString(symbol)
}

func rowsOf(rows []string) string {
	if len(rows) == 0 {
		return "none"
	}
	slices.Sort(rows)
	return strings.Join(rows, ", ")
}

func parseFindCoordinator(words []string) (Action, error) {
	if len(words) != 1 || !idSymbol.MatchString(words[0]) && !groupSymbol.MatchString(words[0]) {
		return nil, fmt.Errorf("FindCoordinator wants a group or an id")
	}
	return func(ctx context.Context, p *Play) (string, error) {
		name, err := p.name(ctx, words[0])
		if err != nil {
			return "", err
		}
		broker, code, err := p.askCoordinator(ctx, words[0], name)
		if err != nil || code != 0 {
			return renderError(code), err
		}
		return p.letterOf(broker), nil
	}, nil
}

func parseListGroups(words []string) (Action, error) {
	args, err := parseArguments(words, "state", "type")
	if err != nil {
		return nil, err
	}
	kinds := len(args.position) == 1 && args.position[0] == "kinds"
	if len(args.position) > 0 && !kinds {
		return nil, fmt.Errorf("ListGroups wants nothing but kinds")
	}
	return func(ctx context.Context, p *Play) (string, error) {
		var rows []string
		for _, broker := range p.brokers {
			if p.silent[broker] != "" {
				continue
			}
			req := kmsg.NewPtrListGroupsRequest()
			req.Version, req.StatesFilter, req.TypesFilter = p.version(req.Key(), -1), listed(args.named["state"]), listed(args.named["type"])
			resp, err := p.ask(ctx, broker, req)
			if err != nil {
				return "", err
			}
			got := resp.(*kmsg.ListGroupsResponse)
			if got.ErrorCode != 0 {
				return p.letterOf(broker) + " " + renderError(got.ErrorCode), nil
			}
			for _, g := range got.Groups {
				symbol := p.groupSymbolOf(g.Group)
				switch {
				case symbol == "":
				case kinds:
					rows = append(rows, fmt.Sprintf("%s %s %s/%s", symbol, g.GroupState, g.GroupType, cmp.Or(g.ProtocolType, "-")))
				default:
					rows = append(rows, symbol+" "+g.GroupState)
				}
			}
		}
		return rowsOf(rows), nil
	}, nil
}

// listed is the words between commas, nil if there are none.
func listed(words string) []string {
	if words == "" {
		return nil
	}
	return strings.Split(words, ",")
}

// groupSymbolOf is the symbol of a group, or "" if it is not of this scenario.
func (p *Play) groupSymbolOf(name string) string {
	for _, symbol := range slices.Sorted(maps.Keys(p.names)) {
		if symbol[0] == 'G' && p.names[symbol] == name {
			return symbol
		}
	}
	return ""
}
