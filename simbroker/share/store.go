package share

import (
	"bytes"
	"cmp"
	"maps"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Key names a partition that a group shares.
type Key struct {
	Group     string
	TopicID   kafka.TopicID
	Partition int32
}

func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Group, other.Group), bytes.Compare(k.TopicID[:], other.TopicID[:]), cmp.Compare(k.Partition, other.Partition))
}

// RecordState is what has become of a record in flight, by Kafka's numbers.
type RecordState int8

// The states of records in flight.
const (
	Available    RecordState = 0
	Acquired     RecordState = 1
	Acknowledged RecordState = 2
	Archived     RecordState = 4 // given up: rejected, a gap, aborted, or delivered too often
)

// terminal says whether nobody will get the record any more.
func (s RecordState) terminal() bool { return s == Acknowledged || s == Archived }

// Record is a record in flight as it is kept; an acquired one is not.
type Record struct {
	State      RecordState
	Deliveries int
}

// State is what is kept of a partition that a group shares.
type State struct {
	// Start is where what is not done with begins, NoOffset before anything was
	// written.
	Start kafka.Offset
	// Complete is how many records from Start on are acknowledged or archived, -1
	// before anything was written.
	Complete int
	// Epoch is the group's when the state was set up.
	Epoch int32
	// LeaderEpoch is that of the last leader who read it.
	LeaderEpoch kafka.LeaderEpoch
	// Records are those in flight whose state was written.
	Records map[kafka.Offset]Record
}

// nothing is the state of a partition for which none is set up.
var nothing = State{Start: kafka.NoOffset, Complete: -1}

// Store keeps the states of a cluster, whatever becomes of its brokers.
type Store struct {
	states map[Key]State
}

// NewStore returns an empty store.
func NewStore() *Store { return &Store{states: make(map[Key]State)} }

// Initialize sets a partition up, or anew, for a group of an epoch, to begin at
// an offset, or with NoOffset where the group's setting says. Errors:
// FENCED_STATE_EPOCH if that was done for a later one.
func (s *Store) Initialize(k Key, epoch int32, start kafka.Offset) error {
	if known, ok := s.states[k]; ok && known.Epoch > epoch {
		return kafka.ErrFencedStateEpoch
	}
	fresh := nothing
	fresh.Epoch, fresh.Records = epoch, make(map[kafka.Offset]Record)
	if start != kafka.NoOffset {
		fresh.Start, fresh.Complete = start, 0
	}
	s.states[k] = fresh
	return nil
}

// load is the state for a leader, which from now on keeps earlier ones from
// writing.
func (s *Store) load(k Key, leader kafka.LeaderEpoch) (State, error) {
	state, ok := s.states[k]
	switch {
	case !ok:
		return nothing, refuse(kafka.ErrUnknownServerError, "Read operation on uninitialized share partition not allowed.")
	case state.LeaderEpoch > leader:
		return nothing, kafka.ErrFencedLeaderEpoch
	}
	state.LeaderEpoch = leader
	s.states[k] = state
	state.Records = maps.Clone(state.Records)
	return state, nil
}

// save lays what a leader says over the state.
func (s *Store) save(k Key, said State) error {
	state, ok := s.states[k]
	switch {
	case !ok:
		return refuse(kafka.ErrUnknownServerError, "Write operation on uninitialized share partition not allowed.")
	case state.LeaderEpoch > said.LeaderEpoch:
		return kafka.ErrFencedLeaderEpoch
	case state.Epoch > said.Epoch:
		return kafka.ErrFencedStateEpoch
	}
	state.Start, state.Complete = said.Start, said.Complete
	maps.Copy(state.Records, said.Records)
	maps.DeleteFunc(state.Records, func(o kafka.Offset, _ Record) bool { return o < said.Start })
	s.states[k] = state
	return nil
}

// Summary is the state of a partition without its records; one that is not set
// up has start offset and count -1.
func (s *Store) Summary(k Key) State {
	state, ok := s.states[k]
	if !ok {
		return nothing
	}
	state.Records = nil
	return state
}

// DeleteGroup forgets a group.
func (s *Store) DeleteGroup(group string) {
	maps.DeleteFunc(s.states, func(k Key, _ State) bool { return k.Group == group })
}

// DeleteGroupTopic forgets a topic of one group.
func (s *Store) DeleteGroupTopic(group string, id kafka.TopicID) {
	maps.DeleteFunc(s.states, func(k Key, _ State) bool { return k.Group == group && k.TopicID == id })
}

// DeleteTopic forgets a topic.
func (s *Store) DeleteTopic(id kafka.TopicID) {
	maps.DeleteFunc(s.states, func(k Key, _ State) bool { return k.TopicID == id })
}
