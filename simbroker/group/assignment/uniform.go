package assignment

import (
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Uniform spreads all partitions evenly and moves few of them, by Kafka's rules to
// the last partition.
func Uniform(members []Assignee) map[string]Set {
	if len(members) == 0 {
		return map[string]Set{}
	}
	members = InJavaOrder(members, JavaTable, func(m Assignee) uint32 { return JavaHash(m.ID) })
	if slices.ContainsFunc(members, func(m Assignee) bool { return !maps.Equal(m.Topics, members[0].Topics) }) {
		return uniformMixed(members)
	}
	return uniformAlike(members)
}

// keeps is what a member has of what it subscribes to.
func keeps(m Assignee) Set {
	kept := make(Set)
	for p := range m.Has {
		if p.Number < m.Topics[p.Topic] {
			kept[p] = true
		}
	}
	return kept
}

// uniformAlike is Uniform for members that all subscribe to the same topics. Each
// has the same share, and the first ones that fill it have one more if it is uneven.
// What is beyond a share goes to those who have less, one after the other.
func uniformAlike(members []Assignee) map[string]Set {
	targets := make(map[string]Set)
	free, total := unassigned(members)
	share, odd := total/len(members), total%len(members)
	lacks := make([]int, len(members))
	for i, m := range members {
		left := share
		if odd > 0 {
			left++
		}
		kept := make(Set)
		for _, p := range inKafkaOrder(keeps(m)) {
			if left == 0 {
				free = append(free, p)
				continue
			}
			kept[p] = true
			left--
		}
		switch {
		case odd == 0:
		case left > 0 && len(members)-i > odd: // others may have the odd one
			left--
		default:
			odd--
		}
		targets[m.ID], lacks[i] = kept, left
	}
	for i, m := range members {
		n := min(lacks[i], len(free))
		for _, p := range free[:n] {
			targets[m.ID][p] = true
		}
		free = free[n:]
	}
	return targets
}

// unassigned is the partitions that nobody has, and how many there are in all.
func unassigned(members []Assignee) (free []Partition, total int) {
	taken := make(Set)
	for _, m := range members {
		maps.Copy(taken, m.Has)
	}
	sizes := members[0].Topics
	for _, topic := range InJavaOrder(slices.SortedFunc(maps.Keys(sizes), compareIDs), javaCopy(len(sizes)), hashOfTopic) {
		total += int(sizes[topic])
		for n := range sizes[topic] {
			if p := (Partition{topic, n}); !taken[p] {
				free = append(free, p)
			}
		}
	}
	return free, total
}

// inKafkaOrder is what a member has, in the order in which Kafka goes through it.
func inKafkaOrder(has Set) []Partition {
	byTopic := make(map[kafka.TopicID][]Partition)
	for _, p := range Sorted(has) {
		byTopic[p.Topic] = append(byTopic[p.Topic], p)
	}
	topics := slices.SortedFunc(maps.Keys(byTopic), compareIDs)
	var ordered []Partition
	for _, t := range InJavaOrder(topics, JavaTable, hashOfTopic) {
		ordered = append(ordered, InJavaOrder(byTopic[t], javaCopy(len(byTopic[t])), hashOfPartition)...)
	}
	return ordered
}
