package shard

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
)

// TimerKind is what a member of the newer protocols is waited for.
type TimerKind int8

// The kinds of timers.
const (
	SessionTimer   TimerKind = iota // its next heartbeat
	RebalanceTimer                  // its giving partitions up
	JoinTimer                       // classic, in a group of the consumer protocol: its rejoining
	SyncTimer                       // the same: its SyncGroup
	InitialTimer                    // of a streams group, not of a member: the first assignment
	RegexTimer                      // of a group: the resolution of its regular expressions
)

// Timer names a timer of a member. Timers are found by name, since members are
// values that come and go with their records.
type Timer struct {
	Group  string
	Member string
	Kind   TimerKind
}

// Timers are what a shard waits for.
type Timers map[Timer]*clock.Timer

// Set takes the place of the timer of that name.
func (t Timers) Set(name Timer, timer *clock.Timer) {
	t.Stop(name)
	t[name] = timer
}

// Stop stops the timer of that name, if there is one.
func (t Timers) Stop(name Timer) {
	t[name].Stop()
	delete(t, name)
}

// StopMember stops waiting for a member.
func (t Timers) StopMember(groupID, member string) {
	for kind := SessionTimer; kind <= SyncTimer; kind++ {
		t.Stop(Timer{groupID, member, kind})
	}
}

// stopAll ends all waiting.
func (t Timers) stopAll() {
	for _, timer := range t {
		timer.Stop()
	}
}

// ExpulsionBackoff is the time until an expulsion is tried again that could not
// be written.
const ExpulsionBackoff = 500 * time.Millisecond
