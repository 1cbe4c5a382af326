package streams

import (
	"bytes"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// draft is a streams group with changes that are not written yet. Each record is
// taken into it at once, so that the next decision sees it.
type draft struct {
	*Group
	copied bool
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

// draftGroup begins with the group as it is, or with a new one, which may take
// the place of a classic group without members.
func (p Protocol) draftGroup(id string, create bool) (*draft, error) {
	found := p.Groups[id]
	g, ok := found.(*Group)
	switch {
	case ok:
		return &draft{Group: g}, nil
	case found == nil && !create:
		return nil, group.Refuse(kafka.ErrGroupIDNotFound, "Streams group %s not found.", id)
	case found == nil:
		return &draft{Group: New(id), copied: true}, nil
	case create && found.Kind() == group.Classic && found.Listing().State == group.Empty:
		return &draft{Group: New(id), copied: true, Changes: shard.Changes{Records: found.Tombstones()}}, nil
	}
	return nil, group.NotA("streams", id)
}

// takeTopology takes a member's topology in if the group has none. It cannot be
// changed yet, in Kafka either.
func (d *draft) takeTopology(t *group.Topology) error {
	switch {
	case t == nil:
	case d.topology == nil:
		d.emit(topologyRecord(d.id, t))
	case d.topology.Epoch <= t.Epoch && !bytes.Equal(encodeTopology(t), encodeTopology(d.topology)):
		return group.Refuse(kafka.ErrInvalidRequest, "Topology updates are not supported yet.")
	}
	return nil
}
