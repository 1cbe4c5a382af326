package group

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
)

// What a member of the newer protocols is waited for.
type timerKind int8

const (
	sessionTimer   timerKind = iota // its next heartbeat
	rebalanceTimer                  // its giving partitions up
	joinTimer                       // classic, in a group of the consumer protocol: its rejoining
	syncTimer                       // the same: its SyncGroup
	initialTimer                    // of a streams group, not of a member: the first assignment
	regexTimer                      // of a group: the resolution of its regular expressions
)

// memberTimer names a timer of a member. Timers are found by name, since
// members are values that come and go with their records.
type memberTimer struct {
	group  string
	member string
	kind   timerKind
}

// timers are what a shard waits for.
type timers map[memberTimer]*clock.Timer

// set takes the place of the timer of that name.
func (t timers) set(name memberTimer, timer *clock.Timer) {
	t.stop(name)
	t[name] = timer
}

// stop stops the timer of that name, if there is one.
func (t timers) stop(name memberTimer) {
	t[name].Stop()
	delete(t, name)
}

// stopMember stops waiting for a member.
func (t timers) stopMember(groupID, member string) {
	for kind := sessionTimer; kind <= syncTimer; kind++ {
		t.stop(memberTimer{groupID, member, kind})
	}
}

// stopAll ends all waiting.
func (t timers) stopAll() {
	for _, timer := range t {
		timer.Stop()
	}
}

// expulsionBackoff is the time until an expulsion is tried again that could not
// be written.
const expulsionBackoff = 500 * time.Millisecond
