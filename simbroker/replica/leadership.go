package replica

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// leadership is what a leader knows of its followers.
type leadership struct {
	epochStart kafka.Offset     // the log end when the epoch began
	followers  []follower       // in the order of the replicas
	proposed   []kafka.BrokerID // the ISR that the controller was asked for; nil if none is under way
}

// follower is a remote replica as its leader sees it (rule F3).
type follower struct {
	id             kafka.BrokerID
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
	for i := range p.leadership.followers {
		p.leadership.followers[i].settle(p.log.LogEndOffset())
	}
}

// newLeadership is that of an epoch that begins on this broker. Members of the
// ISR count as caught up now, the others as never.
func newLeadership(p *partition, newLeader bool) *leadership {
	l := &leadership{epochStart: p.log.LogEndOffset()}
	p.log.AssignEpoch(p.state.LeaderEpoch)
	l.keepReplicas(p)
	for i := range l.followers {
		f := &l.followers[i]
		if newLeader && slices.Contains(p.state.ISR, f.id) {
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
	for i := range l.followers {
		f := &l.followers[i]
		f.session = nil // its fetches are of the epoch before
		f.leaderEndAtFetch, f.lastFetchMs = p.log.LogEndOffset(), 0
		if slices.Contains(p.state.ISR, f.id) {
			f.lastFetchMs = p.broker.nowMs()
		}
	}
}

// keepReplicas makes the followers those of the state.
func (l *leadership) keepReplicas(p *partition) {
	followers := make([]follower, 0, len(p.state.Replicas)-1)
	for _, id := range p.state.Replicas {
		if id == p.broker.id {
			continue
		}
		f := follower{id: id, logEnd: kafka.NoOffset, logStart: kafka.NoOffset}
		if known := l.follower(id); known != nil {
			f = *known
		}
		followers = append(followers, f)
	}
	l.followers = followers
}

// follower is the one with an id, nil if there is none.
func (l *leadership) follower(id kafka.BrokerID) *follower {
	for i := range l.followers {
		if l.followers[i].id == id {
			return &l.followers[i]
		}
	}
	return nil
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
	for i := range p.leadership.followers {
		f := &p.leadership.followers[i]
		if f.logEnd < to && (slices.Contains(isr, f.id) || f.caughtUp(end, now, lagMax) && p.mayJoin(f.id)) {
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
	f := p.leadership.follower(id)
	f.settle(leaderEnd)
	moved, raised := offset != f.logEnd, logStart != f.logStart
	f.fetched(offset, logStart, leaderEnd, p.broker.nowMs())
	if offset != leaderEnd {
		p.mayBeBehind()
	}
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

// mayBeBehind has the ISR looked at from time to time, until the followers in it
// are at the log end: as long as they are, none has to leave.
func (p *partition) mayBeBehind() {
	if !p.isBehind && len(p.leadership.followers) > 0 {
		p.isBehind = true
		p.broker.behind = append(p.broker.behind, p)
	}
}

// shrinkISRs looks for laggards in the partitions that may have some, in order.
func (b *Broker) shrinkISRs() {
	slices.SortFunc(b.behind, func(p, q *partition) int { return p.state.Partition.Compare(q.state.Partition) })
	b.behind = slices.DeleteFunc(b.behind, func(p *partition) bool {
		p.isBehind = p.role == Leader && p.shrinkISR()
		return !p.isBehind
	})
}

// shrinkISR proposes to do without the members that have not been caught up
// for replica.lag.time.max.ms (rule F4). It says whether any is not at the log
// end.
func (p *partition) shrinkISR() (behind bool) {
	p.settleFollowers()
	end, now, lagMax := p.log.LogEndOffset(), p.broker.nowMs(), p.broker.cfg.ReplicaLagTimeMax.Milliseconds()
	isr := slices.DeleteFunc(slices.Clone(p.state.ISR), func(id kafka.BrokerID) bool {
		f := p.leadership.follower(id)
		behind = behind || f != nil && f.logEnd != end
		return f != nil && !f.caughtUp(end, now, lagMax)
	})
	if len(isr) < len(p.state.ISR) && p.leadership.proposed == nil {
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
	for _, f := range p.leadership.followers {
		if p.broker.deps.Metadata.Unfenced(f.id) {
			low = min(low, f.logStart)
		}
	}
	return low
}

// String shows the followers by id with their log ends.
func (l *leadership) String() string {
	followers := slices.SortedFunc(slices.Values(l.followers), func(f, g follower) int { return cmp.Compare(f.id, g.id) })
	var s []string
	for _, f := range followers {
		s = append(s, fmt.Sprintf("%d@%d", f.id, f.logEnd))
	}
	return fmt.Sprintf("epoch start %d followers [%s] proposed %v", l.epochStart, strings.Join(s, " "), l.proposed)
}
