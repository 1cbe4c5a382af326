package group

import (
	"maps"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// assignShared gives the partitions of share groups out, each to as many
// members as it takes to leave none without, and moves as few as it can.
func assignShared(members []assignee) map[string]partitionSet {
	targets := make(map[string]partitionSet)
	sharing := make(map[idPartition]int)
	all, load := make(map[kafka.TopicID]int32), make(map[string]int)
	for _, m := range members {
		maps.Copy(all, m.topics)
		targets[m.id] = make(partitionSet)
	}
	give := func(id string, p idPartition) {
		targets[id][p] = true
		sharing[p]++
		load[id]++
	}
	var partitions []idPartition
	for _, topic := range sortedTopics(all) {
		for n := range all[topic] {
			partitions = append(partitions, idPartition{topic, n})
		}
	}
	if len(partitions) == 0 {
		return targets
	}
	desired := (len(members) + len(partitions) - 1) / len(partitions)
	quota := (desired*len(partitions) + len(members) - 1) / len(members)
	for _, m := range members {
		for _, p := range sortedPartitions(m.has) {
			if p.partition < m.topics[p.topic] && load[m.id] < quota && sharing[p] < desired {
				give(m.id, p)
			}
		}
	}
	for _, p := range partitions {
		for sharing[p] < desired {
			chosen := ""
			for _, m := range members {
				if _, ok := m.topics[p.topic]; ok && !targets[m.id][p] && (chosen == "" || load[m.id] < load[chosen]) {
					chosen = m.id
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
