package shard

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Write appends records and replays them; done gets the error as a client is
// to see it when they are replicated, or when they will not be.
func (s *Shard) Write(b group.Batch, done func(error)) {
	s.append(b, func(base kafka.Offset) { s.takeBatch(b, base) }, done)
}

// Persist appends the record of a classic group whose members are in memory
// already, and what stands before it.
func (s *Shard) Persist(records []group.Record, done func(error)) {
	s.append(s.Plain(records...), func(base kafka.Offset) { s.end = base + kafka.Offset(len(records)) }, done)
}

// Plain is a batch outside of any transaction.
func (s *Shard) Plain(records ...group.Record) group.Batch {
	return group.Batch{
		Producer: kafka.Producer{ID: kafka.NoProducerID, Epoch: kafka.NoProducerEpoch},
		Records:  records,
		Timeout:  s.Config.OffsetCommitTimeout,
	}
}

// append appends a batch, applies it, and only then lets the answer out, even
// if the log gave it at once.
func (s *Shard) append(b group.Batch, apply func(base kafka.Offset), done func(error)) {
	applied := false
	var early func()
	base, err := s.Env.Log.Append(s.Partition, b, func(err error) {
		answer := func() {
			done(CoordinatorError(err))
			s.wake()
		}
		if applied {
			answer()
		} else {
			early = answer
		}
	})
	if err != nil {
		done(CoordinatorError(err))
		return
	}
	apply(base)
	applied = true
	if early != nil {
		early()
	}
}

// Mark appends an end marker and ends what its producer had pending before it.
func (s *Shard) Mark(m group.Marker, done func(error)) {
	s.Env.Log.AppendMarker(s.Partition, m, func(at kafka.Offset, err error) {
		// A marker that was appended counts, even if its replication was not
		// waited for; a shard that came later has read it from the log.
		if at != kafka.NoOffset && s.Owned() {
			s.end = max(s.end, at+1)
			s.Offsets.ReplayMarker(m.Producer.ID, m.Commit, at)
		}
		done(err)
		s.wake()
	})
}

// Changes are records that are written together.
type Changes struct {
	Records []group.Record
	// Written, if not nil, is called when the records are in the log, replicated
	// or not.
	Written func()
}

// WriteChanges writes what was gathered; without anything it waits until what
// was written before is replicated, as the answer tells of it.
func (s *Shard) WriteChanges(w Changes, done func(error)) {
	if len(w.Records) == 0 {
		s.WhenReplicated(done)
		return
	}
	b := s.Plain(w.Records...)
	s.append(b, func(base kafka.Offset) {
		s.takeBatch(b, base)
		if w.Written != nil {
			w.Written()
		}
	}, done)
}

// Bury writes tombstones, if there are any.
func (s *Shard) Bury(tombstones []group.Record, done func(error)) {
	if len(tombstones) == 0 {
		done(nil)
		return
	}
	s.Write(s.Plain(tombstones...), done)
}

// Funeral is the tombstones of a group and of all that it has committed.
func (s *Shard) Funeral(id string, g Group) []group.Record {
	var tombstones []group.Record
	for _, tp := range s.Offsets.Present(id) {
		tombstones = append(tombstones, group.Record{Key: record.OffsetKey(id, tp)})
	}
	return append(tombstones, g.Tombstones()...)
}

// CoordinatorError is what a client is told of an error of the log.
func CoordinatorError(err error) error {
	switch err {
	case kafka.ErrUnknownTopicOrPartition, kafka.ErrNotEnoughReplicas, kafka.ErrRequestTimedOut:
		return kafka.ErrCoordinatorNotAvailable
	case kafka.ErrNotLeaderOrFollower, kafka.ErrKafkaStorageError:
		return kafka.ErrNotCoordinator
	case kafka.ErrMessageTooLarge, kafka.ErrRecordListTooLarge:
		return kafka.ErrUnknownServerError
	}
	return err
}
