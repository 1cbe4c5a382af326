package replica

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// partition is one hosted replica.
type partition struct {
	broker *Broker
	state  PartitionState // the newest that was applied since the start
	role   Role           // NotHosted after a restart until metadata comes
	log    *commitlog.Log

	leadership *leadership // of leaders
	fetcher    *fetcher    // of followers that have somebody to follow
	retryAtMs  int64       // when a follower asks again after an error
	isUnsaved  bool        // stands in the broker's unsaved
	isBehind   bool        // stands in the broker's behind

	fetches  []fetchWait
	followed []*followed // in the sessions of followers
	acks     []*ackWait
	deletes  []*deleteWait
}

// apply moves to a state that names this broker among the replicas.
func (p *partition) apply(state PartitionState) {
	p.log.Configure(&state.Config.Log)
	if p.role != NotHosted && state.PartitionEpoch < p.state.PartitionEpoch {
		p.state.Config = state.Config
		return
	}
	old, oldRole := p.state, p.role
	p.state = state
	if state.Leader == p.broker.id {
		p.lead(old, oldRole)
	} else {
		p.follow(old, oldRole)
	}
	if p.role != oldRole || state.LeaderEpoch != old.LeaderEpoch {
		p.tellRole()
	}
}

func (p *partition) tellRole() {
	if told := p.broker.deps.RoleChanged; told != nil {
		told(RoleChange{p.state.Partition, p.role, p.state.LeaderEpoch})
	}
}

// lead becomes the leader, or goes on being it with other replicas or another
// ISR (rule F5).
func (p *partition) lead(old PartitionState, oldRole Role) {
	p.stopFetching()
	p.role = Leader
	switch {
	case oldRole != Leader:
		p.leadership = newLeadership(p, true)
	case p.state.LeaderEpoch > old.LeaderEpoch:
		p.leadership.renew(p)
	default:
		p.leadership.keepReplicas(p)
	}
	if p.state.PartitionEpoch > old.PartitionEpoch {
		p.leadership.proposed = nil
	}
	for _, fp := range p.followed {
		fp.lookOutside()
	}
	p.mayBeBehind()
	p.advanceHighWatermark()
	p.wakeAll()
}

// follow becomes a follower, of nobody while there is no leader.
func (p *partition) follow(old PartitionState, oldRole Role) {
	p.role = Follower
	p.leadership = nil
	same := oldRole == Follower && p.state.Leader == old.Leader && p.state.LeaderEpoch == old.LeaderEpoch
	if !same {
		p.stopFetching()
		p.retryAtMs = 0
		if p.state.Leader != kafka.NoBroker {
			p.broker.fetcherOf(p.state.Leader).add(p)
		}
	}
	p.wakeAll()
}

// leave stops hosting the partition.
func (p *partition) leave() {
	p.stopFetching()
	told := p.role != NotHosted
	p.role, p.leadership = NotHosted, nil
	p.wakeAll()
	for _, fp := range slices.Clone(p.followed) {
		fp.leave()
	}
	if told {
		p.tellRole()
	}
}

// restart forgets what a process forgets.
func (p *partition) restart(clean bool) {
	p.role, p.leadership, p.fetcher, p.retryAtMs = NotHosted, nil, nil, 0
	p.isUnsaved, p.isBehind = false, false
	p.fetches, p.followed, p.acks, p.deletes = nil, nil, nil, nil
	p.log.Recover(clean, p.broker.nowMs())
}

func (p *partition) stopFetching() {
	if p.fetcher != nil {
		p.fetcher.remove(p)
	}
}

// appended follows an append by the leader: alone in the ISR, it is the high
// watermark too.
func (p *partition) appended() {
	p.mayBeBehind()
	p.advanceHighWatermark()
	p.wakeFetches()
}

// retain applies retention on this replica, as each does for itself.
func (p *partition) retain() {
	if p.role != NotHosted && p.log.DeleteOldSegments(p.broker.nowMs()) > 0 {
		p.wakeDeletes()
		p.wakeFollowers()
	}
}

// watermarkMoved has the next checkpoint write the high watermark.
func (p *partition) watermarkMoved() {
	if !p.isUnsaved {
		p.isUnsaved = true
		p.broker.unsaved = append(p.broker.unsaved, p)
	}
}

// compact cleans the log of a compacted topic, as each replica does for itself.
func (p *partition) compact() {
	if p.role != NotHosted && p.state.Config.Log.Compact {
		p.log.Compact(p.broker.nowMs())
	}
}

// checkEpoch compares the leader epoch that a client knows with ours (rule E4);
// -1 is none.
func (p *partition) checkEpoch(known kafka.LeaderEpoch) error {
	switch {
	case known == -1:
		return nil
	case known < p.state.LeaderEpoch:
		return kafka.ErrFencedLeaderEpoch
	case known > p.state.LeaderEpoch:
		return kafka.ErrUnknownLeaderEpoch
	}
	return nil
}

// ackWait waits until the high watermark has passed an append (rule F8).
type ackWait struct {
	required kafka.Offset
	timer    *clock.Timer
	done     func(error)
}

// awaitAck calls done when the high watermark reaches the offset, at once or
// later, or with REQUEST_TIMED_OUT after the timeout, which may be forever.
func (p *partition) awaitAck(required kafka.Offset, timeout time.Duration, done func(error)) {
	if p.role == Leader && p.log.HighWatermark() >= required {
		done(p.ackError())
		return
	}
	w := &ackWait{required: required, done: done}
	if timeout != forever {
		w.timer = p.broker.deps.Clock.After(timeout, func() {
			if i := slices.Index(p.acks, w); i >= 0 {
				p.acks = slices.Delete(p.acks, i, i+1)
				done(kafka.ErrRequestTimedOut)
			}
		})
	}
	p.acks = append(p.acks, w)
}

// forever is the timeout of waits that only a change of role ends.
const forever time.Duration = math.MaxInt64

// orForever reads a timeout of which zero means none.
func orForever(timeout time.Duration) time.Duration {
	if timeout == 0 {
		return forever
	}
	return timeout
}

// ackError is what an acknowledged append is told if the ISR fell below the
// minimum meanwhile.
func (p *partition) ackError() error {
	if p.minISR() > len(p.maximalISR()) {
		return kafka.ErrNotEnoughReplicasAfterAppend
	}
	return nil
}

// wakeAcks answers the appends that the high watermark has passed, or all of
// them when this broker no longer leads.
func (p *partition) wakeAcks() {
	if len(p.acks) == 0 {
		return
	}
	passed, err := p.log.HighWatermark(), error(nil)
	if p.role != Leader {
		passed, err = math.MaxInt64, kafka.ErrNotLeaderOrFollower
	} else {
		err = p.ackError()
	}
	waiting := p.acks[:0]
	for _, w := range p.acks {
		if w.required > passed {
			waiting = append(waiting, w)
			continue
		}
		w.timer.Stop()
		p.broker.later(func() { w.done(err) })
	}
	clear(p.acks[len(waiting):])
	p.acks = waiting
}

// wakeAll lets everything that waits look again.
func (p *partition) wakeAll() {
	p.wakeAcks()
	p.wakeFetches()
	p.wakeDeletes()
}

// String shows role, epochs, ISR and offsets in one line.
func (p *partition) String() string {
	s := fmt.Sprintf("%v %v leader %d epoch %d/%d ISR %v", p.state.Partition, p.role, p.state.Leader, p.state.LeaderEpoch, p.state.PartitionEpoch, p.state.ISR)
	if p.leadership != nil {
		s += " " + p.leadership.String()
	}
	return s + fmt.Sprintf(" log %v", p.log)
}
