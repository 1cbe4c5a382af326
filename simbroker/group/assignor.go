package group

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// The server-side assignors, by Kafka's names.
const (
	uniformAssignor = "uniform" // of the consumer protocol
	rangeAssignor   = "range"   // of the consumer protocol
	simpleAssignor  = "simple"  // of share groups
)

// assignee is a member as an assignor sees it.
type assignee struct {
	id         string
	instanceID *string
	// topics is what the member subscribes to, with the number of partitions.
	topics map[kafka.TopicID]int32
	has    partitionSet // its present target
}

// topicSizes is the partition counts of topics by id; those that do not exist
// are left out.
func topicSizes(names []string, topics Topics) map[kafka.TopicID]int32 {
	sizes := make(map[kafka.TopicID]int32, len(names))
	for _, name := range names {
		if t, ok := topics.Topic(name); ok {
			sizes[t.ID] = t.Partitions
		}
	}
	return sizes
}

func sortedTopics(sizes map[kafka.TopicID]int32) []kafka.TopicID {
	return slices.SortedFunc(maps.Keys(sizes), func(a, b kafka.TopicID) int { return bytes.Compare(a[:], b[:]) })
}

// homogeneous says whether all members subscribe to the same topics.
func homogeneous(members []assignee) bool {
	return !slices.ContainsFunc(members, func(m assignee) bool { return !maps.Equal(m.topics, members[0].topics) })
}

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

// sortedKeys is the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
