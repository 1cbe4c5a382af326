package group

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// version is what a partition's committed offset became at some place in the
// log: by a commit's record, by a marker, or nil by a tombstone.
type version struct {
	from   kafka.Offset
	commit *commit
}

// pendingCommit is an offset of a transaction that has not ended.
type pendingCommit struct {
	producer kafka.ProducerID
	commit   commit
}

// slot is all that a group committed for one partition, in log order. The last
// version holds as soon as the high watermark has passed it; until then readers
// see an earlier one.
type slot struct {
	versions []version
	pending  []pendingCommit
}

// latest is the committed offset by the log's end, nil if there is none.
func (s *slot) latest() *commit {
	if len(s.versions) == 0 {
		return nil
	}
	return s.versions[len(s.versions)-1].commit
}

// exists says whether there is anything to delete.
func (s *slot) exists() bool { return s != nil && (s.latest() != nil || len(s.pending) > 0) }

// visible is the committed offset by the high watermark.
func (s *slot) visible(hwm kafka.Offset) *commit {
	for _, v := range slices.Backward(s.versions) {
		if v.from < hwm {
			return v.commit
		}
	}
	return nil
}

// forget drops versions that nobody can see any more.
func (s *slot) forget(hwm kafka.Offset) {
	for len(s.versions) > 1 && s.versions[1].from < hwm {
		s.versions = s.versions[1:]
	}
	if len(s.versions) == 1 && s.versions[0].commit == nil && s.versions[0].from < hwm {
		s.versions = nil
	}
}

// offsets is the committed and pending offsets of one partition of
// __consumer_offsets. It changes by replaying what the log says and by nothing
// else.
type offsets struct {
	groups map[string]map[kafka.TopicPartition]*slot
	// open finds the slots with pending commits of a producer.
	open map[kafka.ProducerID]map[*slot]bool
}

func newOffsets() offsets {
	return offsets{
		groups: make(map[string]map[kafka.TopicPartition]*slot),
		open:   make(map[kafka.ProducerID]map[*slot]bool),
	}
}

// get is the slot of a group's partition, nil if there is none.
func (o *offsets) get(groupID string, tp kafka.TopicPartition) *slot { return o.groups[groupID][tp] }

func (o *offsets) getOrAdd(groupID string, tp kafka.TopicPartition) *slot {
	slots := o.groups[groupID]
	if slots == nil {
		slots = make(map[kafka.TopicPartition]*slot)
		o.groups[groupID] = slots
	}
	s := slots[tp]
	if s == nil {
		s = new(slot)
		slots[tp] = s
	}
	return s
}

// replayCommit takes a commit's record: a plain one holds at once, one of a
// transaction when its marker comes (rule H5).
func (o *offsets) replayCommit(groupID string, tp kafka.TopicPartition, c commit, producer kafka.ProducerID) {
	s := o.getOrAdd(groupID, tp)
	if producer == kafka.NoProducerID {
		s.versions = append(s.versions, version{c.record, &c})
		return
	}
	s.pending = append(s.pending, pendingCommit{producer, c})
	if o.open[producer] == nil {
		o.open[producer] = make(map[*slot]bool)
	}
	o.open[producer][s] = true
}

// replayTombstone takes a tombstone, which ends pending commits too (rule H6).
func (o *offsets) replayTombstone(groupID string, tp kafka.TopicPartition, record kafka.Offset) {
	s := o.get(groupID, tp)
	if s == nil {
		return
	}
	for _, p := range s.pending {
		o.close(p.producer, s)
	}
	s.pending = nil
	if s.latest() != nil {
		s.versions = append(s.versions, version{record, nil})
	}
}

// replayMarker ends a producer's transaction at some place in the log: of what
// is pending before it, an abort drops all and a commit makes the last one
// hold, unless a later record has set the partition meanwhile (rule H6).
func (o *offsets) replayMarker(producer kafka.ProducerID, commits bool, at kafka.Offset) {
	for s := range o.open[producer] {
		var last *commit
		stays := false
		s.pending = slices.DeleteFunc(s.pending, func(p pendingCommit) bool {
			ends := p.producer == producer && p.commit.record < at
			if ends {
				last = &p.commit
			}
			stays = stays || p.producer == producer && !ends
			return ends
		})
		if commits && last != nil && (s.latest() == nil || last.record > s.latest().record) {
			s.versions = append(s.versions, version{at, last})
		}
		if !stays {
			o.close(producer, s)
		}
	}
}

// close says that a producer has nothing pending in a slot any more.
func (o *offsets) close(producer kafka.ProducerID, s *slot) {
	delete(o.open[producer], s)
	if len(o.open[producer]) == 0 {
		delete(o.open, producer)
	}
}

// tidy drops what a group no longer needs below the high watermark.
func (o *offsets) tidy(groupID string, hwm kafka.Offset) {
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

// partitions is the partitions for which a group has a slot, sorted.
func (o *offsets) partitions(groupID string) []kafka.TopicPartition {
	return slices.SortedFunc(maps.Keys(o.groups[groupID]), kafka.TopicPartition.Compare)
}

// present is the partitions for which a group has committed something by the
// log's end or has something pending, sorted.
func (o *offsets) present(groupID string) []kafka.TopicPartition {
	return slices.DeleteFunc(o.partitions(groupID), func(tp kafka.TopicPartition) bool { return !o.get(groupID, tp).exists() })
}

// sortedGroups is the groups with a slot, in the order of their ids.
func (o *offsets) sortedGroups() []string { return slices.SortedFunc(maps.Keys(o.groups), cmp.Compare) }

// belongs says whether anything in the slot is for a topic of this id, or does
// not know for which.
func (s *slot) belongs(id kafka.TopicID) bool {
	is := func(c *commit) bool { return c.topicID == kafka.TopicID{} || c.topicID == id }
	return s.latest() != nil && is(s.latest()) ||
		slices.ContainsFunc(s.pending, func(p pendingCommit) bool { return is(&p.commit) })
}
