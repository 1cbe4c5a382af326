package streams

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

// task is what members of a streams group are assigned: one partition of a
// subtopology, to work on it or to keep a copy of its state.
type task struct {
	subtopology string
	partition   int32
	standby     bool
}

func (t task) compare(other task) int {
	return cmp.Or(cmp.Compare(t.subtopology, other.subtopology), cmp.Compare(t.partition, other.partition))
}

// byPartition compares partitions first.
func (t task) byPartition(other task) int {
	return cmp.Or(cmp.Compare(t.partition, other.partition), cmp.Compare(t.subtopology, other.subtopology))
}

// as is the same task, active or as a standby.
func (t task) as(standby bool) task {
	t.standby = standby
	return t
}

// only is the tasks that are active, or those that are standbys.
func only[V any](m map[task]V, standby bool) map[task]V {
	some := make(map[task]V)
	for t, v := range m {
		if t.standby == standby {
			some[t] = v
		}
	}
	return some
}

// sortedTasks is tasks in order of subtopology and number.
func sortedTasks[V any](m map[task]V) []task { return slices.SortedFunc(maps.Keys(m), task.compare) }

// ownedTasks is the tasks that a heartbeat names; nil if it does not.
func ownedTasks(req group.StreamsHeartbeatRequest) map[task]bool {
	if req.Active == nil {
		return nil
	}
	owned := make(map[task]bool)
	for standby, ids := range map[bool][]group.TaskIDs{false: req.Active, true: req.Standby} {
		for _, t := range ids {
			for _, n := range t.Partitions {
				owned[task{t.Subtopology, n, standby}] = true
			}
		}
	}
	return owned
}

// taskIDs is active tasks, or standbys, as heartbeats carry them.
func taskIDs[V any](tasks map[task]V, standby bool) []group.TaskIDs {
	ids := []group.TaskIDs{}
	for _, t := range sortedTasks(only(tasks, standby)) {
		if n := len(ids); n == 0 || ids[n-1].Subtopology != t.subtopology {
			ids = append(ids, group.TaskIDs{Subtopology: t.subtopology})
		}
		last := &ids[len(ids)-1]
		last.Partitions = append(last.Partitions, t.partition)
	}
	return ids
}
