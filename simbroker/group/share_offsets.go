package group

import (
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// alter says where a group without members goes on in partitions, and makes it
// if there is none of this id.
func (c shareGroups) alter(req AlterShareOffsetsRequest, done func([]TopicResult, error)) {
	d, err := c.draftShare(req.GroupID, true)
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
			c.shareStateSetUp(id, named, err, func(err error) { done(results, err) })
		})
	}
	c.writeChanges(d.changes, func(err error) {
		if err != nil {
			done(nil, err)
		}
	})
}

// groupNotEmpty is what Kafka says of a group that has members.
const groupNotEmpty = "The group is not empty."

// alterable is what to answer for topics, and of what there is of them the
// partitions, also by topic.
func (c shareGroups) alterable(topics []ShareStart, now int64) (results []TopicResult, partitions []SharePartition, named map[kafka.TopicID]shareTopic) {
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

// forget makes a group forget topics, and answers with those that were
// forgotten, in the order asked, and after them the others.
func (c shareGroups) forget(groupID string, topics []string, done func([]ShareTopicResult, error)) {
	g, err := findKind[*share](c.shard, groupID, "share")
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
	c.write(c.plain(shareStateRecord(groupID, initializing, initialized)), func(err error) {
		if err != nil {
			done(nil, err)
			return
		}
		c.env.Shares.DeleteTopics(groupID, ids, func(err error) { done(results, err) })
	})
}

// delete deletes a group once what it was delivered is forgotten,
// unless somebody has joined it meanwhile.
func (c shareGroups) delete(g group, done func(error)) {
	id := g.listing().GroupID
	c.env.Shares.Delete(id, func(err error) {
		switch {
		case err != nil:
			done(err)
		case !c.owned():
			done(kafka.ErrNotCoordinator)
		case c.groups[id] != g:
			done(kafka.ErrGroupIDNotFound)
		case g.listing().State != Empty:
			done(kafka.ErrNonEmptyGroup)
		default:
			c.bury(c.funeral(id, g), done)
		}
	})
}
