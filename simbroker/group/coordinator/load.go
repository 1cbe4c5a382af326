package coordinator

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/group/classic"
	"github.com/lso-exporter/lso-exporter/simbroker/group/consumer"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/group/share"
	"github.com/lso-exporter/lso-exporter/simbroker/group/streams"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

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
	s := shard.New(&c.broker, partition, epoch, replay)
	c.shards[partition] = s
	c.broker.Clock.After(duration, func() {
		if s.Owned() {
			s.Load()
			resume(s)
		}
	})
}

// resume lets the sessions of loaded groups' members run.
func resume(s *shard.Shard) {
	for _, g := range s.Sorted() {
		switch g := g.(type) {
		case *classic.Group:
			classic.Protocol{Shard: s}.Resume(g)
		case *consumer.Group:
			consumer.Protocol{Shard: s}.Resume(g)
		case *share.Group:
			share.Protocol{Shard: s}.Resume(g)
		case *streams.Group:
			streams.Protocol{Shard: s}.Resume(g)
		}
	}
}

// Unload gives a partition up: its groups leave memory, waiting members get
// NOT_COORDINATOR, and so do later requests.
func (c *Coordinator) Unload(partition int32) {
	s := c.shards[partition]
	if s == nil {
		return
	}
	delete(c.shards, partition)
	s.GiveUp()
}
