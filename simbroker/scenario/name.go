package scenario

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Name is the real name of a topic, group, transactional id or user that the
// text names by its symbol (T1, G1, X1, U1), for verbs of other packages. It is
// the symbol itself if the text has no such thing.
func (p *Play) Name(symbol string) string {
	if userSymbol.MatchString(symbol) {
		return p.userName(symbol)
	}
	if name, known := p.names[symbol]; known {
		return name
	}
	if topicSymbol.MatchString(symbol) {
		return p.topicName(symbol)
	}
	return symbol
}

// Producer renders a producer with its epoch as texts do, for verbs of other
// packages; a producer id that is new gets the next symbol.
func (p *Play) Producer(id int64, epoch int16) string { return p.renderProducer(id, epoch) }

// ProducerID is the producer id that a text names by its symbol, P1.
func (p *Play) ProducerID(symbol string) (int64, error) { return p.symbols.producerID(symbol) }

// TransactionalID renders a transactional id as texts do: by its symbol, or
// quoted if it is not of this scenario.
func (p *Play) TransactionalID(name string) string {
	if symbol := p.idSymbolOf(name); symbol != "" {
		return symbol
	}
	return fmt.Sprintf("%q", name)
}

// InSymbols writes a text as scenarios do: with symbols for the names of topics,
// groups and transactional ids.
func (p *Play) InSymbols(text string) string {
	for _, symbol := range slices.Backward(slices.Sorted(maps.Keys(p.names))) {
		text = strings.ReplaceAll(text, p.names[symbol], symbol)
	}
	prefix := p.topicName("")
	topics := regexp.MustCompile(regexp.QuoteMeta(prefix) + `t\d+`)
	return topics.ReplaceAllStringFunc(text, func(name string) string { return strings.ToUpper(strings.TrimPrefix(name, prefix)) })
}

// BrokerOf renders a node id as texts do: by its letter.
func (p *Play) BrokerOf(id int32) string {
	if slices.Contains(p.brokers, id) {
		return p.letterOf(id)
	}
	return fmt.Sprintf("broker %d", id)
}

// Partition finds the partition that a text names: T1-0, G1-log or X1-log. Its
// errors are those of the language, for a symbol that names none, and of the
// cluster, which is asked where a group or id is kept.
func (p *Play) Partition(ctx context.Context, symbol string) (topic string, partition int32, err error) {
	ref, err := parsePartition(symbol)
	if err != nil {
		return "", 0, err
	}
	log, err := p.locate(ctx, ref)
	return log.topic, log.partition, err
}
