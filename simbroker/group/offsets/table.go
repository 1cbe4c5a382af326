// Package offsets is what groups have committed on one partition of
// __consumer_offsets, and what transactions have pending there, by the end of
// the log and by the high watermark (rules H4 to H7).
package offsets

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Table is the committed and pending offsets of one partition of
// __consumer_offsets. It changes by replaying what the log says and by nothing
// else.
type Table struct {
	groups map[string]map[kafka.TopicPartition]*Slot
	// open finds the slots with pending commits of a producer.
	open map[kafka.ProducerID]map[*Slot]bool
}

// New is a table of nothing.
func New() Table {
	return Table{
		groups: make(map[string]map[kafka.TopicPartition]*Slot),
		open:   make(map[kafka.ProducerID]map[*Slot]bool),
	}
}

// Get is the slot of a group's partition, nil if there is none.
func (o *Table) Get(groupID string, tp kafka.TopicPartition) *Slot { return o.groups[groupID][tp] }

func (o *Table) getOrAdd(groupID string, tp kafka.TopicPartition) *Slot {
	slots := o.groups[groupID]
	if slots == nil {
		slots = make(map[kafka.TopicPartition]*Slot)
		o.groups[groupID] = slots
	}
	s := slots[tp]
	if s == nil {
		s = new(Slot)
		slots[tp] = s
	}
	return s
}

// ReplayCommit takes a commit's record: a plain one holds at once, one of a
// transaction when its marker comes (rule H5).
func (o *Table) ReplayCommit(groupID string, tp kafka.TopicPartition, c Commit, producer kafka.ProducerID) {
	s := o.getOrAdd(groupID, tp)
	if producer == kafka.NoProducerID {
		s.versions = append(s.versions, version{c.Record, &c})
		return
	}
	s.pending = append(s.pending, pendingCommit{producer, c})
	if o.open[producer] == nil {
		o.open[producer] = make(map[*Slot]bool)
	}
	o.open[producer][s] = true
}

// ReplayTombstone takes a tombstone, which ends pending commits too (rule H6).
func (o *Table) ReplayTombstone(groupID string, tp kafka.TopicPartition, record kafka.Offset) {
	s := o.Get(groupID, tp)
	if s == nil {
		return
	}
	for _, p := range s.pending {
		o.close(p.producer, s)
	}
	s.pending = nil
	if s.Latest() != nil {
		s.versions = append(s.versions, version{record, nil})
	}
}

// ReplayMarker ends a producer's transaction at some place in the log: of what
// is pending before it, an abort drops all and a commit makes the last one
// hold, unless a later record has set the partition meanwhile (rule H6).
func (o *Table) ReplayMarker(producer kafka.ProducerID, commits bool, at kafka.Offset) {
	for s := range o.open[producer] {
		var last *Commit
		stays := false
		s.pending = slices.DeleteFunc(s.pending, func(p pendingCommit) bool {
			ends := p.producer == producer && p.commit.Record < at
			if ends {
				last = &p.commit
			}
			stays = stays || p.producer == producer && !ends
			return ends
		})
		if commits && last != nil && (s.Latest() == nil || last.Record > s.Latest().Record) {
			s.versions = append(s.versions, version{at, last})
		}
		if !stays {
			o.close(producer, s)
		}
	}
}

// close says that a producer has nothing pending in a slot any more.
func (o *Table) close(producer kafka.ProducerID, s *Slot) {
	delete(o.open[producer], s)
	if len(o.open[producer]) == 0 {
		delete(o.open, producer)
	}
}

// Tidy drops what a group no longer needs below the high watermark.
func (o *Table) Tidy(groupID string, hwm kafka.Offset) {
	slots := o.groups[groupID]
	for tp, s := range slots {
		s.forget(hwm)
		if len(s.versions) == 0 && len(s.pending) == 0 {
			delete(slots, tp)
		}
	}
	if len(slots) == 0 {
		delete(o.groups, groupID)
	}
}

// Partitions is the partitions for which a group has a slot, sorted.
func (o *Table) Partitions(groupID string) []kafka.TopicPartition {
	return slices.SortedFunc(maps.Keys(o.groups[groupID]), kafka.TopicPartition.Compare)
}

// Present is the partitions for which a group has committed something by the
// log's end or has something pending, sorted.
func (o *Table) Present(groupID string) []kafka.TopicPartition {
	return slices.DeleteFunc(o.Partitions(groupID), func(tp kafka.TopicPartition) bool { return !o.Get(groupID, tp).Exists() })
}

// SortedGroups is the groups with a slot, in the order of their ids.
func (o *Table) SortedGroups() []string { return slices.SortedFunc(maps.Keys(o.groups), cmp.Compare) }
