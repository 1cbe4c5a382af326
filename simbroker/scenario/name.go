package scenario

// Name is the real name of a topic, group or transactional id that the text
// names by its symbol (T1, G1, X1), for verbs of other packages. It is the
// symbol itself if the text has no such thing.
func (p *Play) Name(symbol string) string {
	if name, known := p.names[symbol]; known {
		return name
	}
	if topicSymbol.MatchString(symbol) {
		return p.topicName(symbol)
	}
	return symbol
}
