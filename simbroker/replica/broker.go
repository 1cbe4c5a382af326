package replica

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Deps is what a Broker needs from its surroundings. RoleChanged may be nil.
type Deps struct {
	Clock       clock.Clock // the broker's own host
	Peers       Peers
	Metadata    Metadata
	Verifier    Verifier
	RoleChanged func(RoleChange)
}

// Broker is one broker's replica manager.
type Broker struct {
	id   kafka.BrokerID
	cfg  Config
	deps Deps
	// expires is what all logs ask for producer.id.expiration.ms.
	expires func() time.Duration

	partitions table[partition]
	order      []*partition                 // sorted, for whatever visits all
	configs    map[TopicConfig]*TopicConfig // one of a kind, which partitions share
	fetchers   map[kafka.BrokerID]*fetcher
	// followerFetches holds the waiting fetch of each follower: a newer one
	// takes its place.
	followerFetches map[kafka.BrokerID]*fetch
	sessions        map[kafka.BrokerID]*followerSession // by follower
	lastSession     uint64                              // number of this broker's last session with a leader

	unsaved []*partition // whose high watermark has moved since the last checkpoint
	behind  []*partition // led here, with followers that may not be at the log end

	due    []func()       // answers and checks for the next event
	spare  []func()       // what was due, empty
	answer *clock.Timer   // that event
	tasks  []*clock.Timer // the periodic tasks' next runs
}

// New returns a running broker that hosts nothing.
func New(id kafka.BrokerID, cfg Config, deps Deps) *Broker {
	b := &Broker{id: id, cfg: cfg, deps: deps, partitions: table[partition]{}, configs: map[TopicConfig]*TopicConfig{}}
	b.expires = func() time.Duration { return b.cfg.ProducerIDExpiration }
	b.boot()
	return b
}

// boot gives the broker the memory of a new process.
func (b *Broker) boot() {
	b.fetchers = map[kafka.BrokerID]*fetcher{}
	b.followerFetches = map[kafka.BrokerID]*fetch{}
	b.sessions = map[kafka.BrokerID]*followerSession{}
	b.due, b.spare, b.unsaved, b.behind = nil, nil, nil, nil
	b.answer = nil
	b.schedule()
}

// ID is the broker's node id.
func (b *Broker) ID() kafka.BrokerID { return b.id }

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

// checkpoint writes the high watermarks that have moved since the last time.
func (b *Broker) checkpoint() {
	for _, p := range b.unsaved {
		p.log.Checkpoint()
		p.isUnsaved = false
	}
	clear(b.unsaved)
	b.unsaved = b.unsaved[:0]
}

func (b *Broker) nowMs() int64 { return b.deps.Clock.Now().UnixMilli() }

// later runs f as an event of its own: answers given from within a change of
// state must not meet it half done.
func (b *Broker) later(f func()) {
	b.due = append(b.due, f)
	switch {
	case len(b.due) > 1:
	case b.answer == nil:
		b.answer = b.deps.Clock.After(0, b.answerDue)
	default:
		b.answer.Reset(0)
	}
}

func (b *Broker) answerDue() {
	due := b.due
	b.due = b.spare
	for _, f := range due {
		f()
	}
	clear(due)
	b.spare = due[:0]
}

// Apply takes a partition's published state: the broker creates the log that
// it is to host, becomes leader or follower, and deletes the log when it is no
// longer among the replicas or when the topic id has changed. A state whose
// partition epoch is older than the known one changes the configuration only.
func (b *Broker) Apply(state PartitionState) {
	state.Config = b.shared(state.Config)
	p := b.partitions.get(state.Partition)
	if p != nil && p.state.TopicID != state.TopicID {
		b.Delete(state.Partition)
		p = nil
	}
	if !slices.Contains(state.Replicas, b.id) {
		b.Delete(state.Partition)
		return
	}
	if p == nil {
		p = b.host(state)
	}
	p.apply(state)
}

// shared is the one config of its kind that partitions have.
func (b *Broker) shared(c *TopicConfig) *TopicConfig {
	one := b.configs[*c]
	if one == nil {
		one = c
		b.configs[*c] = c
	}
	return one
}

func (b *Broker) host(state PartitionState) *partition {
	p := &partition{
		broker: b, state: PartitionState{Partition: state.Partition, TopicID: state.TopicID},
		log: commitlog.New(&state.Config.Log, b.expires, b.nowMs()),
	}
	b.partitions.set(state.Partition, p)
	for _, id := range slices.Sorted(maps.Keys(b.sessions)) {
		if fp := b.sessions[id].followed.get(state.Partition); fp != nil {
			fp.meet(p)
		}
	}
	i, _ := b.place(state.Partition)
	b.order = slices.Insert(b.order, i, p)
	return p
}

func (b *Broker) place(tp kafka.TopicPartition) (int, bool) {
	return slices.BinarySearchFunc(b.order, tp, func(p *partition, tp kafka.TopicPartition) int {
		return p.state.Partition.Compare(tp)
	})
}

// FetchAnew begins all sessions with leaders anew, as when what may be fetched has
// changed.
func (b *Broker) FetchAnew() {
	for _, id := range slices.Sorted(maps.Keys(b.fetchers)) {
		b.fetchers[id].restart()
	}
}

// Delete forgets a partition and its log, as when its topic is deleted. What
// waits for it is answered NOT_LEADER_OR_FOLLOWER.
func (b *Broker) Delete(tp kafka.TopicPartition) {
	p := b.partitions.get(tp)
	if p == nil {
		return
	}
	b.partitions.remove(tp)
	if i, ok := b.place(tp); ok {
		b.order = slices.Delete(b.order, i, i+1)
	}
	p.leave()
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

// lookup finds a hosted partition, or says why not.
func (b *Broker) lookup(tp kafka.TopicPartition) (*partition, error) {
	if p := b.partitions.get(tp); p != nil && p.role != NotHosted {
		return p, nil
	}
	if b.deps.Metadata.Exists(tp) {
		return nil, kafka.ErrNotLeaderOrFollower
	}
	return nil, kafka.ErrUnknownTopicOrPartition
}

// lookupLeader finds a partition that this broker leads. One that it only
// follows is returned with the error, as it knows the leader.
func (b *Broker) lookupLeader(tp kafka.TopicPartition) (*partition, error) {
	p, err := b.lookup(tp)
	if err == nil && p.role != Leader {
		return p, kafka.ErrNotLeaderOrFollower
	}
	return p, err
}

// Log is the local log of a hosted partition, nil if there is none. It is for
// reading only.
func (b *Broker) Log(tp kafka.TopicPartition) *commitlog.Log {
	if p := b.partitions.get(tp); p != nil {
		return p.log
	}
	return nil
}

// Status describes a hosted partition.
func (b *Broker) Status(tp kafka.TopicPartition) (PartitionStatus, bool) {
	p := b.partitions.get(tp)
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
