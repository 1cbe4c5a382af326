package lag

import (
	"fmt"
	"testing"
	"time"
)

// show renders a partition's offsets, - for unknown ones.
func (p *PartitionView) show() string {
	text := ""
	for _, o := range []Optional[Offset]{p.LogStart, p.LastStable, p.HighWatermark, p.LogEnd} {
		text += showOptional(o) + " "
	}
	return text + "unstable " + showOptional(p.Unstable()) + " unreplicated " + showOptional(p.Unreplicated())
}

// showOptional renders a value, - for an unknown one.
func showOptional[T any](o Optional[T]) string {
	if v, ok := o.Get(); ok {
		return fmt.Sprint(v)
	}
	return "-"
}

func TestReportedOffsetsAreInOrder(t *testing.T) {
	for _, c := range []struct {
		reason string
		read   Partition
		want   string
	}{
		{"as read", four(0, 0, 1, 5, 7, 9), "1 5 7 9 unstable 2 unreplicated 2"},
		{"empty", four(0, 0, 0, 0, 0, 0), "0 0 0 0 unstable 0 unreplicated 0"},
		{"last stable read after the high watermark lies above it", four(0, 0, 0, 9, 7, 9), "0 7 7 9 unstable 0 unreplicated 2"},
		{"DeleteRecords inside a batch leaves last stable below the log start", four(0, 0, 5, 3, 8, 8), "5 5 8 8 unstable 3 unreplicated 0"},
		{"last stable below a log start at the high watermark", four(0, 0, 8, 3, 8, 8), "8 8 8 8 unstable 0 unreplicated 0"},
		{"log end below the high watermark", four(0, 0, 0, 7, 7, 5), "0 7 7 7 unstable 0 unreplicated 0"},
		{"no log end, as from brokers without replica -2", four(0, 0, 0, 5, 7, none), "0 5 7 - unstable 2 unreplicated -"},
		{"a new leader does not know its high watermark yet", four(0, 0, 2, none, none, 9), "2 - - 9 unstable - unreplicated -"},
		{"last stable alone says nothing about being below", four(0, 0, 2, 4, none, 9), "2 - - 9 unstable - unreplicated -"},
		{"high watermark without last stable", four(0, 0, 2, none, 7, 9), "2 - 7 9 unstable - unreplicated 2"},
		{"no log start", four(0, 0, none, 5, 7, 9), "- 5 7 9 unstable 2 unreplicated 2"},
		{"nothing read", four(0, 0, none, none, none, none), "- - - - unstable - unreplicated -"},
		{"the log starts above the high watermark: re-created between the reads", four(0, 0, 50, 3, 3, 3), "- - - - unstable - unreplicated -"},
		{"the log starts above the log end", four(0, 0, 50, none, none, 3), "- - - - unstable - unreplicated -"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			view := NewTracker(10 * time.Second).Observe(sampled(0, topic(1, c.read)))
			if got := view.Topics[0].Partitions[0].show(); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestNegativeAnswersAreNoOffsets(t *testing.T) {
	for _, o := range []Offset{-1, -2, -1001} {
		p := four(0, 0, 0, 5, 7, 9)
		p.HighWatermark.Offset = o
		view := NewTracker(10 * time.Second).Observe(sampled(0, topic(1, p)))
		if got, want := view.Topics[0].Partitions[0].show(), "0 - - 9 unstable - unreplicated -"; got != want {
			t.Errorf("high watermark %d: got %s, want %s", o, got, want)
		}
	}
}

func TestInconsistentPartitionsAreMissed(t *testing.T) {
	sample := sampled(0, topic(1, four(0, 0, 50, 3, 3, 3), four(0, 1, 0, 1, 1, 1), four(0, 2, 9, 1, 1, 1)))
	sample.Missed = []Miss{{Kind: MissTimeout, Subject: "broker 2", Count: 1}}
	view := NewTracker(10 * time.Second).Observe(sample)
	want := "[{timeout broker 2 1 } {inconsistent partitions 2 }]"
	if got := fmt.Sprint(view.Missed); got != want {
		t.Errorf("missed %s, want %s", got, want)
	}
	if len(sample.Missed) != 1 {
		t.Errorf("the sample was changed: missed %v", sample.Missed)
	}
}

// look is one sweep's sight of a partition.
type look struct {
	at            float64
	start, lso    Offset
	hwm           Offset
	id            byte // topic id, 1 if 0
	failed        bool // Metadata was not answered
	below         float64
	observed      float64
	stalled       float64
	regressions   Regressions
	notInThisView bool
}

func TestBelowObservedAndStalled(t *testing.T) {
	const period = 15 * time.Second
	gone := look{lso: none, hwm: none, start: none, notInThisView: true}
	unread := func(at float64) look { l := gone; l.at = at; return l }
	for _, c := range []struct {
		reason string
		looks  []look
	}{
		{"F24: always open transactions are below and never stalled, until one is", []look{
			{at: 0, lso: 100, hwm: 150},
			{at: 15, lso: 1100, hwm: 1150, below: 15, observed: 15},
			{at: 30, lso: 2100, hwm: 2150, below: 30, observed: 30},
			{at: 45, lso: 3100, hwm: 3150, below: 45, observed: 45},
			{at: 60, lso: 3100, hwm: 9000, below: 60, observed: 60, stalled: 15},
		}},
		{"an interval counts as below by the sweep at its beginning", []look{
			{at: 0, lso: 5, hwm: 5},
			{at: 15, lso: 5, hwm: 9, observed: 15},
			{at: 30, lso: 9, hwm: 9, below: 15, observed: 30},
			{at: 45, lso: 9, hwm: 9, below: 15, observed: 45},
		}},
		{"a healthy partition is only observed", []look{
			{at: 0, lso: 5, hwm: 5},
			{at: 15, lso: 7, hwm: 7, observed: 15},
		}},
		{"three periods are an interval", []look{
			{at: 0, lso: 5, hwm: 9},
			{at: 45, lso: 5, hwm: 9, below: 45, observed: 45, stalled: 45},
		}},
		{"more than three periods count for neither, and stalled goes on", []look{
			{at: 0, lso: 5, hwm: 9},
			{at: 45.001, lso: 5, hwm: 9, stalled: 45.001},
			{at: 60, lso: 5, hwm: 9, below: 14.999, observed: 14.999, stalled: 60},
		}},
		{"an interval that ends with a sweep which did not read counts, the one that begins there does not", []look{
			{at: 0, lso: 5, hwm: 9},
			unread(15),
			{at: 30, lso: 5, hwm: 9, below: 15, observed: 15, stalled: 30},
			{at: 45, lso: 5, hwm: 9, below: 30, observed: 30, stalled: 45},
		}},
		{"the same when nothing at all was read", []look{
			{at: 0, lso: 5, hwm: 9},
			{at: 15, failed: true, notInThisView: true},
			{at: 30, lso: 5, hwm: 9, below: 15, observed: 15, stalled: 30},
		}},
		{"a sweep that did not read closes an interval that is too long as well", []look{
			{at: 0, lso: 5, hwm: 9},
			unread(50),
			{at: 60, lso: 5, hwm: 9, stalled: 60},
		}},
		{"a clock that goes back makes no negative interval", []look{
			{at: 30, lso: 5, hwm: 9},
			{at: 15, lso: 6, hwm: 9},
			{at: 30, lso: 6, hwm: 9, below: 15, observed: 15, stalled: 15},
		}},
		{"the last stable offset moves to another transaction", []look{
			{at: 0, lso: 5, hwm: 9},
			{at: 15, lso: 5, hwm: 9, below: 15, observed: 15, stalled: 15},
			{at: 30, lso: 7, hwm: 9, below: 30, observed: 30},
			{at: 45, lso: 7, hwm: 12, below: 45, observed: 45, stalled: 15},
		}},
		{"released, then pinned at the same offset by the next", []look{
			{at: 0, lso: 5, hwm: 9},
			{at: 15, lso: 9, hwm: 9, below: 15, observed: 15},
			{at: 30, lso: 9, hwm: 12, below: 15, observed: 30},
			{at: 45, lso: 9, hwm: 12, below: 30, observed: 45, stalled: 15},
		}},
		{"L12: the log start pushes the last stable offset along under the same transaction", []look{
			{at: 0, start: 0, lso: 0, hwm: 8},
			{at: 15, start: 3, lso: 3, hwm: 8, below: 15, observed: 15, stalled: 15},
			{at: 30, start: 5, lso: 5, hwm: 8, below: 30, observed: 30, stalled: 30},
			{at: 45, start: 5, lso: 6, hwm: 8, below: 45, observed: 45},
		}},
		{"the last stable offset goes back to the log start: the log was truncated", []look{
			{at: 0, start: 3, lso: 6, hwm: 8},
			{at: 15, start: 3, lso: 3, hwm: 8, below: 15, observed: 15, regressions: Regressions{LastStable: 1}},
		}},
		{"a new topic id begins anew, and is no regression", []look{
			{at: 0, lso: 5, hwm: 9},
			{at: 15, lso: 5, hwm: 9, below: 15, observed: 15, stalled: 15},
			{at: 30, lso: 2, hwm: 4, id: 2},
			{at: 45, lso: 2, hwm: 4, id: 2, below: 15, observed: 15, stalled: 15},
		}},
		{"a broker that knows no topic ids says nothing about re-creation", []look{
			{at: 0, lso: 5, hwm: 9},
			{at: 15, lso: 5, hwm: 9, id: 255, below: 15, observed: 15, stalled: 15},
			{at: 30, lso: 5, hwm: 9, below: 30, observed: 30, stalled: 30},
		}},
		{"regressions, each offset by itself", []look{
			{at: 0, start: 4, lso: 5, hwm: 9},
			{at: 15, start: 4, lso: 5, hwm: 8, below: 15, observed: 15, stalled: 15, regressions: Regressions{HighWatermark: 1, LogEnd: 1}},
			{at: 30, start: 3, lso: 4, hwm: 8, below: 30, observed: 30,
				regressions: Regressions{LogStart: 1, LastStable: 1, HighWatermark: 1, LogEnd: 1}},
			unread(45),
			{at: 60, start: 3, lso: 4, hwm: 6, below: 45, observed: 45, stalled: 30,
				regressions: Regressions{LogStart: 1, LastStable: 1, HighWatermark: 2, LogEnd: 2}},
		}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			tracker := NewTracker(period)
			for i, l := range c.looks {
				sample := sampled(l.at, topic(topicByte(l.id), four(l.at, 0, l.start, l.lso, l.hwm, l.hwm)))
				if l.failed {
					sample = Sample{Started: at(l.at).Sent, Ended: at(l.at).Sent, Failure: "nobody answered"}
				} else if topicByte(l.id) == 255 {
					sample.Topics[0].ID = TopicID{}
				}
				view := tracker.Observe(sample)
				if l.failed {
					continue
				}
				got := view.Topics[0].Partitions[0]
				if l.notInThisView {
					if got.LastStable.IsKnown() {
						t.Errorf("look %d: a last stable offset that was not read", i)
					}
					continue
				}
				want := PartitionView{
					Below: l.lso < l.hwm, BelowFor: seconds(l.below), ObservedFor: seconds(l.observed),
					StalledFor: seconds(l.stalled), Regressions: l.regressions,
				}
				if got.Below != want.Below || got.BelowFor != want.BelowFor || got.ObservedFor != want.ObservedFor ||
					got.StalledFor != want.StalledFor || got.Regressions != want.Regressions {
					t.Errorf("look %d at %v s:\n got below %v %v, observed %v, stalled %v, regressions %v\nwant below %v %v, observed %v, stalled %v, regressions %v",
						i, l.at, got.Below, got.BelowFor, got.ObservedFor, got.StalledFor, got.Regressions,
						want.Below, want.BelowFor, want.ObservedFor, want.StalledFor, want.Regressions)
				}
			}
		})
	}
}

// topicByte returns the byte of a topic's id, 1 by default.
func topicByte(id byte) byte {
	if id == 0 {
		return 1
	}
	return id
}

// seconds returns a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func TestIntervalsGoByThePartitionsOwnAnswers(t *testing.T) {
	tracker := NewTracker(10 * time.Second)
	late := func(ended, answered float64) Sample {
		return sampled(ended, topic(1, four(answered, 0, 0, 5, 9, 9)))
	}
	tracker.Observe(late(1, 0.5))
	view := tracker.Observe(late(12, 10.25))
	p := view.Topics[0].Partitions[0]
	if p.ObservedFor != seconds(9.75) || p.StalledFor != seconds(9.75) {
		t.Errorf("observed %v, stalled %v; want 9.75s between the two answers", p.ObservedFor, p.StalledFor)
	}
}

func TestMemoryFollowsPartitions(t *testing.T) {
	tracker := NewTracker(10 * time.Second)
	tracker.Observe(sampled(0, topic(1, four(0, 0, 0, 5, 9, 9), four(0, 1, 0, 6, 9, 9))))

	t.Run("a partition is added", func(t *testing.T) {
		view := tracker.Observe(sampled(10, topic(1, four(10, 0, 0, 5, 9, 9), four(10, 1, 0, 6, 9, 9), four(10, 2, 0, 1, 2, 2))))
		for i, want := range []float64{10, 10, 0} {
			if got := view.Topics[0].Partitions[i].StalledFor; got != seconds(want) {
				t.Errorf("partition %d stalled for %v, want %v s", i, got, want)
			}
		}
	})
	t.Run("Metadata answers an error for the topic", func(t *testing.T) {
		view := tracker.Observe(sampled(20, []Topic{{Name: "t", ID: TopicID{15: 1}, Unreadable: true}}))
		if len(view.Topics[0].Partitions) != 0 || !view.Topics[0].Unreadable {
			t.Errorf("got %+v, want an unreadable topic", view.Topics[0])
		}
		view = tracker.Observe(sampled(30, topic(1, four(30, 0, 0, 5, 9, 9))))
		if got := view.Topics[0].Partitions[0]; got.StalledFor != seconds(30) || got.ObservedFor != seconds(20) {
			t.Errorf("stalled %v, observed %v; want 30s and 20s", got.StalledFor, got.ObservedFor)
		}
	})
	t.Run("F14: a deleted topic is gone at once, and begins anew", func(t *testing.T) {
		if view := tracker.Observe(sampled(40, nil)); len(view.Topics) != 0 {
			t.Errorf("got %+v, want no topic", view.Topics)
		}
		if len(tracker.topics) != 0 {
			t.Errorf("%d topics are remembered", len(tracker.topics))
		}
		view := tracker.Observe(sampled(50, topic(1, four(50, 0, 0, 5, 9, 9))))
		if got := view.Topics[0].Partitions[0]; got.StalledFor != 0 || got.ObservedFor != 0 {
			t.Errorf("stalled %v, observed %v; want 0", got.StalledFor, got.ObservedFor)
		}
	})
}

func TestLeaderlessPartitionKeepsWhatMetadataSays(t *testing.T) {
	p := Partition{Number: 1, Leader: NoBroker, Replicas: 3, InSync: 1}
	view := NewTracker(10 * time.Second).Observe(sampled(0, topic(1, four(0, 0, 0, 5, 5, 5), p, four(0, 2, 0, 5, 5, 5))))
	got := view.Topics[0].Partitions[1]
	if got.Leader != NoBroker || got.Replicas != 3 || got.InSync != 1 {
		t.Errorf("got leader %d, replicas %d, in sync %d", got.Leader, got.Replicas, got.InSync)
	}
	if text, want := got.show(), "- - - - unstable - unreplicated -"; text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

func TestViewExpiresAfterThreePeriods(t *testing.T) {
	view := NewTracker(10 * time.Second).Observe(sampled(5, nil))
	for _, c := range []struct {
		now  float64
		want bool
	}{{5, false}, {35, false}, {35.001, true}} {
		if got := view.Expired(at(c.now).Answered); got != c.want {
			t.Errorf("expired %v at %v s, want %v", got, c.now, c.want)
		}
	}
}

func TestViewIsComplete(t *testing.T) {
	for _, c := range []struct {
		reason string
		sample Sample
		want   bool
	}{
		{"nothing is missing", sampled(0, nil), true},
		{"a broker lacks an API", Sample{Missed: []Miss{{Kind: MissAPIMissing, Count: 1}}}, true},
		{"a partition has no leader", Sample{Missed: []Miss{{Kind: MissAPIMissing, Count: 1}, {Kind: MissNoLeader, Count: 1}}}, false},
		{"nobody answered", Sample{Failure: "nobody answered"}, false},
	} {
		if got := NewTracker(time.Second).Observe(c.sample).Complete(); got != c.want {
			t.Errorf("%s: complete %v, want %v", c.reason, got, c.want)
		}
	}
}
