package group

import (
	"cmp"
	"maps"
	"slices"
)

// assignTasks spreads tasks evenly over members and moves as few as it can.
func assignTasks(members []*streamsMember, has map[string]map[task]bool, tasks map[task]bool) map[string]map[task]bool {
	targets := make(map[string]map[task]bool)
	free := make(map[task]bool)
	for t := range tasks {
		free[t] = true
	}
	quota, extra := len(tasks)/max(len(members), 1), len(tasks)%max(len(members), 1)
	for _, m := range members {
		targets[m.id] = make(map[task]bool)
		limit := quota
		if extra > 0 && len(has[m.id]) > quota {
			limit++
			extra--
		}
		for _, t := range sortedTasks(has[m.id]) {
			if free[t] && len(targets[m.id]) < limit {
				targets[m.id][t] = true
				delete(free, t)
			}
		}
	}
	for _, t := range sortedTasks(free) {
		to := members[0]
		for _, m := range members {
			if len(targets[m.id]) < len(targets[to.id]) {
				to = m
			}
		}
		targets[to.id][t] = true
	}
	return targets
}

// task is what members of a streams group are assigned: one partition of a
// subtopology.
type task struct {
	subtopology string
	partition   int32
}

func (t task) compare(other task) int {
	return cmp.Or(cmp.Compare(t.subtopology, other.subtopology), cmp.Compare(t.partition, other.partition))
}

// sortedTasks is tasks in order of subtopology and number.
func sortedTasks[V any](m map[task]V) []task { return slices.SortedFunc(maps.Keys(m), task.compare) }

// setOfTasks is the tasks of a heartbeat; nil stays nil.
func setOfTasks(ids []TaskIDs) map[task]bool {
	if ids == nil {
		return nil
	}
	s := make(map[task]bool)
	for _, t := range ids {
		for _, n := range t.Partitions {
			s[task{t.Subtopology, n}] = true
		}
	}
	return s
}

// taskIDs is sorted tasks as heartbeats carry them.
func taskIDs(sorted []task) []TaskIDs {
	ids := []TaskIDs{}
	for _, t := range sorted {
		if n := len(ids); n == 0 || ids[n-1].Subtopology != t.subtopology {
			ids = append(ids, TaskIDs{Subtopology: t.subtopology})
		}
		last := &ids[len(ids)-1]
		last.Partitions = append(last.Partitions, t.partition)
	}
	return ids
}
