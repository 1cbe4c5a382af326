package share

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
)

// fence takes a member out of a share group.
func (p Protocol) fence(d *draft, m *member) {
	for _, kind := range []int16{record.ShareCurrent, record.ShareTarget, record.ShareMember} {
		d.emit(group.Record{Key: record.MemberKey(kind, d.id, m.id)})
	}
	d.emit(epochRecord(d.id, d.epoch+1, assignment.Hash(d.allTopics(), p.Env.Topics)))
	p.Timers.StopMember(d.id, m.id)
}

// expel takes a member out whose session is over, if it is still there.
func (p Protocol) expel(groupID, memberID string) {
	g, ok := p.Groups[groupID].(*Group)
	if !ok || g.members[memberID] == nil || !p.Owned() {
		return
	}
	d := &draft{Group: g, now: p.Now()}
	p.fence(d, g.members[memberID])
	p.WriteChanges(d.Changes, func(err error) {
		if err != nil {
			p.expectMember(groupID, memberID, shard.ExpulsionBackoff) // unless it joins again
		}
	})
}

// expectMember lets a member's session end after a time, from now.
func (p Protocol) expectMember(groupID, memberID string, timeout time.Duration) {
	p.Timers.Set(shard.Timer{Group: groupID, Member: memberID, Kind: shard.SessionTimer}, p.Clock.After(timeout, func() { p.expel(groupID, memberID) }))
}

// Resume lets the sessions of a loaded group's members run.
func (p Protocol) Resume(g *Group) {
	for _, m := range g.sorted() {
		p.expectMember(g.id, m.id, p.Env.Settings(g.id).ShareSessionTimeout)
	}
}
