package collector

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// count returns how many of the requests have each name.
func count(calls []call) map[string]int {
	n := make(map[string]int)
	for _, c := range calls {
		n[c.name]++
	}
	return n
}

// names renders requests in order.
func names(calls []call) string {
	var list []string
	for _, c := range calls {
		list = append(list, fmt.Sprintf("%d %s", c.broker, c.name))
	}
	return strings.Join(list, "\n")
}

func TestSweepReadsInCausalOrder(t *testing.T) {
	f := newFake(2)
	f.topic("orders", 2)
	f.group("a", 1).commit("orders", 0, 3)
	f.group("b", 2).groupType = "consumer"
	s := NewSweeper(f, Options{Serial: true, Disabled: noLookUps})
	sample := s.Sweep(t.Context())
	want := strings.Join([]string{
		"-100 Metadata",
		"1 ListGroups", "1 DescribeGroups", "1 OffsetFetch", "1 log start offset",
		"2 ListGroups", "2 ConsumerGroupDescribe", "2 OffsetFetch", "2 log start offset",
		"1 high watermark", "1 last stable offset", "1 log end offset",
		"2 high watermark", "2 last stable offset", "2 log end offset",
	}, "\n")
	if got := names(f.take()); got != want {
		t.Errorf("requests\n%s\nwant\n%s", got, want)
	}
	if got, want := offsets(partition(t, sample, "orders", 1)), "0 5 7 9"; got != want {
		t.Errorf("offsets %s, want %s", got, want)
	}
	if len(sample.Missed) > 0 {
		t.Errorf("missed %s", missed(sample))
	}
}

// TestStepsNeverOverlap holds, for every partition and in every sweep with
// brokers in parallel, that each step begins after the one before was answered,
// and that all commits are read before any high watermark.
func TestStepsNeverOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(3)
		f.latency = time.Millisecond
		f.topic("orders", 6)
		for i := range 9 {
			f.group(fmt.Sprint("g", i), int32(i%3+1)).commit("orders", int32(i%6), 3)
		}
		commits := make(chan time.Time, 100)
		f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
			if _, ok := req.(*kmsg.OffsetFetchRequest); ok {
				time.Sleep(time.Duration(broker) * 5 * time.Millisecond)
				commits <- time.Now()
			}
			return nil, nil
		}
		sample := NewSweeper(f, Options{}).Sweep(t.Context())
		close(commits)
		var last time.Time
		for at := range commits {
			if at.After(last) {
				last = at
			}
		}
		for i := range 6 {
			p := partition(t, sample, "orders", i)
			before := last
			for _, s := range []step{highWatermark, lastStable, logEnd} {
				r := s.reading(p)
				if r.Within.Sent.Before(before) {
					t.Errorf("partition %d: %v sent %v before the step before it was answered", i, s, before.Sub(r.Within.Sent))
				}
				before = r.Within.Answered
			}
			if p.LogStart.Within.Answered.After(p.HighWatermark.Within.Sent) {
				t.Errorf("partition %d: the log start was read after the high watermark", i)
			}
		}
	})
}

func TestRequestsDoNotGrowWithPartitionsAndGroups(t *testing.T) {
	want := map[string]int{
		"Metadata": 1, "ListGroups": 3, "DescribeGroups": 3, "ConsumerGroupDescribe": 3, "OffsetFetch": 3,
		"log start offset": 3, "high watermark": 3, "last stable offset": 3, "log end offset": 3,
	}
	for _, c := range []struct{ topics, partitions, groups int }{{2, 10, 6}, {200, 10, 6}, {2, 10, 120}, {1000, 20, 6000}} {
		t.Run(fmt.Sprintf("%d partitions, %d groups", c.topics*c.partitions, c.groups), func(t *testing.T) {
			f := newFake(3)
			for i := range c.topics {
				f.topic(fmt.Sprint("t", i), c.partitions)
			}
			for i := range c.groups {
				g := f.group(fmt.Sprint("g", i), int32(i%3+1)).commit("t0", 0, 3)
				if i%6 < 3 {
					g.groupType = "consumer"
				}
			}
			s := NewSweeper(f, Options{Disabled: noLookUps})
			for range 3 {
				s.Sweep(t.Context())
				calls := f.take()
				if got := count(calls); !maps.Equal(got, want) {
					t.Errorf("requests %v, want %v", got, want)
				}
				if limit := 2 + 8*3; len(calls) > limit {
					t.Errorf("%d requests, above %d", len(calls), limit)
				}
			}
		})
	}
}

