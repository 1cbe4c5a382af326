package replica

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// leadership is what a leader knows of its followers.
type leadership struct {
	epochStart kafka.Offset // the log end when the epoch began
	followers  map[kafka.BrokerID]*follower
	proposed   []kafka.BrokerID // the ISR that the controller was asked for; nil if none is under way
}

// follower is a remote replica as its leader sees it (rule F3).
type follower struct {
	logEnd         kafka.Offset // its last fetch offset; -1 before the first
	logStart       kafka.Offset
	lastCaughtUpMs int64
	lastFetchMs    int64
	// leaderEndAtFetch is the leader's log end at the last fetch: reaching it
	// with the next means having been caught up then.
	leaderEndAtFetch kafka.Offset
	// session is that of which the follower's fetches are; nil if none.
	session *followerSession
}

// settle counts the session's fetches since the last one that named the
// partition; the leader's log end has been leaderEnd all the while.
func (f *follower) settle(leaderEnd kafka.Offset) {
	if f.session != nil && f.session.fetchedMs > f.lastFetchMs {
		f.fetched(f.logEnd, f.logStart, leaderEnd, f.session.fetchedMs)
	}
}

// settleFollowers must be called before the log end changes, and before it is
// asked who is caught up.
func (p *partition) settleFollowers() {
	if p.leadership == nil {
		return
	}
	for _, f := range p.leadership.followers {
		f.settle(p.log.LogEndOffset())
	}
}

// newLeadership is that of an epoch that begins on this broker. Members of the
// ISR count as caught up now, the others as never.
func newLeadership(p *partition, newLeader bool) *leadership {
	l := &leadership{epochStart: p.log.LogEndOffset(), followers: map[kafka.BrokerID]*follower{}}
	p.log.AssignEpoch(p.state.LeaderEpoch)
	l.keepReplicas(p)
	for id, f := range l.followers {
		if newLeader && slices.Contains(p.state.ISR, id) {
			f.lastCaughtUpMs = p.broker.nowMs()
		}
	}
	return l
}

// renew begins another epoch of the same leader: what it knows of its
// followers stays.
func (l *leadership) renew(p *partition) {
	p.settleFollowers()
	l.epochStart = p.log.LogEndOffset()
	p.log.AssignEpoch(p.state.LeaderEpoch)
	l.keepReplicas(p)
	for id, f := range l.followers {
		f.session = nil // its fetches are of the epoch before
		f.leaderEndAtFetch, f.lastFetchMs = p.log.LogEndOffset(), 0
		if slices.Contains(p.state.ISR, id) {
			f.lastFetchMs = p.broker.nowMs()
		}
	}
}

// keepReplicas makes the followers those of the state.
func (l *leadership) keepReplicas(p *partition) {
	for id := range l.followers {
		if !slices.Contains(p.state.Replicas, id) {
			delete(l.followers, id)
		}
	}
	for _, id := range p.state.Replicas {
		if id != p.broker.id && l.followers[id] == nil {
			l.followers[id] = &follower{logEnd: kafka.NoOffset, logStart: kafka.NoOffset}
		}
	}
}

// fetched notes a fetch, whose offset acknowledges all before it.
func (f *follower) fetched(offset, logStart, leaderEnd kafka.Offset, nowMs int64) {
	switch {
	case offset >= leaderEnd:
		f.lastCaughtUpMs = max(f.lastCaughtUpMs, nowMs)
	case offset >= f.leaderEndAtFetch:
		f.lastCaughtUpMs = max(f.lastCaughtUpMs, f.lastFetchMs)
	}
	f.logEnd, f.logStart = offset, logStart
	f.lastFetchMs, f.leaderEndAtFetch = nowMs, leaderEnd
}

func (f *follower) caughtUp(leaderEnd kafka.Offset, nowMs, lagMaxMs int64) bool {
	return f.logEnd == leaderEnd || nowMs-f.lastCaughtUpMs <= lagMaxMs
}

// minISR is min.insync.replicas as far as there are replicas (rule F2).
func (p *partition) minISR() int {
	return min(p.state.Config.MinInsyncReplicas, len(p.state.Replicas))
}

// maximalISR is the ISR with the members that have been proposed: whoever may
// already be in it holds back the high watermark (KIP-497).
func (p *partition) maximalISR() []kafka.BrokerID {
	if p.leadership != nil && len(p.leadership.proposed) > len(p.state.ISR) {
		return p.leadership.proposed
	}
	return p.state.ISR
}

