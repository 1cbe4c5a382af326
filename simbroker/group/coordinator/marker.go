package coordinator

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// CompleteTransaction appends an end marker to a partition of
// __consumer_offsets and ends what its producer had pending there before it.
// It stands for the replica's own append of a marker on these partitions. A
// partition that is not owned or still loads answers NOT_LEADER_OR_FOLLOWER, as
// Kafka's WriteTxnMarkers does; other errors are the log's.
func (c *Coordinator) CompleteTransaction(partition int32, m group.Marker, done func(error)) {
	s := c.shards[partition]
	if s == nil || s.Loading {
		done(kafka.ErrNotLeaderOrFollower)
		return
	}
	s.Mark(m, done)
}