func TestRequestsAreSplitBySize(t *testing.T) {
	f := newFake(1)
	topic := f.topic("big", maxPartitionsPerRequest+1)
	sample := NewSweeper(f, Options{Serial: true, Disabled: noLookUps}).Sweep(t.Context())
	calls := f.take()
	if got := count(calls)["high watermark"]; got != 2 {
		t.Errorf("%d requests for the high watermark, want 2", got)
	}
	if len(sample.Missed) > 0 {
		t.Errorf("missed %s", missed(sample))
	}
	for i := range topic.partitions {
		if got := offsets(partition(t, sample, "big", i)); got != "0 5 7 9" {
			t.Fatalf("partition %d: offsets %s", i, got)
		}
	}
	steps := slices.DeleteFunc(calls, func(c call) bool { return c.name != "high watermark" && c.name != "last stable offset" })
	for i, c := range steps {
		if want := []string{"high watermark", "last stable offset"}[i%2]; c.name != want {
			t.Errorf("request %d is for the %s, want the %s back to back", i, c.name, want)
		}
	}
}

func TestSplit(t *testing.T) {
	weight := func(name string) int { return len(name) }
	for _, c := range []struct {
		names string
		want  string
	}{
		{"", "[]"},
		{"a b c", "[[a b c]]"},
		{"aaa bb c", "[[aaa bb] [c]]"},
		{"aaaaaaaaa b", "[[aaaaaaaaa] [b]]"},
		{"b aaaaaaaaa b", "[[b] [aaaaaaaaa] [b]]"},
	} {
		if got := fmt.Sprint(split(strings.Fields(c.names), 5, weight)); got != c.want {
			t.Errorf("%q: got %s, want %s", c.names, got, c.want)
		}
	}
}

func TestPreparedRequestsFollowMetadata(t *testing.T) {
	f := newFake(2)
	topic := f.topic("orders", 2)
	s := NewSweeper(f, Options{Serial: true})
	s.Sweep(t.Context())
	first := s.last.plans[1]
	s.Sweep(t.Context())
	if s.last.plans[1] != first {
		t.Error("requests were prepared anew though nothing had changed")
	}
	topic.partitions[0].leader, topic.partitions[0].epoch = 2, 1
	sample := s.Sweep(t.Context())
	if p := partition(t, sample, "orders", 0); p.Leader != 2 || offsets(p) != "0 5 7 9" {
		t.Errorf("leader %d, offsets %s after the leader changed", p.Leader, offsets(p))
	}
	f.topic("added", 1)
	sample = s.Sweep(t.Context())
	if got := offsets(partition(t, sample, "added", 0)); got != "0 5 7 9" {
		t.Errorf("offsets %s of an added topic", got)
	}
	f.topics = f.topics[:1]
	sample = s.Sweep(t.Context())
	if len(sample.Topics) != 1 || len(sample.Missed) > 0 {
		t.Errorf("topics %v, missed %s after a topic was deleted", sample.Topics, missed(sample))
	}
}

func TestPartitionErrorsAreLocal(t *testing.T) {
	for _, c := range []struct {
		reason string
		change func(*fakeTopic)
		want   string // offsets of partition 1
		missed string
	}{
		{"F15: no leader", func(t *fakeTopic) { t.partitions[1].leader = -1 }, "- - - -", "[topic orders: no_leader 1]"},
		{"not authorized", func(t *fakeTopic) {
			for _, s := range []step{logStart, highWatermark, lastStable, logEnd} {
				t.partitions[1].errors[s] = 29
			}
		}, "- - - -", "[topic orders: unauthorized 1]"},
		{"a new leader without high watermark", func(t *fakeTopic) {
			t.partitions[1].errors[highWatermark], t.partitions[1].errors[lastStable] = 78, 78
		}, "0 - - 9", "[topic orders: offset_not_available 1]"},
		{"the last stable offset alone fails: the pair is not known", func(t *fakeTopic) {
			t.partitions[1].errors[lastStable] = 78
		}, "0 - - 9", "[topic orders: offset_not_available 1]"},
		{"the broker knows no log end", func(t *fakeTopic) {
			t.partitions[1].errors[logEnd] = 35
		}, "0 5 7 -", "[broker 2: api_missing 1]"},
		{"an error nobody expects", func(t *fakeTopic) {
			t.partitions[1].errors[lastStable] = -1
		}, "- - - -", "[topic orders: other 1]"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := newFake(2)
			c.change(f.topic("orders", 3))
			sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
			if got := offsets(partition(t, sample, "orders", 1)); got != c.want {
				t.Errorf("offsets %s, want %s", got, c.want)
			}
			if got := missed(sample); got != c.missed {
				t.Errorf("missed %s, want %s", got, c.missed)
			}
			for _, i := range []int{0, 2} {
				if got := offsets(partition(t, sample, "orders", i)); got != "0 5 7 9" {
					t.Errorf("partition %d beside it: offsets %s", i, got)
				}
			}
		})
	}
}

