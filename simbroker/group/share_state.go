package group

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// setUpShareState has share state set up for partitions of subscribed topics
// that have none. That they are on the way is a record; that they are there
// another one, which the next heartbeat takes into account.
func (c shareGroups) setUpShareState(d *shareDraft) {
	missing := make(map[kafka.TopicID]shareTopic)
	var partitions []SharePartition
	for _, name := range d.allTopics() {
		t, ok := c.env.Topics.Topic(name)
		if !ok {
			continue
		}
		under := slices.Clone(d.initialized[t.ID].partitions)
		if way := d.initializing[t.ID]; d.now-way.since < c.cfg.ShareInitializeRetry.Milliseconds() {
			under = append(under, way.partitions...)
		}
		add := shareTopic{name: name}
		for n := range t.Partitions {
			if !slices.Contains(under, n) {
				add.partitions = append(add.partitions, n)
				partitions = append(partitions, SharePartition{TopicID: t.ID, Partition: n, Start: kafka.NoOffset})
			}
		}
		if len(add.partitions) > 0 {
			missing[t.ID] = add
		}
	}
	if len(missing) == 0 {
		return
	}
	d.emit(shareStateRecord(d.id, union(d.initializing, missing), d.initialized))
	id, epoch := d.id, d.epoch
	d.written = func() {
		c.env.Shares.Initialize(id, partitions, epoch, func(err error) { c.shareStateSetUp(id, missing, err, func(error) {}) })
	}
}

// union is the partitions of both, topic by topic.
func union(a, b map[kafka.TopicID]shareTopic) map[kafka.TopicID]shareTopic {
	all := maps.Clone(a)
	for id, t := range b {
		merged := slices.Concat(all[id].partitions, t.partitions)
		slices.Sort(merged)
		all[id] = shareTopic{name: t.name, partitions: slices.Compact(merged), since: t.since}
	}
	return all
}

// shareStateSetUp is told that share state was set up, or could not be: then it
// is tried again by a later heartbeat. done is told once that is written.
func (c shareGroups) shareStateSetUp(id string, topics map[kafka.TopicID]shareTopic, err error, done func(error)) {
	g, ok := c.groups[id].(*share)
	if !ok || !c.owned() {
		done(kafka.ErrNotCoordinator)
		return
	}
	initializing := make(map[kafka.TopicID]shareTopic)
	for topic, way := range g.initializing {
		way.partitions = slices.DeleteFunc(slices.Clone(way.partitions), func(n int32) bool { return slices.Contains(topics[topic].partitions, n) })
		if len(way.partitions) > 0 {
			initializing[topic] = way
		}
	}
	initialized := g.initialized
	if err == nil {
		initialized = union(g.initialized, topics)
	}
	c.write(c.plain(shareStateRecord(id, initializing, initialized)), func(failed error) { done(cmp.Or(err, failed)) })
}

// without is the records of share groups that lose topics.
func (c shareGroups) without(topics []DeletedTopic) []Record {
	var records []Record
	for _, found := range c.sorted() {
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

// partitions is the partitions for which a group has its state set up, by topic
// name; nothing for a group that is none.
func (c shareGroups) partitions(groupID string) []AssignedTopic {
	g, ok := c.groups[groupID].(*share)
	if !ok {
		return nil
	}
	set := make(partitionSet)
	for id, t := range g.initialized {
		for _, n := range t.partitions {
			set[idPartition{id, n}] = true
		}
	}
	return described(sortedPartitions(set), c.env.Topics)
}
