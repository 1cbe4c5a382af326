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

// Configure replaces the configuration; the scans take new intervals up at
// their next run.
func (c *Coordinator) Configure(cfg Config) { c.cfg = cfg }

// PartitionFor is the partition of __transaction_state that keeps an id.
func (c *Coordinator) PartitionFor(transactionalID string) int32 {
	return kafka.PartitionFor(transactionalID, c.cfg.Partitions)
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
