package lag

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// show renders a group: uncommitted partitions and orphans, then per topic the
// sums and per partition commit, both lags, lost and ahead.
func (g *GroupView) show() string {
	var b strings.Builder
	fmt.Fprintf(&b, "uncommitted %s orphans %s\n", showOptional(g.Uncommitted), showOptional(g.Orphans))
	for _, t := range g.Topics {
		fmt.Fprintf(&b, "%s lso %s hwm %s\n", t.Topic, showOptional(t.LSOLag), showOptional(t.HWMLag))
		for _, p := range t.Partitions {
			fmt.Fprintf(&b, "%d@%s lso %s hwm %s lost %s ahead %s\n", p.Partition, showOptional(p.Committed),
				showOptional(p.LSOLag), showOptional(p.HWMLag), showOptional(p.Lost), showOptional(p.Ahead))
		}
	}
	return b.String()
}

// lines joins the lines of a text.
func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

func TestLagIsASumOfParts(t *testing.T) {
	unknownCommit := commits(2)
	unknownCommit = append(unknownCommit, Commit{Partition: 1})
	undescribed := committed(5)
	undescribed.Assignment = Optional[[]TopicAssignment]{}
	assigned := committed(5)
	assigned.Assignment = assignedTo(-1, "other", "t")
	for _, c := range []struct {
		reason string
		topics []Topic
		group  Group
		want   string
	}{
		{"F02 A: stuck behind a transaction, both lags tell them apart",
			topic(1, four(0, 0, 0, 200, 1663, 1663)), committed(200),
			lines("uncommitted 0 orphans 0", "t lso 0 hwm 1463", "0@200 lso 0 hwm 1463 lost 0 ahead 0")},
		{"F02 B: reads uncommitted, and no lag is negative",
			topic(1, four(0, 0, 0, 200, 1663, 1663)), committed(1500),
			lines("uncommitted 0 orphans 0", "t lso 0 hwm 163", "0@1500 lso 0 hwm 163 lost 0 ahead 0")},
		{"F04: the right difference",
			topic(1, four(0, 0, 0, 913095344, 913097449, 913097449)), committed(913095344),
			lines("uncommitted 0 orphans 0", "t lso 0 hwm 2105", "0@913095344 lso 0 hwm 2105 lost 0 ahead 0")},
		{"F05: a marker at the end is not subtracted",
			topic(1, four(0, 0, 0, 20, 20, 20)), committed(19),
			lines("uncommitted 0 orphans 0", "t lso 1 hwm 1", "0@19 lso 1 hwm 1 lost 0 ahead 0")},
		{"F07: retention passed a stale commit of an empty partition",
			topic(1, four(0, 0, 5000000, 5000000, 5000000, 5000000)), committed(1000),
			lines("uncommitted 0 orphans 0", "t lso 0 hwm 0", "0@1000 lso 0 hwm 0 lost 4999000 ahead 0")},
		{"F07: retention passed a stale commit",
			topic(1, four(0, 0, 4000, 5000, 5000, 5000)), committed(1000),
			lines("uncommitted 0 orphans 0", "t lso 1000 hwm 1000", "0@1000 lso 1000 hwm 1000 lost 3000 ahead 0")},
		{"F09: partitions without a commit have no lag and are counted",
			topic(1, four(0, 0, 0, 3083, 3083, 3083), four(0, 1, 0, 0, 0, 0), four(0, 2, 0, 4388, 4388, 4388)), committed(none, none, 4388),
			lines("uncommitted 2 orphans 0", "t lso 0 hwm 0", "2@4388 lso 0 hwm 0 lost 0 ahead 0")},
		{"F09: and do not withhold the sum",
			topic(1, four(0, 0, 0, 0, 0, 0), four(0, 1, 0, 0, 0, 0), four(0, 2, 0, 2034, 2034, 2034), four(0, 3, 0, 209169, 209169, 209169),
				four(0, 4, 0, 306859, 306859, 306859), four(0, 5, 0, 4632, 4632, 4632), four(0, 6, 0, 21561733, 21561733, 21561733)),
			committed(none, none, 2033, 209168, 306817, 4627, 21561733),
			lines("uncommitted 2 orphans 0", "t lso 49 hwm 49",
				"2@2033 lso 1 hwm 1 lost 0 ahead 0", "3@209168 lso 1 hwm 1 lost 0 ahead 0", "4@306817 lso 42 hwm 42 lost 0 ahead 0",
				"5@4627 lso 5 hwm 5 lost 0 ahead 0", "6@21561733 lso 0 hwm 0 lost 0 ahead 0")},
		{"F12: a commit for a partition that does not exist is an orphan",
			topic(1, four(0, 0, 0, 9, 9, 9), four(0, 1, 0, 9, 9, 9)),
			groupOf(TopicCommits{Topic: "t", Partitions: []Commit{{0, Known(Offset(9))}, {1, Known(Offset(8))}, {72, Known(Offset(500))}}}),
			lines("uncommitted 0 orphans 1", "t lso 1 hwm 1", "0@9 lso 0 hwm 0 lost 0 ahead 0", "1@8 lso 1 hwm 1 lost 0 ahead 0")},
		{"commits for a topic that does not exist are orphans",
			topic(1, four(0, 0, 0, 9, 9, 9)),
			groupOf(TopicCommits{Topic: "gone", Partitions: commits(1, 2, 3)}, TopicCommits{Topic: "t", Partitions: commits(9)}),
			lines("uncommitted 0 orphans 3", "t lso 0 hwm 0", "0@9 lso 0 hwm 0 lost 0 ahead 0")},
		{"a topic whose partitions are not known has no orphans and no sum",
			[]Topic{{Name: "t", Unreadable: true}}, committed(9),
			lines("uncommitted - orphans 0", "t lso - hwm -", "0@9 lso - hwm - lost - ahead -")},
		{"F15: a sum that lacks a part is absent",
			topic(1, four(0, 0, 0, 30, 30, 30), Partition{Number: 1, Leader: NoBroker}), committed(20, 20),
			lines("uncommitted 0 orphans 0", "t lso - hwm -", "0@20 lso 10 hwm 10 lost 0 ahead 0", "1@20 lso - hwm - lost - ahead -")},
		{"F15: the only partition has no leader",
			topic(1, Partition{Number: 0, Leader: NoBroker}), committed(20),
			lines("uncommitted 0 orphans 0", "t lso - hwm -", "0@20 lso - hwm - lost - ahead -")},
		{"a leaderless partition without a commit is no part of the sum",
			topic(1, four(0, 0, 0, 30, 30, 30), Partition{Number: 1, Leader: NoBroker}), committed(20, none),
			lines("uncommitted 1 orphans 0", "t lso 10 hwm 10", "0@20 lso 10 hwm 10 lost 0 ahead 0")},
		{"each sum has its own parts",
			topic(1, four(0, 0, 0, 30, 40, 40), four(0, 1, 0, none, 40, 40)), committed(20, 20),
			lines("uncommitted 0 orphans 0", "t lso - hwm 40", "0@20 lso 10 hwm 20 lost 0 ahead 0", "1@20 lso - hwm 20 lost 0 ahead 0")},
		{"without the log start the position is not known",
			topic(1, four(0, 0, none, 30, 40, 40)), committed(20),
			lines("uncommitted 0 orphans 0", "t lso - hwm -", "0@20 lso - hwm - lost - ahead 0")},
		{"a commit that could not be read withholds sum and count",
			topic(1, four(0, 0, 0, 9, 9, 9), four(0, 1, 0, 9, 9, 9)), groupOf(TopicCommits{Topic: "t", Partitions: unknownCommit}),
			lines("uncommitted - orphans 0", "t lso - hwm -", "0@2 lso 7 hwm 7 lost 0 ahead 0", "1@- lso - hwm - lost - ahead -")},
		{"F17: Event Hubs",
			topic(1, four(0, 0, 0, 6885, 6885, none), four(0, 1, 0, 18204, 18204, none), four(0, 2, 0, 7146, 7146, none)), committed(6885, 18204, 7136),
			lines("uncommitted 0 orphans 0", "t lso 10 hwm 10", "0@6885 lso 0 hwm 0 lost 0 ahead 0", "1@18204 lso 0 hwm 0 lost 0 ahead 0", "2@7136 lso 10 hwm 10 lost 0 ahead 0")},
		{"a topic without a commit counts when it is assigned",
			[]Topic{named("other", 2, four(0, 0, 0, 1, 1, 1), four(0, 1, 0, 1, 1, 1)), named("t", 1, four(0, 0, 0, 9, 9, 9))}, assigned,
			lines("uncommitted 2 orphans 0", "t lso 4 hwm 4", "0@5 lso 4 hwm 4 lost 0 ahead 0")},
		{"uncommitted partitions are not known without the assignment",
			topic(1, four(0, 0, 0, 9, 9, 9)), undescribed,
			lines("uncommitted - orphans 0", "t lso 4 hwm 4", "0@5 lso 4 hwm 4 lost 0 ahead 0")},
		{"commits that were not read are not none",
			topic(1, four(0, 0, 0, 9, 9, 9)), Group{Name: "g", Assignment: assignedTo(-1, "t")},
			lines("uncommitted - orphans -")},
		{"an Empty group without commits",
			topic(1, four(0, 0, 0, 9, 9, 9)), groupOf(),
			lines("uncommitted 0 orphans 0")},
	} {
		t.Run(c.reason, func(t *testing.T) {
			view := NewTracker(10 * time.Second).Observe(sampled(0, c.topics, c.group))
			if got := view.Groups[0].show(); got != c.want {
				t.Errorf("got\n%swant\n%s", got, c.want)
			}
		})
	}
}

