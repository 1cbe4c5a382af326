package group

import (
	"bytes"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// streamsDraft is a streams group with changes that are not written yet; see
// consumerDraft.
type streamsDraft struct {
	*streams
	copied bool
	changes
}

func (d *streamsDraft) emit(r Record) {
	if !d.copied {
		d.streams, d.copied = d.streams.clone(), true
	}
	d.records = append(d.records, r)
	d.streams.replay(r, 0)
}

// draftStreams begins with the group as it is, or with a new one, which may take
// the place of a classic group without members.
func (c streamsGroups) draftStreams(id string, create bool) (*streamsDraft, error) {
	found := c.groups[id]
	g, ok := found.(*streams)
	switch {
	case ok:
		return &streamsDraft{streams: g}, nil
	case found == nil && !create:
		return nil, refuse(kafka.ErrGroupIDNotFound, "Streams group %s not found.", id)
	case found == nil:
		return &streamsDraft{streams: newStreams(id), copied: true}, nil
	case create && found.kind() == Classic && found.listing().State == Empty:
		return &streamsDraft{streams: newStreams(id), copied: true, changes: changes{records: found.tombstones()}}, nil
	}
	return nil, notA("streams", id)
}

// takeTopology takes a member's topology in if the group has none. It cannot be
// changed yet, in Kafka either.
func (d *streamsDraft) takeTopology(t *Topology) error {
	switch {
	case t == nil:
	case d.topology == nil:
		d.emit(streamsTopologyRecord(d.id, t))
	case d.topology.Epoch <= t.Epoch && !bytes.Equal(encodeTopology(t), encodeTopology(d.topology)):
		return refuse(kafka.ErrInvalidRequest, "Topology updates are not supported yet.")
	}
	return nil
}
