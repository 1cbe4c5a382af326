package group

// replay takes one entry of the log into memory. What cannot be read changes
// nothing.
func replay(s *shard, e Entry) {
	if e.Marker {
		s.offsets.replayMarker(e.Producer.ID, e.Commit, e.Offset)
		return
	}
	switch kind := keyKind(e.Key); kind {
	case keyOldOffset, keyOffset:
		replayOffset(s, e)
	case keyGroup:
		replayGroup(s, e)
	default:
		if owner, ok := ownerOfKey(kind); ok {
			replayModern(s, owner, e.Record)
		}
	}
}

// replayOffset takes the record of a commit. A group that has no record of its
// own yet is a simple one.
func replayOffset(s *shard, e Entry) {
	k, known, err := decodeKey(e.Key)
	if err != nil || !known {
		return
	}
	if e.Value == nil {
		s.offsets.replayTombstone(k.group, k.partition, e.Offset)
		return
	}
	commit, known, err := decodeCommit(e.Value)
	if err != nil || !known {
		return
	}
	commit.record = e.Offset
	if s.groups[k.group] == nil {
		s.groups[k.group] = newClassic(k.group, s.now())
	}
	s.offsets.replayCommit(k.group, k.partition, commit, e.Producer.ID)
}

// replayGroup takes the record of a classic group. Its tombstone ends a group
// of any kind.
func replayGroup(s *shard, e Entry) {
	k, known, err := decodeKey(e.Key)
	if err != nil || !known {
		return
	}
	if e.Value == nil {
		if g, ok := s.groups[k.group].(*classic); ok {
			g.kill(s.now())
		}
		delete(s.groups, k.group)
		return
	}
	if g, known, err := decode(k.group, e.Value, s.now()); err == nil && known {
		s.groups[k.group] = g
	}
}

// replayModern takes a record of a group of the newer protocols, which begins
// with the first one. It takes the place of a simple group, which has no record
// of its own.
func replayModern(s *shard, kind Kind, r Record) {
	k, err := decodeModernKey(r.Key)
	if err != nil {
		return
	}
	g, ok := s.groups[k.group].(modern)
	ok = ok && g.kind() == kind
	switch {
	case r.Value == nil && !ok:
		return
	case r.Value == nil && k.kind == endingKeys[kind]:
		delete(s.groups, k.group)
		return
	case !ok:
		g = newModern(kind, k.group)
		s.groups[k.group] = g
	}
	g.replay(r, s.now())
}

// newModern is a group that nobody has joined.
func newModern(kind Kind, id string) modern {
	switch kind {
	case Consumer:
		return newConsumer(id)
	case Share:
		return newShare(id)
	case Streams:
		return newStreams(id)
	}
	panic("group " + id + ": kind " + kind.String() + " has no records of its own protocol")
}