func TestAhead(t *testing.T) {
	type glance struct {
		hwm, commit Offset // commit none: not read
		want        string
	}
	for _, c := range []struct {
		reason  string
		glances []glance
	}{
		{"F10: a race of one sweep is no sign, and no lag is negative", []glance{{990, 1005, "0"}, {1010, 1010, "0"}}},
		{"from the second consecutive sweep on", []glance{{20, 100, "0"}, {20, 100, "80"}, {30, 100, "70"}, {100, 100, "0"}}},
		{"not consecutive", []glance{{20, 100, "0"}, {100, 100, "0"}, {50, 100, "0"}, {50, 100, "50"}}},
		{"a sweep that did not read it breaks the row", []glance{{20, 100, "0"}, {20, none, ""}, {20, 100, "0"}, {20, 100, "80"}}},
		{"a sweep that did not read the high watermark breaks it too", []glance{{20, 100, "0"}, {none, 100, "-"}, {20, 100, "0"}}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			tracker := NewTracker(10 * time.Second)
			for i, g := range c.glances {
				view := tracker.Observe(sampled(float64(10*i), topic(1, four(float64(10*i), 0, 0, g.hwm, g.hwm, g.hwm)), committed(g.commit)))
				if g.commit == none {
					continue
				}
				row := view.Groups[0].Topics[0].Partitions[0]
				if got := showOptional(row.Ahead); got != g.want {
					t.Errorf("sweep %d: ahead %s, want %s", i, got, g.want)
				}
				if lag, ok := row.HWMLag.Get(); ok && lag != 0 {
					t.Errorf("sweep %d: lag %d, want 0", i, lag)
				}
			}
		})
	}
}

