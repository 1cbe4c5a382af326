package assignment

import (
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// homogeneous says whether all members subscribe to the same topics.
func homogeneous(members []Assignee) bool {
	return !slices.ContainsFunc(members, func(m Assignee) bool { return !maps.Equal(m.Topics, members[0].Topics) })
}

// Uniform spreads all partitions evenly and moves as few as it can. Where
// members subscribe to different topics Kafka's own goes other ways to a spread
// that is as even.
func Uniform(members []Assignee) map[string]Set {
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
func keepTargets(members []Assignee) map[string]Set {
	targets := make(map[string]Set)
	taken := make(Set)
	for _, m := range members {
		keeps := make(Set)
		for p := range m.Has {
			if p.Number < m.Topics[p.Topic] && !taken[p] {
				keeps[p], taken[p] = true, true
			}
		}
		targets[m.ID] = keeps
	}
	return targets
}

// trimToQuota takes from each member what is beyond its fair share; of those
// that have more, the first ones keep one more if the shares are uneven.
func trimToQuota(members []Assignee, targets map[string]Set) {
	total := 0
	for _, size := range members[0].Topics {
		total += int(size)
	}
	quota, extra := total/len(members), total%len(members)
	for _, m := range members {
		limit := quota
		if extra > 0 && len(targets[m.ID]) > quota {
			limit++
			extra--
		}
		for i, p := range Sorted(targets[m.ID]) {
			if i >= limit {
				delete(targets[m.ID], p)
			}
		}
	}
}

// unassigned is the partitions of all topics that nobody has, in order.
func unassigned(members []Assignee, targets map[string]Set) []Partition {
	taken, all := make(Set), make(map[kafka.TopicID]int32)
	for _, m := range members {
		maps.Copy(all, m.Topics)
		maps.Copy(taken, targets[m.ID])
	}
	var free []Partition
	for _, topic := range sortedTopics(all) {
		for n := range all[topic] {
			if p := (Partition{topic, n}); !taken[p] {
				free = append(free, p)
			}
		}
	}
	return free
}

// leastLoaded is the member with the fewest partitions that subscribes to a
// partition's topic.
func leastLoaded(members []Assignee, targets map[string]Set, p Partition) (string, bool) {
	chosen, found := "", false
	for _, m := range members {
		if _, ok := m.Topics[p.Topic]; ok && (!found || len(targets[m.ID]) < len(targets[chosen])) {
			chosen, found = m.ID, true
		}
	}
	return chosen, found
}

// moveOne moves one partition to a member with at least two fewer, if any is
// left to move.
func moveOne(members []Assignee, targets map[string]Set) bool {
	for _, m := range members {
		for _, p := range Sorted(targets[m.ID]) {
			to, _ := leastLoaded(members, targets, p)
			if len(targets[to])+1 < len(targets[m.ID]) {
				delete(targets[m.ID], p)
				targets[to][p] = true
				return true
			}
		}
	}
	return false
}
