package streams

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

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
func setOfTasks(ids []group.TaskIDs) map[task]bool {
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
func taskIDs(sorted []task) []group.TaskIDs {
	ids := []group.TaskIDs{}
	for _, t := range sorted {
		if n := len(ids); n == 0 || ids[n-1].Subtopology != t.subtopology {
			ids = append(ids, group.TaskIDs{Subtopology: t.subtopology})
		}
		last := &ids[len(ids)-1]
		last.Partitions = append(last.Partitions, t.partition)
	}
	return ids
}
