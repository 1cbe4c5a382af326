package coordinator

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/offsets"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

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
func (c *Coordinator) FetchOffsets(req group.FetchRequest, done func([]group.FetchedTopic, error)) {
	s, err := c.find(req.GroupID)
	if err != nil {
		done(nil, err)
		return
	}
	if g := s.Groups[req.GroupID]; g != nil {
		if err := g.ValidateFetch(req.MemberID, req.MemberEpoch); err != nil {
			done(nil, err)
			return
		}
	}
	hwm := c.broker.Env.Log.HighWatermark(s.Partition)
	s.Offsets.Tidy(req.GroupID, hwm)
	look := func(slot *offsets.Slot) *offsets.Commit { return slot.Visible(hwm) }
	if req.RequireStable {
		look = (*offsets.Slot).Latest
	}
	var topics []group.FetchedTopic
	if req.Topics == nil {
		topics = fetchAll(s, req, look)
	} else {
		topics = fetchNamed(s, req, look)
	}
	if !req.RequireStable {
		done(topics, nil)
		return
	}
	s.WhenReplicated(func(err error) {
		if err != nil {
			topics = nil
		}
		done(topics, err)
	})
}

// fetchAll lists what has a committed offset; partitions that have only a
// pending one are not listed (rule H7).
func fetchAll(s *shard.Shard, req group.FetchRequest, look func(*offsets.Slot) *offsets.Commit) []group.FetchedTopic {
	topics := []group.FetchedTopic{}
	for _, tp := range s.Offsets.Partitions(req.GroupID) {
		slot := s.Offsets.Get(req.GroupID, tp)
		if look(slot) == nil {
			continue
		}
		if n := len(topics); n == 0 || topics[n-1].Topic != tp.Topic {
			topics = append(topics, group.FetchedTopic{Topic: tp.Topic})
		}
		last := &topics[len(topics)-1]
		last.Partitions = append(last.Partitions, fetched(tp.Partition, slot, kafka.TopicID{}, req.RequireStable, look))
	}
	return topics
}

func fetchNamed(s *shard.Shard, req group.FetchRequest, look func(*offsets.Slot) *offsets.Commit) []group.FetchedTopic {
	topics := make([]group.FetchedTopic, len(req.Topics))
	for i, t := range req.Topics {
		topics[i] = group.FetchedTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			slot := s.Offsets.Get(req.GroupID, kafka.TopicPartition{Topic: t.Topic, Partition: p})
			topics[i].Partitions = append(topics[i].Partitions, fetched(p, slot, t.TopicID, req.RequireStable, look))
		}
	}
	return topics
}

// fetched is the answer for one partition. A commit for another topic of the
// same name is none.
func fetched(partition int32, s *offsets.Slot, topicID kafka.TopicID, stable bool, look func(*offsets.Slot) *offsets.Commit) group.FetchedOffset {
	none := group.FetchedOffset{Partition: partition, Offset: kafka.NoOffset, LeaderEpoch: offsets.NoLeaderEpoch}
	if s == nil {
		return none
	}
	if stable && s.Pending() > 0 {
		none.Err = kafka.ErrUnstableOffsetCommit
		return none
	}
	c, unknown := look(s), kafka.TopicID{}
	if c == nil || topicID != unknown && c.TopicID != unknown && topicID != c.TopicID {
		return none
	}
	return group.FetchedOffset{Partition: partition, Offset: c.Offset, LeaderEpoch: c.LeaderEpoch, Metadata: c.Metadata}
}
