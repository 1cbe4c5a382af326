package group

import (
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// AlterShareOffsets says where a share group goes on in partitions. The group
// must have no members; where there is none of this id, it is made. It answers
// once that is kept, topics and partitions in the order asked: a partition that
// there is not gets UNKNOWN_TOPIC_OR_PARTITION. Errors for all:
// INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
// COORDINATOR_NOT_AVAILABLE, GROUP_ID_NOT_FOUND for a group of another kind, and
// NON_EMPTY_GROUP.
func (c *Coordinator) AlterShareOffsets(req AlterShareOffsetsRequest, done func([]TopicResult, error)) {
	if req.GroupID == "" {
		done(nil, refuse(kafka.ErrInvalidGroupID, "The group id is invalid."))
		return
	}
	if len(req.Topics) == 0 {
		done(nil, nil)
		return
	}
	s, err := c.find(req.GroupID)
	if err != nil {
		done(nil, err)
		return
	}
	d, err := c.draftShare(s, req.GroupID, true)
	if err == nil && len(d.members) > 0 {
		err = refuse(kafka.ErrNonEmptyGroup, groupNotEmpty)
	}
	if err != nil {
		done(nil, err)
		return
	}
	results, partitions, named := c.alterable(req.Topics, d.now)
	if len(partitions) == 0 {
		done(results, nil)
		return
	}
	d.emit(shareStateRecord(d.id, union(d.initializing, named), d.initialized))
	id, epoch := d.id, d.epoch
	d.written = func() {
		c.env.Shares.Initialize(id, partitions, epoch, func(err error) {
			c.shareStateSetUp(s, id, named, err, func(err error) { done(results, err) })
		})
	}
	c.writeChanges(s, d.changes, func(err error) {
		if err != nil {
			done(nil, err)
		}
	})
}

// groupNotEmpty is what Kafka says of a group that has members.
const groupNotEmpty = "The group is not empty."

// alterable is what to answer for topics, and of what there is of them the
// partitions, also by topic.
func (c *Coordinator) alterable(topics []ShareStart, now int64) (results []TopicResult, partitions []SharePartition, named map[kafka.TopicID]shareTopic) {
	named = make(map[kafka.TopicID]shareTopic)
	for _, asked := range topics {
		known, ok := c.env.Topics.Topic(asked.Topic)
		result := TopicResult{Topic: asked.Topic, TopicID: known.ID}
		topic := shareTopic{name: asked.Topic, since: now}
		for _, p := range asked.Partitions {
			answer := PartitionResult{Partition: p.Partition}
			if ok && p.Partition >= 0 && p.Partition < known.Partitions {
				topic.partitions = append(topic.partitions, p.Partition)
				partitions = append(partitions, SharePartition{TopicID: known.ID, Partition: p.Partition, Start: p.Start})
			} else {
				answer.Err = kafka.ErrUnknownTopicOrPartition
			}
			result.Partitions = append(result.Partitions, answer)
		}
		results = append(results, result)
		if len(topic.partitions) > 0 {
			slices.Sort(topic.partitions)
			named[known.ID] = topic
		}
	}
	return results, partitions, named
}

// DeleteShareOffsets makes a share group forget topics: it begins with them
// anew. The group must have no members. It answers once that is done, with the
// topics that were forgotten, in the order asked, and after them the others: a
// topic of which the group has nothing gets UNKNOWN_TOPIC_OR_PARTITION and no
// id. Errors for all are those of AlterShareOffsets, and GROUP_ID_NOT_FOUND.
func (c *Coordinator) DeleteShareOffsets(groupID string, topics []string, done func([]ShareTopicResult, error)) {
	if groupID == "" {
		done(nil, refuse(kafka.ErrInvalidGroupID, "The group id is invalid."))
		return
	}
	s, err := c.find(groupID)
	if err != nil {
		done(nil, err)
		return
	}
	g, err := findKind[*share](c, groupID, "share")
	if err == nil && len(g.members) > 0 {
		err = refuse(kafka.ErrNonEmptyGroup, groupNotEmpty)
	}
	if err != nil {
		done(nil, err)
		return
	}
	initializing, initialized := maps.Clone(g.initializing), maps.Clone(g.initialized)
	var forgotten, others []ShareTopicResult
	var ids []kafka.TopicID
	for _, name := range topics {
		known, _ := c.env.Topics.Topic(name)
		if _, has := initialized[known.ID]; !has {
			others = append(others, ShareTopicResult{Topic: name, Err: refuse(kafka.ErrUnknownTopicOrPartition, "There is no offset information to delete.")})
			continue
		}
		delete(initializing, known.ID)
		delete(initialized, known.ID)
		ids = append(ids, known.ID)
		forgotten = append(forgotten, ShareTopicResult{Topic: name, TopicID: known.ID})
	}
	if len(ids) == 0 {
		done(others, nil)
		return
	}
	results := slices.Concat(forgotten, others)
	c.write(s, c.plain(shareStateRecord(groupID, initializing, initialized)), func(err error) {
		if err != nil {
			done(nil, err)
			return
		}
		c.env.Shares.DeleteTopics(groupID, ids, func(err error) { done(results, err) })
	})
}
