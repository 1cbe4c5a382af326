package streams

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
)

// fence takes a member out of a streams group.
func (p Protocol) fence(d *draft, m *member) {
	for _, kind := range []int16{record.StreamsCurrent, record.StreamsTarget, record.StreamsMember} {
		d.emit(group.Record{Key: record.MemberKey(kind, d.id, m.id)})
	}
	d.emit(epochRecord(d.Group, d.epoch+1, d.metadataHash, d.validated, d.standbys))
	p.Timers.StopMember(d.id, m.id)
}

// expel takes a member out whose time is up, if it is still there.
func (p Protocol) expel(groupID, memberID string) {
	g, ok := p.Groups[groupID].(*Group)
	if !ok || g.members[memberID] == nil || !p.Owned() {
		return
	}
	d := &draft{Group: g}
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

// expectRevocation takes a member out that does not give tasks up in time.
func (p Protocol) expectRevocation(groupID string, m *member) {
	p.Timers.Set(shard.Timer{Group: groupID, Member: m.id, Kind: shard.RebalanceTimer}, p.Clock.After(m.rebalanceTimeout, func() {
		g, ok := p.Groups[groupID].(*Group)
		if ok && g.members[m.id] != nil && g.members[m.id].Epoch == m.Epoch {
			p.expel(groupID, m.id)
		}
	}))
}

// Resume lets the sessions of a loaded group's members run.
func (p Protocol) Resume(g *Group) {
	for _, m := range g.sorted() {
		p.expectMember(g.id, m.id, p.Env.Settings(g.id).StreamsSessionTimeout)
		if m.State == assignment.Unrevoked {
			p.expectRevocation(g.id, m)
		}
	}
}
