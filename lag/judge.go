package lag

import (
	"slices"
	"strings"
	"time"
)

// groupJudge says of one group what its commits alone do not: what it is doing
// on each partition, and since when its next unread record is there.
type groupJudge struct {
	tracker *Tracker
	view    *View
	sample  *Sample
	group   *Group
	memory  *groupMemory

	inactive   bool
	configured bool // to read uncommitted
}

// judge fills in what depends on what was remembered of the group, and
// remembers its commits.
func (t *Tracker) judge(view *View, s *Sample, g *Group, v *GroupView) {
	j := &groupJudge{
		tracker: t, view: view, sample: s, group: g,
		configured: t.settings.ReadUncommitted(g.Name),
	}
	j.remember()
	members, described := g.Members.Get()
	j.inactive = described && members == 0 && j.memory.quiet >= t.settings.StillAfter
	for i := range v.Topics {
		j.judgeTopic(&v.Topics[i])
	}
	v.setOwners(g)
}

// remember takes the group's commits into its memory.
func (j *groupJudge) remember() {
	t, at, period := j.tracker, j.sample.Ended, j.tracker.settings.Period
	m := t.recallGroup(j.group)
	j.memory = m
	moved, sure := false, true
	for i := range j.group.Commits {
		for k, c := range j.group.Commits[i].Partitions {
			committed, known := c.Offset.Get()
			if !known {
				sure = false
				continue
			}
			memory := &m.topics[i].partitions[k]
			appeared := memory.read.IsZero() && !m.read.IsZero()
			moved = memory.see(committed, at, period) || appeared || moved
		}
	}
	m.end(moved, sure, at, period)
}

// judgeTopic fills in the rows of one topic, and what follows from them.
func (j *groupJudge) judgeTopic(v *GroupTopicView) {
	topic, memory := j.tracker.topic(j.view, v.Topic), j.memory.commitsOn(v.Topic)
	at := j.sample.Ended
	for i := range v.Partitions {
		row := &v.Partitions[i]
		p := topic.partition(row.Partition)
		if committed, ok := row.Committed.Get(); ok && p != nil && p.LastStable.known &&
			committed > p.LastStable.value && committed <= p.HighWatermark.value {
			memory.uncommitted = at
		}
	}
	v.ReadUncommitted = at.Sub(memory.uncommitted) < evidenceLasts
	for i := range v.Partitions {
		row := &v.Partitions[i]
		if p := topic.partition(row.Partition); p != nil {
			j.judgeRow(v, row, p, memory.commit(row.Partition))
		}
	}
	v.State = firstState(v.Partitions)
	v.LSOLagFor, v.HWMLagFor = maxAge(v.Partitions, lsoAge), maxAge(v.Partitions, hwmAge)
}

// judgeRow fills in one row, if the commit and all offsets that it depends on
// are known.
func (j *groupJudge) judgeRow(topic *GroupTopicView, row *GroupPartitionView, p *PartitionView, m *commitMemory) {
	t := j.tracker
	committed, known := row.Committed.Get()
	if !known || !p.LogStart.known || !p.LastStable.known {
		return
	}
	s := standing{
		committed: committed, logStart: p.LogStart.value, lastStable: p.LastStable.value, highWatermark: p.HighWatermark.value,
		ahead:           row.Ahead.value > 0,
		still:           m.watched >= t.settings.StillAfter,
		waited:          m.waited >= t.settings.StillAfter,
		works:           m.works,
		inactive:        j.inactive,
		stalled:         p.Below && p.StalledFor >= t.settings.StalledAfter,
		readUncommitted: j.configured || topic.ReadUncommitted,
	}
	read, memory := j.partition(topic.Topic, row.Partition)
	position := s.position()
	for i := range read.Fetches {
		if f := &read.Fetches[i]; f.From == position {
			m.fetched.take(f, s.lastStable, t.sweeps)
		}
	}
	s.found = m.fetched.found(position, s.lastStable)
	if s.found.whole && position < s.lastStable {
		row.Readable = Known(s.found.committed)
		row.recordless = s.found.all == 0 && s.lastStable == s.highWatermark
	}
	row.setAges(&s, j.history(memory, read, position), memory.readAt, t.settings.Period)
	row.State = s.state()
	m.judge(!s.nothingReadable())
	row.setBlocked(m, j.sample.Ended, p.StalledFor)
}

