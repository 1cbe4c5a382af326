package assignment

import (
	"maps"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Simple gives the partitions of share groups out, each to as many members as it
// takes to leave none without, and moves as few as it can.
func Simple(members []Assignee) map[string]Set {
	targets := make(map[string]Set)
	sharing := make(map[Partition]int)
	all, load := make(map[kafka.TopicID]int32), make(map[string]int)
	for _, m := range members {
		maps.Copy(all, m.Topics)
		targets[m.ID] = make(Set)
	}
	give := func(id string, p Partition) {
		targets[id][p] = true
		sharing[p]++
		load[id]++
	}
	var partitions []Partition
	for _, topic := range sortedTopics(all) {
		for n := range all[topic] {
			partitions = append(partitions, Partition{topic, n})
		}
	}
	if len(partitions) == 0 {
		return targets
	}
	desired := (len(members) + len(partitions) - 1) / len(partitions)
	quota := (desired*len(partitions) + len(members) - 1) / len(members)
	for _, m := range members {
		for _, p := range Sorted(m.Has) {
			if p.Number < m.Topics[p.Topic] && load[m.ID] < quota && sharing[p] < desired {
				give(m.ID, p)
			}
		}
	}
	for _, p := range partitions {
		for sharing[p] < desired {
			chosen := ""
			for _, m := range members {
				if _, ok := m.Topics[p.Topic]; ok && !targets[m.ID][p] && (chosen == "" || load[m.ID] < load[chosen]) {
					chosen = m.ID
				}
			}
			if chosen == "" {
				break
			}
			give(chosen, p)
		}
	}
	return targets
}
