package group

// scan deletes what has expired, at the interval of
// offsets.retention.check.interval.ms.
func (c *Coordinator) scan() {
	c.broker.clk.After(c.broker.cfg.OffsetsRetentionCheckInterval, func() {
		for _, s := range c.sortedShards() {
			if !s.loading {
				s.bury(c.expired(s), func(error) {}) // a failure is tried again by the next scan
			}
		}
		c.scan()
	})
}

// expired is the tombstones that a partition is due, of offsets and of groups
// that have nothing left. Share groups do not expire.
func (c *Coordinator) expired(s *shard) []Record {
	var tombstones []Record
	for _, g := range s.sorted() {
		listing := g.listing()
		if g.kind() == Share {
			continue
		}
		s.offsets.tidy(listing.GroupID, c.broker.env.Log.HighWatermark(s.partition))
		nothingLeft := true
		for _, tp := range s.offsets.present(listing.GroupID) {
			slot := s.offsets.get(listing.GroupID, tp)
			if len(slot.pending) == 0 && c.hasExpired(g, tp.Topic, slot.latest()) {
				tombstones = append(tombstones, Record{Key: encodeOffsetKey(listing.GroupID, tp)})
			} else {
				nothingLeft = false
			}
		}
		if nothingLeft && listing.State == Empty {
			tombstones = append(tombstones, g.tombstones()...)
		}
	}
	return tombstones
}

// hasExpired says whether a commit's retention is over (rule H11).
func (c *Coordinator) hasExpired(g group, topic string, stored *commit) bool {
	from, may := g.expiresFrom(topic, stored)
	switch {
	case !may:
		return false
	case stored.expires != noTime:
		return c.broker.now() >= stored.expires
	}
	return c.broker.now()-from >= c.broker.cfg.OffsetsRetention.Milliseconds()
}
