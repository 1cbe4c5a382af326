package group

import (
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
	s.bury(tombstones, func(err error) {
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
		shareGroups{s}.delete(g, done)
	default:
		s.bury(s.funeral(id, g), done)
	}
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
		s.bury(append(tombstones, shareGroups{s}.without(topics)...), func(error) {})
	}
}
