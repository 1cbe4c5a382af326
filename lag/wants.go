package lag

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// WantedDate is a question for the time index of a partition's leader, which a
// Dating answers.
type WantedDate struct {
	Topic     string
	Partition int32
	Timestamp time.Time
}

// WantedFetch is a question for the log of a partition's leader, which a Fetch
// answers: what is there to read from a position on, below the last stable
// offset?
type WantedFetch struct {
	Topic     string
	Partition int32
	From      Offset // below the last stable offset of the sample
	Large     bool   // an answer of the usual size was too short before
}

// WantDates returns what to ask time indexes, so that a view after the sample
// can tell how long ago the next unread record of each group was appended: at
// most one question a partition, and none where the tracker's own history tells.
// It takes the Datings that the sample has already into account, so that it can
// be asked again after each round of answers. It changes nothing.
func (t *Tracker) WantDates(s *Sample) []WantedDate {
	var wants []WantedDate
	asked := make(map[*Partition]bool)
	t.eachUnread(s, func(u *unread) {
		if asked[u.partition] {
			return
		}
		h := t.rehearse(u)
		if h.settled(u.position, u.at(), t.settings.Period) {
			return
		}
		if timestamp, ok := h.probe(u.position, u.at()); ok {
			asked[u.partition] = true
			wants = append(wants, WantedDate{u.topic, u.partition.Number, timestamp})
		}
	})
	return wants
}

// WantFetches returns what to fetch, so that a view after the sample can tell
// whether anything is readable for groups that stand still or wait for a
// partition that does: those not asked for longest first. It changes nothing.
func (t *Tracker) WantFetches(s *Sample) []WantedFetch {
	type candidate struct {
		WantedFetch
		asked uint64
	}
	var candidates []candidate
	t.eachUnread(s, func(u *unread) {
		if u.position >= u.view.LastStable.value || !u.still && !u.stalled {
			return
		}
		if m := u.fetched; m.wanted(u.position, u.view.LastStable.value, u.readUncommitted, t.sweeps+1) {
			large := m.large && m.from == u.position
			candidates = append(candidates, candidate{WantedFetch{u.topic, u.partition.Number, u.position, large}, m.asked})
		}
	})
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.asked, b.asked), strings.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.From, b.From))
	})
	wants := make([]WantedFetch, 0, len(candidates))
	for _, c := range candidates {
		if n := len(wants); n == 0 || wants[n-1] != c.WantedFetch {
			wants = append(wants, c.WantedFetch)
		}
	}
	return wants
}

// WantedConfirmation is a partition of which a view after the sample would say for
// the first time that its transaction hangs, or is ownerless: whether the brokers
// agree on who leads it, and who coordinates, is answered by Lookup.Confirmed.
type WantedConfirmation struct {
	Topic     string
	Partition int32

	// TransactionalID is the id whose coordinator contradicts the partition; empty
	// where all coordinators count, as none of them knows the transaction.
	TransactionalID string
}

// WantConfirmations returns the partitions of which a verdict would be proven by the
// sample, if the brokers agree on who leads. It changes nothing.
func (t *Tracker) WantConfirmations(s *Sample) []WantedConfirmation {
	var wants []WantedConfirmation
	for i := range s.Topics {
		topic := &s.Topics[i]
		memory := t.topics[topic.Name]
		if memory == nil || recreated(memory.id, topic.ID) {
			continue
		}
		for j := range topic.Partitions {
			p := &topic.Partitions[j]
			if p.Lookup == nil {
				continue
			}
			m := memory.partition(p.Number)
			if m == nil || m.blocker == nil {
				continue
			}
			e := evidence{topic: topic.Name, partition: p, transactions: s.Transactions, brokers: s.Cluster.value.Brokers, sweep: t.sweeps + 1}
			var below bool
			if e.lso, e.logStart, below, _ = p.Pinned(); !below {
				continue
			}
			f := e.find()
			if f.producer == nil || !m.blocker.isOf(*f.producer) || !m.blocker.completes(f, e) {
				continue
			}
			want := WantedConfirmation{Topic: topic.Name, Partition: p.Number}
			if f.transaction != nil {
				want.TransactionalID = f.transaction.ID
			}
			wants = append(wants, want)
		}
	}
	return wants
}

// unread is a commit of a sample below the high watermark, with what there will
// be to say about it.
type unread struct {
	topic     string
	partition *Partition
	memory    *partitionMemory // nil if the partition is new
	view      PartitionView    // its offsets only
	position  Offset           // below the high watermark

	still, stalled  bool
	readUncommitted bool
	fetched         fetchMemory
}

