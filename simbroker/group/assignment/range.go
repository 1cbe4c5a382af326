package assignment

import (
	"cmp"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Range gives each member a range of every topic that it subscribes to,
// static members first by their instance ids, the others by their ids; the
// first ones get one more.
func Range(members []Assignee) map[string]Set {
	ordered := slices.SortedFunc(slices.Values(members), func(a, b Assignee) int {
		switch {
		case a.InstanceID != nil && b.InstanceID != nil:
			return cmp.Compare(*a.InstanceID, *b.InstanceID)
		case a.InstanceID != nil:
			return -1
		case b.InstanceID != nil:
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	subscribers := make(map[kafka.TopicID]int32)
	for _, m := range members {
		for topic := range m.Topics {
			subscribers[topic]++
		}
	}
	next, served := make(map[kafka.TopicID]int32), make(map[kafka.TopicID]int32)
	targets := make(map[string]Set)
	for _, m := range ordered {
		targets[m.ID] = make(Set)
		for topic, size := range m.Topics {
			quota := size / subscribers[topic]
			if served[topic] < size%subscribers[topic] {
				quota++
			}
			served[topic]++
			for range quota {
				targets[m.ID][Partition{topic, next[topic]}] = true
				next[topic]++
			}
		}
	}
	return targets
}
