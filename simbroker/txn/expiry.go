package txn

// removeExpired writes tombstones for ids that have been idle for too long and
// forgets them (rule G19).
func (c *Coordinator) removeExpired() {
	oldest := c.now() - c.cfg.IDExpiration.Milliseconds()
	for _, s := range c.sortedShards() {
		if s.loading {
			continue
		}
		var tombstones []Record
		var expired []*transaction
		for _, t := range s.transactions.sorted() {
			if Dead.mayFollow(t.state) && !t.moving() && t.lastUpdate <= oldest {
				t.expire()
				expired = append(expired, t)
				tombstones = append(tombstones, Record{Key: encodeKey(t.id)})
			}
		}
		if len(expired) > 0 {
			c.env.Log.Append(s.partition, tombstones, requestTimeout, func(err error) { c.buried(s, expired, err) })
		}
	}
}

// buried forgets the ids whose tombstones are replicated; the others stay, for
// the next scan.
func (c *Coordinator) buried(s *shard, expired []*transaction, err error) {
	if c.owned(s) != nil {
		return
	}
	for _, t := range expired {
		if err != nil {
			t.giveUp()
			continue
		}
		s.transactions.remove(t.id)
	}
}
