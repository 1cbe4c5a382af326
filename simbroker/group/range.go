package group

import (
	"cmp"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// assignRanges gives each member a range of every topic that it subscribes to,
// static members first by their instance ids, the others by their ids; the
// first ones get one more.
func assignRanges(members []assignee) map[string]partitionSet {
	ordered := slices.SortedFunc(slices.Values(members), func(a, b assignee) int {
		switch {
		case a.instanceID != nil && b.instanceID != nil:
			return cmp.Compare(*a.instanceID, *b.instanceID)
		case a.instanceID != nil:
			return -1
		case b.instanceID != nil:
			return 1
		}
		return cmp.Compare(a.id, b.id)
	})
	subscribers := make(map[kafka.TopicID]int32)
	for _, m := range members {
		for topic := range m.topics {
			subscribers[topic]++
		}
	}
	next, served := make(map[kafka.TopicID]int32), make(map[kafka.TopicID]int32)
	targets := make(map[string]partitionSet)
	for _, m := range ordered {
		targets[m.id] = make(partitionSet)
		for topic, size := range m.topics {
			quota := size / subscribers[topic]
			if served[topic] < size%subscribers[topic] {
				quota++
			}
			served[topic]++
			for range quota {
				targets[m.id][idPartition{topic, next[topic]}] = true
				next[topic]++
			}
		}
	}
	return targets
}
