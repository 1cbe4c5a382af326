package group

import (
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// shard is one partition of __consumer_offsets while this broker leads it
// under one epoch: its groups and offsets, what is written to its log, and what
// is waited for.
type shard struct {
	*broker
	partition int32
	epoch     kafka.LeaderEpoch
	loading   bool
	gone      bool // given up
	groups    map[string]group
	offsets   offsets
	// replay takes one entry of the log into groups and offsets.
	replay  func(*shard, Entry)
	end     kafka.Offset // of what was replayed
	waiting []*stableRead
	timers  timers
}

// stableRead is a read of stable offsets that waits until all that was written
// before it is replicated.
type stableRead struct {
	until  kafka.Offset
	answer func(error)
}

// newShard is a partition of which nothing has been read yet.
func newShard(b *broker, partition int32, epoch kafka.LeaderEpoch, replay func(*shard, Entry)) *shard {
	return &shard{
		broker: b, partition: partition, epoch: epoch, loading: true, replay: replay,
		groups: make(map[string]group), offsets: newOffsets(), timers: make(timers),
	}
}

// load reads the partition's log.
func (s *shard) load() {
	for e := range s.env.Log.Entries(s.partition) {
		s.take(e)
	}
	s.loading = false
}

// take takes one entry of the log into memory.
func (s *shard) take(e Entry) {
	s.end = e.Offset + 1
	s.replay(s, e)
}

// takeBatch takes a batch into memory that was appended.
func (s *shard) takeBatch(b Batch, base kafka.Offset) {
	for i, r := range b.Records {
		s.take(Entry{Offset: base + kafka.Offset(i), Producer: b.Producer, Record: r})
	}
}

// giveUp ends the shard: its groups leave memory, and who waits gets
// NOT_COORDINATOR.
func (s *shard) giveUp() {
	s.gone = true
	for _, g := range s.sorted() {
		if g, ok := g.(mortal); ok {
			g.kill(s.now())
		}
	}
	s.timers.stopAll()
	waiting := s.waiting
	s.waiting = nil
	for _, r := range waiting {
		r.answer(kafka.ErrNotCoordinator)
	}
}

// owned says whether the shard still counts.
func (s *shard) owned() bool { return !s.gone }

// sorted is the shard's groups in the order of their ids.
func (s *shard) sorted() []group {
	groups := make([]group, 0, len(s.groups))
	for _, id := range slices.Sorted(maps.Keys(s.groups)) {
		groups = append(groups, s.groups[id])
	}
	return groups
}

// findKind is a group of a shard that must be of one kind.
func findKind[G group](s *shard, id, kind string) (G, error) {
	var none G
	found, exists := s.groups[id]
	g, ok := found.(G)
	switch {
	case !exists:
		return none, notFound(id)
	case !ok:
		return none, notA(kind, id)
	}
	return g, nil
}
