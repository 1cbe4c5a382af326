// Package coordinator is one broker's group coordinator. It reads the partitions
// of __consumer_offsets that the broker leads, finds the shard of a group, hands
// requests to the protocol that they are of, and serves itself what is alike for
// groups of all kinds: commits and fetches of offsets, lists, deletion and
// retention.
//
// What it guarantees: what it knows of offsets, and of groups that are not
// classic, follows the log. A record changes them when it is appended, an end
// marker what was appended before it, so that loading a log gives what its
// writer had in memory. Answers to writes wait until the record is replicated,
// and plain reads of offsets see what is replicated only. Unlike offsets, groups
// are described as they are in memory, before their records are replicated.
package coordinator

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/clock"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Coordinator is one broker's group coordinator.
type Coordinator struct {
	broker shard.Broker
	shards map[int32]*shard.Shard // by partition of __consumer_offsets
}

// New returns a coordinator that leads no partition yet, with its scan running
// on clk. What it held in memory is lost with the broker: a restarted broker
// gets a new one.
func New(id kafka.BrokerID, clk clock.Clock, cfg group.Config, env group.Environment) *Coordinator {
	c := &Coordinator{broker: shard.Broker{ID: id, Clock: clk, Config: cfg, Env: env}, shards: make(map[int32]*shard.Shard)}
	c.scan()
	return c
}

// Configure replaces the configuration; the scan takes a new interval up at
// its next run.
func (c *Coordinator) Configure(cfg group.Config) { c.broker.Config = cfg }

// PartitionFor is the partition of __consumer_offsets that keeps a group.
func (c *Coordinator) PartitionFor(groupID string) int32 {
	return kafka.PartitionFor(groupID, c.broker.Config.Partitions)
}

// TopicsCreated is told that the broker's metadata has new topics.
func (c *Coordinator) TopicsCreated() { c.broker.TopicsCreatedAt = c.broker.Env.Topics.Version() }

// sortedShards is the shards in the order of their partitions.
func (c *Coordinator) sortedShards() []*shard.Shard {
	return slices.SortedFunc(maps.Values(c.shards), func(a, b *shard.Shard) int { return cmp.Compare(a.Partition, b.Partition) })
}

// find is the shard of a group.
func (c *Coordinator) find(groupID string) (*shard.Shard, error) {
	s := c.shards[c.PartitionFor(groupID)]
	switch {
	case s == nil:
		return nil, kafka.ErrNotCoordinator
	case s.Loading:
		return nil, kafka.ErrCoordinatorLoadInProgress
	}
	return s, nil
}
