package lag

import "time"

// offsetsTopic keeps the commits of all groups.
const offsetsTopic = "__consumer_offsets"

// pendingMemory is what is remembered of a commit in a transaction that has not
// ended.
type pendingMemory struct {
	since time.Time
	// until is the high watermark of the group's partition of
	// __consumer_offsets when the commit was seen first: once its last stable
	// offset has come this far, a pending commit is another one.
	until Offset
	seen  uint64 // the last sweep that saw it
}

// judgePending fills in the group's pending commits, and since when they are
// there.
func (t *Tracker) judgePending(view *View, s *Sample, g *Group, v *GroupView) {
	m := t.groups[g.Name]
	pending, known := g.Pending.Get()
	if !known || m == nil {
		return // what is remembered stays
	}
	log := t.offsetsPartition(view, g)
	for i := range pending {
		for _, number := range pending[i].Partitions {
			key := topicPartition{pending[i].Topic, number}
			p, before := m.pending[key]
			if !before || log != nil && log.LastStable.known && log.LastStable.value >= p.until {
				p = pendingMemory{since: s.Ended}
				if log != nil {
					p.until = log.HighWatermark.value
				}
			}
			p.seen = t.sweeps
			if m.pending == nil {
				m.pending = make(map[topicPartition]pendingMemory)
			}
			m.pending[key] = p
			v.Pending = append(v.Pending, PendingCommit{key.topic, key.partition, s.Ended.Sub(p.since)})
		}
	}
	for key, p := range m.pending {
		if p.seen != t.sweeps {
			delete(m.pending, key)
		}
	}
	if len(m.pending) == 0 {
		m.pending = nil
	}
}

// offsetsPartition returns the partition that keeps the group's commits; nil if
// it is not known.
func (t *Tracker) offsetsPartition(view *View, g *Group) *PartitionView {
	number, known := g.OffsetsPartition.Get()
	topic := t.topic(view, offsetsTopic)
	if !known || topic == nil {
		return nil
	}
	return topic.partition(number)
}