func TestTopicErrorInMetadata(t *testing.T) {
	f := newFake(1)
	f.topic("orders", 1)
	f.topic("hidden", 0).errorCode = 29
	sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
	if got, want := missed(sample), "[topic hidden: unauthorized 1]"; got != want {
		t.Errorf("missed %s, want %s", got, want)
	}
	if !sample.Topics[0].Unreadable || sample.Topics[1].Unreadable {
		t.Errorf("topics %+v", sample.Topics)
	}
}

// changeLeader makes the leader change when a request of some step arrives at
// its broker for the first time.
func changeLeader(f *fake, when step, change func()) {
	done := false
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		if r, ok := req.(*kmsg.ListOffsetsRequest); ok && !done && stepOf(r) == when {
			done = true
			change()
		}
		return nil, nil
	}
}

func TestLeaderChangeStartsAgainAtTheHighWatermark(t *testing.T) {
	for _, when := range []step{logStart, highWatermark, lastStable, logEnd} {
		t.Run(when.String(), func(t *testing.T) {
			f := newFake(3)
			topic := f.topic("orders", 3)
			f.group("g", 1).commit("orders", 0, 3)
			s := NewSweeper(f, Options{Serial: true, Disabled: noLookUps})
			s.Sweep(t.Context())
			f.take()
			changeLeader(f, when, func() {
				p := topic.partitions[0]
				p.leader, p.epoch = 2, 4
				p.lso, p.hwm, p.leo = 15, 17, 19
			})
			sample := s.Sweep(t.Context())
			p := partition(t, sample, "orders", 0)
			if got, want := offsets(p), "0 15 17 19"; got != want || p.Leader != 2 || p.LeaderEpoch != 4 {
				t.Errorf("offsets %s of leader %d in epoch %d; want %s of leader 2 in epoch 4", got, p.Leader, p.LeaderEpoch, want)
			}
			if len(sample.Missed) > 0 {
				t.Errorf("missed %s", missed(sample))
			}
			if p.LastStable.Within.Sent.Before(p.HighWatermark.Within.Answered) {
				t.Error("the last stable offset was asked for before the high watermark was known")
			}
			calls := f.take()
			if len(calls) > 2+8*3 {
				t.Errorf("%d requests, above the budget", len(calls))
			}
			var metadata []int32
			for _, c := range calls {
				if c.name == "Metadata" {
					metadata = append(metadata, c.broker)
				}
			}
			if len(metadata) != 2 || metadata[0] == metadata[1] {
				t.Errorf("Metadata was asked of brokers %v, want two of them: the first was wrong", metadata)
			}
			sample = s.Sweep(t.Context())
			if got, want := offsets(partition(t, sample, "orders", 0)), "0 15 17 19"; got != want || len(sample.Missed) > 0 {
				t.Errorf("the sweep after it: offsets %s, missed %s; want %s", got, missed(sample), want)
			}
		})
	}
}

// TestSuccessorThatFails: what the leader before it said does not stay under
// its name.
func TestSuccessorThatFails(t *testing.T) {
	f := newFake(3)
	topic := f.topic("orders", 1)
	changeLeader(f, lastStable, func() {
		topic.partitions[0].leader, topic.partitions[0].epoch = 3, 1
		f.dead[3] = true
	})
	sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
	if got, want := offsets(partition(t, sample, "orders", 0)), "0 - - -"; got != want {
		t.Errorf("offsets %s, want %s", got, want)
	}
	if got, want := missed(sample), "[broker 3: unreachable 1]"; got != want {
		t.Errorf("missed %s, want %s", got, want)
	}
}

