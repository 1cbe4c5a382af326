// Package shard is one partition of __consumer_offsets under its leader, as the
// protocols of groups use it: the groups and offsets in it, ways to write
// records and to wait until they are replicated, and timers by name. It knows
// groups by what all kinds have in common; how an entry of the log changes them
// is told by whoever makes a shard.
package shard

import (
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/offsets"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Shard is one partition of __consumer_offsets while this broker leads it
// under one epoch: its groups and offsets, what is written to its log, and what
// is waited for.
type Shard struct {
	*Broker
	Partition int32
	epoch     kafka.LeaderEpoch
	Loading   bool             // its log is being read
	gone      bool             // given up
	Groups    map[string]Group // by id
	Offsets   offsets.Table
	// replay takes one entry of the log into groups and offsets.
	replay  func(*Shard, group.Entry)
	end     kafka.Offset // of what was replayed
	waiting []*stableRead
	Timers  Timers
}

// stableRead is a read of stable offsets that waits until all that was written
// before it is replicated.
type stableRead struct {
	until  kafka.Offset
	answer func(error)
	timer  *clock.Timer // of its wait
}

// New is a partition of which nothing has been read yet.
func New(b *Broker, partition int32, epoch kafka.LeaderEpoch, replay func(*Shard, group.Entry)) *Shard {
	return &Shard{
		Broker: b, Partition: partition, epoch: epoch, Loading: true, replay: replay,
		Groups: make(map[string]Group), Offsets: offsets.New(), Timers: make(Timers),
	}
}

// Load reads the partition's log.
func (s *Shard) Load() {
	for e := range s.Env.Log.Entries(s.Partition) {
		s.take(e)
	}
	s.Loading = false
}

// take takes one entry of the log into memory.
func (s *Shard) take(e group.Entry) {
	s.end = e.Offset + 1
	s.replay(s, e)
}

// takeBatch takes a batch into memory that was appended.
func (s *Shard) takeBatch(b group.Batch, base kafka.Offset) {
	for i, r := range b.Records {
		s.take(group.Entry{Offset: base + kafka.Offset(i), Producer: b.Producer, Record: r})
	}
}

// GiveUp ends the shard: its groups leave memory, and who waits gets
// NOT_COORDINATOR.
func (s *Shard) GiveUp() {
	s.gone = true
	for _, g := range s.Sorted() {
		if g, ok := g.(mortal); ok {
			g.Kill(s.Now())
		}
	}
	s.Timers.stopAll()
	waiting := s.waiting
	s.waiting = nil
	for _, r := range waiting {
		r.timer.Stop()
		r.answer(kafka.ErrNotCoordinator)
	}
}

// Owned says whether the shard still counts.
func (s *Shard) Owned() bool { return !s.gone }

// Sorted is the shard's groups in the order of their ids.
func (s *Shard) Sorted() []Group {
	groups := make([]Group, 0, len(s.Groups))
	for _, id := range slices.Sorted(maps.Keys(s.Groups)) {
		groups = append(groups, s.Groups[id])
	}
	return groups
}

// Find is a group of a shard that must be of one kind.
func Find[G Group](s *Shard, id, kind string) (G, error) {
	var none G
	found, exists := s.Groups[id]
	g, ok := found.(G)
	switch {
	case !exists:
		return none, group.NotFound(id)
	case !ok:
		return none, group.NotA(kind, id)
	}
	return g, nil
}
