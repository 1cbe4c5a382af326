package group

import (
	"maps"
	"slices"
)

// consumerDraft is a group with changes that are not written yet. Each record
// is taken into it at once, so that the next decision sees it; the group itself
// changes when the records are in the log.
type consumerDraft struct {
	*consumer
	copied bool // the group is the draft's own
	changes
}

// emit adds a record.
func (d *consumerDraft) emit(r Record) {
	if !d.copied {
		d.consumer, d.copied = d.consumer.clone(), true
	}
	d.records = append(d.records, r)
	d.consumer.replay(r, 0)
}

// replace gives a static member's place and partitions to another id.
func (d *consumerDraft) replace(old *consumerMember, id string) *consumerMember {
	m := *old
	m.id, m.epoch, m.previous = id, joinEpoch, joinEpoch
	target := d.target[old.id]
	d.removeMember(old.id)
	d.emit(consumerMemberRecord(d.id, &m))
	d.emit(consumerTargetRecord(d.id, id, target))
	d.emit(currentAssignmentRecord(d.id, &m))
	return &m
}

// removeMember emits the tombstones of a member.
func (d *consumerDraft) removeMember(id string) {
	d.emit(Record{Key: encodeMemberKey(keyCurrentAssignment, d.id, id)})
	d.emit(Record{Key: encodeMemberKey(keyTargetMember, d.id, id)})
	d.emit(Record{Key: encodeMemberKey(keyConsumerMember, d.id, id)})
}

// dropUnusedRegexes forgets regular expressions that nobody subscribes by.
func (d *consumerDraft) dropUnusedRegexes() {
	subscribers := d.regexSubscribers()
	for _, regex := range slices.Sorted(maps.Keys(d.regexes)) {
		if subscribers[regex] == 0 {
			d.emit(Record{Key: encodeMemberKey(keyConsumerRegex, d.id, regex)})
		}
	}
}