// mayJoin says whether the controller would take the broker into an ISR.
func (p *partition) mayJoin(id kafka.BrokerID) bool { return p.broker.deps.Metadata.Unfenced(id) }

// advanceHighWatermark is rules F1 and F2: the least log end of leader, ISR
// and replicas about to join it; frozen while the ISR is too small.
func (p *partition) advanceHighWatermark() {
	if len(p.state.ISR) < p.minISR() {
		return
	}
	now, lagMax := p.broker.nowMs(), p.broker.cfg.ReplicaLagTimeMax.Milliseconds()
	end := p.log.LogEndOffset()
	to, isr := end, p.maximalISR()
	for id, f := range p.leadership.followers {
		if f.logEnd < to && (slices.Contains(isr, id) || f.caughtUp(end, now, lagMax) && p.mayJoin(id)) {
			to = f.logEnd
		}
	}
	if p.log.AdvanceHighWatermark(to) {
		p.watermarkMoved()
		p.wakeAcks()
		p.wakeFetches()
	}
}

// followerFetched takes a follower's fetch offset and log start as news.
func (p *partition) followerFetched(id kafka.BrokerID, offset, logStart, leaderEnd kafka.Offset) {
	f := p.leadership.followers[id]
	f.settle(leaderEnd)
	moved, raised := offset != f.logEnd, logStart != f.logStart
	f.fetched(offset, logStart, leaderEnd, p.broker.nowMs())
	p.expandISR(id, f)
	if moved {
		p.advanceHighWatermark()
	}
	if raised {
		p.wakeDeletes()
	}
}

// expandISR proposes a follower that has reached the high watermark and the
// epoch's start (rule F4).
func (p *partition) expandISR(id kafka.BrokerID, f *follower) {
	l := p.leadership
	if l.proposed != nil || slices.Contains(p.state.ISR, id) || !p.mayJoin(id) {
		return
	}
	if f.logEnd >= p.log.HighWatermark() && f.logEnd >= l.epochStart {
		p.propose(append(slices.Clone(p.state.ISR), id))
	}
}

// shrinkISR proposes to do without the members that have not been caught up
// for replica.lag.time.max.ms (rule F4).
func (p *partition) shrinkISR() {
	if p.role != Leader || p.leadership.proposed != nil {
		return
	}
	p.settleFollowers()
	now, lagMax := p.broker.nowMs(), p.broker.cfg.ReplicaLagTimeMax.Milliseconds()
	isr := slices.DeleteFunc(slices.Clone(p.state.ISR), func(id kafka.BrokerID) bool {
		f := p.leadership.followers[id]
		return f != nil && !f.caughtUp(p.log.LogEndOffset(), now, lagMax)
	})
	if len(isr) < len(p.state.ISR) {
		p.propose(isr)
	}
}

// propose asks the controller for another ISR. A refusal leaves things as they
// were: the next fetch or check proposes again.
func (p *partition) propose(isr []kafka.BrokerID) {
	l := p.leadership
	l.proposed = isr
	change := ISRChange{
		Partition: p.state.Partition, Leader: p.broker.id, LeaderEpoch: p.state.LeaderEpoch,
		PartitionEpoch: p.state.PartitionEpoch, ISR: isr,
	}
	p.broker.deps.Peers.AlterPartition(change, func(state PartitionState, err error) {
		if p.leadership != l || p.state.PartitionEpoch != change.PartitionEpoch {
			return // metadata has overtaken the answer
		}
		l.proposed = nil
		if err == nil {
			state.Config = p.state.Config
			p.broker.Apply(state)
			return
		}
		p.advanceHighWatermark()
		p.wakeAcks()
	})
}

// lowWatermark is the least log start of the live replicas (rule B8).
func (p *partition) lowWatermark() kafka.Offset {
	low := p.log.LogStartOffset()
	for id, f := range p.leadership.followers {
		if p.broker.deps.Metadata.Unfenced(id) {
			low = min(low, f.logStart)
		}
	}
	return low
}

// String shows the followers by id with their log ends.
func (l *leadership) String() string {
	var ids []kafka.BrokerID
	for id := range l.followers {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var s []string
	for _, id := range ids {
		s = append(s, fmt.Sprintf("%d@%d", id, l.followers[id].logEnd))
	}
	return fmt.Sprintf("epoch start %d followers [%s] proposed %v", l.epochStart, strings.Join(s, " "), l.proposed)
}
