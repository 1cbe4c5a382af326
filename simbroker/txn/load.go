package txn

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

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
