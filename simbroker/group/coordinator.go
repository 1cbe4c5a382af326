package group

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Config holds the broker properties of the group coordinator, named as Kafka
// names them.
type Config struct {
	// Partitions is offsets.topic.num.partitions.
	Partitions int32
	// InitialRebalanceDelay is group.initial.rebalance.delay.ms.
	InitialRebalanceDelay time.Duration
	// MinSessionTimeout is group.min.session.timeout.ms.
	MinSessionTimeout time.Duration
	// MaxSessionTimeout is group.max.session.timeout.ms.
	MaxSessionTimeout time.Duration
	// MaxSize is group.max.size.
	MaxSize int
	// OffsetsRetention is offsets.retention.minutes.
	OffsetsRetention time.Duration
	// OffsetsRetentionCheckInterval is offsets.retention.check.interval.ms.
	OffsetsRetentionCheckInterval time.Duration
	// OffsetMetadataMaxBytes is offset.metadata.max.bytes.
	OffsetMetadataMaxBytes int
	// OffsetCommitTimeout is offsets.commit.timeout.ms.
	OffsetCommitTimeout time.Duration
	// ConsumerMaxSize is group.consumer.max.size.
	ConsumerMaxSize int
	// ConsumerAssignors is group.consumer.assignors; the first one is the default.
	ConsumerAssignors []string
	// ConsumerRegexRefresh is group.consumer.regex.refresh.interval.ms.
	ConsumerRegexRefresh time.Duration
	// ConsumerMigrationPolicy is group.consumer.migration.policy.
	ConsumerMigrationPolicy MigrationPolicy
	// ShareMaxSize is group.share.max.size.
	ShareMaxSize int
	// ShareInitializeRetry is group.share.initialize.retry.interval.ms.
	ShareInitializeRetry time.Duration
	// StreamsMaxSize is group.streams.max.size.
	StreamsMaxSize int
}

// DefaultConfig is what Kafka does without being told otherwise.
func DefaultConfig() Config {
	return Config{
		Partitions:                    50,
		InitialRebalanceDelay:         3 * time.Second,
		MinSessionTimeout:             6 * time.Second,
		MaxSessionTimeout:             30 * time.Minute,
		MaxSize:                       math.MaxInt32,
		OffsetsRetention:              7 * 24 * time.Hour,
		OffsetsRetentionCheckInterval: 10 * time.Minute,
		OffsetMetadataMaxBytes:        4096,
		OffsetCommitTimeout:           5 * time.Second,
		ConsumerMaxSize:               math.MaxInt32,
		ConsumerAssignors:             []string{uniformAssignor, rangeAssignor},
		ConsumerRegexRefresh:          10 * time.Minute,
		ConsumerMigrationPolicy:       MigrationBidirectional,
		ShareMaxSize:                  200,
		ShareInitializeRetry:          30 * time.Second,
		StreamsMaxSize:                math.MaxInt32,
	}
}

// Coordinator is one broker's group coordinator.
type Coordinator struct {
	broker kafka.BrokerID
	clk    clock.Clock
	cfg    Config
	env    Environment
	shards map[int32]*shard
	// topicsCreated is the metadata version at which topics were last created.
	topicsCreated int64
}

// shard is one partition of __consumer_offsets while this broker leads it
// under one epoch.
type shard struct {
	partition int32
	epoch     kafka.LeaderEpoch
	loading   bool
	groups    map[string]group
	offsets   offsets
	end       kafka.Offset // of what was replayed
	waiting   []*stableRead
	timers    map[memberTimer]*clock.Timer
	resolving map[string]bool // groups whose regular expressions are being resolved
}

// New returns a coordinator that leads no partition yet, with its scan running
// on clk. What it held in memory is lost with the broker: a restarted broker
// gets a new one.
func New(broker kafka.BrokerID, clk clock.Clock, cfg Config, env Environment) *Coordinator {
	c := &Coordinator{broker: broker, clk: clk, cfg: cfg, env: env, shards: make(map[int32]*shard)}
	c.scan()
	return c
}

