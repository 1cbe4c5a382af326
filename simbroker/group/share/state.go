package share

import (
	"cmp"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// setUpState has share state set up for partitions of subscribed topics that
// have none. That they are on the way is a record; that they are there another
// one, which the next heartbeat takes into account.
func (p Protocol) setUpState(d *draft) {
	missing := make(map[kafka.TopicID]sharedTopic)
	var partitions []group.SharePartition
	for _, name := range d.allTopics() {
		t, ok := p.Env.Topics.Topic(name)
		if !ok {
			continue
		}
		under := slices.Clone(d.initialized[t.ID].partitions)
		if way := d.initializing[t.ID]; d.now-way.since < p.Config.ShareInitializeRetry.Milliseconds() {
			under = append(under, way.partitions...)
		}
		add := sharedTopic{name: name}
		for n := range t.Partitions {
			if !slices.Contains(under, n) {
				add.partitions = append(add.partitions, n)
				partitions = append(partitions, group.SharePartition{TopicID: t.ID, Partition: n, Start: kafka.NoOffset})
			}
		}
		if len(add.partitions) > 0 {
			missing[t.ID] = add
		}
	}
	if len(missing) == 0 {
		return
	}
	d.emit(stateRecord(d.id, union(d.initializing, missing), d.initialized))
	id, epoch := d.id, d.epoch
	d.Written = func() {
		p.Env.Shares.Initialize(id, partitions, epoch, func(err error) { p.stateSetUp(id, missing, err, func(error) {}) })
	}
}

// union is the partitions of both, topic by topic.
func union(a, b map[kafka.TopicID]sharedTopic) map[kafka.TopicID]sharedTopic {
	all := maps.Clone(a)
	for id, t := range b {
		merged := slices.Concat(all[id].partitions, t.partitions)
		slices.Sort(merged)
		all[id] = sharedTopic{name: t.name, partitions: slices.Compact(merged), since: t.since}
	}
	return all
}

// stateSetUp is told that share state was set up, or could not be: then it is
// tried again by a later heartbeat. done is told once that is written.
func (p Protocol) stateSetUp(id string, topics map[kafka.TopicID]sharedTopic, err error, done func(error)) {
	g, ok := p.Groups[id].(*Group)
	if !ok || !p.Owned() {
		done(kafka.ErrNotCoordinator)
		return
	}
	initializing := make(map[kafka.TopicID]sharedTopic)
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
	p.Write(p.Plain(stateRecord(id, initializing, initialized)), func(failed error) { done(cmp.Or(err, failed)) })
}

// Without is the records of share groups that lose topics.
func (p Protocol) Without(topics []group.DeletedTopic) []group.Record {
	var records []group.Record
	for _, found := range p.Sorted() {
		g, ok := found.(*Group)
		if !ok {
			continue
		}
		initializing, initialized := maps.Clone(g.initializing), maps.Clone(g.initialized)
		for _, t := range topics {
			delete(initializing, t.ID)
			delete(initialized, t.ID)
		}
		if len(initializing) < len(g.initializing) || len(initialized) < len(g.initialized) {
			records = append(records, stateRecord(g.id, initializing, initialized))
		}
	}
	return records
}

// Partitions is the partitions for which a group has its state set up, by topic
// name; nothing for a group that is none.
func (p Protocol) Partitions(groupID string) []group.AssignedTopic {
	g, ok := p.Groups[groupID].(*Group)
	if !ok {
		return nil
	}
	set := make(assignment.Set)
	for id, t := range g.initialized {
		for _, n := range t.partitions {
			set[assignment.Partition{Topic: id, Number: n}] = true
		}
	}
	return assignment.NamedTopics(assignment.Sorted(set), p.Env.Topics)
}