// TestTopicRecreatedInTheSweep: the new topic is another one, and has its turn
// in the next sweep.
func TestTopicRecreatedInTheSweep(t *testing.T) {
	f := newFake(2)
	topic := f.topic("orders", 1)
	changeLeader(f, lastStable, func() { topic.id, topic.partitions[0].leader, topic.partitions[0].epoch = 99, 2, 1 })
	s := NewSweeper(f, Options{Serial: true})
	sample := s.Sweep(t.Context())
	if got, want := offsets(partition(t, sample, "orders", 0)), "- - - -"; got != want {
		t.Errorf("offsets %s, want %s", got, want)
	}
	sample = s.Sweep(t.Context())
	if got, want := offsets(partition(t, sample, "orders", 0)), "0 5 7 9"; got != want || sample.Topics[0].ID != (lag.TopicID{15: 99}) {
		t.Errorf("offsets %s of topic %v, want %s of the new one", got, sample.Topics[0].ID, want)
	}
}

// TestAnswersForOtherLeadersPartitionsCountForNothing: only a partition's
// leader knows its offsets.
func TestAnswersForOtherLeadersPartitionsCountForNothing(t *testing.T) {
	f := newFake(2)
	topic := f.topic("orders", 2)
	f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
		r, ok := req.(*kmsg.ListOffsetsRequest)
		if !ok || broker != 2 {
			return nil, nil
		}
		resp := f.listOffsets(broker, r).(*kmsg.ListOffsetsResponse)
		resp.Version = r.Version
		p := kmsg.NewListOffsetsResponseTopicPartition()
		p.Offset = 1000
		resp.Topics[0].Partitions = append(resp.Topics[0].Partitions, p)
		return resp, nil
	}
	sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
	for i := range topic.partitions {
		if got, want := offsets(partition(t, sample, "orders", i)), "0 5 7 9"; got != want {
			t.Errorf("partition %d: offsets %s, want %s", i, got, want)
		}
	}
}

func TestLeaderChangeWithoutASuccessorIsLeftOut(t *testing.T) {
	f := newFake(2)
	topic := f.topic("orders", 2)
	changeLeader(f, lastStable, func() { topic.partitions[0].leader, topic.partitions[0].epoch = -1, 1 })
	sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
	if got, want := offsets(partition(t, sample, "orders", 0)), "- - - -"; got != want {
		t.Errorf("offsets %s, want %s", got, want)
	}
	if got, want := missed(sample), "[topic orders: leader_changed 1]"; got != want {
		t.Errorf("missed %s, want %s", got, want)
	}
}

func TestTopicDeletedInTheSweep(t *testing.T) {
	f := newFake(2)
	f.topic("orders", 2)
	f.topic("payments", 2)
	changeLeader(f, highWatermark, func() { f.topics = f.topics[1:] })
	sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
	if got, want := missed(sample), "[topic orders: topic_gone 2]"; got != want {
		t.Errorf("missed %s, want %s", got, want)
	}
	if got := offsets(partition(t, sample, "payments", 0)); got != "0 5 7 9" {
		t.Errorf("offsets %s of the other topic", got)
	}
}

// TestBudgetHoldsWhenEveryLeaderChanges: as many of the new leaders are asked
// as there are requests left, and those for all their steps.
func TestBudgetHoldsWhenEveryLeaderChanges(t *testing.T) {
	for _, c := range []struct {
		reason         string
		modern         bool // there are KIP-848 groups, whose description costs 4 requests
		requests, read int
	}{
		{"with all kinds of groups nothing is left", true, 33, 0},
		{"with classic groups alone one new leader can be asked", false, 33, 10},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := newFake(4)
			topic := f.topic("orders", 40)
			for i := range 8 {
				f.group(fmt.Sprint("c", i), int32(i%4+1))
				if c.modern {
					f.group(fmt.Sprint("n", i), int32(i%4+1)).groupType = "consumer"
				}
			}
			changeLeader(f, highWatermark, func() {
				for _, p := range topic.partitions {
					p.leader, p.epoch = p.leader%4+1, p.epoch+1
				}
			})
			sample := NewSweeper(f, Options{Serial: true, Disabled: noLookUps}).Sweep(t.Context())
			if n := len(f.take()); n != c.requests || n > 2+8*4 {
				t.Errorf("%d requests, want %d of at most %d", n, c.requests, 2+8*4)
			}
			read := 0
			for i := range topic.partitions {
				switch got := offsets(partition(t, sample, "orders", i)); got {
				case "0 5 7 9":
					read++
				case "- - - -":
				default:
					t.Errorf("partition %d: offsets %s are neither whole nor left out", i, got)
				}
			}
			if read != c.read {
				t.Errorf("%d partitions were read, want %d", read, c.read)
			}
			if got, want := missed(sample), fmt.Sprintf("[topic orders: leader_changed %d]", 40-c.read); got != want {
				t.Errorf("missed %s, want %s", got, want)
			}
		})
	}
}