// partition returns a partition of the sample, and what is remembered of it.
func (j *groupJudge) partition(topic string, number int32) (*Partition, *partitionMemory) {
	i, _ := slices.BinarySearchFunc(j.sample.Topics, topic,
		func(topic Topic, name string) int { return strings.Compare(topic.Name, name) })
	return partitionOf(&j.sample.Topics[i], number), j.tracker.topics[topic].partition(number)
}

// history returns the history of a partition, which begins with the first
// group that commits there, and notes what the group needs of it.
func (j *groupJudge) history(m *partitionMemory, read *Partition, position Offset) *history {
	if m.history == nil {
		m.history = &history{}
		j.view.Skewed += m.history.take(read)
	}
	if m.neededIn != j.tracker.sweeps {
		m.neededIn, m.needed = j.tracker.sweeps, position
	}
	m.needed = min(m.needed, position)
	return m.history
}

// setOwners fills in who is assigned the partitions on which the group has
// commits.
func (g *GroupView) setOwners(of *Group) {
	assignment, known := of.Assignment.Get()
	if !known || !of.assigns() {
		return
	}
	for i := range g.Topics {
		var assigned []AssignedPartition
		at, found := slices.BinarySearchFunc(assignment, g.Topics[i].Topic,
			func(a TopicAssignment, name string) int { return strings.Compare(a.Topic, name) })
		if found {
			assigned = assignment[at].Partitions
		}
		for k := range g.Topics[i].Partitions {
			row := &g.Topics[i].Partitions[k]
			at, found := slices.BinarySearchFunc(assigned, row.Partition,
				func(a AssignedPartition, number int32) int { return int(a.Partition) - int(number) })
			switch {
			case !found:
				row.Unassigned = len(g.MemberList) > 0
			case assigned[at].Member >= 0:
				row.Owner = &g.MemberList[assigned[at].Member]
			}
		}
	}
}

// assigns says whether the group's protocol assigns partitions to members.
func (g *Group) assigns() bool {
	switch g.Type {
	case ConsumerGroup, StreamsGroup:
		return true
	case ShareGroup:
		return false
	default:
		return g.ProtocolType == "consumer"
	}
}

// setBlocked fills in since when the group is blocked here: no longer than what
// holds it has stood still, as it may have come on in a sweep that did not see it.
func (r *GroupPartitionView) setBlocked(m *commitMemory, at time.Time, stalledFor time.Duration) {
	if r.State != StateBlocked {
		m.blocked = time.Time{}
		return
	}
	if m.blocked.IsZero() || m.blocked.Before(at.Add(-stalledFor)) {
		m.blocked = at
	}
	r.BlockedFor = Known(at.Sub(m.blocked))
}

// dropHistories drops of the histories what no group needs any more. A sweep
// that lacks something says nothing about what groups need.
func (t *Tracker) dropHistories(s *Sample) {
	if len(s.Missed) > 0 || !s.Cluster.IsKnown() {
		return
	}
	for _, topic := range t.topics {
		for i := range topic.partitions {
			switch m := &topic.partitions[i]; {
			case m.history == nil:
			case m.neededIn == t.sweeps:
				m.history.forgetBelow(m.needed)
			case t.sweeps-m.neededIn > historyUnneeded:
				m.history = nil
			}
		}
	}
}

// historyUnneeded is how many sweeps a history outlasts the last commit on its
// partition.
const historyUnneeded = 1000