// Configure replaces the configuration; the scan takes a new interval up at
// its next run.
func (c *Coordinator) Configure(cfg Config) { c.cfg = cfg }

// PartitionFor is the partition of __consumer_offsets that keeps a group.
func (c *Coordinator) PartitionFor(groupID string) int32 {
	return kafka.PartitionFor(groupID, c.cfg.Partitions)
}

// Load makes the coordinator the owner of a partition of __consumer_offsets.
// Reading the log takes one event, during which the partition answers
// COORDINATOR_LOAD_IN_PROGRESS. Loading a partition that is already owned,
// under a later epoch, reloads it.
func (c *Coordinator) Load(partition int32, epoch kafka.LeaderEpoch) {
	c.LoadWithin(partition, epoch, 0)
}

// LoadWithin is Load of a log that takes so long to read.
func (c *Coordinator) LoadWithin(partition int32, epoch kafka.LeaderEpoch, duration time.Duration) {
	c.Unload(partition)
	s := &shard{
		partition: partition, epoch: epoch, loading: true, groups: make(map[string]group), offsets: newOffsets(),
		timers: make(map[memberTimer]*clock.Timer), resolving: make(map[string]bool),
	}
	c.shards[partition] = s
	c.clk.After(duration, func() {
		if c.shards[partition] == s {
			c.load(s)
		}
	})
}

// Unload gives a partition up: its groups leave memory, waiting members get
// NOT_COORDINATOR, and so do later requests.
func (c *Coordinator) Unload(partition int32) {
	s := c.shards[partition]
	if s == nil {
		return
	}
	delete(c.shards, partition)
	for _, g := range s.classics() {
		c.kill(g)
	}
	for _, t := range s.timers {
		t.Stop()
	}
	waiting := s.waiting
	s.waiting = nil
	for _, r := range waiting {
		r.answer(kafka.ErrNotCoordinator)
	}
}

// TopicsCreated is told that the broker's metadata has new topics.
func (c *Coordinator) TopicsCreated() { c.topicsCreated = c.env.Topics.Version() }

// kill ends a group in memory: nothing that waits or runs for it goes on.
func (c *Coordinator) kill(g *classic) {
	g.move(Dead, c.now())
	g.joinTimer.Stop()
	g.syncTimer.Stop()
	for _, t := range g.pendingJoin {
		t.Stop()
	}
	for _, m := range g.members {
		m.session.Stop()
		m.answerJoin(refusedJoin(m.id), kafka.ErrNotCoordinator)
		m.answerSync(SyncResult{}, kafka.ErrNotCoordinator)
	}
}

func (c *Coordinator) load(s *shard) {
	for e := range c.env.Log.Entries(s.partition) {
		c.replay(s, e)
	}
	s.loading = false
	for _, g := range s.sorted() {
		switch g := g.(type) {
		case *classic:
			c.loadedClassic(s, g)
		case *consumer:
			c.loadedConsumer(s, g)
		case *share:
			c.loadedShare(s, g)
		case *streams:
			c.loadedStreams(s, g)
		}
	}
}

// loadedClassic lets the sessions of a loaded group's members run.
func (c *Coordinator) loadedClassic(s *shard, g *classic) {
	for _, m := range g.members {
		c.expectHeartbeat(s, g, m, m.sessionTimeout)
	}
	if len(g.members) > c.cfg.MaxSize {
		c.prepareRebalance(s, g)
	}
}

// loadedConsumer is the same for a group of the consumer protocol.
func (c *Coordinator) loadedConsumer(s *shard, g *consumer) {
	for _, m := range g.sorted() {
		c.expectMember(s, g.id, m.id, c.env.Settings(g.id).ConsumerSessionTimeout)
		if m.state == memberUnrevoked {
			c.expectRevocation(s, g.id, m)
		}
	}
}

