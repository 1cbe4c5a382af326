package share

import (
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/shard"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Alter says where a group without members goes on in partitions, and makes it
// if there is none of this id.
func (p Protocol) Alter(req group.AlterShareOffsetsRequest, done func([]group.TopicResult, error)) {
	d, err := p.draftGroup(req.GroupID, true)
	if err == nil && len(d.members) > 0 {
		err = group.Refuse(kafka.ErrNonEmptyGroup, groupNotEmpty)
	}
	if err != nil {
		done(nil, err)
		return
	}
	results, partitions, named := p.alterable(req.Topics, d.now)
	if len(partitions) == 0 {
		done(results, nil)
		return
	}
	d.emit(stateRecord(d.id, union(d.initializing, named), d.initialized))
	id, epoch := d.id, d.epoch
	d.Written = func() {
		p.Env.Shares.Initialize(id, partitions, epoch, func(err error) {
			p.stateSetUp(id, named, err, func(err error) { done(results, err) })
		})
	}
	p.WriteChanges(d.Changes, func(err error) {
		if err != nil {
			done(nil, err)
		}
	})
}

// groupNotEmpty is what Kafka says of a group that has members.
const groupNotEmpty = "The group is not empty."

// alterable is what to answer for topics, and of what there is of them the
// partitions, also by topic.
func (p Protocol) alterable(topics []group.ShareStart, now int64) (results []group.TopicResult, partitions []group.SharePartition, named map[kafka.TopicID]sharedTopic) {
	named = make(map[kafka.TopicID]sharedTopic)
	for _, asked := range topics {
		known, ok := p.Env.Topics.Topic(asked.Topic)
		result := group.TopicResult{Topic: asked.Topic, TopicID: known.ID}
		topic := sharedTopic{name: asked.Topic, since: now}
		for _, wanted := range asked.Partitions {
			answer := group.PartitionResult{Partition: wanted.Partition}
			if ok && wanted.Partition >= 0 && wanted.Partition < known.Partitions {
				topic.partitions = append(topic.partitions, wanted.Partition)
				partitions = append(partitions, group.SharePartition{TopicID: known.ID, Partition: wanted.Partition, Start: wanted.Start})
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

// Forget makes a group forget topics, and answers with those that were
// forgotten, in the order asked, and after them the others.
func (p Protocol) Forget(groupID string, topics []string, done func([]group.ShareTopicResult, error)) {
	g, err := shard.Find[*Group](p.Shard, groupID, "share")
	if err == nil && len(g.members) > 0 {
		err = group.Refuse(kafka.ErrNonEmptyGroup, groupNotEmpty)
	}
	if err != nil {
		done(nil, err)
		return
	}
	initializing, initialized := maps.Clone(g.initializing), maps.Clone(g.initialized)
	var forgotten, others []group.ShareTopicResult
	var ids []kafka.TopicID
	for _, name := range topics {
		known, _ := p.Env.Topics.Topic(name)
		if _, has := initialized[known.ID]; !has {
			others = append(others, group.ShareTopicResult{Topic: name, Err: group.Refuse(kafka.ErrUnknownTopicOrPartition, "There is no offset information to delete.")})
			continue
		}
		delete(initializing, known.ID)
		delete(initialized, known.ID)
		ids = append(ids, known.ID)
		forgotten = append(forgotten, group.ShareTopicResult{Topic: name, TopicID: known.ID})
	}
	if len(ids) == 0 {
		done(others, nil)
		return
	}
	results := slices.Concat(forgotten, others)
	p.Write(p.Plain(stateRecord(groupID, initializing, initialized)), func(err error) {
		if err != nil {
			done(nil, err)
			return
		}
		p.Env.Shares.DeleteTopics(groupID, ids, func(err error) { done(results, err) })
	})
}

// Delete deletes a group once what it was delivered is forgotten, unless
// somebody has joined it meanwhile.
func (p Protocol) Delete(g shard.Group, done func(error)) {
	id := g.Listing().GroupID
	p.Env.Shares.Delete(id, func(err error) {
		switch {
		case err != nil:
			done(err)
		case !p.Owned():
			done(kafka.ErrNotCoordinator)
		case p.Groups[id] != g:
			done(kafka.ErrGroupIDNotFound)
		case g.Listing().State != group.Empty:
			done(kafka.ErrNonEmptyGroup)
		default:
			p.Bury(p.Funeral(id, g), done)
		}
	})
}
