package replica

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Broker is one broker's replica manager.
type Broker struct {
	*partitions
	fetches  fetches
	sessions sessions
	fetchers fetchers
	tasks    []*clock.Timer // the periodic tasks' next runs
}

// New returns a running broker that hosts nothing.
func New(id kafka.BrokerID, cfg Config, deps Deps) *Broker {
	h := &host{process: &process{id: id, cfg: cfg, deps: deps}}
	ps := newPartitions(h)
	b := &Broker{
		partitions: ps,
		fetches:    fetches{partitions: ps},
		sessions:   sessions{partitions: ps},
		fetchers:   fetchers{partitions: ps},
	}
	h.follow, h.unfollow, h.apply = b.fetchers.follow, b.fetchers.unfollow, b.Apply
	b.boot()
	return b
}

// boot gives the broker the memory of a new process.
func (b *Broker) boot() {
	b.process.boot()
	b.unsaved, b.behind = nil, nil
	b.fetches.ofFollowers = map[kafka.BrokerID]*fetch{}
	b.sessions.ofFollowers = map[kafka.BrokerID]*followerSession{}
	b.fetchers.ofLeaders = map[kafka.BrokerID]*fetcher{}
	b.schedule()
}

// Configure changes the broker's properties. Periodic tasks keep to the new
// intervals at once.
func (b *Broker) Configure(cfg Config) {
	b.cfg = cfg
	b.schedule()
}

func (b *Broker) schedule() {
	for _, t := range b.tasks {
		t.Stop()
	}
	b.tasks = make([]*clock.Timer, 5)
	// Kafka looks for laggards twice in replica.lag.time.max.ms (rule F4).
	b.regularly(0, b.cfg.ReplicaLagTimeMax/2, b.shrinkISRs)
	b.regularly(1, b.cfg.HighWatermarkCheckpoint, b.checkpoint)
	b.every(2, b.cfg.LogRetentionCheckInterval, func(p *partition) { p.retain() })
	b.every(3, b.cfg.ProducerIDExpirationCheck, func(p *partition) { p.log.ExpireProducers(b.nowMs()) })
	b.every(4, b.cfg.LogCleanerBackoff, func(p *partition) { p.compact() })
}

// every visits all partitions in order, again and again. A visit must not change
// which there are.
func (b *Broker) every(task int, interval time.Duration, visit func(*partition)) {
	b.regularly(task, interval, func() {
		for _, p := range b.order {
			visit(p)
		}
	})
}

// regularly runs f again and again. An interval of zero or less never comes.
func (b *Broker) regularly(task int, interval time.Duration, f func()) {
	if interval <= 0 {
		return
	}
	b.tasks[task] = b.deps.Clock.After(interval, func() {
		f()
		b.regularly(task, interval, f)
	})
}

// Apply takes a partition's published state: the broker creates the log that
// it is to host, becomes leader or follower, and deletes the log when it is no
// longer among the replicas or when the topic id has changed. A state whose
// partition epoch is older than the known one changes the configuration only.
func (b *Broker) Apply(state PartitionState) {
	state.Config = b.shared(state.Config)
	p := b.get(state.Partition)
	if p != nil && p.state.TopicID != state.TopicID {
		b.Delete(state.Partition)
		p = nil
	}
	if !slices.Contains(state.Replicas, b.id) {
		b.Delete(state.Partition)
		return
	}
	if p == nil {
		p = b.add(state)
		b.sessions.meet(p)
	}
	p.apply(state)
}

// FetchAnew begins all sessions with leaders anew, as when what may be fetched has
// changed.
func (b *Broker) FetchAnew() {
	b.fetchers.restart()
}

// Delete forgets a partition and its log, as when its topic is deleted. What
// waits for it is answered NOT_LEADER_OR_FOLLOWER.
func (b *Broker) Delete(tp kafka.TopicPartition) {
	if p := b.get(tp); p != nil {
		b.remove(tp)
		p.leave()
	}
}

// Restart is the start of a new process on the old one's disk (rule C12): logs,
// leader epochs, checkpoints and producer snapshots survive, everything
// waiting is forgotten, and no partition has a role until Apply gives it one.
// A clean stop wrote its checkpoints and snapshots; a kill did not. It must be
// called after the broker's clock was killed, since it starts the periodic
// tasks anew.
func (b *Broker) Restart(clean bool) {
	b.boot()
	for _, p := range b.order {
		p.restart(clean)
	}
}

// Fetch reads records (section D, rule F3), waiting for MinBytes up to MaxWait.
// Errors, divergence and a partition whose bound lies in a later segment end
// the wait; so does a newer fetch of the same follower. News of the high
// watermark alone does not: a follower learns it with its next answer.
func (b *Broker) Fetch(req FetchRequest, done func(FetchResult)) {
	if req.Session != nil {
		b.sessions.fetch(req, done)
	} else {
		b.fetches.fetch(req, done)
	}
}

// Log is the local log of a hosted partition, nil if there is none. It is for
// reading only.
func (b *Broker) Log(tp kafka.TopicPartition) *commitlog.Log {
	if p := b.get(tp); p != nil {
		return p.log
	}
	return nil
}

// Status describes a hosted partition.
func (b *Broker) Status(tp kafka.TopicPartition) (PartitionStatus, bool) {
	p := b.get(tp)
	if p == nil {
		return PartitionStatus{}, false
	}
	return PartitionStatus{
		State: p.state, Role: p.role,
		LogStartOffset: p.log.LogStartOffset(), LastStableOffset: p.log.LastStableOffset(),
		HighWatermark: p.log.HighWatermark(), LogEndOffset: p.log.LogEndOffset(),
		SizeBytes: p.log.Size(),
	}, true
}

// Partitions lists the hosted partitions in order.
func (b *Broker) Partitions() []kafka.TopicPartition {
	tps := make([]kafka.TopicPartition, len(b.order))
	for i, p := range b.order {
		tps[i] = p.state.Partition
	}
	return tps
}

// Check reports a broken invariant of any log; nil for none.
func (b *Broker) Check() error {
	for _, p := range b.order {
		if err := p.log.Check(); err != nil {
			return fmt.Errorf("broker %d, %v: %w", b.id, p.state.Partition, err)
		}
	}
	return nil
}

// String shows every hosted partition, sorted, in one line.
func (b *Broker) String() string {
	s := make([]string, len(b.order))
	for i, p := range b.order {
		s[i] = p.String()
	}
	return fmt.Sprintf("broker %d: %s", b.id, strings.Join(s, "; "))
}
