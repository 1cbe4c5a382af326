package group

import "github.com/lso-exporter/lso-exporter/simbroker/clock"

// What a member of the newer protocols is waited for.
type timerKind int8

const (
	sessionTimer   timerKind = iota // its next heartbeat
	rebalanceTimer                  // its giving partitions up
	joinTimer                       // classic, in a group of the consumer protocol: its rejoining
	syncTimer                       // the same: its SyncGroup
	initialTimer                    // of a streams group, not of a member: the first assignment
)

// memberTimer names a timer of a member. Timers are found by name, since
// members are values that come and go with their records.
type memberTimer struct {
	group  string
	member string
	kind   timerKind
}

// setTimer takes the place of the timer of that name.
func (s *shard) setTimer(name memberTimer, t *clock.Timer) {
	s.stopTimer(name)
	s.timers[name] = t
}

func (s *shard) stopTimer(name memberTimer) {
	s.timers[name].Stop()
	delete(s.timers, name)
}

// stopTimers stops waiting for a member.
func (s *shard) stopTimers(group, member string) {
	for kind := sessionTimer; kind <= syncTimer; kind++ {
		s.stopTimer(memberTimer{group, member, kind})
	}
}
