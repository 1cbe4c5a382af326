package consumer

import (
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
)

// draft is a group with changes that are not written yet. Each record is taken
// into it at once, so that the next decision sees it; the group itself changes
// when the records are in the log.
type draft struct {
	*Group
	copied bool // the group is the draft's own
	shard.Changes
}

// emit adds a record.
func (d *draft) emit(r group.Record) {
	if !d.copied {
		d.Group, d.copied = d.Group.clone(), true
	}
	d.Records = append(d.Records, r)
	d.Group.Replay(r, 0)
}

// replace gives a static member's place and partitions to another id.
func (d *draft) replace(old *member, id string) *member {
	m := *old
	m.id, m.Epoch, m.Previous = id, group.JoinEpoch, group.JoinEpoch
	target := d.target[old.id]
	d.removeMember(old.id)
	d.emit(memberRecord(d.id, &m))
	d.emit(targetRecord(d.id, id, target))
	d.emit(currentRecord(d.id, &m))
	return &m
}

// removeMember emits the tombstones of a member.
func (d *draft) removeMember(id string) {
	d.emit(group.Record{Key: record.MemberKey(record.ConsumerCurrent, d.id, id)})
	d.emit(group.Record{Key: record.MemberKey(record.ConsumerTarget, d.id, id)})
	d.emit(group.Record{Key: record.MemberKey(record.ConsumerMember, d.id, id)})
}

// dropUnusedRegexes forgets regular expressions that nobody subscribes by.
func (d *draft) dropUnusedRegexes() {
	subscribers := d.regexSubscribers()
	for _, regex := range slices.Sorted(maps.Keys(d.regexes)) {
		if subscribers[regex] == 0 {
			d.emit(group.Record{Key: record.MemberKey(record.ConsumerRegex, d.id, regex)})
		}
	}
}
