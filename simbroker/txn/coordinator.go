package txn

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Config holds the broker properties of the transaction coordinator, named as
// Kafka names them.
type Config struct {
	// Partitions is transaction.state.log.num.partitions.
	Partitions int32
	// MaxTimeout is transaction.max.timeout.ms.
	MaxTimeout time.Duration
	// AbortTimedOutInterval is
	// transaction.abort.timed.out.transaction.cleanup.interval.ms.
	AbortTimedOutInterval time.Duration
	// RemoveExpiredInterval is
	// transaction.remove.expired.transaction.cleanup.interval.ms.
	RemoveExpiredInterval time.Duration
	// IDExpiration is transactional.id.expiration.ms.
	IDExpiration time.Duration
}

// DefaultConfig is what Kafka does without being told otherwise.
func DefaultConfig() Config {
	return Config{
		Partitions:            50,
		MaxTimeout:            15 * time.Minute,
		AbortTimedOutInterval: 10 * time.Second,
		RemoveExpiredInterval: time.Hour,
		IDExpiration:          7 * 24 * time.Hour,
	}
}

// requestTimeout bounds the wait for the replication of tombstones
// (request.timeout.ms).
const requestTimeout = 30 * time.Second

// Coordinator is one broker's transaction coordinator.
type Coordinator struct {
	broker kafka.BrokerID
	clk    clock.Clock
	cfg    Config
	env    Environment
	ids    producerIDs
	shards map[int32]*shard
}

// shard is one partition of __transaction_state while this broker leads it
// under one epoch. Its identity stands for both: what began under another
// shard ends without effect.
type shard struct {
	partition    int32
	epoch        kafka.CoordinatorEpoch
	loading      bool
	transactions *table
}

// New returns a coordinator that leads no partition yet, with its scans
// running on clk. What it held in memory is lost with the broker: a restarted
// broker gets a new one.
func New(broker kafka.BrokerID, clk clock.Clock, cfg Config, env Environment) *Coordinator {
	c := &Coordinator{
		broker: broker,
		clk:    clk,
		cfg:    cfg,
		env:    env,
		ids:    producerIDs{clk: clk, ids: env.IDs},
		shards: make(map[int32]*shard),
	}
	c.every(func() time.Duration { return c.cfg.AbortTimedOutInterval }, c.abortTimedOut)
	c.every(func() time.Duration { return c.cfg.RemoveExpiredInterval }, c.removeExpired)
	return c
}

// every runs a scan at an interval that may change between runs.
func (c *Coordinator) every(interval func() time.Duration, scan func()) {
	c.clk.After(interval(), func() {
		scan()
		c.every(interval, scan)
	})
}

// Configure replaces the configuration; the scans take new intervals up at
// their next run.
func (c *Coordinator) Configure(cfg Config) { c.cfg = cfg }

// PartitionFor is the partition of __transaction_state that keeps an id.
func (c *Coordinator) PartitionFor(transactionalID string) int32 {
	return kafka.PartitionFor(transactionalID, c.cfg.Partitions)
}

// Load makes the coordinator the owner of a partition of __transaction_state
// under a leader epoch. Reading the log takes one event, during which the
// partition answers COORDINATOR_LOAD_IN_PROGRESS; then every transaction in a
// Prepare state sends its markers again, with the new epoch (rule G18).
// Loading a partition that is already owned, under a later epoch, reloads it.
func (c *Coordinator) Load(partition int32, epoch kafka.CoordinatorEpoch) {
	c.LoadWithin(partition, epoch, 0)
}

// LoadWithin is Load of a log that takes so long to read.
func (c *Coordinator) LoadWithin(partition int32, epoch kafka.CoordinatorEpoch, duration time.Duration) {
	s := &shard{partition: partition, epoch: epoch, loading: true, transactions: newTable()}
	c.shards[partition] = s
	c.clk.After(duration, func() {
		if c.shards[partition] == s {
			c.load(s)
		}
	})
}

