package lag

import "slices"

// GroupState is what a group is doing on a partition, or on a topic as the
// first of its partitions' states (measurements.md 5).
type GroupState string

// The states, in the order in which the first that holds is the state.
const (
	// StateAhead: committed above the high watermark, second sweep.
	StateAhead GroupState = "ahead"
	// StateLost: committed below the log start, and still.
	StateLost GroupState = "lost"
	// StateInactive: no members, and no commit moved anywhere.
	StateInactive GroupState = "inactive"
	// StateBlocked: everything readable was read, and a transaction that stands
	// still holds the rest.
	StateBlocked GroupState = "blocked"
	// StateStopped: a record is there to read, and the commit stands still.
	StateStopped GroupState = "stopped"
	// StateUndetermined: something may be readable and the commit stands still,
	// but nobody could look; or it was not watched for long enough.
	StateUndetermined GroupState = "undetermined"
	// StateConsuming: something to read, and the commit moves.
	StateConsuming GroupState = "consuming"
	// StateCaughtUp: nothing to read.
	StateCaughtUp GroupState = "caught_up"
)

// GroupStates lists all states in their order.
func GroupStates() []GroupState {
	return []GroupState{
		StateAhead, StateLost, StateInactive, StateBlocked, StateStopped, StateUndetermined, StateConsuming, StateCaughtUp,
	}
}

// groupStateOrder is the order of the states.
var groupStateOrder = GroupStates()

// standing is what the state of a group on one partition depends on.
type standing struct {
	committed                           Offset
	logStart, lastStable, highWatermark Offset
	ahead                               bool // committed above the high watermark, second sweep
	still                               bool // the commit was watched not to move for the configured time
	waited                              bool // for as long there was something to read
	works                               bool // the commit was seen to move, or with nothing to read
	inactive                            bool // the whole group
	stalled                             bool // the last stable offset stands still below the high watermark
	readUncommitted                     bool // judged with the high watermark in place of the last stable offset
	found                               found
}

// found is what Fetches at the position of a group found up to the last stable
// offset.
type found struct {
	// committed and all count the records that were seen: those that a
	// read_committed consumer gets, and those of aborted transactions too.
	committed, all Count
	// whole says that the range was seen up to the last stable offset.
	whole bool
}

// position is where the group would read on.
func (s *standing) position() Offset { return max(s.committed, s.logStart) }

// nothingReadable says whether there is nothing for the group to read for
// certain.
func (s *standing) nothingReadable() bool {
	if s.readUncommitted {
		return s.position() >= s.highWatermark ||
			s.found.whole && s.found.all == 0 && s.lastStable == s.highWatermark
	}
	return s.position() >= s.lastStable || s.found.whole && s.found.committed == 0
}

// recordSeen says whether there is a record for the group to read for certain.
func (s *standing) recordSeen() bool {
	if s.readUncommitted {
		return s.found.all > 0
	}
	return s.found.committed > 0
}

// state is the first state that holds. Where nothing is readable, the states
// between blocked and caught_up cannot hold.
func (s *standing) state() GroupState {
	nothing := s.nothingReadable()
	switch {
	case s.ahead:
		return StateAhead
	case s.committed < s.logStart && s.still:
		return StateLost
	case s.inactive:
		return StateInactive
	case nothing && s.stalled && s.lastStable < s.highWatermark && !s.readUncommitted:
		return StateBlocked
	case nothing:
		return StateCaughtUp
	case s.waited && s.recordSeen():
		return StateStopped
	case s.waited, !s.works:
		return StateUndetermined
	default:
		return StateConsuming
	}
}

// firstState is the first of the states of a topic's partitions. It is empty if
// one is unknown that might come before those that are known, unless a known
// one is trouble in any case.
func firstState(rows []GroupPartitionView) GroupState {
	first, unknown := len(groupStateOrder), false
	for i := range rows {
		switch at := slices.Index(groupStateOrder, rows[i].State); {
		case at < 0:
			unknown = true
		case at < first:
			first = at
		}
	}
	if first == len(groupStateOrder) || unknown && first >= slices.Index(groupStateOrder, StateUndetermined) {
		return ""
	}
	return groupStateOrder[first]
}
