package group

import "slices"

// downgrades says whether a group goes back to the classic protocol when some
// members leave: all the others speak it.
func (c consumerGroups) downgrades(g *consumer, leaving []*consumerMember) bool {
	stay := 0
	for _, m := range g.members {
		if slices.Contains(leaving, m) {
			continue
		}
		if m.classic == nil {
			return false
		}
		stay++
	}
	return stay > 0 && stay <= c.cfg.MaxSize && c.cfg.ConsumerMigrationPolicy.downgrades()
}

// downgrade makes a group a classic one of the members that stay. It may have
// to rebalance once that is in the log.
func (c consumerGroups) downgrade(d *consumerDraft, leaving []*consumerMember, rebalance bool) {
	old := d.consumer
	var members []*member
	for _, m := range old.sorted() {
		if !slices.Contains(leaving, m) {
			members = append(members, &member{
				id: m.id, instanceID: m.instanceID, clientID: m.clientID, clientHost: m.clientHost,
				rebalanceTimeout: m.rebalanceTimeout, sessionTimeout: m.classic.sessionTimeout,
				protocolType: consumerProtocol, protocols: m.classic.protocols,
			})
		}
		c.timers.stopMember(old.id, m.id)
	}
	g := restored(old.id, old.epoch, members, c.now())
	assignments := make(map[string][]byte)
	for _, m := range members {
		sub, err := decodeSubscription(*m.metadata(*g.protocol))
		if err != nil {
			sub.version = 0
		}
		assignments[m.id] = encodeEmbeddedAssignment(sub.version, described(sortedPartitions(old.target[m.id]), c.env.Topics))
	}
	d.records = append(d.records, old.tombstones()...)
	d.records = append(d.records, g.record(assignments))
	d.written = func() { classicGroups{c.shard}.takeBack(g, rebalance) }
}