// Unload gives a partition up: its transactions leave memory, markers in
// flight are forgotten, and requests get NOT_COORDINATOR.
func (c *Coordinator) Unload(partition int32) { delete(c.shards, partition) }

func (c *Coordinator) load(s *shard) {
	for r := range c.env.Log.Records(s.partition) {
		if s.replay(r) != nil {
			break // Kafka, too, serves what it read before a record it cannot read
		}
	}
	s.loading = false
	for _, t := range s.transactions.sorted() {
		if t.state.preparing() {
			c.complete(s, t)
		}
	}
}

// replay takes one record of the log into memory.
func (s *shard) replay(r Record) error {
	id, known, err := decodeKey(r.Key)
	if err != nil || !known {
		return err
	}
	if r.Value == nil {
		s.transactions.remove(id)
		return nil
	}
	e, known, err := decodeValue(r.Value)
	if err != nil || !known {
		return err
	}
	s.transactions.put(&transaction{id: id, entry: e, pending: notPending})
	return nil
}

// sortedShards is the shards in the order of their partitions.
func (c *Coordinator) sortedShards() []*shard {
	return slices.SortedFunc(maps.Values(c.shards), func(a, b *shard) int { return cmp.Compare(a.partition, b.partition) })
}

// find is the shard of an id and its transaction, nil if the id is unknown.
func (c *Coordinator) find(id string) (*shard, *transaction, error) {
	s, ok := c.shards[c.PartitionFor(id)]
	switch {
	case !ok:
		return nil, nil, kafka.ErrNotCoordinator
	case s.loading:
		return nil, nil, kafka.ErrCoordinatorLoadInProgress
	}
	return s, s.transactions.get(id), nil
}

// owned says why a shard no longer counts, or nil if it does.
func (c *Coordinator) owned(s *shard) error {
	now, ok := c.shards[s.partition]
	switch {
	case !ok:
		return kafka.ErrNotCoordinator
	case now.loading:
		return kafka.ErrCoordinatorLoadInProgress
	case now != s:
		return kafka.ErrNotCoordinator
	}
	return nil
}

// append persists the pending step of a transaction and makes it real when its
// record is replicated. If that fails the step is given up, unless keep says of
// the error that the caller will try again.
func (c *Coordinator) append(s *shard, t *transaction, next entry, keep func(error) bool, done func(error)) {
	version := min(c.env.Features.TransactionVersion(), 1)
	record := Record{Key: encodeKey(t.id), Value: encodeValue(next, version)}
	c.env.Log.Append(s.partition, []Record{record}, next.timeout, func(err error) {
		err = coordinatorError(err)
		lost := c.owned(s)
		switch {
		case err == nil && lost != nil:
			err = lost
		case err == nil:
			s.transactions.settle(t, func() { t.complete(next) })
		case lost == nil && !keep(err):
			t.giveUp()
		}
		done(err)
	})
}

// never is the keep of a step that nobody tries again.
func never(error) bool { return false }

// coordinatorError is what a client is told of an error of the log.
func coordinatorError(err error) error {
	switch err {
	case kafka.ErrUnknownTopicOrPartition, kafka.ErrNotEnoughReplicas,
		kafka.ErrNotEnoughReplicasAfterAppend, kafka.ErrRequestTimedOut:
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
// 1: [__transaction_state-3 ce 0: X1 Ongoing (1,0) [orders-0]].
func (c *Coordinator) String() string {
	var parts []string
	for _, s := range c.sortedShards() {
		var b strings.Builder
		fmt.Fprintf(&b, "%s-%d ce %d:", kafka.TransactionStateTopic, s.partition, s.epoch)
		if s.loading {
			b.WriteString(" loading")
		}
		for i, t := range s.transactions.sorted() {
			if i > 0 {
				b.WriteByte(';')
			}
			fmt.Fprintf(&b, " %s", t)
		}
		parts = append(parts, b.String())
	}
	return fmt.Sprintf("%d: [%s]", c.broker, strings.Join(parts, " | "))
}
