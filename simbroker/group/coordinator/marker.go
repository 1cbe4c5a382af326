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
	c.broker.Env.Log.AppendMarker(partition, m, func(at kafka.Offset, err error) {
		// A marker that was appended counts, even if its replication was not
		// waited for; a shard that came later has read it from the log.
		if at != kafka.NoOffset && s.Owned() {
			s.End = max(s.End, at+1)
			s.Offsets.ReplayMarker(m.Producer.ID, m.Commit, at)
		}
		done(err)
		s.Wake()
	})
}
