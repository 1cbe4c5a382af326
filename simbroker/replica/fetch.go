package replica

import (
	"cmp"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// fetches serves the fetches that are of no session.
type fetches struct {
	*partitions
	// ofFollowers holds the last fetch of each follower that had to wait: a newer
	// one ends its wait.
	ofFollowers map[kafka.BrokerID]*fetch
}

// fetch is a fetch that may have to wait (rule D7).
type fetch struct {
	among *partitions
	req   FetchRequest
	done  func(FetchResult) // nil once answered
	parts []*partition      // those of the request as they were last found, nil where not hosted
	timer *clock.Timer
	due   bool // it will be answered in the next event
}

// isFollower says whether the fetch counts as an acknowledgement.
func (f *fetch) isFollower() bool { return f.req.ReplicaID >= 0 }

// fetch answers at once or when there is enough.
func (fs *fetches) fetch(req FetchRequest, done func(FetchResult)) {
	f := &fetch{among: fs.partitions, req: req, done: done, parts: make([]*partition, len(req.Partitions))}
	if f.isFollower() {
		if older := fs.ofFollowers[req.ReplicaID]; older != nil {
			older.ready()
		}
	}
	result, enough := f.read(nil, true)
	if enough || req.MaxWait <= 0 || len(req.Partitions) == 0 {
		done(result)
		return
	}
	f.wait()
	if f.isFollower() {
		fs.ofFollowers[req.ReplicaID] = f
	}
}

func (f *fetch) wait() {
	for i, p := range f.parts {
		if p != nil {
			p.readers = slices.DeleteFunc(p.readers, func(r reader) bool { return r.fetch.over() })
			p.readers = append(p.readers, reader{f, i})
		}
	}
	f.timer = f.among.deps.Clock.After(f.req.MaxWait, f.answer)
}

// ready answers the fetch in the next event, with what there is then.
func (f *fetch) ready() {
	if !f.due && f.done != nil {
		f.due = true
		f.among.later(f.answer)
	}
}

func (f *fetch) answer() {
	if f.done == nil {
		return
	}
	f.timer.Stop()
	result, _ := f.read(nil, false)
	done := f.done
	f.done = nil
	done(result)
}

// read reads all partitions, into an array that may be used again. With acknowledge
// set the fetch offsets of a follower are taken as news, after the offsets to answer
// were looked at. It also says whether the answer need not wait.
func (f *fetch) read(into []FetchedPartition, acknowledge bool) (result FetchResult, enough bool) {
	left := min(f.req.MaxBytes, f.among.cfg.FetchMaxBytes)
	atLeastOne := true
	size := 0
	result.Partitions = again(into, len(f.req.Partitions))
	for i := range f.req.Partitions {
		got := &result.Partitions[i]
		f.readPartition(i, left, atLeastOne, got)
		if n := got.Records.Size(); n > 0 {
			size += n
			left = max(0, left-n)
			atLeastOne = false
		}
		if got.Err != nil || got.Diverging != nil || got.Preferred != kafka.NoBroker {
			enough = true
		} else if acknowledge && f.isFollower() {
			f.acknowledge(i, got.LogEndOffset)
		}
	}
	return result, enough || size >= f.req.MinBytes
}

func (f *fetch) acknowledge(i int, leaderEnd kafka.Offset) {
	at := &f.req.Partitions[i]
	f.parts[i].followerFetched(f.req.ReplicaID, at.Offset, at.LogStartOffset, leaderEnd)
}

func (f *fetch) readPartition(i, left int, atLeastOne bool, got *FetchedPartition) {
	at := &f.req.Partitions[i]
	*got = FetchedPartition{
		Partition: at.Partition, LeaderEpoch: -1, Leader: kafka.NoBroker, Preferred: kafka.NoBroker,
		HighWatermark: kafka.NoOffset, LastStableOffset: kafka.NoOffset, LogStartOffset: kafka.NoOffset, LogEndOffset: kafka.NoOffset,
	}
	p, err := f.find(i)
	if err != nil {
		got.Err = err
		if p != nil {
			got.Leader, got.LeaderEpoch = p.state.Leader, p.state.LeaderEpoch
		}
		return
	}
	log := p.log
	start, end := log.LogStartOffset(), log.LogEndOffset()
	if got.Preferred = f.preferred(p, at.Offset); got.Preferred != kafka.NoBroker {
		got.HighWatermark, got.LastStableOffset, got.LogStartOffset = log.HighWatermark(), log.LastStableOffset(), start
		return
	}
	if at.LastFetchedEpoch >= 0 {
		if got.Diverging, got.Err = diverging(log, at); got.Err != nil || got.Diverging != nil {
			f.tellRange(got, start, end)
			if got.Err == nil {
				got.HighWatermark, got.LastStableOffset, got.LogStartOffset = log.HighWatermark(), log.LastStableOffset(), start
			}
			return
		}
	}
	read := commitlog.Read{
		From: at.Offset, Bound: f.bound(log), MaxBytes: min(at.MaxBytes, left), AtLeastOne: atLeastOne, Cut: f.req.Cut,
		Aborted: !f.readsToEnd() && f.req.Isolation == ReadCommitted,
	}
	got.Records, got.Aborted, got.Err = log.Read(read)
	if got.Err != nil {
		f.tellRange(got, start, end)
		return
	}
	got.HighWatermark, got.LastStableOffset, got.LogStartOffset = log.HighWatermark(), log.LastStableOffset(), start
	got.LogEndOffset = end
}

// preferred is the follower to which a leader sends a consumer: one in the ISR
// and in the consumer's rack that has the offset, of several the one with the
// longest log, then the one that was caught up last, then the one with the
// highest id. NoBroker keeps the consumer here.
func (f *fetch) preferred(p *partition, offset kafka.Offset) kafka.BrokerID {
	b := f.among
	if !b.cfg.RackAware || f.req.Rack == "" || p.role != Leader || f.readsToEnd() || b.deps.Metadata.Rack(b.id) == f.req.Rack {
		return kafka.NoBroker
	}
	best, found := kafka.NoBroker, (*follower)(nil)
	for _, id := range slices.Sorted(slices.Values(p.state.ISR)) {
		r := p.leadership.follower(id)
		if r == nil || b.deps.Metadata.Rack(id) != f.req.Rack || r.logEnd < offset || r.logStart > offset {
			continue
		}
		if found == nil || cmp.Or(cmp.Compare(r.logEnd, found.logEnd), cmp.Compare(r.lastCaughtUpMs, found.lastCaughtUpMs)) >= 0 {
			best, found = id, r
		}
	}
	return best
}

// tellRange tells a follower where the leader's log starts and ends.
func (f *fetch) tellRange(got *FetchedPartition, start, end kafka.Offset) {
	if f.isFollower() {
		got.LogStartOffset, got.LogEndOffset = start, end
	}
}

// find checks that this replica may serve the fetch of one partition. On an
// error p is the partition if it is hosted.
func (f *fetch) find(i int) (p *partition, err error) {
	at := &f.req.Partitions[i]
	if p = f.parts[i]; p == nil || p.role == NotHosted {
		if p, err = f.among.lookup(at.Partition); err != nil {
			return nil, err
		}
		f.parts[i] = p
	}
	if at.TopicID != (kafka.TopicID{}) && at.TopicID != p.state.TopicID {
		return nil, kafka.ErrInconsistentTopicID
	}
	if err := p.checkEpoch(at.CurrentLeaderEpoch); err != nil {
		return p, err
	}
	if p.role != Leader && (f.isFollower() || !f.req.FromFollowers) {
		return p, kafka.ErrNotLeaderOrFollower
	}
	if f.isFollower() && p.leadership.follower(f.req.ReplicaID) == nil {
		return p, kafka.ErrNotLeaderOrFollower
	}
	return p, nil
}

// readsToEnd says whether the reader sees what is not replicated yet: brokers,
// and replica id -3 (rule D1).
func (f *fetch) readsToEnd() bool { return f.isFollower() || f.req.ReplicaID == FutureReplica }

func (f *fetch) bound(log *commitlog.Log) kafka.Offset {
	switch {
	case f.readsToEnd():
		return log.LogEndOffset()
	case f.req.Isolation == ReadCommitted:
		return log.LastStableOffset()
	}
	return log.HighWatermark()
}

// diverging says where the reader's log departs from this one (KIP-595), nil if
// it does not. OFFSET_OUT_OF_RANGE if that cannot be told.
func diverging(log *commitlog.Log, at *FetchPartition) (*commitlog.EpochEnd, error) {
	end := log.EndOfEpoch(at.LastFetchedEpoch)
	if end == commitlog.UndefinedEpochEnd || at.Offset < log.LogStartOffset() {
		return nil, kafka.ErrOffsetOutOfRange
	}
	if end.Epoch < at.LastFetchedEpoch || end.EndOffset < at.Offset {
		departs := end
		return &departs, nil
	}
	return nil, nil
}

// over implements reader's fetch.
func (f *fetch) over() bool { return f.done == nil }

// changed implements reader's fetch: enough may have come.
func (f *fetch) changed(index int) {
	if f.done != nil && !f.due && f.enough(index) {
		f.ready()
	}
}

// enough looks whether a change of one partition ends the wait.
func (f *fetch) enough(index int) bool {
	at := &f.req.Partitions[index]
	p, err := f.find(index)
	if err != nil || at.Offset > p.log.LogEndOffset() {
		return true
	}
	if at.LastFetchedEpoch >= 0 {
		if d, err := diverging(p.log, at); d != nil || err != nil {
			return true
		}
	}
	n := f.available(p, at)
	if n == 0 || n >= int64(f.req.MinBytes) || len(f.req.Partitions) == 1 {
		return n > 0 && n >= int64(f.req.MinBytes)
	}
	total := int64(0)
	for i, p := range f.parts {
		if p != nil {
			total += f.available(p, &f.req.Partitions[i])
		}
	}
	return total >= int64(f.req.MinBytes)
}

// available is what the fetch could read of a partition. Bytes beyond the
// partition's limit do not count, but a bound in a later segment always
// suffices.
func (f *fetch) available(p *partition, at *FetchPartition) int64 {
	n := p.log.Available(at.Offset, f.bound(p.log))
	if n > manyBytes {
		return int64(f.req.MinBytes)
	}
	return min(n, int64(at.MaxBytes))
}

// again is room for n values: in an array that is no longer used, if they fit. A
// large array is let go, as few fetches are about as many partitions.
func again[T any](unused []T, n int) []T {
	if n <= cap(unused) && cap(unused) <= fewPartitions {
		return unused[:n]
	}
	return make([]T, n)
}

// fewPartitions is how many most fetches are about at most.
const fewPartitions = 64

// manyBytes is more than any segment holds.
const manyBytes = 1 << 40
