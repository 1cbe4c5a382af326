package replica

import (
	"fmt"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// fetcher follows one leader in all partitions that this broker follows there,
// with one fetch at a time, as a fetcher thread does (num.replica.fetchers is
// 1). Unlike the thread it does not wait for the answer when its partitions
// change, but sends another fetch and ignores the answer to the older one.
type fetcher struct {
	broker     *Broker
	leader     kafka.BrokerID
	partitions []*partition // sorted
	turn       int          // which partition the next fetch names first
	fetch      uint64       // number of the fetch whose answer counts
	restarting bool
	timer      *clock.Timer
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
}

func (f *fetcher) place(p *partition) (int, bool) {
	return slices.BinarySearchFunc(f.partitions, p.state.Partition, func(q *partition, tp kafka.TopicPartition) int {
		return q.state.Partition.Compare(tp)
	})
}

// restart sends a fetch for the partitions as they will be when the present
// event, which may bring many changes, is over.
func (f *fetcher) restart() {
	if f.restarting {
		return
	}
	f.restarting = true
	f.broker.later(func() {
		f.restarting = false
		f.send()
	})
}

func (f *fetcher) send() {
	f.timer.Stop()
	f.fetch++
	at, of, next := f.positions()
	if len(at) == 0 {
		f.retryIn(next)
		return
	}
	cfg, number := f.broker.cfg, f.fetch
	// A leader that never answers, as one that is stopped, is asked anew.
	f.retryIn(cfg.ReplicaSocketTimeout)
	f.broker.deps.Peers.Fetch(f.leader, FetchRequest{
		ReplicaID: f.broker.id, MaxWait: cfg.ReplicaFetchWaitMax, MinBytes: 1,
		MaxBytes: cfg.ReplicaFetchResponseMaxBytes, Partitions: at,
	}, func(result FetchResult, err error) {
		if number != f.fetch {
			return
		}
		if err != nil {
			f.retryIn(f.broker.cfg.ReplicaFetchBackoff)
			return
		}
		f.take(at, of, result)
		f.send()
	})
}

// retryIn sends a fetch after a while; never if d is zero.
func (f *fetcher) retryIn(d time.Duration) {
	f.timer.Stop()
	if d > 0 {
		f.timer = f.broker.deps.Clock.After(d, f.send)
	}
}

// positions are where to fetch of which partitions, each time with another one
// first, since the first is served best. If none can be fetched now, next is
// how long to wait for one.
func (f *fetcher) positions() (at []FetchPartition, of []*partition, next time.Duration) {
	now := f.broker.nowMs()
	n := len(f.partitions)
	at, of = make([]FetchPartition, 0, n), make([]*partition, 0, n)
	f.turn++
	for i := range n {
		p := f.partitions[(f.turn+i)%n]
		if wait := p.retryAtMs - now; wait > 0 {
			if d := time.Duration(wait) * time.Millisecond; next == 0 || d < next {
				next = d
			}
			continue
		}
		of = append(of, p)
		at = append(at, FetchPartition{
			Partition: p.state.Partition, TopicID: p.state.TopicID,
			Offset: p.log.LogEndOffset(), LogStartOffset: p.log.LogStartOffset(),
			MaxBytes:           f.broker.cfg.ReplicaFetchMaxBytes,
			CurrentLeaderEpoch: p.state.LeaderEpoch, LastFetchedEpoch: p.log.LatestEpoch(),
		})
	}
	return at, of, next
}

// take applies an answer to the partitions that are still where they were.
func (f *fetcher) take(at []FetchPartition, of []*partition, result FetchResult) {
	for i, p := range of {
		if p.fetcher != f || p.state.LeaderEpoch != at[i].CurrentLeaderEpoch || p.log.LogEndOffset() != at[i].Offset {
			continue
		}
		p.take(&result.Partitions[i])
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
	p.wakeFetches()
}

// append takes over records, high watermark and log start (rules F3 and F9).
func (p *partition) append(got *FetchedPartition) {
	if batches := got.Records.Batches(); len(batches) > 0 {
		first := batches[0].BaseOffset
		if end := p.log.LogEndOffset(); first < end {
			if p.log.LogStartOffset() != end {
				panic(fmt.Sprintf("replica: leader sends offset %d to a log that ends at %d: %v", first, end, p))
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