func TestBrokerThatIgnoresTheReplicaIDHasNoLogEnd(t *testing.T) {
	f := newFake(2)
	topic := f.topic("orders", 4)
	f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.ListOffsetsRequest); ok && broker == 2 {
			r.ReplicaID = replicaConsumer
		}
		return nil, nil
	}
	s := NewSweeper(f, Options{Serial: true})
	for i, want := range []string{"0 5 7 -", "0 7 7 -"} {
		sample := s.Sweep(t.Context())
		for _, n := range []int{1, 3} {
			if got := offsets(partition(t, sample, "orders", n)); got != want {
				t.Errorf("sweep %d, partition %d: offsets %s, want %s", i, n, got, want)
			}
		}
		if got := offsets(partition(t, sample, "orders", 0)); !strings.HasSuffix(got, " 9") {
			t.Errorf("sweep %d: offsets %s of the broker beside it", i, got)
		}
		if got, want := missed(sample), "[broker 2: api_missing 1]"; got != want {
			t.Errorf("sweep %d: missed %s, want %s", i, got, want)
		}
		for _, p := range topic.partitions {
			p.lso = p.hwm // nothing gives the broker away any more
		}
	}
	f.dead[2] = true
	s.Sweep(t.Context())
	f.dead[2], f.before = false, nil // it was replaced by one that knows better
	if got, want := offsets(partition(t, s.Sweep(t.Context()), "orders", 1)), "0 7 7 9"; got != want {
		t.Errorf("after it was away: offsets %s, want %s", got, want)
	}
}

func TestMissingAPICostsItsOwnMetric(t *testing.T) {
	for _, c := range []struct {
		api     kmsg.Key
		missed  string
		commits bool
	}{
		{kmsg.DescribeGroups, "[broker 1: api_missing 1]", true},
		{kmsg.OffsetFetch, "[broker 1: api_missing 1]", false},
	} {
		t.Run(c.api.Name(), func(t *testing.T) {
			f := newFake(1)
			f.topic("orders", 1)
			f.group("g", 1).commit("orders", 0, 3)
			f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
				if req.Key() == c.api.Int16() {
					return nil, fmt.Errorf("ask: %w", ErrAPIMissing)
				}
				return nil, nil
			}
			o := &recorder{}
			sample := NewSweeper(f, Options{Serial: true, Observer: o, Now: func() time.Time { return time.Time{} }}).Sweep(t.Context())
			if got := missed(sample); got != c.missed {
				t.Errorf("missed %s, want %s", got, c.missed)
			}
			if got, want := fmt.Sprint(o.collectors), "[replicas true 0s offsets true 0s transactions true 0s groups true 0s]"; got != want {
				t.Errorf("collectors %s, want %s: what a broker lacks is no failure", got, want)
			}
			g := groupNamed(sample, "g")
			if g == nil || g.CommitsRead != c.commits || g.Members.IsKnown() == (c.api == kmsg.DescribeGroups) {
				t.Errorf("group %+v", g)
			}
			if got := offsets(partition(t, sample, "orders", 0)); got != "0 5 7 9" {
				t.Errorf("offsets %s", got)
			}
		})
	}
}

func TestAnswersInTooOldAVersionCountAsMissing(t *testing.T) {
	f := newFake(1)
	f.topic("orders", 1)
	f.group("g", 1).commit("orders", 0, 3)
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if req.Key() == kmsg.OffsetFetch.Int16() {
			req.SetVersion(1) // cannot be asked for all commits of a group
		}
		return nil, nil
	}
	sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
	if got, want := missed(sample), "[broker 1: api_missing 1]"; got != want {
		t.Errorf("missed %s, want %s", got, want)
	}
	if groupNamed(sample, "g").CommitsRead {
		t.Error("commits were taken from an answer that lacks some")
	}
}

