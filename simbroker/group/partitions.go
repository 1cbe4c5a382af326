package group

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// idPartition names a partition by its topic's id, as assignments do: a topic
// that was created anew is another one.
type idPartition struct {
	topic     kafka.TopicID
	partition int32
}

func (p idPartition) compare(other idPartition) int {
	if c := bytes.Compare(p.topic[:], other.topic[:]); c != 0 {
		return c
	}
	return cmp.Compare(p.partition, other.partition)
}

// partitionSet is a set of partitions, such as a target assignment.
type partitionSet = map[idPartition]bool

// ownership is partitions that a member has, each with the member epoch at
// which it was assigned.
type ownership = map[idPartition]int32

// sortedPartitions is partitions in order of topic id and number.
func sortedPartitions[V any](m map[idPartition]V) []idPartition {
	return slices.SortedFunc(maps.Keys(m), idPartition.compare)
}

// setOfKeys is what maps map, without what they map it to.
func setOfKeys[P comparable](all ...map[P]int32) map[P]bool {
	s := make(map[P]bool)
	for _, m := range all {
		for p := range m {
			s[p] = true
		}
	}
	return s
}

// byTopic calls visit for each topic of sorted partitions.
func byTopic(sorted []idPartition, visit func(topic kafka.TopicID, partitions []int32)) {
	for start := 0; start < len(sorted); {
		end := start
		var numbers []int32
		for ; end < len(sorted) && sorted[end].topic == sorted[start].topic; end++ {
			numbers = append(numbers, sorted[end].partition)
		}
		visit(sorted[start].topic, numbers)
		start = end
	}
}

// topicsIn is how many topics sorted partitions have.
func topicsIn(sorted []idPartition) int {
	n := 0
	byTopic(sorted, func(kafka.TopicID, []int32) { n++ })
	return n
}

// assigned is partitions as heartbeats carry them: by topic id.
func assigned(sorted []idPartition) []AssignedTopic {
	topics := []AssignedTopic{}
	byTopic(sorted, func(topic kafka.TopicID, partitions []int32) {
		topics = append(topics, AssignedTopic{TopicID: topic, Partitions: partitions})
	})
	return topics
}

// described is partitions as descriptions show them: with the names of topics,
// in their order, without topics that no longer exist.
func described(sorted []idPartition, topics Topics) []AssignedTopic {
	named := slices.DeleteFunc(assigned(sorted), func(t AssignedTopic) bool {
		_, ok := topics.TopicByID(t.TopicID)
		return !ok
	})
	for i := range named {
		t, _ := topics.TopicByID(named[i].TopicID)
		named[i].Topic = t.Name
	}
	slices.SortFunc(named, func(a, b AssignedTopic) int { return cmp.Compare(a.Topic, b.Topic) })
	return named
}

// setOf is partitions that a heartbeat carried.
func setOf(topics []AssignedTopic) partitionSet {
	s := make(partitionSet)
	for _, t := range topics {
		for _, n := range t.Partitions {
			s[idPartition{t.TopicID, n}] = true
		}
	}
	return s
}

// withIDs is partitions of topics by name as those of topics by id; topics that
// do not exist are left out.
func withIDs(named []AssignedTopic, topics Topics) partitionSet {
	s := make(partitionSet)
	for _, t := range named {
		if known, ok := topics.Topic(t.Topic); ok {
			for _, n := range t.Partitions {
				s[idPartition{known.ID, n}] = true
			}
		}
	}
	return s
}
