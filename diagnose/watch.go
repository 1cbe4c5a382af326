package diagnose

import (
	"slices"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// Watch looks at the views of consecutive sweeps, and remembers of those before
// the last what a single one cannot tell: since when end markers are on their
// way, and which commits have moved. It is not safe for concurrent use.
//
// The tracker that makes the views should tell at the second sweep what it is
// asked for (look-ups and records for whatever has not moved since the first):
// how long things must have stood still is for the watch to say. With
// [Options.Unending] that is for the tracker to say.
type Watch struct {
	options Options
	begun   time.Time // when the first sweep ended
	last    *lag.View
	sweeps  int
	audit   *lag.Audit

	// completing is since when a partition waits for an end marker.
	completing map[place]time.Time
	commits    map[commitKey]*commitMemory
	// unreadable are the topics of which this principal may not read records:
	// that is not asked in every sweep.
	unreadable map[string]bool
}

// place is a partition.
type place struct {
	topic     string
	partition int32
}

// commitKey is a commit of a group.
type commitKey struct {
	group string
	place
}

// commitMemory is what was seen of a commit.
type commitMemory struct {
	first, last lag.Offset
	firstAt     time.Time
	unreadSince time.Time // since when it has not moved and something was to be read; zero: it is not so
	seenAt      time.Time // of an unending watch: the last view that has it
}

// NewWatch returns a watch that has seen nothing yet.
func NewWatch(o Options) *Watch {
	return &Watch{options: o, completing: make(map[place]time.Time), commits: make(map[commitKey]*commitMemory), unreadable: make(map[string]bool)}
}

// Audited takes an audit that was made for the report; without one, the views'
// own is told.
func (w *Watch) Audited(a *lag.Audit) { w.audit = a }

// See takes the view of the next sweep.
func (w *Watch) See(view *lag.View) {
	if w.sweeps == 0 {
		w.begun = view.Ended
	}
	w.last = view
	w.sweeps++
	for i := range view.Topics {
		for j := range view.Topics[i].Partitions {
			p := &view.Topics[i].Partitions[j]
			at := place{view.Topics[i].Name, p.Number}
			switch _, since := w.completing[at]; {
			case p.Blocker == nil || p.Blocker.Verdict != lag.Completing:
				delete(w.completing, at)
			case !since:
				w.completing[at] = view.Ended
			}
		}
	}
	for _, m := range view.Missed {
		if topic, ok := strings.CutPrefix(m.Subject, "topic "); ok && m.Kind == lag.MissUnauthorized {
			w.unreadable[topic] = true
		}
	}
	see := w.seeCommit
	if w.options.Unending {
		if view.Complete() {
			defer w.forgetUnseen(view)
		}
		see = w.seeStopped
	}
	for i := range view.Groups {
		g := &view.Groups[i]
		for j := range g.Topics {
			for k := range g.Topics[j].Partitions {
				see(g.Name, &g.Topics[j], &g.Topics[j].Partitions[k], view)
			}
		}
	}
}

// seeCommit takes in one commit.
func (w *Watch) seeCommit(group string, topic *lag.GroupTopicView, row *lag.GroupPartitionView, view *lag.View) {
	committed, known := row.Committed.Get()
	if !known {
		return
	}
	key := commitKey{group, place{topic.Topic, row.Partition}}
	m := w.commits[key]
	if m == nil {
		m = &commitMemory{first: committed, last: committed, firstAt: view.Ended}
		w.commits[key] = m
	}
	switch {
	case w.readAll(group, topic, row):
		m.unreadSince = time.Time{}
	case m.last != committed || m.unreadSince.IsZero():
		m.unreadSince = view.Ended
	}
	m.last = committed
}

// seeStopped takes in one commit, if its group has stopped there: of those alone
// an unending watch remembers for how long. That it is not certain in a sweep
// whether there is something to read does not begin it anew.
func (w *Watch) seeStopped(group string, topic *lag.GroupTopicView, row *lag.GroupPartitionView, view *lag.View) {
	committed, known := row.Committed.Get()
	if !known {
		return
	}
	key := commitKey{group, place{topic.Topic, row.Partition}}
	m := w.commits[key]
	moved := m == nil || m.last != committed
	switch {
	case row.State == lag.StateStopped && moved:
		m = &commitMemory{first: committed, last: committed, firstAt: view.Ended, unreadSince: view.Ended.Add(-w.options.StillAfter)}
		w.commits[key] = m
	case row.State != lag.StateStopped && (moved || row.State != lag.StateUndetermined):
		delete(w.commits, key)
		return
	}
	m.seenAt = view.Ended
}

// forgetUnseen forgets the commits that a complete view does not have.
func (w *Watch) forgetUnseen(view *lag.View) {
	for key, m := range w.commits {
		if !m.seenAt.Equal(view.Ended) {
			delete(w.commits, key)
		}
	}
}

// nothingToRead says whether there is nothing readable under read_committed for
// certain.
func nothingToRead(row *lag.GroupPartitionView) bool {
	lso, known := row.LSOLag.Get()
	readable, looked := row.Readable.Get()
	return known && lso == 0 || looked && readable == 0
}

// readsUncommitted says whether a group is known to read uncommitted on a topic.
func (w *Watch) readsUncommitted(group string, topic *lag.GroupTopicView) bool {
	return topic.ReadUncommitted || w.options.ReadUncommitted != nil && w.options.ReadUncommitted(group)
}

// readAll says whether a group has nothing to read for certain: up to the last
// stable offset, or up to the high watermark if it is known to read uncommitted.
func (w *Watch) readAll(group string, topic *lag.GroupTopicView, row *lag.GroupPartitionView) bool {
	if !w.readsUncommitted(group, topic) || row.State == lag.StateCaughtUp {
		return nothingToRead(row)
	}
	hwm, known := row.HWMLag.Get()
	return known && hwm == 0
}

// watched is the time from the first sweep to the last; of an unending watch, as
// much of it as the tracker needs to say what stands still.
func (w *Watch) watched() time.Duration {
	watched := w.last.Ended.Sub(w.begun)
	if w.options.Unending {
		watched = min(watched, max(w.options.StillAfter, w.options.HeldAfter))
	}
	return watched
}

// completingFor is for how long a partition has been seen to wait for an end
// marker.
func (w *Watch) completingFor(topic string, partition int32) time.Duration {
	since, seen := w.completing[place{topic, partition}]
	if !seen {
		return 0
	}
	return w.last.Ended.Sub(since)
}

// unmoved is for how long a group's commit has not moved although there was
// something to read, and moved whether it has moved at all since it was first
// seen.
func (w *Watch) unmoved(group, topic string, row *lag.GroupPartitionView) (unmoved time.Duration, moved bool) {
	m := w.commits[commitKey{group, place{topic, row.Partition}}]
	if m == nil {
		return 0, false
	}
	if !m.unreadSince.IsZero() {
		unmoved = w.last.Ended.Sub(m.unreadSince)
	}
	return unmoved, m.last != m.first
}

// pace is how many offsets a second a group's commit has moved.
func (w *Watch) pace(group, topic string, row *lag.GroupPartitionView) float64 {
	m := w.commits[commitKey{group, place{topic, row.Partition}}]
	if m == nil || w.options.Unending || !w.last.Ended.After(m.firstAt) {
		return 0
	}
	return float64(m.last-m.first) / w.last.Ended.Sub(m.firstAt).Seconds()
}

// transient are the kinds of misses that another sweep may well not have.
var transient = []lag.MissKind{
	lag.MissLeaderChanged, lag.MissOffsetNotAvailable, lag.MissTopicGone, lag.MissInconsistent, lag.MissNoCoordinator, lag.MissDeadline,
	lag.MissUnreachable, lag.MissTimeout, lag.MissSuspended,
}

// Pending says what another sweep could settle, in a few words each; nothing if
// there is none such.
func (w *Watch) Pending() []string {
	if w.last.Failure != "" {
		return nil
	}
	r := w.reporter()
	r.transactions()
	r.groups()
	var pending []string
	verdicts := 0
	for i := range w.last.Topics {
		topic := &w.last.Topics[i]
		for j := range topic.Partitions {
			if p := &topic.Partitions[j]; p.Blocker != nil && r.unsettled(topic.Name, p) {
				verdicts++
			}
		}
	}
	if verdicts > 0 {
		pending = append(pending, "what holds "+count(verdicts, "partition"))
	}
	var groups []string
	for _, g := range r.report.Groups {
		if g.waiting && !slices.Contains(groups, g.Group) {
			groups = append(groups, g.Group)
		}
	}
	if len(groups) > 0 {
		pending = append(pending, "whether "+count(len(groups), "group")+" moves on")
	}
	if w.watched() < w.options.HeldAfter && slices.ContainsFunc(w.last.Missed, func(m lag.Miss) bool { return slices.Contains(transient, m.Kind) && !r.elsewhere(m.Subject) }) {
		pending = append(pending, "what could not be read")
	}
	return pending
}

// unsettled says whether another sweep could tell more of what holds a
// partition.
func (r *reporter) unsettled(topic string, p *lag.PartitionView) bool {
	if !r.about(topic, p) {
		return false
	}
	switch b := p.Blocker; b.Verdict {
	case lag.Completing:
		return !r.holdsBack(topic, p)
	case lag.Unknown:
		return !r.holdsBack(topic, p) || mayPass[b.Reason] && r.watched() < r.HeldAfter+time.Minute/2
	}
	return false
}

// mayPass are the reasons that the next look-up may not have.
var mayPass = map[lag.Reason]bool{
	lag.ReasonNotYetConfirmed: true, lag.ReasonStaleAnswer: true, lag.ReasonUnexpectedState: true,
	lag.ReasonLeaderChanged: true, lag.ReasonCoordinatorLoading: true, lag.ReasonCoordinatorUnavailable: true,
	lag.ReasonBudget: true,
}

// keeperOf is the partition that keeps a group; −1 where the topic is not seen.
func (r *reporter) keeperOf(group string) int32 {
	if t := r.topics[offsetsTopic]; t != nil && len(t.Partitions) > 0 {
		return lag.Keeper(group, len(t.Partitions))
	}
	return -1
}

// keepsPicked says whether a partition is that of __consumer_offsets which keeps
// a group that the report is about, or one that has a commit on a topic that it
// is about wait for the end of a transaction.
func (r *reporter) keepsPicked(topic string, partition int32) bool {
	if topic != offsetsTopic {
		return false
	}
	if slices.ContainsFunc(r.Groups, func(g string) bool { return r.keeperOf(g) == partition }) {
		return true
	}
	return len(r.Topics) > 0 && slices.ContainsFunc(r.view.Groups, func(g lag.GroupView) bool {
		return picked(r.Groups, g.Name) && r.keeperOf(g.Name) == partition &&
			slices.ContainsFunc(g.Pending, func(c lag.PendingCommit) bool { return picked(r.Topics, c.Topic) })
	})
}
