package group

import (
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// DeleteOffsets deletes committed offsets, and pending ones with them (rule
// H11), and answers when that is replicated, topics and partitions in the order
// asked. Partitions of a topic that members subscribe to get
// GROUP_SUBSCRIBED_TO_TOPIC. Errors for all: INVALID_GROUP_ID,
// NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE,
// GROUP_ID_NOT_FOUND, and NON_EMPTY_GROUP of members that are no consumers.
func (c *Coordinator) DeleteOffsets(req DeleteOffsetsRequest, done func([]TopicResult, error)) {
	s, g, err := c.findDeletable(req.GroupID)
	if err != nil {
		done(nil, err)
		return
	}
	var tombstones []Record
	results := make([]TopicResult, len(req.Topics))
	for i, t := range req.Topics {
		results[i] = TopicResult{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			result := PartitionResult{Partition: p}
			tp := kafka.TopicPartition{Topic: t.Topic, Partition: p}
			if g.subscribes(t.Topic) {
				result.Err = kafka.ErrGroupSubscribedToTopic
			} else if s.offsets.get(req.GroupID, tp).exists() {
				tombstones = append(tombstones, Record{Key: encodeOffsetKey(req.GroupID, tp)})
			}
			results[i].Partitions = append(results[i].Partitions, result)
		}
	}
	c.bury(s, tombstones, func(err error) {
		if err != nil {
			done(nil, err)
			return
		}
		done(results, nil)
	})
}

// findDeletable is a group of which offsets may be deleted.
func (c *Coordinator) findDeletable(groupID string) (*shard, group, error) {
	if groupID == "" {
		return nil, nil, kafka.ErrInvalidGroupID
	}
	s, err := c.find(groupID)
	if err != nil {
		return nil, nil, err
	}
	g := s.groups[groupID]
	if g == nil {
		return nil, nil, kafka.ErrGroupIDNotFound
	}
	return s, g, g.validateOffsetDelete()
}

// bury writes tombstones, if there are any.
func (c *Coordinator) bury(s *shard, tombstones []Record, done func(error)) {
	if len(tombstones) == 0 {
		done(nil)
		return
	}
	c.write(s, c.plain(tombstones...), done)
}

// DeleteGroups deletes groups with all their offsets, and answers when that is
// replicated with one error each in the order asked: nil, NON_EMPTY_GROUP,
// GROUP_ID_NOT_FOUND, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
// COORDINATOR_NOT_AVAILABLE. Pending offsets go too, and a later marker revives
// nothing (rule H11).
func (c *Coordinator) DeleteGroups(groupIDs []string, done func([]error)) {
	errs := make([]error, len(groupIDs))
	outstanding := len(groupIDs)
	finish := func(i int, err error) {
		errs[i] = err
		if outstanding--; outstanding == 0 {
			done(errs)
		}
	}
	if outstanding == 0 {
		done(errs)
	}
	for i, id := range groupIDs {
		c.deleteGroup(id, func(err error) { finish(i, err) })
	}
}

func (c *Coordinator) deleteGroup(id string, done func(error)) {
	s, err := c.find(id)
	if err != nil {
		done(err)
		return
	}
	switch g := s.groups[id]; {
	case g == nil:
		done(kafka.ErrGroupIDNotFound)
	case g.listing().State != Empty:
		done(kafka.ErrNonEmptyGroup)
	case g.kind() == Share:
		c.deleteShare(s, g, done)
	default:
		c.bury(s, s.funeral(id, g), done)
	}
}

// deleteShare deletes a share group once what it was delivered is forgotten,
// unless somebody has joined it meanwhile.
func (c *Coordinator) deleteShare(s *shard, g group, done func(error)) {
	id := g.listing().GroupID
	c.env.Shares.Delete(id, func(err error) {
		switch {
		case err != nil:
			done(err)
		case !c.owned(s):
			done(kafka.ErrNotCoordinator)
		case s.groups[id] != g:
			done(kafka.ErrGroupIDNotFound)
		case g.listing().State != Empty:
			done(kafka.ErrNonEmptyGroup)
		default:
			c.bury(s, s.funeral(id, g), done)
		}
	})
}

// funeral is the tombstones of a group and of all that it has committed.
func (s *shard) funeral(id string, g group) []Record {
	var tombstones []Record
	for _, tp := range s.offsets.present(id) {
		tombstones = append(tombstones, Record{Key: encodeOffsetKey(id, tp)})
	}
	return append(tombstones, g.tombstones()...)
}

// TopicsDeleted drops what is committed for deleted topics, by their ids where
// the commit knows one, and what share groups know of them.
func (c *Coordinator) TopicsDeleted(topics []DeletedTopic) {
	for _, s := range c.sortedShards() {
		if s.loading {
			continue
		}
		var tombstones []Record
		for _, id := range s.offsets.sortedGroups() {
			for _, tp := range s.offsets.present(id) {
				slot := s.offsets.get(id, tp)
				if slices.ContainsFunc(topics, func(t DeletedTopic) bool { return t.Name == tp.Topic && slot.belongs(t.ID) }) {
					tombstones = append(tombstones, Record{Key: encodeOffsetKey(id, tp)})
				}
			}
		}
		c.bury(s, append(tombstones, s.shareStatesWithout(topics)...), func(error) {})
	}
}

// shareStatesWithout is the records of share groups that lose topics.
func (s *shard) shareStatesWithout(topics []DeletedTopic) []Record {
	var records []Record
	for _, found := range s.sorted() {
		g, ok := found.(*share)
		if !ok {
			continue
		}
		initializing, initialized := maps.Clone(g.initializing), maps.Clone(g.initialized)
		for _, t := range topics {
			delete(initializing, t.ID)
			delete(initialized, t.ID)
		}
		if len(initializing) < len(g.initializing) || len(initialized) < len(g.initialized) {
			records = append(records, shareStateRecord(g.id, initializing, initialized))
		}
	}
	return records
}

// belongs says whether anything in the slot is for a topic of this id, or does
// not know for which.
func (s *slot) belongs(id kafka.TopicID) bool {
	is := func(c *commit) bool { return c.topicID == kafka.TopicID{} || c.topicID == id }
	return s.latest() != nil && is(s.latest()) ||
		slices.ContainsFunc(s.pending, func(p pendingCommit) bool { return is(&p.commit) })
}

// scan deletes what has expired, at the interval of
// offsets.retention.check.interval.ms.
func (c *Coordinator) scan() {
	c.clk.After(c.cfg.OffsetsRetentionCheckInterval, func() {
		for _, s := range c.sortedShards() {
			if !s.loading {
				c.bury(s, c.expired(s), func(error) {}) // a failure is tried again by the next scan
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
		s.offsets.tidy(listing.GroupID, c.env.Log.HighWatermark(s.partition))
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
		return c.now() >= stored.expires
	}
	return c.now()-from >= c.cfg.OffsetsRetention.Milliseconds()
}
