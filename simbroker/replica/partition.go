package replica

import (
	"fmt"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// host is what the partitions of a broker share.
type host struct {
	*process
	unsaved []*partition // whose high watermark has moved since the last checkpoint
	behind  []*partition // led here, with followers that may not be at the log end

	// What partitions have the broker do: fetch a partition from its leader, or no
	// longer from the one that it follows, and take in what the controller answers.
	follow   func(*partition)
	unfollow func(*partition)
	apply    func(PartitionState)
}

// partition is one hosted replica in its role.
type partition struct {
	replica
	// The regular tasks look at the role and the configuration of every partition:
	// they lie side by side, which counts with hundreds of thousands.
	role       Role           // NotHosted after a restart until metadata comes
	isUnsaved  bool           // stands in the host's unsaved
	isBehind   bool           // stands in the host's behind
	follows    kafka.BrokerID // whom it is fetched from; NoBroker if from nobody
	retryAtMs  int64          // when a follower asks again after an error
	host       *host
	leadership *leadership // of leaders

	readers  []reader
	watchers []watcher
	acks     waits // for the high watermark
	deletes  waits // for the low watermark
}

// reader is a fetch that waits for more of a partition, which is the one at an
// index of it.
type reader struct {
	fetch interface {
		over() bool // it has been answered
		changed(index int)
	}
	index int
}

// watcher is the session of a follower that follows the partition.
type watcher interface {
	changed() // in what may be read
	ledAnew() // with other replicas, another ISR, or in another epoch
	left()    // the partition is no longer hosted
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
	if state.Leader == p.id {
		p.lead(old, oldRole)
	} else {
		p.followLeader(old, oldRole)
	}
	if p.role != oldRole || state.LeaderEpoch != old.LeaderEpoch {
		p.tellRole()
	}
}

func (p *partition) tellRole() {
	if told := p.deps.RoleChanged; told != nil {
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
		p.leadership = newLeadership(&p.replica)
	case p.state.LeaderEpoch > old.LeaderEpoch:
		p.leadership.renew()
	default:
		p.leadership.keepReplicas()
	}
	if p.state.PartitionEpoch > old.PartitionEpoch {
		p.leadership.proposed = nil
	}
	for _, w := range p.watchers {
		w.ledAnew()
	}
	p.mayBeBehind()
	p.advanceHighWatermark()
	p.wakeAll()
}

// followLeader becomes a follower, of nobody while there is no leader.
func (p *partition) followLeader(old PartitionState, oldRole Role) {
	p.role = Follower
	p.leadership = nil
	same := oldRole == Follower && p.state.Leader == old.Leader && p.state.LeaderEpoch == old.LeaderEpoch
	if !same {
		p.stopFetching()
		p.retryAtMs = 0
		if p.state.Leader != kafka.NoBroker {
			p.host.follow(p)
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
	for _, w := range slices.Clone(p.watchers) {
		w.left()
	}
	if told {
		p.tellRole()
	}
}

// restart forgets what a process forgets.
func (p *partition) restart(clean bool) {
	p.role, p.leadership, p.follows, p.retryAtMs = NotHosted, nil, kafka.NoBroker, 0
	p.isUnsaved, p.isBehind = false, false
	p.readers, p.watchers, p.acks, p.deletes = nil, nil, nil, nil
	p.log.Recover(clean, p.nowMs())
}

func (p *partition) stopFetching() {
	if p.follows != kafka.NoBroker {
		p.host.unfollow(p)
	}
}

// settle must be called before the leader's log end changes.
func (p *partition) settle() {
	if p.leadership != nil {
		p.leadership.settle()
	}
}

// appended follows an append by the leader: alone in the ISR, it is the high
// watermark too.
func (p *partition) appended() {
	p.mayBeBehind()
	p.advanceHighWatermark()
	p.wakeReaders()
}

// retain applies retention on this replica, as each does for itself.
func (p *partition) retain() {
	if p.role != NotHosted && p.log.DeleteOldSegments(p.nowMs()) > 0 {
		p.wakeDeletes()
		p.wakeWatchers()
	}
}

// compact cleans the log of a compacted topic, as each replica does for itself.
func (p *partition) compact() {
	if p.role != NotHosted && p.state.Config.Log.Compact {
		p.log.Compact(p.nowMs())
	}
}

// advanceHighWatermark has the leader's high watermark follow what it knows of the
// ISR.
func (p *partition) advanceHighWatermark() {
	if to, ok := p.leadership.highWatermark(); ok && p.log.AdvanceHighWatermark(to) {
		p.watermarkMoved()
		p.wakeAcks()
		p.wakeReaders()
	}
}

// watermarkMoved has the next checkpoint write the high watermark.
func (p *partition) watermarkMoved() {
	if !p.isUnsaved {
		p.isUnsaved = true
		p.host.unsaved = append(p.host.unsaved, p)
	}
}

// checkpoint writes the high watermarks that have moved since the last time.
func (h *host) checkpoint() {
	for _, p := range h.unsaved {
		p.log.Checkpoint()
		p.isUnsaved = false
	}
	clear(h.unsaved)
	h.unsaved = h.unsaved[:0]
}

// followerFetched takes a follower's fetch offset and log start as news.
func (p *partition) followerFetched(id kafka.BrokerID, offset, logStart, leaderEnd kafka.Offset) {
	f := p.leadership.follower(id)
	f.settle(leaderEnd)
	moved, raised := offset != f.logEnd, logStart != f.logStart
	f.fetched(offset, logStart, leaderEnd, p.nowMs())
	if offset != leaderEnd {
		p.mayBeBehind()
	}
	if isr := p.leadership.with(f); isr != nil {
		p.propose(isr)
	}
	if moved {
		p.advanceHighWatermark()
	}
	if raised {
		p.wakeDeletes()
	}
}

// mayBeBehind has the ISR looked at from time to time, until the followers in it
// are at the log end: as long as they are, none has to leave.
func (p *partition) mayBeBehind() {
	if !p.isBehind && len(p.leadership.followers) > 0 {
		p.isBehind = true
		p.host.behind = append(p.host.behind, p)
	}
}

// shrinkISRs looks for laggards in the partitions that may have some, in order.
func (h *host) shrinkISRs() {
	slices.SortFunc(h.behind, func(p, q *partition) int { return p.state.Partition.Compare(q.state.Partition) })
	h.behind = slices.DeleteFunc(h.behind, func(p *partition) bool {
		p.isBehind = p.role == Leader && p.shrinkISR()
		return !p.isBehind
	})
}

// shrinkISR proposes to do without laggards. It says whether any member of the ISR
// is not at the log end.
func (p *partition) shrinkISR() (behind bool) {
	isr, behind := p.leadership.withoutLaggards()
	if isr != nil {
		p.propose(isr)
	}
	return behind
}

// propose asks the controller for another ISR. A refusal leaves things as they
// were: the next fetch or check proposes again.
func (p *partition) propose(isr []kafka.BrokerID) {
	l := p.leadership
	l.proposed = isr
	change := ISRChange{
		Partition: p.state.Partition, Leader: p.id, LeaderEpoch: p.state.LeaderEpoch,
		PartitionEpoch: p.state.PartitionEpoch, ISR: isr,
	}
	p.deps.Peers.AlterPartition(change, func(state PartitionState, err error) {
		if p.leadership != l || p.state.PartitionEpoch != change.PartitionEpoch {
			return // metadata has overtaken the answer
		}
		l.proposed = nil
		if err == nil {
			state.Config = p.state.Config
			p.host.apply(state)
			return
		}
		p.advanceHighWatermark()
		p.wakeAcks()
	})
}

// awaitAck calls done when the high watermark reaches the offset, at once or
// later, or with REQUEST_TIMED_OUT after the timeout, which may be forever.
func (p *partition) awaitAck(required kafka.Offset, timeout time.Duration, done func(reached kafka.Offset, err error)) {
	if high := p.log.HighWatermark(); p.role == Leader && high >= required {
		done(high, p.ackError())
		return
	}
	p.acks.add(p.process, required, p.log.HighWatermark(), timeout, done)
}

// ackError is what an acknowledged append is told if the ISR fell below the
// minimum meanwhile.
func (p *partition) ackError() error {
	if p.minISR() > len(p.leadership.maximalISR()) {
		return kafka.ErrNotEnoughReplicasAfterAppend
	}
	return nil
}

// awaitLowWatermark calls done when all live replicas have dropped what lies before
// the offset, at once or later, or with REQUEST_TIMED_OUT after the timeout.
func (p *partition) awaitLowWatermark(required kafka.Offset, timeout time.Duration, done func(low kafka.Offset, err error)) {
	low := p.leadership.lowWatermark()
	if low >= required {
		done(low, nil)
		return
	}
	p.deletes.add(p.process, required, low, timeout, done)
}

// wakeAcks answers the appends that the high watermark has passed, or all of
// them when this broker no longer leads.
func (p *partition) wakeAcks() {
	switch {
	case len(p.acks) == 0:
	case p.role != Leader:
		p.acks.wake(p.process, kafka.NoOffset, true, kafka.ErrNotLeaderOrFollower)
	default:
		p.acks.wake(p.process, p.log.HighWatermark(), false, p.ackError())
	}
}

// wakeDeletes answers the deletions that all replicas have followed, or all of
// them when this broker no longer leads.
func (p *partition) wakeDeletes() {
	switch {
	case len(p.deletes) == 0:
	case p.role != Leader:
		p.deletes.wake(p.process, kafka.NoOffset, true, kafka.ErrNotLeaderOrFollower)
	default:
		p.deletes.wake(p.process, p.leadership.lowWatermark(), false, nil)
	}
}

// wakeReaders answers the waiting fetches for which there is enough now.
func (p *partition) wakeReaders() {
	p.wakeWatchers()
	for _, r := range p.readers {
		r.fetch.changed(r.index)
	}
}

// wakeWatchers has the followers' sessions look at the partition.
func (p *partition) wakeWatchers() {
	for _, w := range p.watchers {
		w.changed()
	}
}

// wakeAll lets everything that waits look again.
func (p *partition) wakeAll() {
	p.wakeAcks()
	p.wakeReaders()
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
