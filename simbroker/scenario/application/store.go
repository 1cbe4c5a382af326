package application

import (
	"slices"
	"strconv"
)

// Store is what an application keeps outside Kafka: a database that never
// crashes, and whose own transactions hold. Instances of an application share
// it. The zero Store is empty.
type Store struct {
	// Rows are the keys of what was inserted: the input of what relays them to
	// Kafka.
	Rows []string
	// Effects are the keys of records that had an effect here, in order, as often
	// as it happened.
	Effects []string

	relayed    int                 // rows that are marked as such, from the first
	positions  map[Partition]int64 // where to go on reading
	checkpoint checkpoint          // of a Sink
}

// checkpoint is the state of a Sink. The zero one is that of a sink that never
// ran.
type checkpoint struct {
	number   int
	position int64
	pending  *producer // whose transaction is yet to be committed
}

// Insert adds n rows with the keys "1", "2", … from where the last ones ended.
func (s *Store) Insert(n int) {
	for range n {
		s.Rows = append(s.Rows, strconv.Itoa(len(s.Rows)+1))
	}
}

// unrelayed is at most n rows that are not marked.
func (s *Store) unrelayed(n int) []string {
	rest := s.Rows[s.relayed:]
	return rest[:min(n, len(rest))]
}

// has says whether a record had its effect.
func (s *Store) has(key string) bool {
	return slices.Contains(s.Effects, key)
}

// keep keeps where to go on reading a partition.
func (s *Store) keep(of Partition, position int64) {
	if s.positions == nil {
		s.positions = map[Partition]int64{}
	}
	s.positions[of] = position
}

// Tally is what became of a number of records.
type Tally struct {
	Once    int // there as they should be
	Lost    int // not there
	Doubled int // there more than once
	Foreign int // keys that are there, and were never sent
}

// Count compares the keys of what was sent with those of what has arrived, in
// whatever order. A key that was sent several times, as by partitions that count
// for themselves, is to arrive as often: what is missing of it is lost, and what
// is too much has doubled, each of those that were sent once.
func Count(sent, arrived []string) Tally {
	wanted, got := occurrences(sent), occurrences(arrived)
	var t Tally
	for key, n := range wanted {
		lost := max(n-got[key], 0)
		doubled := min(max(got[key]-n, 0), n)
		t.Lost, t.Doubled, t.Once = t.Lost+lost, t.Doubled+doubled, t.Once+n-lost-doubled
	}
	for key := range got {
		if wanted[key] == 0 {
			t.Foreign++
		}
	}
	return t
}

// occurrences is how often each key stands there.
func occurrences(keys []string) map[string]int {
	times := map[string]int{}
	for _, key := range keys {
		times[key]++
	}
	return times
}

// String is "7 once, 2 lost, 1 doubled", and says how many are foreign if there
// are any.
func (t Tally) String() string {
	s := strconv.Itoa(t.Once) + " once, " + strconv.Itoa(t.Lost) + " lost, " + strconv.Itoa(t.Doubled) + " doubled"
	if t.Foreign > 0 {
		s += ", " + strconv.Itoa(t.Foreign) + " foreign"
	}
	return s
}
