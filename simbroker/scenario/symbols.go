package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// symbols are the names that a text uses for what the cluster named: producers
// P1, P2, … and each producer's coordinator epochs CE1, CE2, …, numbered in the
// order in which they appear in commands and outputs.
type symbols struct {
	producers []int64           // P1 is at 0
	owners    map[int64]string  // the transactional id symbol of a producer
	epochs    map[int64][]int32 // CE1 is at 0
}

func newSymbols() symbols {
	return symbols{owners: map[int64]string{}, epochs: map[int64][]int32{}}
}

// clone is a copy to fall back to when an awaited output is discarded.
func (s *symbols) clone() symbols {
	c := symbols{producers: slices.Clone(s.producers), owners: maps.Clone(s.owners), epochs: map[int64][]int32{}}
	for id, epochs := range s.epochs {
		c.epochs[id] = slices.Clone(epochs)
	}
	return c
}

// inventedProducers is where the ids begin that no coordinator gave out: far
// above those that one could have.
const inventedProducers = int64(1) << 40

// producer renders a producer id, naming it if it is new. -1 stays as it is.
func (s *symbols) producer(id int64) string {
	if id < 0 {
		return strconv.FormatInt(id, 10)
	}
	i := slices.Index(s.producers, id)
	if i < 0 {
		s.producers = append(s.producers, id)
		i = len(s.producers) - 1
	}
	return fmt.Sprintf("P%d", i+1)
}

// producerID is the id that a text names: P1, or a number. The next symbol
// without an id gets an invented one.
func (s *symbols) producerID(symbol string) (int64, error) {
	number, isSymbol := strings.CutPrefix(symbol, "P")
	n, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is no producer", symbol)
	case !isSymbol:
		return n, nil
	case n < 1 || n > int64(len(s.producers))+1:
		return 0, fmt.Errorf("producer P%d is named before P%d", n, len(s.producers)+1)
	case n == int64(len(s.producers))+1:
		s.producers = append(s.producers, inventedProducers+n)
	}
	return s.producers[n-1], nil
}

// rank orders producers by their symbols, unnamed ones last, by id.
func (s *symbols) rank(id int64) (int, int64) {
	if i := slices.Index(s.producers, id); i >= 0 {
		return i, id
	}
	return len(s.producers), id
}

// coordinatorEpoch renders a producer's coordinator epoch. -1 stays as it is.
func (s *symbols) coordinatorEpoch(producer int64, epoch int32) string {
	if epoch < 0 {
		return strconv.Itoa(int(epoch))
	}
	i := slices.Index(s.epochs[producer], epoch)
	if i < 0 {
		s.epochs[producer] = append(s.epochs[producer], epoch)
		i = len(s.epochs[producer]) - 1
	}
	return fmt.Sprintf("CE%d", i+1)
}

// epochOf is the coordinator epoch that a text names: CE1, or a number.
func (s *symbols) epochOf(producer int64, symbol string) (int32, error) {
	number, isSymbol := strings.CutPrefix(symbol, "CE")
	n, err := strconv.ParseInt(number, 10, 32)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is no coordinator epoch", symbol)
	case !isSymbol:
		return int32(n), nil
	case n < 1 || int(n) > len(s.epochs[producer]):
		return 0, fmt.Errorf("%s has not appeared yet", symbol)
	}
	return s.epochs[producer][n-1], nil
}

// own remembers to which transactional id a producer belongs, the first time
// that they are named together.
func (s *symbols) own(producer int64, id string) {
	if _, known := s.owners[producer]; !known && producer >= 0 && id != "" {
		s.owners[producer] = id
	}
}
