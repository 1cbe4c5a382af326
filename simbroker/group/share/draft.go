package share

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// draft is a share group with changes that are not written yet. Each record is
// taken into it at once, so that the next decision sees it.
type draft struct {
	*Group
	copied bool
	now    int64
	shard.Changes
}

// emit adds a record.
func (d *draft) emit(r group.Record) {
	if !d.copied {
		d.Group, d.copied = d.Group.clone(), true
	}
	d.Records = append(d.Records, r)
	d.Group.Replay(r, d.now)
}

// draftGroup begins with the group as it is, or with a new one. No group of
// another kind becomes a share group.
func (p Protocol) draftGroup(id string, create bool) (*draft, error) {
	found, exists := p.Groups[id]
	g, ok := found.(*Group)
	switch {
	case ok:
		return &draft{Group: g, now: p.Now()}, nil
	case exists:
		return nil, group.NotA("share", id)
	case !create:
		return nil, group.Refuse(kafka.ErrGroupIDNotFound, "Share group %s not found.", id)
	}
	return &draft{Group: New(id), copied: true, now: p.Now()}, nil
}