// replayBatch takes a batch into memory that was appended.
func (c *Coordinator) replayBatch(s *shard, b Batch, base kafka.Offset) {
	for i, r := range b.Records {
		c.replay(s, Entry{Offset: base + kafka.Offset(i), Producer: b.Producer, Record: r})
	}
}

// replay takes one entry of the log into memory. What cannot be read changes
// nothing.
func (c *Coordinator) replay(s *shard, e Entry) {
	s.end = e.Offset + 1
	if e.Marker {
		s.offsets.replayMarker(e.Producer.ID, e.Commit, e.Offset)
		return
	}
	switch kind := keyKind(e.Key); kind {
	case keyOldOffset, keyOffset:
		s.replayOffset(c, e)
	case keyGroup:
		c.replayGroup(s, e)
	default:
		if owner, ok := ownerOfKey(kind); ok {
			s.replayModern(owner, e.Record, c.now())
		}
	}
}

// replayOffset takes the record of a commit. A group that has no record of its
// own yet is a simple one.
func (s *shard) replayOffset(c *Coordinator, e Entry) {
	k, known, err := decodeKey(e.Key)
	if err != nil || !known {
		return
	}
	if e.Value == nil {
		s.offsets.replayTombstone(k.group, k.partition, e.Offset)
		return
	}
	commit, known, err := decodeCommit(e.Value)
	if err != nil || !known {
		return
	}
	commit.record = e.Offset
	if s.groups[k.group] == nil {
		s.groups[k.group] = newClassic(k.group, c.now())
	}
	s.offsets.replayCommit(k.group, k.partition, commit, e.Producer.ID)
}

// replayGroup takes the record of a classic group. Its tombstone ends a group
// of any kind.
func (c *Coordinator) replayGroup(s *shard, e Entry) {
	k, known, err := decodeKey(e.Key)
	if err != nil || !known {
		return
	}
	if e.Value == nil {
		if g, ok := s.groups[k.group].(*classic); ok {
			c.kill(g)
		}
		delete(s.groups, k.group)
		return
	}
	if g, known, err := decodeGeneration(e.Value); err == nil && known {
		s.groups[k.group] = loaded(k.group, g, c.now())
	}
}

// replayModern takes a record of a group of the newer protocols, which begins
// with the first one. It takes the place of a simple group, which has no record
// of its own.
func (s *shard) replayModern(kind Kind, r Record, now int64) {
	k, err := decodeModernKey(r.Key)
	if err != nil {
		return
	}
	g, ok := s.groups[k.group].(modern)
	ok = ok && g.kind() == kind
	switch {
	case r.Value == nil && !ok:
		return
	case r.Value == nil && k.kind == endingKeys[kind]:
		delete(s.groups, k.group)
		return
	case !ok:
		g = newModern(kind, k.group)
		s.groups[k.group] = g
	}
	g.replay(r, now)
}

// sorted is the shard's groups in the order of their ids.
func (s *shard) sorted() []group {
	groups := make([]group, 0, len(s.groups))
	for _, id := range sortedKeys(s.groups) {
		groups = append(groups, s.groups[id])
	}
	return groups
}

// classics is the shard's classic groups in the order of their ids.
func (s *shard) classics() []*classic {
	var classics []*classic
	for _, g := range s.sorted() {
		if c, ok := g.(*classic); ok {
			classics = append(classics, c)
		}
	}
	return classics
}

// sortedShards is the shards in the order of their partitions.
func (c *Coordinator) sortedShards() []*shard {
	return slices.SortedFunc(maps.Values(c.shards), func(a, b *shard) int { return cmp.Compare(a.partition, b.partition) })
}

