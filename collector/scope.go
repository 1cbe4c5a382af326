package collector

import (
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/lag"
)

// This file limits a sweep to what is to be shown, before requests are made:
// to the partitions that members of a scope are assigned, or that its
// transactional ids write (idscope.go), and, where only lags need offsets, to
// the partitions on which groups have commits. It costs no request more: log
// starts are then read behind the commits, with the other offsets.

// narrow says whether the offsets of only some partitions are read, which the
// groups tell.
func (o *Options) narrow() bool {
	return o.scoped() || o.enabled(Groups) && !o.enabled(Offsets) && !o.enabled(Transactions)
}

// scoped says whether only some partitions are shown.
func (o *Options) scoped() bool { return o.Assigned != nil || o.TransactionalIDs != nil }

// keepAssigned drops the groups of which no member of the scope is assigned a
// partition, and notes which ones the others' are.
func (w *sweep) keepAssigned(r *stepOne) {
	r.own = make(map[string][]lag.TopicPartitions)
	r.groups = slices.DeleteFunc(r.groups, func(g lag.Group) bool {
		own := w.ownOf(&g)
		if len(own) == 0 {
			r.outside = append(r.outside, g.Name)
			return true
		}
		r.own[g.Name] = own
		return false
	})
}

// ownOf returns the partitions of a group that members of the scope are
// assigned, by topic and number. One on its way belongs to who is to get it.
// While it is not known who is assigned what, as between two stable states of a
// classic group, it is as it was: so each partition has one owner at any time.
func (w *sweep) ownOf(g *lag.Group) []lag.TopicPartitions {
	assignment, known := g.Assignment.Get()
	if !known {
		return w.known[g.Name].own
	}
	ours := make([]bool, len(g.MemberList))
	for i := range g.MemberList {
		ours[i] = w.options.Assigned(g.MemberList[i])
	}
	var own []lag.TopicPartitions
	for i := range assignment {
		t := lag.TopicPartitions{Topic: assignment[i].Topic}
		for _, p := range assignment[i].Partitions {
			member := p.Member
			if member < 0 {
				member = toMember(member)
			}
			if ours[member] {
				t.Partitions = append(t.Partitions, p.Partition)
			}
		}
		if len(t.Partitions) > 0 {
			own = append(own, t)
		}
	}
	return own
}

// owns says whether a partition is among those of a group.
func owns(own []lag.TopicPartitions, topic string, partition int32) bool {
	i, ok := slices.BinarySearchFunc(own, topic,
		func(t lag.TopicPartitions, name string) int { return strings.Compare(t.Topic, name) })
	return ok && slices.Contains(own[i].Partitions, partition)
}

// setNeeds finds out which partitions' offsets are needed, once step 1 is read.
func (w *sweep) setNeeds() {
	w.shown = make(map[int]bool)
	for i := range w.groups {
		g := &w.groups[i]
		for _, t := range w.own[g.Name] {
			for _, n := range t.Partitions {
				w.need(w.shown, t.Topic, n)
			}
		}
	}
	for at := range w.written {
		w.need(w.shown, at.topic, at.partition)
	}
	w.needed = make(map[int]bool)
	for place := range w.shown {
		w.needed[place] = true
	}
	for i := range w.groups {
		g := &w.groups[i]
		if n, ok := w.offsetsPartition(g.Name); ok && !w.options.NoPendingCommits {
			w.need(w.needed, offsetsTopic, n)
		}
		for _, t := range g.Commits {
			for _, c := range t.Partitions {
				w.need(w.needed, t.Topic, c.Partition)
			}
		}
	}
}

// need adds a partition to places, if it exists.
func (w *sweep) need(places map[int]bool, topic string, number int32) {
	if place, ok := w.layout.place(topic, number); ok {
		places[place] = true
	}
}

// needs says whether the offsets of a partition are needed.
func (w *sweep) needs(place int) bool { return w.needed == nil || w.needed[place] }

// plans are the requests for the offsets that are needed.
func (w *sweep) plans() map[int32]*plan {
	if !w.options.narrow() {
		return w.layout.plans
	}
	w.setNeeds()
	plans := w.layout.planFor(w.needs)
	for _, p := range plans {
		p.withLogStart = true
	}
	return plans
}

// topics are the topics of the sample: in a scope, those of which something is
// shown, with what is shown of them.
func (w *sweep) topics() []lag.Topic {
	all := w.layout.topicsOf(w.partitions)
	if !w.options.scoped() {
		return all
	}
	var topics []lag.Topic
	for i := range all {
		first := w.layout.topics[i].first
		var partitions []lag.Partition
		for k := range all[i].Partitions {
			if w.shown[first+k] {
				partitions = append(partitions, all[i].Partitions[k])
			}
		}
		if all[i].Partitions = partitions; len(partitions) > 0 {
			topics = append(topics, all[i])
		}
	}
	return topics
}
