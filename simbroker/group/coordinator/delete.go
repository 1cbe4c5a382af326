package coordinator

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/record"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/group/share"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// DeleteOffsets deletes committed offsets, and pending ones with them (rule
// H11), and answers when that is replicated, topics and partitions in the order
// asked. Partitions of a topic that members subscribe to get
// GROUP_SUBSCRIBED_TO_TOPIC. Errors for all: INVALID_GROUP_ID,
// NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE,
// GROUP_ID_NOT_FOUND, and NON_EMPTY_GROUP of members that are no consumers.
func (c *Coordinator) DeleteOffsets(req group.DeleteOffsetsRequest, done func([]group.TopicResult, error)) {
	s, g, err := c.findDeletable(req.GroupID)
	if err != nil {
		done(nil, err)
		return
	}
	var tombstones []group.Record
	results := make([]group.TopicResult, len(req.Topics))
	for i, t := range req.Topics {
		results[i] = group.TopicResult{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			result := group.PartitionResult{Partition: p}
			tp := kafka.TopicPartition{Topic: t.Topic, Partition: p}
			if g.Subscribes(t.Topic) {
				result.Err = kafka.ErrGroupSubscribedToTopic
			} else if s.Offsets.Get(req.GroupID, tp).Exists() {
				tombstones = append(tombstones, group.Record{Key: record.OffsetKey(req.GroupID, tp)})
			}
			results[i].Partitions = append(results[i].Partitions, result)
		}
	}
	s.Bury(tombstones, func(err error) {
		if err != nil {
			done(nil, err)
			return
		}
		done(results, nil)
	})
}

// findDeletable is a group of which offsets may be deleted.
func (c *Coordinator) findDeletable(groupID string) (*shard.Shard, shard.Group, error) {
	if groupID == "" {
		return nil, nil, kafka.ErrInvalidGroupID
	}
	s, err := c.find(groupID)
	if err != nil {
		return nil, nil, err
	}
	g := s.Groups[groupID]
	if g == nil {
		return nil, nil, kafka.ErrGroupIDNotFound
	}
	return s, g, g.ValidateOffsetDelete()
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
	switch g := s.Groups[id]; {
	case g == nil:
		done(kafka.ErrGroupIDNotFound)
	case g.Listing().State != group.Empty:
		done(kafka.ErrNonEmptyGroup)
	case g.Kind() == group.Share:
		share.Protocol{Shard: s}.Delete(g, done)
	default:
		s.Bury(s.Funeral(id, g), done)
	}
}

// TopicsDeleted drops what is committed for deleted topics, by their ids where
// the commit knows one, and what share groups know of them.
func (c *Coordinator) TopicsDeleted(topics []group.DeletedTopic) {
	for _, s := range c.sortedShards() {
		if s.Loading {
			continue
		}
		var tombstones []group.Record
		for _, id := range s.Offsets.SortedGroups() {
			for _, tp := range s.Offsets.Present(id) {
				slot := s.Offsets.Get(id, tp)
				if slices.ContainsFunc(topics, func(t group.DeletedTopic) bool { return t.Name == tp.Topic && slot.Belongs(t.ID) }) {
					tombstones = append(tombstones, group.Record{Key: record.OffsetKey(id, tp)})
				}
			}
		}
		s.Bury(append(tombstones, share.Protocol{Shard: s}.Without(topics)...), func(error) {})
	}
}
