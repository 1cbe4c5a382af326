package coordinator

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/offsets"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
)

// scan deletes what has expired, at the interval of
// offsets.retention.check.interval.ms.
func (c *Coordinator) scan() {
	c.broker.Clock.After(c.broker.Config.OffsetsRetentionCheckInterval, func() {
		for _, s := range c.sortedShards() {
			if !s.Loading {
				s.Bury(c.expired(s), func(error) {}) // a failure is tried again by the next scan
			}
		}
		c.scan()
	})
}

// expired is the tombstones that a partition is due, of offsets and of groups
// that have nothing left. Share groups do not expire.
func (c *Coordinator) expired(s *shard.Shard) []group.Record {
	var tombstones []group.Record
	for _, g := range s.Sorted() {
		listing := g.Listing()
		if g.Kind() == group.Share {
			continue
		}
		s.Offsets.Tidy(listing.GroupID, c.broker.Env.Log.HighWatermark(s.Partition))
		nothingLeft := true
		for _, tp := range s.Offsets.Present(listing.GroupID) {
			slot := s.Offsets.Get(listing.GroupID, tp)
			if slot.Pending() == 0 && c.hasExpired(g, tp.Topic, slot.Latest()) {
				tombstones = append(tombstones, group.Record{Key: record.OffsetKey(listing.GroupID, tp)})
			} else {
				nothingLeft = false
			}
		}
		if nothingLeft && listing.State == group.Empty {
			tombstones = append(tombstones, g.Tombstones()...)
		}
	}
	return tombstones
}

// hasExpired says whether a commit's retention is over (rule H11).
func (c *Coordinator) hasExpired(g shard.Group, topic string, stored *offsets.Commit) bool {
	from, may := g.ExpiresFrom(topic, stored)
	switch {
	case !may:
		return false
	case stored.Expires != group.NoTime:
		return c.broker.Now() >= stored.Expires
	}
	return c.broker.Now()-from >= c.broker.Config.OffsetsRetention.Milliseconds()
}
