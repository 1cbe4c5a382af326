package lag

import (
	"slices"
	"strings"
	"time"
)

// evidenceLasts is how long a group counts as one that reads uncommitted, after
// a commit was last seen above the last stable offset.
const evidenceLasts = 24 * time.Hour

// groupForgotten is after how long without its commits a group is forgotten. A
// group whose coordinator is away for a while must find its memory again.
const groupForgotten = time.Hour

// groupMemory is what is remembered of one group.
type groupMemory struct {
	read   time.Time            // when its commits were read the last time
	quiet  time.Duration        // for how long it was watched and none of its commits moved
	topics []topicCommitsMemory // by name

	pending map[topicPartition]pendingMemory // nil while there is none
}

// topicPartition names a partition.
type topicPartition struct {
	topic     string
	partition int32
}

// topicCommitsMemory is what is remembered of a group's commits on one topic.
type topicCommitsMemory struct {
	topic      string
	id         TopicID
	partitions []commitMemory // by number

	// uncommitted is when a commit was last seen above the last stable offset;
	// zero if never, or long ago.
	uncommitted time.Time
}

// commitMemory is what is remembered of one commit.
type commitMemory struct {
	partition int32
	committed Offset
	read      time.Time     // when it was read the last time; zero: never
	watched   time.Duration // for how long it was watched not to move
	waited    time.Duration // for how much of that there was something to read
	unread    bool          // the sweep before saw something to read
	works     bool          // it was seen to move, or with nothing to read
	blocked   time.Time     // since when the group is blocked here; zero if it is not
	fetched   fetchMemory
}

// see takes in the commit that a sweep read. Only time in which it was watched
// counts: an interval between two sweeps of more than three periods does not.
func (m *commitMemory) see(committed Offset, at time.Time, period time.Duration) (moved bool) {
	switch {
	case m.read.IsZero():
	case committed != m.committed:
		moved, m.works, m.watched, m.waited = true, true, 0, 0
	default:
		d := watched(m.read, at, period)
		m.watched += d
		if m.unread {
			m.waited += d
		}
	}
	m.committed, m.read = committed, at
	return moved
}

// judge takes in whether there is something to read. A group that has waited
// for a record for hours, and has not committed it a moment after it came, does
// not stand still.
func (m *commitMemory) judge(unread bool) {
	m.unread = unread
	if !unread {
		m.works, m.waited = true, 0
	}
}

// watched is how much of an interval between two sweeps was watched: all of it,
// or none.
func watched(from, to time.Time, period time.Duration) time.Duration {
	if d := to.Sub(from); d > 0 && d <= intervalPeriods*period {
		return d
	}
	return 0
}

// recallGroup returns the memory of a group, with one entry for each of its
// commits on topics and partitions that exist, in the order of the sample.
func (t *Tracker) recallGroup(g *Group) *groupMemory {
	m := t.groups[g.Name]
	if m == nil {
		m = &groupMemory{}
		t.groups[g.Name] = m
	}
	topics := make([]topicCommitsMemory, 0, len(g.Commits))
	for i := range g.Commits {
		c := &g.Commits[i]
		var now topicCommitsMemory
		if before := m.commitsOn(c.Topic); before != nil {
			now = *before
		} else {
			now.topic = c.Topic
		}
		if topic := t.topics[c.Topic]; topic != nil {
			if recreated(now.id, topic.id) {
				now = topicCommitsMemory{topic: c.Topic}
			}
			if topic.id != (TopicID{}) {
				now.id = topic.id
			}
		}
		now.align(c.Partitions)
		topics = append(topics, now)
	}
	m.topics = topics
	return m
}

// commitsOn returns what is remembered of the group's commits on a topic; nil
// if that is nothing.
func (m *groupMemory) commitsOn(topic string) *topicCommitsMemory {
	i, found := slices.BinarySearchFunc(m.topics, topic,
		func(m topicCommitsMemory, name string) int { return strings.Compare(m.topic, name) })
	if !found {
		return nil
	}
	return &m.topics[i]
}

// align brings the memory's partitions into step with commits.
func (m *topicCommitsMemory) align(commits []Commit) {
	if slices.EqualFunc(m.partitions, commits, func(m commitMemory, c Commit) bool { return m.partition == c.Partition }) {
		return
	}
	aligned := make([]commitMemory, len(commits))
	for i, c := range commits {
		aligned[i].partition = c.Partition
		if before := m.commit(c.Partition); before != nil {
			aligned[i] = *before
		}
	}
	m.partitions = aligned
}

// commit returns what is remembered of the commit on a partition; nil if that is
// nothing.
func (m *topicCommitsMemory) commit(partition int32) *commitMemory {
	if i := int(partition); i >= 0 && i < len(m.partitions) && m.partitions[i].partition == partition {
		return &m.partitions[i]
	}
	i, found := slices.BinarySearchFunc(m.partitions, partition,
		func(m commitMemory, number int32) int { return int(m.partition) - int(number) })
	if !found {
		return nil
	}
	return &m.partitions[i]
}

// end takes in the commits of a sweep as a whole: whether one of them moved, and
// whether all of them were read.
func (m *groupMemory) end(moved, sure bool, at time.Time, period time.Duration) {
	switch {
	case moved:
		m.quiet = 0
	case sure && !m.read.IsZero():
		m.quiet += watched(m.read, at, period)
	}
	m.read = at
}

// forgetGroups forgets the groups that have not been read for long.
func (t *Tracker) forgetGroups(now time.Time) {
	for name, m := range t.groups {
		if now.Sub(m.read) > groupForgotten {
			delete(t.groups, name)
		}
	}
}
