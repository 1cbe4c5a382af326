package group

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// write appends records and replays them; done gets the error as a client is
// to see it when they are replicated, or when they will not be.
func (s *shard) write(b Batch, done func(error)) {
	s.append(b, func(base kafka.Offset) { s.takeBatch(b, base) }, done)
}

// persist appends the record of a classic group whose members are in memory
// already, and what stands before it.
func (s *shard) persist(records []Record, done func(error)) {
	s.append(s.plain(records...), func(base kafka.Offset) { s.end = base + kafka.Offset(len(records)) }, done)
}

// plain is a batch outside of any transaction.
func (s *shard) plain(records ...Record) Batch {
	return Batch{
		Producer: kafka.Producer{ID: kafka.NoProducerID, Epoch: kafka.NoProducerEpoch},
		Records:  records,
		Timeout:  s.cfg.OffsetCommitTimeout,
	}
}

// append appends a batch, applies it, and only then lets the answer out, even
// if the log gave it at once.
func (s *shard) append(b Batch, apply func(base kafka.Offset), done func(error)) {
	applied := false
	var early func()
	base, err := s.env.Log.Append(s.partition, b, func(err error) {
		answer := func() {
			done(coordinatorError(err))
			s.wake()
		}
		if applied {
			answer()
		} else {
			early = answer
		}
	})
	if err != nil {
		done(coordinatorError(err))
		return
	}
	apply(base)
	applied = true
	if early != nil {
		early()
	}
}

// changes are records that are written together.
type changes struct {
	records []Record
	// written, if not nil, is called when the records are in the log, replicated
	// or not.
	written func()
}

// writeChanges writes what was gathered; without anything it waits until what
// was written before is replicated, as the answer tells of it.
func (s *shard) writeChanges(w changes, done func(error)) {
	if len(w.records) == 0 {
		s.whenReplicated(done)
		return
	}
	b := s.plain(w.records...)
	s.append(b, func(base kafka.Offset) {
		s.takeBatch(b, base)
		if w.written != nil {
			w.written()
		}
	}, done)
}

// bury writes tombstones, if there are any.
func (s *shard) bury(tombstones []Record, done func(error)) {
	if len(tombstones) == 0 {
		done(nil)
		return
	}
	s.write(s.plain(tombstones...), done)
}

// funeral is the tombstones of a group and of all that it has committed.
func (s *shard) funeral(id string, g group) []Record {
	var tombstones []Record
	for _, tp := range s.offsets.present(id) {
		tombstones = append(tombstones, Record{Key: encodeOffsetKey(id, tp)})
	}
	return append(tombstones, g.tombstones()...)
}

// coordinatorError is what a client is told of an error of the log.
func coordinatorError(err error) error {
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