func TestGroupsComeAndGo(t *testing.T) {
	tracker := NewTracker(10 * time.Second)
	live := committed(100)
	live.State, live.Members = "Stable", Known(2)
	view := tracker.Observe(sampled(0, topic(1, four(0, 0, 0, 100, 100, 100)), live))
	if got := view.Groups[0]; got.State != "Stable" || got.Members != Known(2) {
		t.Errorf("got state %s, members %v", got.State, got.Members)
	}
	t.Run("F14 b: all members stop", func(t *testing.T) {
		view := tracker.Observe(sampled(10, topic(1, four(10, 0, 0, 600, 600, 600)), committed(100)))
		g := view.Groups[0]
		if g.Members != Known(0) || g.Topics[0].LSOLag != Known(Count(500)) || g.Topics[0].HWMLag != Known(Count(500)) {
			t.Errorf("got members %v, lags %v and %v; want 0, 500 and 500", g.Members, g.Topics[0].LSOLag, g.Topics[0].HWMLag)
		}
	})
	t.Run("F14 a: the group is deleted", func(t *testing.T) {
		if view := tracker.Observe(sampled(20, topic(1, four(20, 0, 0, 600, 600, 600)))); len(view.Groups) != 0 {
			t.Errorf("got %v, want no group", view.Groups)
		}
	})
}

// TestViewsAreImmutable holds a view while the next sweeps are observed.
func TestViewsAreImmutable(t *testing.T) {
	tracker := NewTracker(10 * time.Second)
	first := tracker.Observe(sampled(0, topic(1, four(0, 0, 0, 5, 9, 9)), committed(3)))
	before := first.Topics[0].Partitions[0].show() + first.Groups[0].show()
	for i := 1; i < 4; i++ {
		s := float64(10 * i)
		tracker.Observe(sampled(s, topic(1, four(s, 0, 1, 7, 20, 20)), committed(Offset(i))))
	}
	if after := first.Topics[0].Partitions[0].show() + first.Groups[0].show(); after != before {
		t.Errorf("the view was\n%s\nand became\n%s", before, after)
	}
}
