package replica

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// leadership is what a leader knows of its followers, and what follows from it for
// the high watermark and the ISR.
type leadership struct {
	replica    *replica
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
	session *acknowledgement
}

// acknowledgement is the last fetch of a session, which acknowledges every
// partition of it, also those that it does not name. It is brought home to a
// partition when it matters (follower.settle).
type acknowledgement struct{ atMs int64 }

// settle counts the session's fetches since the last one that named the
// partition; the leader's log end has been leaderEnd all the while.
func (f *follower) settle(leaderEnd kafka.Offset) {
	if f.session != nil && f.session.atMs > f.lastFetchMs {
		f.fetched(f.logEnd, f.logStart, leaderEnd, f.session.atMs)
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

// newLeadership is that of a broker that becomes the leader. Members of the ISR
// count as caught up now, the others as never.
func newLeadership(r *replica) *leadership {
	l := &leadership{replica: r, epochStart: r.log.LogEndOffset()}
	r.log.AssignEpoch(r.state.LeaderEpoch)
	l.keepReplicas()
	for i := range l.followers {
		f := &l.followers[i]
		if slices.Contains(r.state.ISR, f.id) {
			f.lastCaughtUpMs = r.nowMs()
		}
	}
	return l
}

// renew begins another epoch of the same leader: what it knows of its
// followers stays.
func (l *leadership) renew() {
	r := l.replica
	l.settle()
	l.epochStart = r.log.LogEndOffset()
	r.log.AssignEpoch(r.state.LeaderEpoch)
	l.keepReplicas()
	for i := range l.followers {
		f := &l.followers[i]
		f.session = nil // its fetches are of the epoch before
		f.leaderEndAtFetch, f.lastFetchMs = r.log.LogEndOffset(), 0
		if slices.Contains(r.state.ISR, f.id) {
			f.lastFetchMs = r.nowMs()
		}
	}
}

// settle must be called before the log end changes, and before it is asked who is
// caught up.
func (l *leadership) settle() {
	for i := range l.followers {
		l.followers[i].settle(l.replica.log.LogEndOffset())
	}
}

// keepReplicas makes the followers those of the state.
func (l *leadership) keepReplicas() {
	followers := make([]follower, 0, len(l.replica.state.Replicas)-1)
	for _, id := range l.replica.state.Replicas {
		if id == l.replica.id {
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

// maximalISR is the ISR with the members that have been proposed: whoever may
// already be in it holds back the high watermark (KIP-497).
func (l *leadership) maximalISR() []kafka.BrokerID {
	if len(l.proposed) > len(l.replica.state.ISR) {
		return l.proposed
	}
	return l.replica.state.ISR
}

// mayJoin says whether the controller would take the broker into an ISR.
func (l *leadership) mayJoin(id kafka.BrokerID) bool { return l.replica.deps.Metadata.Unfenced(id) }

// highWatermark is rules F1 and F2: the least log end of leader, ISR and replicas
// about to join it. It is frozen (false) while the ISR is too small.
func (l *leadership) highWatermark() (kafka.Offset, bool) {
	r := l.replica
	if len(r.state.ISR) < r.minISR() {
		return 0, false
	}
	now, lagMax := r.nowMs(), r.cfg.ReplicaLagTimeMax.Milliseconds()
	end := r.log.LogEndOffset()
	to, isr := end, l.maximalISR()
	for i := range l.followers {
		f := &l.followers[i]
		if f.logEnd < to && (slices.Contains(isr, f.id) || f.caughtUp(end, now, lagMax) && l.mayJoin(f.id)) {
			to = f.logEnd
		}
	}
	return to, true
}

// uncertain says whether the high watermark may still be below what was committed
// under the leader before (rule E9, KIP-207).
func (l *leadership) uncertain() bool { return l.epochStart > l.replica.log.HighWatermark() }

// lowWatermark is the least log start of the live replicas (rule B8).
func (l *leadership) lowWatermark() kafka.Offset {
	low := l.replica.log.LogStartOffset()
	for _, f := range l.followers {
		if l.replica.deps.Metadata.Unfenced(f.id) {
			low = min(low, f.logStart)
		}
	}
	return low
}

// with is the ISR to propose with a follower that has reached the high watermark
// and the epoch's start (rule F4); nil if there is nothing to propose.
func (l *leadership) with(f *follower) []kafka.BrokerID {
	isr := l.replica.state.ISR
	if l.proposed != nil || slices.Contains(isr, f.id) || !l.mayJoin(f.id) {
		return nil
	}
	if f.logEnd < l.replica.log.HighWatermark() || f.logEnd < l.epochStart {
		return nil
	}
	return append(slices.Clone(isr), f.id)
}

// withoutLaggards is the ISR to propose without the members that have not been
// caught up for replica.lag.time.max.ms (rule F4); nil if there is nothing to
// propose. behind says whether any is not at the log end.
func (l *leadership) withoutLaggards() (isr []kafka.BrokerID, behind bool) {
	r := l.replica
	l.settle()
	end, now, lagMax := r.log.LogEndOffset(), r.nowMs(), r.cfg.ReplicaLagTimeMax.Milliseconds()
	isr = slices.DeleteFunc(slices.Clone(r.state.ISR), func(id kafka.BrokerID) bool {
		f := l.follower(id)
		behind = behind || f != nil && f.logEnd != end
		return f != nil && !f.caughtUp(end, now, lagMax)
	})
	if len(isr) == len(r.state.ISR) || l.proposed != nil {
		return nil, behind
	}
	return isr, behind
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
