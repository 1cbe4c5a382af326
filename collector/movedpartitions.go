package collector

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/lso-exporter/lso-exporter/lag"
)

// mayHaveMoved says whether Metadata may know better now about a partition for
// which a leader answered an error of this kind.
func mayHaveMoved(kind lag.MissKind) bool {
	return kind == lag.MissLeaderChanged || kind == lag.MissTopicGone || kind == lag.MissOffsetNotAvailable
}

// readMovedPartitions reads partitions whose leader changed in the sweep, or
// failed in it, again from step 2 on at their new leaders, as far as the
// sweep's budget goes. The commits stay: they were read before.
func (w *sweep) readMovedPartitions(ctx context.Context) {
	moved := w.movedPlaces()
	if len(moved) == 0 || !w.budget.has(4) || ctx.Err() != nil {
		return
	}
	w.budget.take()
	order := w.metadataOrder()
	if i := slices.Index(order, w.asked); i >= 0 { // it was wrong: after the others, before the seeds
		order = slices.Delete(order, i, i+1)
		seeds := slices.IndexFunc(order, func(id int32) bool { return id < 0 })
		if seeds < 0 {
			seeds = len(order)
		}
		order = slices.Insert(order, seeds, w.asked)
	}
	now, err := w.askLayout(ctx, order, w.layout, false)
	if err != nil || now.isBehind(w.layout) {
		return
	}
	fresh := make(map[int]bool)
	for _, place := range moved {
		if w.update(place, now) {
			fresh[place] = true
		}
	}
	if len(fresh) == 0 {
		return
	}
	w.layout.stale = true
	w.readPlans(ctx, w.affordable(w.layout.planFor(func(place int) bool { return fresh[place] }), fresh))
}

// movedPlaces returns the places of the partitions that may have moved.
func (w *sweep) movedPlaces() []int {
	var moved []int
	for place := range w.partitions {
		p := &w.partitions[place]
		code, refused := w.errors[place]
		if !w.needs(place) {
			continue
		}
		if refused && mayHaveMoved(missOfCode(code)) || p.Leader != lag.NoBroker && w.justFailed[int32(p.Leader)] {
			moved = append(moved, place)
		}
	}
	return moved
}

// update takes over a partition's leader from a newer layout, and says whether
// it is worth asking: a new leader, or the same one that was not ready.
func (w *sweep) update(place int, now *layout) bool {
	topic := w.layout.topicAt(place)
	there, ok := now.place(topic.name, w.partitions[place].Number)
	if !ok || now.topicAt(there).id != topic.id {
		return false
	}
	p, n := &w.partitions[place], &now.partitions[there]
	if _, listed := slices.BinarySearch(w.brokers, int32(n.Leader)); !listed || w.down[int32(n.Leader)] {
		return false
	}
	if n.Leader == p.Leader && n.LeaderEpoch == p.LeaderEpoch {
		err := kerr.ErrorForCode(w.errors[place])
		if err != kerr.OffsetNotAvailable && err != kerr.UnknownLeaderEpoch {
			return false
		}
	}
	p.Leader, p.LeaderEpoch, p.Replicas, p.InSync = n.Leader, n.LeaderEpoch, n.Replicas, n.InSync
	return true
}

// affordable returns the plans for which the budget is enough, those with the
// most partitions first, ready to be read: their partitions have lost their
// errors and every reading but the log start.
func (w *sweep) affordable(plans map[int32]*plan, fresh map[int]bool) map[int32]*plan {
	for place := range fresh {
		if p := &w.partitions[place]; !p.LogStart.OK() {
			plans[int32(p.Leader)].withLogStart = true
		}
	}
	leaders := slices.SortedFunc(maps.Keys(plans), func(a, b int32) int {
		return cmp.Or(plans[b].chunks[0].size-plans[a].chunks[0].size, cmp.Compare(a, b))
	})
	cost := 0
	for _, id := range leaders {
		n := len(w.stepsOf(id, plans[id]))
		if !w.budget.has(cost + n) {
			delete(plans, id)
			continue
		}
		cost += n
	}
	for place := range fresh {
		if p := &w.partitions[place]; plans[int32(p.Leader)] != nil {
			p.HighWatermark, p.LastStable, p.LogEnd = lag.Reading{}, lag.Reading{}, lag.Reading{}
			delete(w.errors, place)
		}
	}
	return plans
}

// topicAt returns the topic of a place.
func (l *layout) topicAt(place int) *topicLayout {
	i, _ := slices.BinarySearchFunc(l.topics, place, func(t topicLayout, place int) int {
		switch {
		case t.end <= place:
			return -1
		case t.first > place:
			return 1
		default:
			return 0
		}
	})
	return &l.topics[i]
}