// find is the shard of a group.
func (c *Coordinator) find(groupID string) (*shard, error) {
	s := c.shards[c.PartitionFor(groupID)]
	switch {
	case s == nil:
		return nil, kafka.ErrNotCoordinator
	case s.loading:
		return nil, kafka.ErrCoordinatorLoadInProgress
	}
	return s, nil
}

// owned says whether a shard still counts.
func (c *Coordinator) owned(s *shard) bool { return c.shards[s.partition] == s }

// write appends records and replays them; done gets the error as a client is
// to see it when they are replicated, or when they will not be.
func (c *Coordinator) write(s *shard, b Batch, done func(error)) {
	c.append(s, b, func(base kafka.Offset) { c.replayBatch(s, b, base) }, done)
}

// persist appends the record of a classic group whose members are in memory
// already, and what stands before it.
func (c *Coordinator) persist(s *shard, records []Record, done func(error)) {
	c.append(s, c.plain(records...), func(base kafka.Offset) { s.end = base + kafka.Offset(len(records)) }, done)
}

// plain is a batch outside of any transaction.
func (c *Coordinator) plain(records ...Record) Batch {
	return Batch{
		Producer: kafka.Producer{ID: kafka.NoProducerID, Epoch: kafka.NoProducerEpoch},
		Records:  records,
		Timeout:  c.cfg.OffsetCommitTimeout,
	}
}

// append appends a batch, applies it, and only then lets the answer out, even
// if the log gave it at once.
func (c *Coordinator) append(s *shard, b Batch, apply func(base kafka.Offset), done func(error)) {
	applied := false
	var early func()
	base, err := c.env.Log.Append(s.partition, b, func(err error) {
		answer := func() {
			done(coordinatorError(err))
			c.wake(s)
		}
		if applied {
			answer()
		} else {
			early = answer
		}
	})
	if err != nil {
		done(coordinatorError(err))
		return
	}
	apply(base)
	applied = true
	if early != nil {
		early()
	}
}

// coordinatorError is what a client is told of an error of the log.
func coordinatorError(err error) error {
	switch err {
	case kafka.ErrUnknownTopicOrPartition, kafka.ErrNotEnoughReplicas, kafka.ErrRequestTimedOut:
		return kafka.ErrCoordinatorNotAvailable
	case kafka.ErrNotLeaderOrFollower, kafka.ErrKafkaStorageError:
		return kafka.ErrNotCoordinator
	case kafka.ErrMessageTooLarge, kafka.ErrRecordListTooLarge:
		return kafka.ErrUnknownServerError
	}
	return err
}

// now is the present moment as records carry it.
func (c *Coordinator) now() int64 { return c.clk.Now().UnixMilli() }

// String is the coordinator's state on one line, sorted by partition and id:
// 1: [__consumer_offsets-3: G1 Empty gen 0 [] {orders-0: 5 pending 1}].
func (c *Coordinator) String() string {
	var parts []string
	for _, s := range c.sortedShards() {
		var b strings.Builder
		fmt.Fprintf(&b, "%s-%d:", kafka.ConsumerOffsetsTopic, s.partition)
		if s.loading {
			b.WriteString(" loading")
		}
		for i, g := range s.sorted() {
			if i > 0 {
				b.WriteByte(';')
			}
			fmt.Fprintf(&b, " %s {%s}", g, s.committed(g.listing().GroupID))
		}
		parts = append(parts, b.String())
	}
	return fmt.Sprintf("%d: [%s]", c.broker, strings.Join(parts, " | "))
}

// committed is what a group has committed by the end of the log, for people.
func (s *shard) committed(group string) string {
	var parts []string
	for _, tp := range s.offsets.present(group) {
		slot := s.offsets.get(group, tp)
		part := tp.String() + ": none"
		if latest := slot.latest(); latest != nil {
			part = fmt.Sprintf("%s: %d", tp, latest.offset)
		}
		if len(slot.pending) > 0 {
			part += fmt.Sprintf(" pending %d", len(slot.pending))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}
