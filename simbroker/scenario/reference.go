package scenario

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The symbols of a text, and the words for partitions.
var (
	topicSymbol   = regexp.MustCompile(`^T\d+$`)
	idSymbol      = regexp.MustCompile(`^X\d+$`)
	groupSymbol   = regexp.MustCompile(`^G\d+$`)
	userSymbol    = regexp.MustCompile(`^U\d+$`)
	brokerLetter  = regexp.MustCompile(`^[A-Z]$`)
	partitionWord = regexp.MustCompile(`^(T\d+-\d+|[GX]\d+-log)$`)
)

// producerRef is a producer with its epoch in a command: (P1,0).
type producerRef struct {
	producer string
	epoch    int16
}

var producerForm = regexp.MustCompile(`^\((P\d+|-?\d+),(-?\d+)\)$`)

func parseProducer(word string) (producerRef, error) {
	m := producerForm.FindStringSubmatch(word)
	if m == nil {
		return producerRef{}, fmt.Errorf("%s is no (PRODUCER,EPOCH)", word)
	}
	epoch, err := strconv.ParseInt(m[2], 10, 16)
	if err != nil {
		return producerRef{}, fmt.Errorf("%s is no producer epoch", m[2])
	}
	return producerRef{m[1], int16(epoch)}, nil
}

// partitionRef is a partition in a command: T1-0, G1-log (the partition of
// __consumer_offsets that keeps group G1) or X1-log (that of
// __transaction_state that keeps transactional id X1).
type partitionRef string

func parsePartition(word string) (partitionRef, error) {
	if !partitionWord.MatchString(word) {
		return "", fmt.Errorf("%s is no partition", word)
	}
	return partitionRef(word), nil
}

func parsePartitions(words []string) ([]partitionRef, error) {
	refs := make([]partitionRef, 0, len(words))
	for _, word := range words {
		ref, err := parsePartition(word)
		if err != nil {
			return nil, err
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// topicPartition is a partition as the cluster knows it.
type topicPartition struct {
	topic     string
	partition int32
}

// split returns the symbol before the dash and what follows it.
func (r partitionRef) split() (symbol, rest string) {
	symbol, rest, _ = strings.Cut(string(r), "-")
	return symbol, rest
}

func parseID(word string) (string, error) {
	if word == nullWord || idSymbol.MatchString(word) {
		return word, nil
	}
	return "", fmt.Errorf("%s is no transactional id", word)
}

func parseGroup(word string) (string, error) {
	if groupSymbol.MatchString(word) {
		return word, nil
	}
	return "", fmt.Errorf("%s is no group", word)
}

// nullWord stands for an absent transactional id.
const nullWord = "null"

// letter renders the broker at an index of Cluster.Brokers.
func letter(index int) string { return string(rune('A' + index)) }