// at is the moment of which ages are told.
func (u *unread) at() time.Time { return u.partition.LastStable.Within.Answered }

// eachUnread calls f for each commit of a sample that has something unread
// above it, as far as the offsets are known.
func (t *Tracker) eachUnread(s *Sample, f func(*unread)) {
	for i := range s.Groups {
		g := &s.Groups[i]
		if !g.CommitsRead {
			continue
		}
		memory := t.groups[g.Name]
		for j := range g.Commits {
			t.eachUnreadOn(s, g, memory, &g.Commits[j], f)
		}
	}
}

// eachUnreadOn is eachUnread for the commits of one group on one topic.
func (t *Tracker) eachUnreadOn(s *Sample, g *Group, memory *groupMemory, commits *TopicCommits, f func(*unread)) {
	i, found := slices.BinarySearchFunc(s.Topics, commits.Topic,
		func(topic Topic, name string) int { return strings.Compare(topic.Name, name) })
	if !found {
		return
	}
	topic := &s.Topics[i]
	topicMemory := t.topics[topic.Name]
	if topicMemory != nil && recreated(topicMemory.id, topic.ID) {
		topicMemory = nil
	}
	var before *topicCommitsMemory
	if memory != nil {
		if before = memory.commitsOn(topic.Name); before != nil && recreated(before.id, topic.ID) {
			before = nil
		}
	}
	for _, c := range commits.Partitions {
		committed, known := c.Offset.Get()
		p := partitionOf(topic, c.Partition)
		if !known || p == nil {
			continue
		}
		u := unread{topic: topic.Name, partition: p}
		if consistent := u.view.setOffsets(p); !consistent || !u.view.LastStable.known || !u.view.LogStart.known {
			continue
		}
		u.position = max(committed, u.view.LogStart.value)
		if u.position >= u.view.HighWatermark.value {
			continue
		}
		u.memory = topicMemory.partition(c.Partition)
		u.readUncommitted = t.settings.ReadUncommitted(g.Name) || committed > u.view.LastStable.value ||
			before != nil && u.at().Sub(before.uncommitted) < evidenceLasts
		u.stalled = u.memory.stalledFor(&u) >= t.settings.StalledAfter
		if before != nil {
			if m := before.commit(c.Partition); m != nil {
				now := *m
				now.see(committed, s.Ended, t.settings.Period)
				u.still, u.fetched = now.waited >= t.settings.StillAfter, now.fetched
			}
		}
		f(&u)
	}
}

// partitionOf returns a partition of a topic; nil if there is none.
func partitionOf(topic *Topic, number int32) *Partition {
	if i := int(number); i >= 0 && i < len(topic.Partitions) && topic.Partitions[i].Number == number {
		return &topic.Partitions[i]
	}
	i, found := slices.BinarySearchFunc(topic.Partitions, number,
		func(p Partition, number int32) int { return int(p.Number) - int(number) })
	if !found {
		return nil
	}
	return &topic.Partitions[i]
}

// partition returns the memory of a partition; nil if there is none.
func (m *topicMemory) partition(number int32) *partitionMemory {
	if m == nil {
		return nil
	}
	if i := int(number); i >= 0 && i < len(m.partitions) && m.partitions[i].number == number {
		return &m.partitions[i]
	}
	i, found := slices.BinarySearchFunc(m.partitions, number,
		func(m partitionMemory, number int32) int { return int(m.number) - int(number) })
	if !found {
		return nil
	}
	return &m.partitions[i]
}

// stalledFor is for how long the last stable offset will have stood still with
// the sample.
func (m *partitionMemory) stalledFor(u *unread) time.Duration {
	if m == nil {
		return 0
	}
	stall := m.stall
	lso := u.view.LastStable.value
	stall.Observe(lso, u.view.LogStart, lso < u.view.HighWatermark.value, u.at())
	return stall.Lasted(u.at())
}

// rehearse returns the partition's history as it will be with the sample. It is
// valid until the next call.
func (t *Tracker) rehearse(u *unread) *history {
	h := &t.rehearsal
	points := h.points[:0]
	*h = history{}
	if u.memory != nil && u.memory.history != nil {
		*h = *u.memory.history
		points = append(points, u.memory.history.points...)
	}
	h.points = points
	h.take(u.partition)
	return h
}
