package assignment

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// mixed spreads partitions over members that do not all subscribe to the same
// topics, topic by topic, by Kafka's rules: which partitions move, and to whom, is
// what a broker decides.
type mixed struct {
	members     []Assignee
	topics      []kafka.TopicID         // in the order in which they are dealt with
	sizes       map[kafka.TopicID]int32 // their partitions
	subscribers map[kafka.TopicID][]int // by number, in order
	owner       map[Partition]int       // who has what; nobody has what is missing
	load        []int                   // how many partitions a member has
}

// balanceRounds is how often all topics are balanced at most.
const balanceRounds = 16

// uniformMixed is Uniform for such members.
func uniformMixed(members []Assignee) map[string]Set {
	x := &mixed{
		members: members, sizes: make(map[kafka.TopicID]int32), subscribers: make(map[kafka.TopicID][]int),
		owner: make(map[Partition]int), load: make([]int, len(members)),
	}
	for i, m := range members {
		maps.Copy(x.sizes, m.Topics)
		for t := range m.Topics {
			x.subscribers[t] = append(x.subscribers[t], i)
		}
		for p := range keeps(m) {
			x.move(p, i)
		}
	}
	x.topics = slices.SortedFunc(maps.Keys(x.sizes), x.compareTopics)
	for _, t := range x.topics {
		x.assignRest(t)
	}
	x.balance()
	targets := make(map[string]Set)
	for _, m := range members {
		targets[m.ID] = make(Set)
	}
	for p, i := range x.owner {
		targets[members[i].ID][p] = true
	}
	return targets
}

// compareTopics puts those first that have more partitions a subscriber, then those
// with fewer subscribers.
func (x *mixed) compareTopics(a, b kafka.TopicID) int {
	perSubscriber := func(t kafka.TopicID) float64 { return float64(x.sizes[t]) / float64(len(x.subscribers[t])) }
	return cmp.Or(
		cmp.Compare(perSubscriber(b), perSubscriber(a)),
		cmp.Compare(len(x.subscribers[a]), len(x.subscribers[b])),
		compareIDs(a, b),
	)
}

// compareIDs compares topic ids as two signed numbers, as Java's Uuid does.
func compareIDs(a, b kafka.TopicID) int {
	half := func(id kafka.TopicID, at int) int64 { return int64(binary.BigEndian.Uint64(id[at:])) }
	return cmp.Or(cmp.Compare(half(a, 0), half(b, 0)), cmp.Compare(half(a, 8), half(b, 8)))
}

// assignRest gives the partitions of a topic that nobody has to subscribers with
// the fewest.
func (x *mixed) assignRest(t kafka.TopicID) {
	s := x.newScale(t)
	for n := range x.sizes[t] {
		if p := (Partition{t, n}); !x.owned(p) {
			x.move(p, s.lightest())
		}
	}
}

func (x *mixed) owned(p Partition) bool {
	_, ok := x.owner[p]
	return ok
}

func (x *mixed) move(p Partition, to int) {
	if from, ok := x.owner[p]; ok {
		x.load[from]--
	}
	x.owner[p] = to
	x.load[to]++
}

// balance moves partitions until no topic has another subscriber with two fewer
// than their owner's, or for so many rounds.
func (x *mixed) balance() {
	shared := slices.DeleteFunc(slices.Clone(x.topics), func(t kafka.TopicID) bool { return len(x.subscribers[t]) < 2 })
	last := -1 // the topic after which nothing has changed
	for range balanceRounds {
		for i, t := range shared {
			if i == last {
				return
			}
			if moved := x.balanceTopic(t); moved || last < 0 {
				last = i
			}
		}
	}
}

// balanceTopic moves partitions of a topic from those with the most to those with
// the fewest, the last ones of each owner first.
func (x *mixed) balanceTopic(t kafka.TopicID) (moved bool) {
	s := x.newScale(t)
	if s.spread() <= 1 {
		return false
	}
	has := make(map[int][]Partition)
	for n := range x.sizes[t] {
		p := Partition{t, n}
		has[x.owner[p]] = append(has[x.owner[p]], p)
	}
	for !s.balanced() {
		from := s.heaviest()
		for from >= 0 && len(has[from]) == 0 {
			s.exclude()
			from = s.heaviest()
		}
		if from < 0 {
			break
		}
		n := len(has[from]) - 1
		p := has[from][n]
		has[from] = has[from][:n]
		to := s.lightest()
		if s.balanced() {
			break
		}
		x.move(p, to)
		moved = true
	}
	return moved
}

// scale is the subscribers of a topic in order of their loads. Two ranges grow in
// it, from both ends: those that are to get something, up to one load, and those
// that are to give something, down to another.
type scale struct {
	load    []int // of all members
	sorted  []int // subscribers, by load when the scale was made
	low     int   // load of those that get
	lowEnd  int   // behind the last of them
	nextLow int
	// high is the load of those that give: highStart to highEnd, without those that
	// have nothing of the topic, which come behind.
	high               int
	highStart, highEnd int
	nextHigh           int
}

func (x *mixed) newScale(t kafka.TopicID) *scale {
	sorted := slices.Clone(x.subscribers[t])
	slices.SortFunc(sorted, func(a, b int) int { return cmp.Or(cmp.Compare(x.load[a], x.load[b]), cmp.Compare(a, b)) })
	n := len(sorted)
	return &scale{
		load: x.load, sorted: sorted, low: x.load[sorted[0]] - 1,
		high: x.load[sorted[n-1]] + 1, highStart: n, highEnd: n, nextHigh: n - 1,
	}
}

// spread is how far loads are apart when the scale is made.
func (s *scale) spread() int { return s.load[s.sorted[len(s.sorted)-1]] - s.load[s.sorted[0]] }

// balanced says whether those that give and those that get are at most one apart.
func (s *scale) balanced() bool { return s.high-s.low <= 1 }

// lightest is the next one to get something.
func (s *scale) lightest() int {
	if s.nextLow >= s.lowEnd {
		s.low++
		for s.lowEnd < len(s.sorted) && s.load[s.sorted[s.lowEnd]] == s.low {
			s.lowEnd++
		}
		s.nextLow = 0
	}
	s.nextLow++
	return s.sorted[s.nextLow-1]
}

// heaviest is the next one to give something, -1 when there is none left.
func (s *scale) heaviest() int {
	if s.nextHigh < s.highStart {
		if s.high--; s.highEnd <= s.highStart && s.highStart > 0 {
			s.high = s.load[s.sorted[s.highStart-1]]
		}
		for s.highStart > 0 && s.load[s.sorted[s.highStart-1]] == s.high {
			s.highStart--
		}
		s.nextHigh = s.highEnd - 1
	}
	if s.nextHigh < 0 {
		return -1
	}
	s.nextHigh--
	return s.sorted[s.nextHigh+1]
}

// exclude leaves the one that heaviest named out from now on.
func (s *scale) exclude() {
	s.highEnd--
	i := s.nextHigh + 1
	s.sorted[i], s.sorted[s.highEnd] = s.sorted[s.highEnd], s.sorted[i]
}
