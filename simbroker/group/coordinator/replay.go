package coordinator

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/classic"
	"github.com/lso-exporter/lso-exporter/simbroker/group/consumer"
	"github.com/lso-exporter/lso-exporter/simbroker/group/offsets"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/group/share"
	"github.com/lso-exporter/lso-exporter/simbroker/group/streams"
)

// replay takes one entry of the log into memory. What cannot be read changes
// nothing.
func replay(s *shard.Shard, e group.Entry) {
	if e.Marker {
		s.Offsets.ReplayMarker(e.Producer.ID, e.Commit, e.Offset)
		return
	}
	switch kind := record.KindOf(e.Key); kind {
	case record.OldOffset, record.Offset:
		replayOffset(s, e)
	case record.Classic:
		replayGroup(s, e)
	default:
		if owner, ok := record.OwnerOf(kind); ok {
			replayModern(s, owner, e.Record)
		}
	}
}

// replayOffset takes the record of a commit. A group that has no record of its
// own yet is a simple one.
func replayOffset(s *shard.Shard, e group.Entry) {
	k, known, err := record.DecodeKey(e.Key)
	if err != nil || !known {
		return
	}
	if e.Value == nil {
		s.Offsets.ReplayTombstone(k.Group, k.Partition, e.Offset)
		return
	}
	commit, known, err := offsets.Decode(e.Value)
	if err != nil || !known {
		return
	}
	commit.Record = e.Offset
	if s.Groups[k.Group] == nil {
		s.Groups[k.Group] = classic.New(k.Group, s.Now())
	}
	s.Offsets.ReplayCommit(k.Group, k.Partition, commit, e.Producer.ID)
}

// replayGroup takes the record of a classic group. Its tombstone ends a group
// of any kind.
func replayGroup(s *shard.Shard, e group.Entry) {
	k, known, err := record.DecodeKey(e.Key)
	if err != nil || !known {
		return
	}
	if e.Value == nil {
		if g, ok := s.Groups[k.Group].(*classic.Group); ok {
			g.Kill(s.Now())
		}
		delete(s.Groups, k.Group)
		return
	}
	if g, known, err := classic.Decode(k.Group, e.Value, s.Now()); err == nil && known {
		s.Groups[k.Group] = g
	}
}

// replayModern takes a record of a group of the newer protocols, which begins
// with the first one. It takes the place of a simple group, which has no record
// of its own.
func replayModern(s *shard.Shard, kind group.Kind, r group.Record) {
	k, err := record.DecodeModernKey(r.Key)
	if err != nil {
		return
	}
	g, ok := s.Groups[k.Group].(shard.Modern)
	ok = ok && g.Kind() == kind
	switch {
	case r.Value == nil && !ok:
		return
	case r.Value == nil && k.Kind == record.Endings[kind]:
		delete(s.Groups, k.Group)
		return
	case !ok:
		g = newModern(kind, k.Group)
		s.Groups[k.Group] = g
	}
	g.Replay(r, s.Now())
}

// newModern is a group that nobody has joined.
func newModern(kind group.Kind, id string) shard.Modern {
	switch kind {
	case group.Consumer:
		return consumer.New(id)
	case group.Share:
		return share.New(id)
	case group.Streams:
		return streams.New(id)
	}
	panic("group " + id + ": kind " + kind.String() + " has no records of its own protocol")
}
