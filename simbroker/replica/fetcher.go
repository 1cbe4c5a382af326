package replica

import (
	"maps"
	"slices"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// fetchers run the fetch loops of the partitions that this broker follows.
type fetchers struct {
	*partitions
	ofLeaders   map[kafka.BrokerID]*fetcher
	lastSession uint64 // number of this broker's last session with a leader
}

// follow begins to fetch a partition from its leader.
func (fs *fetchers) follow(p *partition) {
	f := fs.ofLeaders[p.state.Leader]
	if f == nil {
		f = &fetcher{fetchers: fs, leader: p.state.Leader}
		fs.ofLeaders[f.leader] = f
	}
	f.add(p)
}

// unfollow ends to fetch a partition.
func (fs *fetchers) unfollow(p *partition) { fs.ofLeaders[p.follows].remove(p) }

// restart begins all sessions with leaders anew.
func (fs *fetchers) restart() {
	for _, id := range slices.Sorted(maps.Keys(fs.ofLeaders)) {
		fs.ofLeaders[id].restart()
	}
}

// fetcher follows one leader in all partitions that this broker follows there,
// with one fetch at a time, as a fetcher thread does (num.replica.fetchers is
// 1). The fetches are of one session, which begins anew when partitions come.
// Unlike the thread it does not wait for the answer then, but sends another fetch
// and ignores the answer to the older one.
type fetcher struct {
	*fetchers
	leader     kafka.BrokerID
	followed   []*partition // sorted
	turn       int          // which partition the next full fetch names first
	exchange   *exchange    // the fetch whose answer counts; nil if there is none
	session    uint64       // number of the session; 0 for none
	moved      []*partition // whose positions the session does not know
	forget     []kafka.TopicPartition
	retrying   []*partition // out of the session until they are asked for again
	restarting bool
	overdue    *clock.Timer // of a fetch that is not answered
	retry      *clock.Timer
}

func (f *fetcher) add(p *partition) {
	i, _ := f.place(p)
	f.followed = slices.Insert(f.followed, i, p)
	p.follows = f.leader
	f.restart()
}

func (f *fetcher) remove(p *partition) {
	if i, ok := f.place(p); ok {
		f.followed = slices.Delete(f.followed, i, i+1)
	}
	p.follows = kafka.NoBroker
	f.forget = append(f.forget, p.state.Partition)
	is := func(q *partition) bool { return q == p }
	f.moved, f.retrying = slices.DeleteFunc(f.moved, is), slices.DeleteFunc(f.retrying, is)
}

func (f *fetcher) place(p *partition) (int, bool) {
	return slices.BinarySearchFunc(f.followed, p.state.Partition, func(q *partition, tp kafka.TopicPartition) int {
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
	f.later(func() {
		f.restarting = false
		if f.session == 0 { // else an answer that came before has begun it
			f.exchange = nil
			f.send()
		}
	})
}

// exchange is a fetch and its answer. The next fetch takes the place of one that is
// answered, whose arrays nobody uses any more.
type exchange struct {
	at      []FetchPartition
	session FetchSession
	done    func(FetchResult, error)
}

func (f *fetcher) newExchange() *exchange {
	e := &exchange{}
	e.done = func(result FetchResult, err error) {
		if e == f.exchange { // else it was given up
			f.answered(result, err)
		}
	}
	return e
}

func (f *fetcher) send() {
	f.retry.Stop()
	if f.exchange == nil {
		f.exchange = f.newExchange()
	}
	e, cfg := f.exchange, &f.cfg
	e.at = f.positions(e.at)
	if len(f.retrying) == len(f.followed) {
		f.session, f.exchange = 0, nil
		f.retryIn(f.nextRetry())
		return
	}
	e.session = FetchSession{Number: f.session, Forget: f.forget}
	if f.session == 0 {
		f.lastSession++
		f.session = f.lastSession
		e.session = FetchSession{Number: f.session, Full: true}
	}
	f.forget = nil
	// A leader that never answers, as one that is stopped, is asked anew.
	if f.overdue == nil {
		f.overdue = f.deps.Clock.After(cfg.ReplicaSocketTimeout, f.restart)
	} else {
		f.overdue.Reset(cfg.ReplicaSocketTimeout)
	}
	f.deps.Peers.Fetch(f.leader, FetchRequest{
		ReplicaID: f.id, MaxWait: cfg.ReplicaFetchWaitMax, MinBytes: 1,
		MaxBytes: cfg.ReplicaFetchResponseMaxBytes, Partitions: e.at, Session: &e.session,
	}, e.done)
}

// answered takes the answer in that counts, and fetches again.
func (f *fetcher) answered(result FetchResult, err error) {
	switch {
	case err != nil:
		f.session = 0
		f.retryIn(f.cfg.ReplicaFetchBackoff)
	case result.Err != nil:
		f.session = 0
		f.send()
	default:
		f.take(result)
		f.send()
	}
}

// retryIn sends a fetch after a while; never if d is zero.
func (f *fetcher) retryIn(d time.Duration) {
	f.overdue.Stop()
	f.retry.Stop()
	if d > 0 {
		f.retry = f.deps.Clock.After(d, f.send)
	}
}

// positions are where to fetch of which partitions: of all, each time with
// another one first, since the first is served best, when a session begins; else
// of those that have moved or are to be asked for again. The array that is no longer
// used is used for them.
func (f *fetcher) positions(unused []FetchPartition) []FetchPartition {
	now := f.nowMs()
	waits := func(p *partition) bool { return p.retryAtMs > now }
	if f.session == 0 {
		f.moved, f.retrying = nil, nil
		f.turn++
		for i, n := 0, len(f.followed); i < n; i++ {
			f.moved = append(f.moved, f.followed[(f.turn+i)%n])
		}
	} else {
		for _, p := range f.retrying {
			if !waits(p) {
				f.moved = append(f.moved, p)
			}
		}
		f.retrying = slices.DeleteFunc(f.retrying, func(p *partition) bool { return !waits(p) })
	}
	at := again(unused, len(f.moved))[:0]
	for _, p := range f.moved {
		if waits(p) {
			f.retrying = append(f.retrying, p)
			continue
		}
		at = append(at, FetchPartition{
			Partition: p.state.Partition, TopicID: p.state.TopicID,
			Offset: p.log.LogEndOffset(), LogStartOffset: p.log.LogStartOffset(),
			MaxBytes:           f.cfg.ReplicaFetchMaxBytes,
			CurrentLeaderEpoch: p.state.LeaderEpoch, LastFetchedEpoch: p.log.LatestEpoch(),
		})
	}
	f.moved = again(f.moved, 0)
	return at
}

// nextRetry is how long to wait until the first of the partitions that wait is
// to be asked for again; 0 if none waits.
func (f *fetcher) nextRetry() time.Duration {
	var next time.Duration
	for _, p := range f.retrying {
		if d := time.Duration(p.retryAtMs-f.nowMs()) * time.Millisecond; next == 0 || d < next {
			next = d
		}
	}
	return next
}

// take applies an answer to the partitions that are still where they were, and
// notes what the session has to learn of them.
func (f *fetcher) take(result FetchResult) {
	now := f.nowMs()
	for i := range result.Partitions {
		got := &result.Partitions[i]
		p := f.get(got.Partition)
		if p == nil || p.follows != f.leader || slices.Contains(f.retrying, p) {
			continue
		}
		end, start := p.log.LogEndOffset(), p.log.LogStartOffset()
		if got.At.Partition == got.Partition && (p.state.LeaderEpoch != got.At.CurrentLeaderEpoch || end != got.At.Offset) {
			continue
		}
		p.take(got)
		switch {
		case p.follows != f.leader: // it has failed
		case p.retryAtMs > now:
			f.retrying, f.forget = append(f.retrying, p), append(f.forget, got.Partition)
		case end != p.log.LogEndOffset() || start != p.log.LogStartOffset() || got.Err != nil || got.Diverging != nil:
			f.moved = append(f.moved, p)
		}
	}
}

// take applies what the leader has answered for one partition. Where that does not
// fit, Kafka counts the partition among the failed ones, and fetches it no more until
// it gets another leader.
func (p *partition) take(got *FetchedPartition) {
	again := false
	switch {
	case got.Err == kafka.ErrOffsetOutOfRange:
		again = !p.recoverRange(got.LogStartOffset, got.LogEndOffset)
	case got.Err != nil:
		p.retryIn(p.cfg.ReplicaFetchBackoff)
		return
	case got.Diverging != nil:
		p.truncate(*got.Diverging)
	case !p.append(got):
		p.stopFetching()
	}
	if again {
		p.retryIn(p.cfg.ReplicaFetchBackoff)
	}
	p.watermarkMoved()
	p.wakeReaders()
}

func (p *partition) retryIn(d time.Duration) { p.retryAtMs = p.nowMs() + d.Milliseconds() }
