package lag

import (
	"fmt"
	"testing"
	"time"
)

// TestStateOfPartition has every state, each beside what must not get it. The
// log runs from 10 over the last stable offset to the high watermark.
func TestStateOfPartition(t *testing.T) {
	none, one := found{whole: true}, found{committed: 1, all: 1}
	for _, c := range []struct {
		reason        string
		committed     Offset
		lso, hwm      Offset
		still, moved  bool // still: with something to read all the time
		stalled, idle bool // idle: the group is inactive
		ahead, ru     bool
		found         found
		want          GroupState
	}{
		{reason: "ahead", committed: 60, lso: 50, hwm: 50, ahead: true, want: StateAhead},
		{reason: "ahead comes before inactive", committed: 60, lso: 50, hwm: 50, ahead: true, idle: true, still: true, want: StateAhead},
		{reason: "above the high watermark at first sight only", committed: 60, lso: 50, hwm: 50, want: StateCaughtUp},

		{reason: "lost", committed: 5, lso: 50, hwm: 50, still: true, want: StateLost},
		{reason: "lost comes before inactive", committed: 5, lso: 50, hwm: 50, still: true, idle: true, want: StateLost},
		{reason: "lost comes before blocked", committed: 5, lso: 10, hwm: 50, still: true, stalled: true, want: StateLost},
		{reason: "below the log start, and it moves: it reads on from there", committed: 5, lso: 50, hwm: 50, moved: true, want: StateConsuming},
		{reason: "below the log start, not watched for long enough", committed: 5, lso: 50, hwm: 50, want: StateUndetermined},
		{reason: "at the log start nothing is lost", committed: 10, lso: 50, hwm: 50, still: true, found: one, want: StateStopped},

		{reason: "inactive, whatever its lag", committed: 20, lso: 50, hwm: 50, still: true, idle: true, want: StateInactive},
		{reason: "inactive without lag", committed: 50, lso: 50, hwm: 50, still: true, idle: true, want: StateInactive},
		{reason: "inactive comes before blocked", committed: 50, lso: 50, hwm: 90, still: true, idle: true, stalled: true, want: StateInactive},

		{reason: "blocked", committed: 50, lso: 50, hwm: 90, still: true, stalled: true, want: StateBlocked},
		{reason: "blocked at first sight: only the last stable offset has to stand still", committed: 50, lso: 50, hwm: 90, stalled: true, want: StateBlocked},
		{reason: "blocked behind a marker", committed: 49, lso: 50, hwm: 90, still: true, stalled: true, found: none, want: StateBlocked},
		{reason: "blocked behind aborted records", committed: 20, lso: 50, hwm: 90, stalled: true, found: found{all: 29, whole: true}, want: StateBlocked},
		{reason: "blocked at the log start", committed: 5, lso: 10, hwm: 90, moved: true, stalled: true, want: StateBlocked},
		{reason: "waits for a transaction that does not stand still", committed: 50, lso: 50, hwm: 90, still: true, want: StateCaughtUp},
		{reason: "has something to read before the transaction", committed: 49, lso: 50, hwm: 90, still: true, stalled: true, found: one, want: StateStopped},
		{reason: "reads on before the transaction", committed: 49, lso: 50, hwm: 90, moved: true, stalled: true, found: one, want: StateConsuming},
		{reason: "may have something to read before the transaction", committed: 49, lso: 50, hwm: 90, still: true, stalled: true, want: StateUndetermined},
		{reason: "nothing seen in a part of the range proves nothing", committed: 20, lso: 50, hwm: 90, still: true, stalled: true, found: found{all: 5}, want: StateUndetermined},
		{reason: "a read_uncommitted group is never blocked", committed: 50, lso: 50, hwm: 90, still: true, stalled: true, ru: true, want: StateUndetermined},

		{reason: "stopped", committed: 20, lso: 50, hwm: 50, still: true, found: one, want: StateStopped},
		{reason: "stopped though the range was not seen whole", committed: 20, lso: 500_000, hwm: 500_000, still: true, moved: true, found: one, want: StateStopped},
		{reason: "a record is there, and the commit moves", committed: 20, lso: 50, hwm: 50, moved: true, found: one, want: StateConsuming},
		{reason: "only a marker is there: it is as far as it can be", committed: 49, lso: 50, hwm: 50, still: true, found: none, want: StateCaughtUp},
		{reason: "aborted records are no records to read_committed", committed: 20, lso: 50, hwm: 50, still: true, found: found{all: 29, whole: true}, want: StateCaughtUp},
		{reason: "aborted records are records to read_uncommitted", committed: 20, lso: 50, hwm: 50, still: true, ru: true, found: found{all: 29, whole: true}, want: StateStopped},
		{reason: "a read_uncommitted group before a marker, and nothing behind it", committed: 49, lso: 50, hwm: 50, still: true, ru: true, found: none, want: StateCaughtUp},
		{reason: "a read_uncommitted group before a marker, and something behind it", committed: 49, lso: 50, hwm: 90, still: true, ru: true, found: none, want: StateUndetermined},

		{reason: "nobody could look", committed: 20, lso: 50, hwm: 50, still: true, want: StateUndetermined},
		{reason: "not watched for long enough", committed: 20, lso: 50, hwm: 50, want: StateUndetermined},
		{reason: "not watched for long enough, and a record is there", committed: 20, lso: 50, hwm: 50, found: one, want: StateUndetermined},
		{reason: "a read_uncommitted group above the last stable offset", committed: 70, lso: 50, hwm: 90, still: true, ru: true, want: StateUndetermined},

		{reason: "consuming", committed: 20, lso: 50, hwm: 50, moved: true, want: StateConsuming},
		{reason: "a read_uncommitted group above the last stable offset moves", committed: 70, lso: 50, hwm: 90, moved: true, stalled: true, ru: true, want: StateConsuming},

		{reason: "caught up", committed: 50, lso: 50, hwm: 50, still: true, want: StateCaughtUp},
		{reason: "caught up at first sight", committed: 50, lso: 50, hwm: 50, want: StateCaughtUp},
		{reason: "a read_uncommitted group at the high watermark", committed: 90, lso: 50, hwm: 90, still: true, stalled: true, ru: true, want: StateCaughtUp},
		{reason: "an empty log that lost everything, and the group moved on", committed: 5, lso: 10, hwm: 10, moved: true, want: StateCaughtUp},
	} {
		t.Run(c.reason, func(t *testing.T) {
			s := standing{
				committed: c.committed, logStart: 10, lastStable: c.lso, highWatermark: c.hwm,
				ahead: c.ahead, still: c.still, waited: c.still, works: c.moved, inactive: c.idle, stalled: c.stalled,
				readUncommitted: c.ru, found: c.found,
			}
			if got := s.state(); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestStateOfTopic(t *testing.T) {
	for _, c := range []struct {
		reason string
		rows   []GroupState // "" is unknown
		want   GroupState
	}{
		{"the first of the order", []GroupState{StateCaughtUp, StateStopped, StateConsuming}, StateStopped},
		{"ahead before all", []GroupState{StateLost, StateAhead}, StateAhead},
		{"one", []GroupState{StateCaughtUp}, StateCaughtUp},
		{"none", nil, ""},
		{"an unknown one might be trouble", []GroupState{StateCaughtUp, ""}, ""},
		{"an unknown one might be trouble, not merely undetermined", []GroupState{StateUndetermined, ""}, ""},
		{"trouble is trouble beside an unknown one", []GroupState{"", StateBlocked}, StateBlocked},
		{"all unknown", []GroupState{"", ""}, ""},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var rows []GroupPartitionView
			for _, s := range c.rows {
				rows = append(rows, GroupPartitionView{State: s})
			}
			if got := firstState(rows); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// sight is what one sweep sees of group g on t-0.
type sight struct {
	seconds   float64
	committed Offset // none: the commit was not read
	start     Offset
	lso, hwm  Offset
	members   int
	fetched   []Fetch
	unread    bool // the group's coordinator did not answer
	want      string
}

// show renders what there is to say of a group's first partition.
func (v *View) showState() string {
	if len(v.Groups) == 0 || len(v.Groups[0].Topics) == 0 {
		return "none"
	}
	topic := &v.Groups[0].Topics[0]
	row := &topic.Partitions[0]
	text := string(row.State)
	if text == "" {
		text = "unknown"
	}
	if row.State != topic.State {
		text += " of topic " + string(topic.State)
	}
	if n, ok := row.Readable.Get(); ok {
		text += fmt.Sprint(" readable ", n)
	}
	if d, ok := row.BlockedFor.Get(); ok {
		text += fmt.Sprint(" blocked ", d)
	}
	if topic.ReadUncommitted {
		text += " ru"
	}
	return text
}

// play shows sights to a tracker and compares what it says.
func play(t *testing.T, tracker *Tracker, sights []sight) {
	t.Helper()
	for _, s := range sights {
		p := four(s.seconds, 0, s.start, s.lso, s.hwm, s.hwm)
		p.Fetches = s.fetched
		g := committed(s.committed)
		if s.committed == none {
			g.Commits = []TopicCommits{{Topic: "t", Partitions: []Commit{{Partition: 0}}}}
		}
		g.Members = Known(s.members)
		groups := []Group{g}
		if s.unread {
			groups = nil
		}
		if got := tracker.Observe(sampled(s.seconds, topic(1, p), groups...)).showState(); got != s.want {
			t.Errorf("after %v s: %s, want %s", s.seconds, got, s.want)
		}
	}
}

func TestStateOverTime(t *testing.T) {
	one := []Fetch{{From: 5, Until: 9, Committed: 4, All: 4}}
	marker := []Fetch{{From: 8, Until: 9}}
	for _, c := range []struct {
		reason string
		sights []sight
	}{
		{"stopped after the configured time, once a record was seen", []sight{
			{seconds: 0, committed: 5, lso: 9, hwm: 9, members: 1, want: "undetermined"},
			{seconds: 20, committed: 5, lso: 9, hwm: 9, members: 1, want: "undetermined"},
			{seconds: 40, committed: 5, lso: 9, hwm: 9, members: 1, fetched: one, want: "undetermined readable 4"},
			{seconds: 60, committed: 5, lso: 9, hwm: 9, members: 1, want: "stopped readable 4"},
			{seconds: 80, committed: 5, lso: 12, hwm: 12, members: 1, want: "stopped"},
			{seconds: 100, committed: 6, lso: 12, hwm: 12, members: 1, want: "consuming"},
			{seconds: 120, committed: 12, lso: 12, hwm: 12, members: 1, want: "caught_up"},
		}},
		{"a group that waited for a record does not stand still when it comes", []sight{
			{seconds: 0, committed: 9, lso: 9, hwm: 9, members: 1, want: "caught_up"},
			{seconds: 30, committed: 9, lso: 9, hwm: 9, members: 1, want: "caught_up"},
			{seconds: 60, committed: 9, lso: 9, hwm: 9, members: 1, want: "caught_up"},
			{seconds: 90, committed: 9, lso: 10, hwm: 10, members: 1, fetched: []Fetch{{From: 9, Until: 10, Committed: 1, All: 1}}, want: "consuming readable 1"},
			{seconds: 120, committed: 9, lso: 10, hwm: 10, members: 1, want: "consuming readable 1"},
			{seconds: 150, committed: 9, lso: 10, hwm: 10, members: 1, want: "stopped readable 1"},
		}},
		{"a group that read its last record and stands before a marker is caught up, until one comes", []sight{
			{seconds: 0, committed: 8, lso: 9, hwm: 9, members: 1, want: "undetermined"},
			{seconds: 30, committed: 8, lso: 9, hwm: 9, members: 1, want: "undetermined"},
			{seconds: 60, committed: 8, lso: 9, hwm: 9, members: 1, fetched: marker, want: "caught_up readable 0"},
			{seconds: 90, committed: 8, lso: 10, hwm: 10, members: 1, want: "consuming"},
			{seconds: 120, committed: 10, lso: 10, hwm: 10, members: 1, want: "caught_up"},
		}},
		{"time that nobody watched does not count", []sight{
			{seconds: 0, committed: 5, lso: 9, hwm: 9, members: 1, fetched: one, want: "undetermined readable 4"},
			{seconds: 20, committed: 5, lso: 9, hwm: 9, members: 1, want: "undetermined readable 4"},
			{seconds: 100, committed: 5, lso: 9, hwm: 9, members: 1, want: "undetermined readable 4"},
			{seconds: 120, committed: 5, lso: 9, hwm: 9, members: 1, want: "undetermined readable 4"},
			{seconds: 140, committed: 5, lso: 9, hwm: 9, members: 1, want: "stopped readable 4"},
		}},
		{"a group whose coordinator was away finds its memory again", []sight{
			{seconds: 0, committed: 5, lso: 9, hwm: 9, members: 1, fetched: one, want: "undetermined readable 4"},
			{seconds: 30, committed: 5, lso: 9, hwm: 9, members: 1, want: "undetermined readable 4"},
			{seconds: 60, unread: true, lso: 9, hwm: 9, want: "none"},
			{seconds: 90, committed: 5, lso: 9, hwm: 9, members: 1, want: "undetermined readable 4"},
			{seconds: 120, committed: 5, lso: 9, hwm: 9, members: 1, want: "stopped readable 4"},
		}},
		{"a commit that could not be read has no state", []sight{
			{seconds: 0, committed: none, lso: 9, hwm: 9, members: 1, want: "unknown"},
			{seconds: 30, committed: 5, lso: 9, hwm: 9, members: 1, want: "undetermined"},
		}},
		{"offsets that could not be read give no state", []sight{
			{seconds: 0, committed: 5, lso: none, hwm: none, members: 1, want: "unknown"},
		}},
		{"F08: committed below the log start, nothing left to read: lost, and no question asked", []sight{
			{seconds: 0, committed: 5, start: 9, lso: 9, hwm: 9, members: 1, want: "caught_up"},
			{seconds: 30, committed: 5, start: 9, lso: 9, hwm: 9, members: 1, want: "caught_up"},
			{seconds: 60, committed: 5, start: 9, lso: 9, hwm: 9, members: 1, want: "lost"},
		}},
		{"inactive: no members, and no commit moves", []sight{
			{seconds: 0, committed: 5, lso: 9, hwm: 9, want: "undetermined"},
			{seconds: 30, committed: 5, lso: 9, hwm: 9, want: "undetermined"},
			{seconds: 60, committed: 5, lso: 9, hwm: 9, want: "inactive"},
			{seconds: 90, committed: 6, lso: 9, hwm: 9, want: "consuming"},
			{seconds: 120, committed: 6, lso: 9, hwm: 9, want: "consuming"},
			{seconds: 150, committed: 6, lso: 9, hwm: 9, want: "inactive"},
			{seconds: 180, committed: 6, lso: 9, hwm: 9, members: 1, want: "undetermined"},
		}},
		{"blocked from the moment on at which the last stable offset counts as stalled", []sight{
			{seconds: 0, committed: 9, lso: 9, hwm: 12, members: 1, want: "caught_up"},
			{seconds: 5, committed: 9, lso: 9, hwm: 13, members: 1, want: "caught_up"},
			{seconds: 10, committed: 9, lso: 9, hwm: 14, members: 1, want: "blocked blocked 0s"},
			{seconds: 30, committed: 9, lso: 9, hwm: 15, members: 1, want: "blocked blocked 20s"},
			{seconds: 40, committed: 9, lso: 12, hwm: 15, members: 1, want: "consuming"},
		}},
		{"blocked behind a marker, as soon as that was looked up", []sight{
			{seconds: 0, committed: 8, lso: 9, hwm: 12, members: 1, want: "undetermined"},
			{seconds: 10, committed: 8, lso: 9, hwm: 13, members: 1, fetched: marker, want: "blocked readable 0 blocked 0s"},
			{seconds: 20, committed: 8, lso: 9, hwm: 14, members: 1, want: "blocked readable 0 blocked 10s"},
		}},
		{"blocked for no longer than what holds it has stood still, though nobody saw the group come on", []sight{
			{seconds: 0, committed: 9, lso: 9, hwm: 12, members: 1, want: "caught_up"},
			{seconds: 10, committed: 9, lso: 9, hwm: 14, members: 1, want: "blocked blocked 0s"},
			{seconds: 20, unread: true, lso: 9, hwm: 14, want: "none"},
			{seconds: 30, committed: 9, lso: 9, hwm: 14, members: 1, want: "blocked blocked 20s"},
			{seconds: 40, unread: true, lso: 15, hwm: 16, want: "none"},
			{seconds: 50, committed: 15, lso: 15, hwm: 16, members: 1, want: "blocked blocked 0s"},
			{seconds: 60, committed: 15, lso: 15, hwm: 16, members: 1, want: "blocked blocked 10s"},
		}},
		{"READ is missing: nobody can tell a stopped group from one behind a marker", []sight{
			{seconds: 0, committed: 8, lso: 9, hwm: 9, members: 1, want: "undetermined"},
			{seconds: 30, committed: 8, lso: 9, hwm: 9, members: 1, want: "undetermined"},
			{seconds: 60, committed: 8, lso: 9, hwm: 9, members: 1, fetched: []Fetch{{From: 8, Failed: MissUnauthorized}}, want: "undetermined"},
		}},
		{"read_uncommitted evidence lasts a day", []sight{
			{seconds: 0, committed: 12, lso: 9, hwm: 12, members: 1, want: "caught_up ru"},
			{seconds: 20, committed: 12, lso: 9, hwm: 14, members: 1, want: "consuming ru"},
			{seconds: 40, committed: 13, lso: 9, hwm: 14, members: 1, want: "consuming ru"},
			{seconds: 60, committed: 14, lso: 14, hwm: 14, members: 1, want: "caught_up ru"},
			{seconds: 86_439, committed: 14, lso: 14, hwm: 14, members: 1, want: "caught_up ru"},
			{seconds: 86_440, committed: 14, lso: 14, hwm: 14, members: 1, want: "caught_up"},
		}},
		{"a commit above the high watermark is no such evidence", []sight{
			{seconds: 0, committed: 20, lso: 9, hwm: 12, members: 1, want: "caught_up"},
			{seconds: 10, committed: 20, lso: 9, hwm: 12, members: 1, want: "ahead"},
		}},
	} {
		t.Run(c.reason, func(t *testing.T) { play(t, NewTracker(10*time.Second), c.sights) })
	}
}

func TestConfiguredReadUncommitted(t *testing.T) {
	tracker := Settings{Period: tick, ReadUncommitted: func(group string) bool { return group == "g" }}.NewTracker()
	play(t, tracker, []sight{
		{seconds: 0, committed: 9, lso: 9, hwm: 12, members: 1, want: "undetermined"},
		{seconds: 20, committed: 9, lso: 9, hwm: 12, members: 1, want: "undetermined"},
	})
}

// TestGroupLivesByItsCommits: a group without members is inactive only when none
// of its commits moves, on whatever topic; a commit that appears is a move.
func TestGroupLivesByItsCommits(t *testing.T) {
	topics := []Topic{named("a", 1, four(0, 0, 0, 9, 9, 9)), named("b", 2, four(0, 0, 0, 99, 99, 99), four(0, 1, 0, 99, 99, 99))}
	tracker := NewTracker(30 * time.Second)
	for i, b := range []struct {
		commits []Commit
		want    GroupState
	}{
		{commits(10), StateUndetermined},
		{commits(20), StateUndetermined},
		{commits(30), StateUndetermined},
		{commits(30), StateUndetermined},
		{commits(30), StateInactive},
		{commits(30, 1), StateUndetermined},
		{commits(30, 1), StateUndetermined},
		{commits(30, 1), StateInactive},
	} {
		g := groupOf(TopicCommits{Topic: "a", Partitions: commits(5)}, TopicCommits{Topic: "b", Partitions: b.commits})
		v := tracker.Observe(sampled(float64(30*i), topics, g))
		if got := v.Groups[0].Topics[0].State; got != b.want {
			t.Errorf("sweep %d: %s, want %s", i, got, b.want)
		}
	}
}

// TestRecreatedTopicBeginsAnew: nothing that was remembered of a topic holds for
// another one of its name.
func TestRecreatedTopicBeginsAnew(t *testing.T) {
	tracker := NewTracker(30 * time.Second)
	for i, want := range []string{"undetermined", "undetermined", "stopped readable 4"} {
		p := four(float64(30*i), 0, 0, 9, 9, 9)
		p.Fetches = []Fetch{{From: 5, Until: 9, Committed: 4, All: 4}}
		g := committed(5)
		g.Members = Known(1)
		if got := tracker.Observe(sampled(float64(30*i), topic(1, p), g)).showState(); i == 2 && got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	g := committed(5)
	g.Members = Known(1)
	if got := tracker.Observe(sampled(90, topic(2, four(90, 0, 0, 9, 9, 9)), g)).showState(); got != "undetermined" {
		t.Errorf("created anew: %s, want undetermined", got)
	}
}
