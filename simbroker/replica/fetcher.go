package replica

import (
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// fetcher follows one leader in all partitions that this broker follows there,
// with one fetch at a time, as a fetcher thread does (num.replica.fetchers is
// 1). The fetches are of one session, which begins anew when partitions come.
// Unlike the thread it does not wait for the answer then, but sends another fetch
// and ignores the answer to the older one.
type fetcher struct {
	broker     *Broker
	leader     kafka.BrokerID
	partitions []*partition // sorted
	turn       int          // which partition the next full fetch names first
	fetch      uint64       // number of the fetch whose answer counts
	session    uint64       // number of the session; 0 for none
	moved      []*partition // whose positions the session does not know
	forget     []kafka.TopicPartition
	retrying   []*partition // out of the session until they are asked for again
	restarting bool
	overdue    *clock.Timer // of a fetch that is not answered
	retry      *clock.Timer
}

func (b *Broker) fetcherOf(leader kafka.BrokerID) *fetcher {
	f := b.fetchers[leader]
	if f == nil {
		f = &fetcher{broker: b, leader: leader}
		b.fetchers[leader] = f
	}
	return f
}

func (f *fetcher) add(p *partition) {
	i, _ := f.place(p)
	f.partitions = slices.Insert(f.partitions, i, p)
	p.fetcher = f
	f.restart()
}

func (f *fetcher) remove(p *partition) {
	if i, ok := f.place(p); ok {
		f.partitions = slices.Delete(f.partitions, i, i+1)
	}
	p.fetcher = nil
	f.forget = append(f.forget, p.state.Partition)
	is := func(q *partition) bool { return q == p }
	f.moved, f.retrying = slices.DeleteFunc(f.moved, is), slices.DeleteFunc(f.retrying, is)
}

func (f *fetcher) place(p *partition) (int, bool) {
	return slices.BinarySearchFunc(f.partitions, p.state.Partition, func(q *partition, tp kafka.TopicPartition) int {
		return q.state.Partition.Compare(tp)
	})
}

// restart begins another session with the partitions as they will be when the
// present event, which may bring many changes, is over.
func (f *fetcher) restart() {
	f.session = 0
	if f.restarting {
		return
	}
	f.restarting = true
	f.broker.later(func() {
		f.restarting = false
		if f.session == 0 { // else an answer that came before has begun it
			f.send()
		}
	})
}

func (f *fetcher) send() {
	f.retry.Stop()
	f.fetch++
	at := f.positions()
	if len(f.retrying) == len(f.partitions) {
		f.session = 0
		f.retryIn(f.nextRetry())
		return
	}
	cfg, number := f.broker.cfg, f.fetch
	session := &FetchSession{Number: f.session, Forget: f.forget}
	if f.session == 0 {
		f.broker.lastSession++
		f.session = f.broker.lastSession
		session.Number, session.Full, session.Forget = f.session, true, nil
	}
	f.forget = nil
	// A leader that never answers, as one that is stopped, is asked anew.
	if f.overdue == nil {
		f.overdue = f.broker.deps.Clock.After(cfg.ReplicaSocketTimeout, f.restart)
	} else {
		f.overdue.Reset(cfg.ReplicaSocketTimeout)
	}
	f.broker.deps.Peers.Fetch(f.leader, FetchRequest{
		ReplicaID: f.broker.id, MaxWait: cfg.ReplicaFetchWaitMax, MinBytes: 1,
		MaxBytes: cfg.ReplicaFetchResponseMaxBytes, Partitions: at, Session: session,
	}, func(result FetchResult, err error) {
		switch {
		case number != f.fetch:
		case err != nil:
			f.session = 0
			f.retryIn(f.broker.cfg.ReplicaFetchBackoff)
		case result.Err != nil:
			f.session = 0
			f.send()
		default:
			f.take(result)
			f.send()
		}
	})
}

// retryIn sends a fetch after a while; never if d is zero.
func (f *fetcher) retryIn(d time.Duration) {
	f.overdue.Stop()
	f.retry.Stop()
	if d > 0 {
		f.retry = f.broker.deps.Clock.After(d, f.send)
	}
}

// positions are where to fetch of which partitions: of all, each time with
// another one first, since the first is served best, when a session begins; else
// of those that have moved or are to be asked for again.
func (f *fetcher) positions() []FetchPartition {
	now := f.broker.nowMs()
	waits := func(p *partition) bool { return p.retryAtMs > now }
	if f.session == 0 {
		f.moved, f.retrying = nil, nil
		f.turn++
		for i, n := 0, len(f.partitions); i < n; i++ {
			f.moved = append(f.moved, f.partitions[(f.turn+i)%n])
		}
	} else {
		for _, p := range f.retrying {
			if !waits(p) {
				f.moved = append(f.moved, p)
			}
		}
		f.retrying = slices.DeleteFunc(f.retrying, func(p *partition) bool { return !waits(p) })
	}
	at := make([]FetchPartition, 0, len(f.moved))
	for _, p := range f.moved {
		if waits(p) {
			f.retrying = append(f.retrying, p)
			continue
		}
		at = append(at, FetchPartition{
			Partition: p.state.Partition, TopicID: p.state.TopicID,
			Offset: p.log.LogEndOffset(), LogStartOffset: p.log.LogStartOffset(),
			MaxBytes:           f.broker.cfg.ReplicaFetchMaxBytes,
			CurrentLeaderEpoch: p.state.LeaderEpoch, LastFetchedEpoch: p.log.LatestEpoch(),
		})
	}
	f.moved = nil
	return at
}

// nextRetry is how long to wait until the first of the partitions that wait is
// to be asked for again; 0 if none waits.
func (f *fetcher) nextRetry() time.Duration {
	var next time.Duration
	for _, p := range f.retrying {
		if d := time.Duration(p.retryAtMs-f.broker.nowMs()) * time.Millisecond; next == 0 || d < next {
			next = d
		}
	}
	return next
}

// take applies an answer to the partitions that are still where they were, and
// notes what the session has to learn of them.
func (f *fetcher) take(result FetchResult) {
	now := f.broker.nowMs()
	for i := range result.Partitions {
		got := &result.Partitions[i]
		p := f.broker.partitions.get(got.Partition)
		if p == nil || p.fetcher != f || slices.Contains(f.retrying, p) {
			continue
		}
		end, start := p.log.LogEndOffset(), p.log.LogStartOffset()
		if got.At.Partition == got.Partition && (p.state.LeaderEpoch != got.At.CurrentLeaderEpoch || end != got.At.Offset) {
			continue
		}
		p.take(got)
		switch {
		case p.fetcher != f: // it has failed
		case p.retryAtMs > now:
			f.retrying, f.forget = append(f.retrying, p), append(f.forget, got.Partition)
		case end != p.log.LogEndOffset() || start != p.log.LogStartOffset() || got.Err != nil || got.Diverging != nil:
			f.moved = append(f.moved, p)
		}
	}
}

// take applies what the leader has answered for one partition.
func (p *partition) take(got *FetchedPartition) {
	now := p.broker.nowMs()
	switch {
	case got.Err == kafka.ErrOffsetOutOfRange:
		p.recoverRange(got)
	case got.Err != nil:
		p.retryAtMs = now + p.broker.cfg.ReplicaFetchBackoff.Milliseconds()
		return
	case got.Diverging != nil:
		p.truncate(got)
	default:
		p.append(got)
	}
	p.watermarkMoved()
	p.wakeFetches()
}

// append takes over records, high watermark and log start (rules F3 and F9).
//
// What a deposed leader alone has may end amid a batch of the new leader, whose log
// starts in that batch since records were deleted: no epoch is left there by which it
// would show that they differ, and the batch does not fit. Kafka counts the partition
// among the failed ones then, and fetches it no more until it gets another leader.
func (p *partition) append(got *FetchedPartition) {
	if batches := got.Records.Batches(); len(batches) > 0 {
		first := batches[0].BaseOffset
		if end := p.log.LogEndOffset(); first < end {
			if p.log.LogStartOffset() != end {
				p.stopFetching()
				return
			}
			// A log that was to start amid a batch starts with that batch.
			p.log.Reset(first, p.broker.nowMs())
		}
		p.log.AppendFollower(batches, p.broker.nowMs())
	}
	p.log.FollowHighWatermark(got.HighWatermark)
	if got.LogStartOffset > p.log.LogStartOffset() && got.LogStartOffset <= p.log.HighWatermark() {
		if _, err := p.log.DeleteBefore(got.LogStartOffset); err != nil {
			panic(err)
		}
	}
}

// truncate drops what the leader does not have (rule F5, KIP-595).
func (p *partition) truncate(got *FetchedPartition) {
	d := *got.Diverging
	to := min(d.EndOffset, p.log.LogEndOffset())
	if own := p.log.EndOfEpoch(d.Epoch); own.Epoch >= 0 {
		to = min(own.EndOffset, p.log.LogEndOffset())
		if own.Epoch == d.Epoch {
			to = min(to, d.EndOffset)
		}
	}
	p.log.TruncateTo(to, p.broker.nowMs())
}

// recoverRange follows a leader whose log lies elsewhere (rules F7 and F9).
func (p *partition) recoverRange(got *FetchedPartition) {
	now := p.broker.nowMs()
	switch {
	case got.LogEndOffset < p.log.LogEndOffset():
		p.log.TruncateTo(got.LogEndOffset, now)
	case got.LogStartOffset > p.log.LogEndOffset():
		p.log.Reset(got.LogStartOffset, now)
	default:
		p.retryAtMs = now + p.broker.cfg.ReplicaFetchBackoff.Milliseconds()
	}
}
