package group

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// FetchOffsets reads committed offsets, topics and partitions in the order
// asked, or sorted if all were asked for (rules H7, H9). The error stands for
// the group: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, and
// UNKNOWN_MEMBER_ID or STALE_MEMBER_EPOCH of a group of the consumer protocol
// whose member is named and is not one. A group that does not exist, and a share
// group, has no offsets.
//
// A plain read sees what is replicated. One that requires stable offsets sees
// all that is written, answers UNSTABLE_OFFSET_COMMIT for partitions with
// pending commits, and waits until what it saw is replicated.
func (c *Coordinator) FetchOffsets(req FetchRequest, done func([]FetchedTopic, error)) {
	s, err := c.find(req.GroupID)
	if err != nil {
		done(nil, err)
		return
	}
	if g := s.groups[req.GroupID]; g != nil {
		if err := g.validateFetch(req.MemberID, req.MemberEpoch); err != nil {
			done(nil, err)
			return
		}
	}
	hwm := c.broker.env.Log.HighWatermark(s.partition)
	s.offsets.tidy(req.GroupID, hwm)
	look := func(slot *slot) *commit { return slot.visible(hwm) }
	if req.RequireStable {
		look = (*slot).latest
	}
	var topics []FetchedTopic
	if req.Topics == nil {
		topics = s.fetchAll(req, look)
	} else {
		topics = s.fetchNamed(req, look)
	}
	if !req.RequireStable {
		done(topics, nil)
		return
	}
	s.whenReplicated(func(err error) {
		if err != nil {
			topics = nil
		}
		done(topics, err)
	})
}

// fetchAll lists what has a committed offset; partitions that have only a
// pending one are not listed (rule H7).
func (s *shard) fetchAll(req FetchRequest, look func(*slot) *commit) []FetchedTopic {
	topics := []FetchedTopic{}
	for _, tp := range s.offsets.partitions(req.GroupID) {
		slot := s.offsets.get(req.GroupID, tp)
		if look(slot) == nil {
			continue
		}
		if n := len(topics); n == 0 || topics[n-1].Topic != tp.Topic {
			topics = append(topics, FetchedTopic{Topic: tp.Topic})
		}
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, fetched(tp.Partition, slot, kafka.TopicID{}, req.RequireStable, look))
	}
	return topics
}

func (s *shard) fetchNamed(req FetchRequest, look func(*slot) *commit) []FetchedTopic {
	topics := make([]FetchedTopic, len(req.Topics))
	for i, t := range req.Topics {
		topics[i] = FetchedTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			slot := s.offsets.get(req.GroupID, kafka.TopicPartition{Topic: t.Topic, Partition: p})
			topics[i].Partitions = append(topics[i].Partitions, fetched(p, slot, t.TopicID, req.RequireStable, look))
		}
	}
	return topics
}

// fetched is the answer for one partition. A commit for another topic of the
// same name is none.
func fetched(partition int32, s *slot, topicID kafka.TopicID, stable bool, look func(*slot) *commit) FetchedOffset {
	none := FetchedOffset{Partition: partition, Offset: kafka.NoOffset, LeaderEpoch: noLeaderEpoch}
	if s == nil {
		return none
	}
	if stable && len(s.pending) > 0 {
		none.Err = kafka.ErrUnstableOffsetCommit
		return none
	}
	c, unknown := look(s), kafka.TopicID{}
	if c == nil || topicID != unknown && c.topicID != unknown && topicID != c.topicID {
		return none
	}
	return FetchedOffset{Partition: partition, Offset: c.offset, LeaderEpoch: c.leaderEpoch, Metadata: c.metadata}
}