func TestNobodyAnswers(t *testing.T) {
	f := newFake(2)
	f.dead[1], f.dead[2] = true, true
	s := NewSweeper(f, Options{Serial: true})
	sample := s.Sweep(t.Context())
	if sample.Cluster.IsKnown() || sample.Failure != errRefused.Error() || len(sample.Topics) > 0 {
		t.Errorf("got %+v", sample)
	}
	if got, want := missed(sample), "[bootstrap broker: unreachable 2]"; got != want {
		t.Errorf("missed %s, want %s", got, want)
	}
	f.dead[2] = false
	if sample = s.Sweep(t.Context()); !sample.Cluster.IsKnown() {
		t.Errorf("failed with %q though a broker answers again", sample.Failure)
	}
}

// TestMetadataIsAskedInTurn: the broker behind the one that answered before comes
// first, one that did not answer last, one that failed in this sweep never.
func TestMetadataIsAskedInTurn(t *testing.T) {
	f := newFake(5)
	s := NewSweeper(f, Options{Serial: true})
	s.Sweep(t.Context())
	s.asked = 4
	s.suspend(2)
	w := &sweep{Sweeper: s, layout: s.last, down: map[int32]bool{3: true, -99: true}}
	want := []int32{5, 1, 4, -100, -98, -97, -96, 2}
	if got := w.metadataOrder(); !slices.Equal(got, want) {
		t.Errorf("asked in the order %v, want %v", got, want)
	}
}

func TestCollectorsCanBeSwitchedOff(t *testing.T) {
	for _, c := range []struct {
		off  []Collector
		want string
	}{
		{[]Collector{Groups, Transactions}, "-100 Metadata 1 log start offset 1 high watermark 1 last stable offset 1 log end offset"},
		{[]Collector{Offsets, Transactions}, "-100 Metadata 1 ListGroups 1 DescribeGroups 1 OffsetFetch 1 log start offset 1 high watermark 1 last stable offset"},
		{[]Collector{Offsets, Groups, Transactions}, "-100 Metadata"},
		{[]Collector{Replicas, Transactions}, "-100 Metadata 1 ListGroups 1 DescribeGroups 1 OffsetFetch 1 log start offset 1 high watermark 1 last stable offset 1 log end offset"},
		{[]Collector{Offsets, Groups}, "-100 Metadata 1 log start offset 1 high watermark 1 last stable offset 1 DescribeProducers 1 last stable offset"},
	} {
		f := newFake(1)
		f.topic("orders", 1)
		f.group("g", 1).commit("orders", 0, 3)
		f.topic("unread", 1)
		NewSweeper(f, Options{Serial: true, Disabled: c.off}).Sweep(t.Context())
		if got := strings.ReplaceAll(names(f.take()), "\n", " "); got != c.want {
			t.Errorf("without %v: %s, want %s", c.off, got, c.want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		reason  string
		options Options
		want    string
	}{
		{"defaults", Options{}, ""},
		{"a short period", Options{Period: 100 * time.Millisecond}, ""},
		{"negative period", Options{Period: -1}, "period -1ns is not positive"},
		{"jitter that could let sweeps overlap", Options{Jitter: 0.3}, "jitter 0.3 is above 0.25"},
		{"deadline beyond the period", Options{Deadline: time.Minute}, "deadline 1m0s is not between 0 and the period 10s"},
		{"broker timeout beyond the deadline", Options{BrokerTimeout: 9 * time.Second}, "broker timeout 9s is not between 0 and the deadline 7.5s"},
	} {
		got := ""
		if err := c.options.Validate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.reason, got, c.want)
		}
	}
}

func TestSampleDescribesTheCluster(t *testing.T) {
	f := newFake(2)
	f.topic("orders", 3)
	sample := NewSweeper(f, Options{Serial: true}).Sweep(t.Context())
	cluster, ok := sample.Cluster.Get()
	if !ok || cluster.ID != "fake" || cluster.Controller != 1 || len(cluster.Brokers) != 2 || cluster.Brokers[1].Port != 9002 {
		t.Errorf("cluster %+v", cluster)
	}
	p := partition(t, sample, "orders", 1)
	if p.Number != 1 || p.Leader != 2 || p.Replicas != 2 || p.InSync != 1 {
		t.Errorf("partition %+v", p)
	}
	if sample.Topics[0].ID != (lag.TopicID{15: 1}) {
		t.Errorf("topic id %v", sample.Topics[0].ID)
	}
}
