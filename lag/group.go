package lag

import (
	"slices"
	"strings"
)

// observeGroups fills in the view's groups. The topics must be there already.
func (t *Tracker) observeGroups(view *View, s *Sample) {
	clear(t.aboveNow)
	view.Groups = make([]GroupView, 0, len(s.Groups))
	for i := range s.Groups {
		view.Groups = append(view.Groups, t.observeGroup(view, s, &s.Groups[i]))
	}
	t.above, t.aboveNow = t.aboveNow, t.above
}

// observeGroup returns one group's view.
func (t *Tracker) observeGroup(view *View, s *Sample, g *Group) GroupView {
	v := GroupView{
		Name: g.Name, Type: g.Type, ProtocolType: g.ProtocolType,
		Coordinator: g.Coordinator, State: g.State, Members: g.Members, MemberList: g.MemberList,
	}
	v.setShares(g)
	if !g.CommitsRead {
		return v
	}
	tally := commitTally{certain: true}
	for i := range g.Commits {
		commits := &g.Commits[i]
		topic := t.topic(view, commits.Topic)
		if topic == nil {
			v.orphan(len(commits.Partitions))
			continue
		}
		v.orphan(0)
		rows := t.observeCommits(&v, topic, commits)
		tally.add(topic, rows)
		if len(rows) > 0 {
			v.Topics = append(v.Topics, topicSums(commits.Topic, rows))
		}
	}
	v.orphan(0)
	t.addAssigned(&tally, view, g)
	if tally.certain {
		v.Uncommitted = Known(tally.uncommitted)
	}
	t.judge(view, s, g, &v)
	t.judgePending(view, s, g, &v)
	return v
}

// setShares fills in where a share group is.
func (g *GroupView) setShares(of *Group) {
	shares, _ := of.Shares.Get()
	for i := range shares {
		for _, p := range shares[i].Partitions {
			g.Shares = append(g.Shares, ShareView{shares[i].Topic, p})
		}
	}
}

// topic returns a topic of the view under way; nil if there is none.
func (t *Tracker) topic(view *View, name string) *TopicView {
	i, ok := t.index[name]
	if !ok {
		return nil
	}
	return &view.Topics[i]
}

// orphan adds to the number of commits for partitions that do not exist.
func (g *GroupView) orphan(n int) {
	g.Orphans = Known(g.Orphans.value + Count(n))
}

// observeCommits returns the rows of a group's commits on one topic. Commits
// on partitions that do not exist have none and are counted, unless the topic's
// partitions are not known.
func (t *Tracker) observeCommits(g *GroupView, topic *TopicView, commits *TopicCommits) []GroupPartitionView {
	rows := make([]GroupPartitionView, 0, len(commits.Partitions))
	for _, c := range commits.Partitions {
		p := topic.partition(c.Partition)
		if p == nil && !topic.Unreadable {
			g.orphan(1)
			continue
		}
		row := GroupPartitionView{Partition: c.Partition, Committed: c.Offset}
		if committed, ok := c.Offset.Get(); ok && p != nil {
			row.setLags(committed, p)
			t.markAhead(&row, groupPartition{g.Name, topic.Name, c.Partition}, committed, p.HighWatermark)
		}
		rows = append(rows, row)
	}
	return rows
}

// partition returns a partition of the topic; nil if there is none.
func (v *TopicView) partition(number int32) *PartitionView {
	if i := int(number); i >= 0 && i < len(v.Partitions) && v.Partitions[i].Number == number {
		return &v.Partitions[i]
	}
	i, found := slices.BinarySearchFunc(v.Partitions, number,
		func(p PartitionView, number int32) int { return int(p.Number) - int(number) })
	if !found {
		return nil
	}
	return &v.Partitions[i]
}

// setLags fills in what lies between a commit and the partition's offsets
// (measurements.md 3). Without the log start the position is not known.
func (r *GroupPartitionView) setLags(committed Offset, p *PartitionView) {
	start, known := p.LogStart.Get()
	if !known {
		return
	}
	position := max(committed, start)
	if lso, ok := p.LastStable.Get(); ok {
		r.LSOLag = Known(Count(max(0, lso-position)))
	}
	if hwm, ok := p.HighWatermark.Get(); ok {
		r.HWMLag = Known(Count(max(0, hwm-position)))
	}
	r.Lost = Known(Count(max(0, start-committed)))
}

// markAhead fills in how far a commit lies above the high watermark, if the
// sweep before saw it above as well: one sight alone may be a change of leader.
func (t *Tracker) markAhead(r *GroupPartitionView, key groupPartition, committed Offset, highWatermark Optional[Offset]) {
	hwm, known := highWatermark.Get()
	if !known {
		return
	}
	r.Ahead = Known(Count(0))
	if committed <= hwm {
		return
	}
	t.aboveNow[key] = struct{}{}
	if _, before := t.above[key]; before {
		r.Ahead = Known(Count(committed - hwm))
	}
}

// topicSums returns a topic's view with the sums over its rows. A sum that
// lacks a part is absent: it would be a drop that never was.
func topicSums(topic string, rows []GroupPartitionView) GroupTopicView {
	v := GroupTopicView{Topic: topic, Partitions: rows, LSOLag: Known(Count(0)), HWMLag: Known(Count(0))}
	for i := range rows {
		v.LSOLag = plus(v.LSOLag, rows[i].LSOLag)
		v.HWMLag = plus(v.HWMLag, rows[i].HWMLag)
	}
	return v
}

// plus is the sum of two counts where both are known.
func plus(a, b Optional[Count]) Optional[Count] {
	if !a.known || !b.known {
		return Optional[Count]{}
	}
	return Known(a.value + b.value)
}

// commitTally counts a group's partitions without a commit.
type commitTally struct {
	uncommitted Count
	certain     bool // no part of the count is unknown
}

// add counts the partitions of a topic of which rows are the commits. A commit
// that could not be read may be none.
func (c *commitTally) add(topic *TopicView, rows []GroupPartitionView) {
	if topic.Unreadable {
		c.certain = false
		return
	}
	for i := range rows {
		c.certain = c.certain && rows[i].Committed.IsKnown()
	}
	c.uncommitted += Count(len(topic.Partitions) - len(rows))
}

// addAssigned counts the partitions of the topics that the group is assigned
// and has no commit on.
func (t *Tracker) addAssigned(tally *commitTally, view *View, g *Group) {
	assignment, known := g.Assignment.Get()
	if !known {
		tally.certain = false
		return
	}
	for i := range assignment {
		name := assignment[i].Topic
		_, committed := slices.BinarySearchFunc(g.Commits, name,
			func(c TopicCommits, name string) int { return strings.Compare(c.Topic, name) })
		if topic := t.topic(view, name); topic != nil && !committed {
			tally.add(topic, nil)
		}
	}
}
