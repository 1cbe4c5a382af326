// Package assignment says who is to have what: assignors make targets of what
// members subscribe to, and a reconciliation takes a member from what it has to
// its target, a step a heartbeat (KIP-848). It computes, and changes nothing.
package assignment

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Partition names a partition by its topic's id, as assignments do: a topic
// that was created anew is another one.
type Partition struct {
	Topic  kafka.TopicID
	Number int32
}

func (p Partition) compare(other Partition) int {
	if c := bytes.Compare(p.Topic[:], other.Topic[:]); c != 0 {
		return c
	}
	return cmp.Compare(p.Number, other.Number)
}

// Set is a set of partitions, such as a target assignment.
type Set = map[Partition]bool

// Ownership is partitions that a member has, each with the member epoch at
// which it was assigned.
type Ownership = map[Partition]int32

// Sorted is partitions in order of topic id and number.
func Sorted[V any](m map[Partition]V) []Partition {
	return slices.SortedFunc(maps.Keys(m), Partition.compare)
}

// SetOfKeys is what maps map, without what they map it to.
func SetOfKeys[P comparable](all ...map[P]int32) map[P]bool {
	s := make(map[P]bool)
	for _, m := range all {
		for p := range m {
			s[p] = true
		}
	}
	return s
}

// EachTopic calls visit for each topic of sorted partitions.
func EachTopic(sorted []Partition, visit func(topic kafka.TopicID, partitions []int32)) {
	for start := 0; start < len(sorted); {
		end := start
		var numbers []int32
		for ; end < len(sorted) && sorted[end].Topic == sorted[start].Topic; end++ {
			numbers = append(numbers, sorted[end].Number)
		}
		visit(sorted[start].Topic, numbers)
		start = end
	}
}

// CountTopics is how many topics sorted partitions have.
func CountTopics(sorted []Partition) int {
	n := 0
	EachTopic(sorted, func(kafka.TopicID, []int32) { n++ })
	return n
}

// ToTopics is partitions as heartbeats carry them: by topic id.
func ToTopics(sorted []Partition) []group.AssignedTopic {
	topics := []group.AssignedTopic{}
	EachTopic(sorted, func(topic kafka.TopicID, partitions []int32) {
		topics = append(topics, group.AssignedTopic{TopicID: topic, Partitions: partitions})
	})
	return topics
}

// NamedTopics is partitions as descriptions show them: with the names of topics,
// in their order, without topics that no longer exist.
func NamedTopics(sorted []Partition, topics group.Topics) []group.AssignedTopic {
	named := slices.DeleteFunc(ToTopics(sorted), func(t group.AssignedTopic) bool {
		_, ok := topics.TopicByID(t.TopicID)
		return !ok
	})
	for i := range named {
		t, _ := topics.TopicByID(named[i].TopicID)
		named[i].Topic = t.Name
	}
	slices.SortFunc(named, func(a, b group.AssignedTopic) int { return cmp.Compare(a.Topic, b.Topic) })
	return named
}

// FromTopics is partitions that a heartbeat carried.
func FromTopics(topics []group.AssignedTopic) Set {
	s := make(Set)
	for _, t := range topics {
		for _, n := range t.Partitions {
			s[Partition{t.TopicID, n}] = true
		}
	}
	return s
}

// FromNames is partitions of topics by name as those of topics by id; topics
// that do not exist are left out.
func FromNames(named []group.AssignedTopic, topics group.Topics) Set {
	s := make(Set)
	for _, t := range named {
		if known, ok := topics.Topic(t.Topic); ok {
			for _, n := range t.Partitions {
				s[Partition{known.ID, n}] = true
			}
		}
	}
	return s
}
