package group

import (
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// homogeneous says whether all members subscribe to the same topics.
func homogeneous(members []assignee) bool {
	return !slices.ContainsFunc(members, func(m assignee) bool { return !maps.Equal(m.topics, members[0].topics) })
}

// assignUniformly spreads all partitions evenly and moves as few as it can.
// Where members subscribe to different topics Kafka's own goes other ways to a
// spread that is as even.
func assignUniformly(members []assignee) map[string]partitionSet {
	targets := keepTargets(members)
	even := homogeneous(members)
	if even {
		trimToQuota(members, targets)
	}
	for _, p := range unassigned(members, targets) {
		id, _ := leastLoaded(members, targets, p)
		targets[id][p] = true
	}
	for !even && moveOne(members, targets) {
	}
	return targets
}

// keepTargets is what members have of what they subscribe to.
func keepTargets(members []assignee) map[string]partitionSet {
	targets := make(map[string]partitionSet)
	taken := make(partitionSet)
	for _, m := range members {
		keeps := make(partitionSet)
		for p := range m.has {
			if p.partition < m.topics[p.topic] && !taken[p] {
				keeps[p], taken[p] = true, true
			}
		}
		targets[m.id] = keeps
	}
	return targets
}

// trimToQuota takes from each member what is beyond its fair share; of those
// that have more, the first ones keep one more if the shares are uneven.
func trimToQuota(members []assignee, targets map[string]partitionSet) {
	total := 0
	for _, size := range members[0].topics {
		total += int(size)
	}
	quota, extra := total/len(members), total%len(members)
	for _, m := range members {
		limit := quota
		if extra > 0 && len(targets[m.id]) > quota {
			limit++
			extra--
		}
		for i, p := range sortedPartitions(targets[m.id]) {
			if i >= limit {
				delete(targets[m.id], p)
			}
		}
	}
}

// unassigned is the partitions of all topics that nobody has, in order.
func unassigned(members []assignee, targets map[string]partitionSet) []idPartition {
	taken, all := make(partitionSet), make(map[kafka.TopicID]int32)
	for _, m := range members {
		maps.Copy(all, m.topics)
		maps.Copy(taken, targets[m.id])
	}
	var free []idPartition
	for _, topic := range sortedTopics(all) {
		for n := range all[topic] {
			if p := (idPartition{topic, n}); !taken[p] {
				free = append(free, p)
			}
		}
	}
	return free
}

// leastLoaded is the member with the fewest partitions that subscribes to a
// partition's topic.
func leastLoaded(members []assignee, targets map[string]partitionSet, p idPartition) (string, bool) {
	chosen, found := "", false
	for _, m := range members {
		if _, ok := m.topics[p.topic]; ok && (!found || len(targets[m.id]) < len(targets[chosen])) {
			chosen, found = m.id, true
		}
	}
	return chosen, found
}

// moveOne moves one partition to a member with at least two fewer, if any is
// left to move.
func moveOne(members []assignee, targets map[string]partitionSet) bool {
	for _, m := range members {
		for _, p := range sortedPartitions(targets[m.id]) {
			to, _ := leastLoaded(members, targets, p)
			if len(targets[to])+1 < len(targets[m.id]) {
				delete(targets[m.id], p)
				targets[to][p] = true
				return true
			}
		}
	}
	return false
}
