package txn

// Forget loses what is known of a transactional id without ending its
// transaction, as when the log has lost its records (litmus test 29): a
// tombstone is written, and the id leaves memory at once. It reports whether
// this coordinator knew the id. What was already on its way, such as markers,
// goes on.
func (c *Coordinator) Forget(transactionalID string) bool {
	s, ok := c.shards[c.PartitionFor(transactionalID)]
	if !ok || s.loading || s.transactions.get(transactionalID) == nil {
		return false
	}
	s.transactions.remove(transactionalID)
	c.env.Log.Append(s.partition, []Record{{Key: encodeKey(transactionalID)}}, requestTimeout, func(error) {})
	return true
}
