package oracle

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var contract = []string{"commits", "high", "lso", "end"}

// watch runs a world for three seconds under a reader and judges every sweep.
func watch(t *testing.T, seed uint64, order []string, pause time.Duration, change func(sweep int, now map[int]*reading)) []Violation {
	t.Helper()
	const period, sweeps = 37 * time.Millisecond, 80
	w := newWorld(seed)
	w.run(sweeps*period + 2*time.Second)
	truth, err := Learn(w.rec.Acts())
	if err != nil {
		t.Fatal(err)
	}
	judge := NewJudge(truth)
	r := &reader{w: w, order: order, period: period, pause: pause}
	var found []Violation
	for i := range sweeps {
		var f func(map[int]*reading)
		if change != nil {
			f = func(now map[int]*reading) { change(i, now) }
		}
		found = append(found, judge.Judge(r.sweep(time.Duration(i+1)*period, f))...)
	}
	return found
}

// worlds is how many worlds to look at.
func worlds(n uint64) uint64 {
	if underRace {
		return 1
	}
	return n
}

func TestTrueScrapesPass(t *testing.T) {
	for seed := range worlds(8) {
		for _, pause := range []time.Duration{0, 100 * time.Microsecond, time.Millisecond} {
			for i, v := range watch(t, seed, contract, pause, nil) {
				if i == 3 {
					break
				}
				t.Errorf("seed %d, pause %v: %v", seed, pause, v)
			}
		}
	}
}

// TestWrongScrapesAreFound runs faulty exporters over the same worlds: each
// must be found out, by the rule that its fault breaks.
func TestWrongScrapesAreFound(t *testing.T) {
	var before map[int]*reading
	tests := []struct {
		name   string
		order  []string
		change func(sweep int, now map[int]*reading)
		rule   string
	}{
		{name: "the high watermark is called the log end offset", rule: "the log end offset is not true",
			change: func(_ int, now map[int]*reading) {
				for _, x := range now {
					x.end = x.high
				}
			}},
		{name: "the last stable offset is read first", order: []string{"commits", "lso", "high", "end"}, rule: "the last stable offset is not true"},
		{name: "the last stable offset is the high watermark", rule: "the last stable offset is not true",
			change: func(_ int, now map[int]*reading) {
				for _, x := range now {
					x.lso, x.stall = x.high, 0
				}
			}},
		{name: "offsets of the sweep before are shown", rule: "the high watermark is not true",
			change: func(_ int, now map[int]*reading) {
				for i, x := range now {
					if old := before[i]; old != nil {
						before[i] = x
						c := *old
						now[i] = &c
					}
				}
				before = now
			}},
		{name: "a commit is one too high", rule: "the committed offset is not true",
			change: func(_ int, now map[int]*reading) {
				for _, x := range now {
					for g := range x.commits {
						x.commits[g]++
					}
				}
			}},
		{name: "a commit is shown where there is none", rule: "the committed offset is not true",
			change: func(_ int, now map[int]*reading) { now[2].commits["b"] = 0 }},
		{name: "a commit is left out", rule: "a group that can be read lacks a sample",
			change: func(sweep int, now map[int]*reading) {
				if sweep > 40 {
					delete(now[0].commits, "a")
				}
			}},
		{name: "a partition is left out", rule: "a partition that can be read lacks a sample",
			change: func(sweep int, now map[int]*reading) { now[1].hidden = sweep == 40 }},
		{name: "the log start is 0 for ever", rule: "the log start offset is not true",
			change: func(_ int, now map[int]*reading) { now[0].start = 0 }},
		{name: "an interval below is counted twice", rule: "an interval below is counted by something else than the sweep at its beginning",
			change: func(sweep int, now map[int]*reading) {
				for _, x := range now {
					x.below = min(2*x.below, x.observed)
				}
			}},
		{name: "time below on a topic without transactions", rule: "time below though no transaction was open",
			change: func(sweep int, now map[int]*reading) { now[2].below = now[2].observed / 2 }},
		{name: "intervals are not observed", rule: "an interval that was observed is not counted",
			change: func(sweep int, now map[int]*reading) {
				for _, x := range now {
					x.observed = x.below
				}
			}},
		{name: "the stall is counted from the exporter's start", rule: "the time since the last stable offset moved is not true",
			change: func(sweep int, now map[int]*reading) {
				for _, x := range now {
					if x.lso < x.high {
						x.stall = x.observed
					}
				}
			}},
		{name: "the stall goes on without a transaction", rule: "stalled though nothing is held back",
			change: func(sweep int, now map[int]*reading) { now[2].stall = time.Second }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			order := tt.order
			if order == nil {
				order = contract
			}
			before = nil
			rules := map[string]int{}
			for seed := range worlds(3) {
				for _, v := range watch(t, seed, order, 100*time.Microsecond, tt.change) {
					rules[v.Rule]++
				}
			}
			if rules[tt.rule] == 0 {
				t.Errorf("not found: %q; found: %v", tt.rule, rules)
			}
		})
	}
}

// The rest are single scrapes of a cluster at rest.

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

func did(kind Kind, second float64, a Act) Act {
	a.Kind, a.Sent, a.Answered = kind, at(second), at(second+0.01)
	return a
}

// resting is a cluster of two brokers with a topic of two partitions, 10
// records each, of which the group has committed 4 and 10.
func resting(more ...Act) []Act {
	acts := []Act{
		did(Cluster, -100, Act{Brokers: []int32{1, 2}, Timing: &Timing{Settle: time.Second}}),
		did(CreateTopic, -90, Act{Topic: "t", Replicas: [][]int32{{1, 2}, {2, 1}}}),
	}
	for p := range int32(2) {
		acts = append(acts,
			did(Append, -80, Act{Topic: "t", Partition: p, Records: 10, Acks: -1}),
			did(CommitOffset, -70, Act{Group: "g", Topic: "t", Partition: p, Offset: 4 + 6*int64(p)}))
	}
	return append(acts, more...)
}

// restingPage is what a right exporter shows of it.
const restingPage = `
kafka_partition_log_start_offset{topic="t",partition="0"} 0
kafka_partition_log_start_offset{topic="t",partition="1"} 0
kafka_partition_last_stable_offset{topic="t",partition="0"} 10
kafka_partition_last_stable_offset{topic="t",partition="1"} 10
kafka_partition_high_watermark{topic="t",partition="0"} 10
kafka_partition_high_watermark{topic="t",partition="1"} 10
kafka_partition_log_end_offset{topic="t",partition="0"} 10
kafka_partition_log_end_offset{topic="t",partition="1"} 10
kafka_partition_unstable_offsets{topic="t",partition="0"} 0
kafka_partition_unstable_offsets{topic="t",partition="1"} 0
kafka_partition_lso_below_hwm_seconds_total{topic="t",partition="0"} 0
kafka_partition_lso_below_hwm_seconds_total{topic="t",partition="1"} 0
kafka_partition_observed_seconds_total{topic="t",partition="0"} 0
kafka_partition_observed_seconds_total{topic="t",partition="1"} 0
kafka_partition_lso_stalled_seconds{topic="t",partition="0"} 0
kafka_partition_lso_stalled_seconds{topic="t",partition="1"} 0
kafka_partition_leader{topic="t",partition="0"} 1
kafka_partition_leader{topic="t",partition="1"} 2
kafka_partition_replicas{topic="t",partition="0"} 2
kafka_partition_replicas{topic="t",partition="1"} 2
kafka_partition_in_sync_replicas{topic="t",partition="0"} 2
kafka_partition_in_sync_replicas{topic="t",partition="1"} 2
kafka_group_partition_committed_offset{group="g",topic="t",partition="0"} 4
kafka_group_partition_committed_offset{group="g",topic="t",partition="1"} 10
kafka_group_partition_hwm_lag{group="g",topic="t",partition="0"} 6
kafka_group_partition_hwm_lag{group="g",topic="t",partition="1"} 0
kafka_group_partition_lso_lag{group="g",topic="t",partition="0"} 6
kafka_group_partition_lso_lag{group="g",topic="t",partition="1"} 0
kafka_group_topic_hwm_lag{group="g",topic="t"} 6
kafka_group_topic_lso_lag{group="g",topic="t"} 6
kafka_group_topic_state{group="g",topic="t",state="undetermined"} 1
kafka_group_info{group="g"} 1
kafka_group_state{group="g",state="Empty"} 1
kafka_group_members{group="g"} 0
kafka_group_uncommitted_partitions{group="g"} 0
kafka_group_orphan_commits{group="g"} 0
`

// edit replaces lines of a page; an empty replacement takes the line away.
func edit(t *testing.T, page string, replace ...string) string {
	t.Helper()
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(page, replace[i]) {
			t.Fatalf("the page has no %q", replace[i])
		}
		page = strings.ReplaceAll(page, replace[i], replace[i+1])
	}
	return page
}

// judgeAt judges one page of a sweep at second 0.
func judgeAt(t *testing.T, acts []Act, page string) []Violation {
	t.Helper()
	truth, err := Learn(acts)
	if err != nil {
		t.Fatal(err)
	}
	return NewJudge(truth).Judge(Scrape{Exporter: "e", Start: at(0), End: at(0.1), At: at(0.2), Period: time.Second, Text: []byte(page)})
}

func TestRestingCluster(t *testing.T) {
	const gone = ""
	withoutPartition1 := func(t *testing.T) string {
		var kept []string
		for line := range strings.Lines(restingPage) {
			if !strings.Contains(line, `partition="1"`) || strings.Contains(line, "replicas{") {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	}
	withoutTopic := func() string {
		var kept []string
		for line := range strings.Lines(restingPage) {
			if !strings.Contains(line, `topic="t"`) {
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	}
	tests := []struct {
		name  string
		acts  []Act
		page  func(t *testing.T) string
		rules []string // in order of appearance; none: the page is true
	}{
		{name: "all true", page: func(*testing.T) string { return restingPage }},
		{name: "a negative lag", rules: []string{"a negative value is shown", "a lag is not made of its parts", "a lag is not true", "a sum is not the sum of its parts"},
			page: func(t *testing.T) string {
				return edit(t, restingPage, `hwm_lag{group="g",topic="t",partition="1"} 0`, `hwm_lag{group="g",topic="t",partition="1"} -5`)
			}},
		{name: "a lag of NaN", rules: []string{"NaN is shown", "a lag is not made of its parts", "a sum is not the sum of its parts"},
			page: func(t *testing.T) string {
				return edit(t, restingPage, `lso_lag{group="g",topic="t",partition="1"} 0`, `lso_lag{group="g",topic="t",partition="1"} NaN`)
			}},
		{name: "a lag against the log's end though it has no commit", rules: []string{"a lag lacks a part", "a lag is shown without a commit", "a sum is not the sum of its parts"},
			acts: []Act{did(DeleteOffset, -60, Act{Group: "g", Topic: "t", Partition: 1})},
			page: func(t *testing.T) string {
				return edit(t, restingPage,
					`kafka_group_partition_committed_offset{group="g",topic="t",partition="1"} 10`, gone,
					`kafka_group_partition_lso_lag{group="g",topic="t",partition="1"} 0`, gone,
					`hwm_lag{group="g",topic="t",partition="1"} 0`, `hwm_lag{group="g",topic="t",partition="1"} 10`,
					`uncommitted_partitions{group="g"} 0`, `uncommitted_partitions{group="g"} 1`)
			}},
		{name: "the same without the sample", acts: []Act{did(DeleteOffset, -60, Act{Group: "g", Topic: "t", Partition: 1})},
			page: func(t *testing.T) string {
				return edit(t, restingPage,
					`kafka_group_partition_committed_offset{group="g",topic="t",partition="1"} 10`, gone,
					`kafka_group_partition_lso_lag{group="g",topic="t",partition="1"} 0`, gone,
					`kafka_group_partition_hwm_lag{group="g",topic="t",partition="1"} 0`, gone,
					`uncommitted_partitions{group="g"} 0`, `uncommitted_partitions{group="g"} 1`)
			}},
		{name: "a sum that lacks a part which an outage excuses", rules: []string{"a sum lacks a part", "a sum lacks a part"},
			acts: []Act{did(KillBroker, -1, Act{Broker: 2})}, page: withoutPartition1},
		{name: "a part that an outage excuses, without the sum", acts: []Act{did(KillBroker, -1, Act{Broker: 2})},
			page: func(t *testing.T) string {
				return edit(t, withoutPartition1(t), `kafka_group_topic_hwm_lag{group="g",topic="t"} 6`, gone, `kafka_group_topic_lso_lag{group="g",topic="t"} 6`, gone)
			}},
		{name: "a part that an election excuses, without the sum", acts: []Act{did(ElectLeader, -0.5, Act{Topic: "t", Partition: 1})},
			page: func(t *testing.T) string {
				return edit(t, withoutPartition1(t), `kafka_group_topic_hwm_lag{group="g",topic="t"} 6`, gone, `kafka_group_topic_lso_lag{group="g",topic="t"} 6`, gone) +
					"kafka_group_partition_committed_offset{group=\"g\",topic=\"t\",partition=\"1\"} 10\n"
			}},
		{name: "an election long over excuses nothing", rules: slices.Repeat([]string{"a partition that can be read lacks a sample"}, 9),
			acts: []Act{did(ElectLeader, -50, Act{Topic: "t", Partition: 1})},
			page: func(t *testing.T) string {
				return edit(t, withoutPartition1(t), `kafka_group_topic_hwm_lag{group="g",topic="t"} 6`, gone, `kafka_group_topic_lso_lag{group="g",topic="t"} 6`, gone) +
					"kafka_group_partition_committed_offset{group=\"g\",topic=\"t\",partition=\"1\"} 10\n"
			}},
		{name: "an outage costs samples of another broker", rules: slices.Repeat([]string{"a partition that can be read lacks a sample"}, 9),
			acts: []Act{did(KillBroker, -1, Act{Broker: 1}), did(Coordinator, -60, Act{Group: "g", Broker: 1})},
			page: func(t *testing.T) string {
				return edit(t, withoutPartition1(t), `kafka_group_topic_hwm_lag{group="g",topic="t"} 6`, gone, `kafka_group_topic_lso_lag{group="g",topic="t"} 6`, gone)
			}},
		{name: "an outage long over excuses nothing", rules: slices.Repeat([]string{"a partition that can be read lacks a sample"}, 9),
			acts: []Act{did(KillBroker, -50, Act{Broker: 2}), did(StartBroker, -30, Act{Broker: 2}), did(Leader, -20, Act{Topic: "t", Partition: 1, Broker: 1}), did(Coordinator, -60, Act{Group: "g", Broker: 2})},
			page: func(t *testing.T) string {
				return edit(t, withoutPartition1(t), `kafka_group_topic_hwm_lag{group="g",topic="t"} 6`, gone, `kafka_group_topic_lso_lag{group="g",topic="t"} 6`, gone) +
					"kafka_group_partition_committed_offset{group=\"g\",topic=\"t\",partition=\"1\"} 10\n"
			}},
		{name: "a deleted topic lingers", rules: slices.Repeat([]string{"a partition that does not exist is shown"}, 8),
			acts: []Act{did(DeleteTopic, -50, Act{Topic: "t"})},
			page: func(t *testing.T) string {
				var kept []string
				for line := range strings.Lines(restingPage) {
					if strings.Contains(line, `kafka_partition_`) && strings.Contains(line, `partition="1"`) {
						kept = append(kept, line)
					}
				}
				kept = append(kept, `kafka_group_info{group="g"} 1`, "\n", `kafka_group_state{group="g",state="Empty"} 1`, "\n", `kafka_group_members{group="g"} 0`, "\n",
					`kafka_group_uncommitted_partitions{group="g"} 0`, "\n", `kafka_group_orphan_commits{group="g"} 0`, "\n")
				return strings.Join(kept, "")
			}},
		{name: "commits of a deleted topic are called orphans", rules: []string{"commits are called orphans though their partitions exist"},
			acts: []Act{did(DeleteTopic, -50, Act{Topic: "t"})},
			page: func(t *testing.T) string {
				return edit(t, withoutTopic(), "orphan_commits{group=\"g\"} 0", "orphan_commits{group=\"g\"} 2")
			}},
		{name: "their coordinator may have been away",
			acts: []Act{did(KillBroker, -60, Act{Broker: 2}), did(DeleteTopic, -50, Act{Topic: "t"}), did(StartBroker, -40, Act{Broker: 2})},
			page: func(t *testing.T) string {
				return edit(t, withoutTopic(), "orphan_commits{group=\"g\"} 0", "orphan_commits{group=\"g\"} 2")
			}},
		{name: "a deleted group lingers", rules: slices.Repeat([]string{"a group that does not exist is shown"}, 5),
			acts: []Act{did(DeleteGroup, -50, Act{Group: "g"})},
			page: func(t *testing.T) string {
				var kept []string
				for line := range strings.Lines(restingPage) {
					if !strings.Contains(line, "kafka_group_partition_") && !strings.Contains(line, "kafka_group_topic_") {
						kept = append(kept, line)
					}
				}
				return strings.Join(kept, "")
			}},
		{name: "a group that loses its last member", rules: []string{"a group with members is said to have none", "the number of members is not true"},
			acts: []Act{did(JoinGroup, -50, Act{Group: "g", Member: "m", Topics: []string{"t"}})},
			page: func(*testing.T) string { return restingPage }},
		{name: "two states", rules: []string{"a group has more than one state", "a group has more than one state", "a group without members is said to have some"},
			page: func(t *testing.T) string {
				return restingPage + "kafka_group_state{group=\"g\",state=\"Stable\"} 1\n"
			}},
		{name: "a series twice", rules: []string{"a series is shown twice"},
			page: func(t *testing.T) string { return restingPage + "kafka_group_members{group=\"g\"} 0\n" }},
		{name: "a metric without a rule", rules: []string{"no rule of the oracle covers the metric"},
			page: func(t *testing.T) string { return restingPage + "kafka_partition_colour 3\n" }},
		{name: "log start above the last stable offset", rules: []string{"the last stable offset is not true", "the log start offset is not true", "the order of the four offsets is broken", "a difference is not the difference of its parts", "a lag is not made of its parts", "a lag is not made of its parts", "offsets were lost and no sample says so"},
			page: func(t *testing.T) string {
				return edit(t, restingPage,
					`log_start_offset{topic="t",partition="0"} 0`, `log_start_offset{topic="t",partition="0"} 5`,
					`last_stable_offset{topic="t",partition="0"} 10`, `last_stable_offset{topic="t",partition="0"} 4`)
			}},
		{name: "ahead at first sight", rules: []string{"a commit is called ahead after one look"},
			acts: []Act{did(CommitOffset, -50, Act{Group: "g", Topic: "t", Partition: 1, Offset: 15})},
			page: func(t *testing.T) string {
				return edit(t, restingPage, `committed_offset{group="g",topic="t",partition="1"} 10`, `committed_offset{group="g",topic="t",partition="1"} 15`) +
					"kafka_group_partition_ahead_offsets{group=\"g\",topic=\"t\",partition=\"1\"} 5\n"
			}},
		{name: "a refused commit that was not written", acts: []Act{did(CommitOffset, -50, Act{Group: "g", Topic: "t", Partition: 1, Offset: 8, Maybe: true})},
			page: func(*testing.T) string { return restingPage }},
		{name: "a refused commit that was written", acts: []Act{did(CommitOffset, -50, Act{Group: "g", Topic: "t", Partition: 1, Offset: 8, Maybe: true})},
			page: committedEight},
		{name: "a refused commit behind which another was written", rules: []string{"the committed offset is not true", "a lag is not true"},
			acts: []Act{
				did(CommitOffset, -50, Act{Group: "g", Topic: "t", Partition: 1, Offset: 8, Maybe: true}),
				did(CommitOffset, -40, Act{Group: "g", Topic: "t", Partition: 1, Offset: 10}),
			}, page: committedEight},
		{name: "lost without a word", rules: []string{"offsets were lost and no sample says so"},
			acts: []Act{did(DeleteRecords, -50, Act{Topic: "t", Partition: 0, Offset: 9})},
			page: func(t *testing.T) string {
				return edit(t, restingPage, `log_start_offset{topic="t",partition="0"} 0`, `log_start_offset{topic="t",partition="0"} 9`,
					`hwm_lag{group="g",topic="t",partition="0"} 6`, `hwm_lag{group="g",topic="t",partition="0"} 1`,
					`lso_lag{group="g",topic="t",partition="0"} 6`, `lso_lag{group="g",topic="t",partition="0"} 1`,
					`kafka_group_topic_hwm_lag{group="g",topic="t"} 6`, `kafka_group_topic_hwm_lag{group="g",topic="t"} 1`,
					`kafka_group_topic_lso_lag{group="g",topic="t"} 6`, `kafka_group_topic_lso_lag{group="g",topic="t"} 1`)
			}},
		{name: "a log start that goes back", rules: []string{"the log start offset is not true"},
			acts: []Act{did(DeleteRecords, -50, Act{Topic: "t", Partition: 0, Offset: 3}), did(PauseBroker, -40, Act{Broker: 1}), did(ResumeBroker, -39, Act{Broker: 1})},
			page: func(*testing.T) string { return restingPage }},
		{name: "a log start that a kill takes back",
			acts: []Act{did(DeleteRecords, -50, Act{Topic: "t", Partition: 0, Offset: 3}), did(KillBroker, -40, Act{Broker: 1}), did(StartBroker, -30, Act{Broker: 1}),
				did(Leader, -20, Act{Topic: "t", Partition: 0, Broker: 1})},
			page: func(*testing.T) string { return restingPage }},
		{name: "a log start that was seen at the leader, which stays", rules: []string{"the log start offset is not true"},
			acts: []Act{did(LogStart, -50, Act{Topic: "t", Partition: 0, Offset: 3})},
			page: func(*testing.T) string { return restingPage }},
		{name: "a log start that the next leader had not heard of",
			acts: []Act{did(LogStart, -50, Act{Topic: "t", Partition: 0, Offset: 3}), did(StopBroker, -40, Act{Broker: 1}), did(StartBroker, -30, Act{Broker: 1}),
				did(Leader, -20, Act{Topic: "t", Partition: 0, Broker: 1})},
			page: func(*testing.T) string { return restingPage }},
		{name: "a log start that every replica had", rules: []string{"the log start offset is not true"},
			acts: []Act{did(DeleteRecords, -50, Act{Topic: "t", Partition: 0, Offset: 3}), did(StopBroker, -40, Act{Broker: 1}), did(StartBroker, -30, Act{Broker: 1}),
				did(Leader, -20, Act{Topic: "t", Partition: 0, Broker: 1})},
			page: func(*testing.T) string { return restingPage }},
		{name: "a log start that may have been moved",
			acts: []Act{{Kind: DeleteRecords, Sent: at(-50), Topic: "t", Partition: 0, Offset: 3}},
			page: func(*testing.T) string { return restingPage }},
		{name: "a log start that was moved, behind a lower one that may have been",
			acts: []Act{did(DeleteRecords, -50, Act{Topic: "t", Partition: 0, Offset: 3}), {Kind: LogStart, Sent: at(10), Topic: "t", Partition: 0, Offset: 2}},
			page: func(t *testing.T) string {
				return edit(t, restingPage, `log_start_offset{topic="t",partition="0"} 0`, `log_start_offset{topic="t",partition="0"} 3`)
			}},
		{name: "not a page", rules: []string{"text format parsing error"},
			page: func(*testing.T) string { return "kafka_partition_leader{topic=\"t\n" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found := judgeAt(t, resting(tt.acts...), tt.page(t))
			var rules []string
			for _, v := range found {
				rules = append(rules, v.Rule)
			}
			slices.Sort(rules)
			want := slices.Clone(tt.rules)
			slices.Sort(want)
			if len(rules) == 1 && len(want) == 1 && strings.Contains(rules[0], want[0]) {
				return
			}
			if !slices.Equal(rules, want) {
				t.Errorf("found %d, want %q:", len(found), want)
				for _, v := range found {
					t.Errorf("  %v", v)
				}
			}
		})
	}
}

// committedEight is the page of a group that has committed 8 of partition 1.
func committedEight(t *testing.T) string {
	return edit(t, restingPage,
		`committed_offset{group="g",topic="t",partition="1"} 10`, `committed_offset{group="g",topic="t",partition="1"} 8`,
		`hwm_lag{group="g",topic="t",partition="1"} 0`, `hwm_lag{group="g",topic="t",partition="1"} 2`,
		`lso_lag{group="g",topic="t",partition="1"} 0`, `lso_lag{group="g",topic="t",partition="1"} 2`,
		`kafka_group_topic_hwm_lag{group="g",topic="t"} 6`, `kafka_group_topic_hwm_lag{group="g",topic="t"} 8`,
		`kafka_group_topic_lso_lag{group="g",topic="t"} 6`, `kafka_group_topic_lso_lag{group="g",topic="t"} 8`)
}

// TestFixedCoordinators: where coordinators do not move, an outage of the group's
// own costs the group's samples for as long as it lasts, and no other does.
func TestFixedCoordinators(t *testing.T) {
	var kept []string
	for line := range strings.Lines(restingPage) {
		if !strings.Contains(line, "kafka_group_") {
			kept = append(kept, line)
		}
	}
	page := strings.Join(kept, "")
	for _, tt := range []struct {
		fixed       bool
		coordinator int32
		want        bool // the group must be there
	}{{true, 2, false}, {true, 1, true}, {false, 2, true}} {
		acts := resting(did(Coordinator, -60, Act{Group: "g", Broker: tt.coordinator}), did(KillBroker, -50, Act{Broker: 2}),
			did(Leader, -30, Act{Topic: "t", Partition: 1, Broker: 1}), did(Coordinator, -30, Act{Group: "g", Broker: 1}))
		acts[0].Timing.FixedCoordinators = tt.fixed
		missing := false
		for _, v := range judgeAt(t, acts, page) {
			missing = missing || v.Rule == "a group that can be read lacks a sample"
		}
		if missing != tt.want {
			t.Errorf("fixed %v, coordinator %d: missed %v, want %v", tt.fixed, tt.coordinator, missing, tt.want)
		}
	}
}

// TestCoordinatorsThatMove: a group may be missing while its coordinator is away, or
// takes over for another; a sight of a coordinator that goes away tells nothing of
// who comes after it.
func TestCoordinatorsThatMove(t *testing.T) {
	var kept []string
	for line := range strings.Lines(restingPage) {
		if !strings.Contains(line, "kafka_group_") {
			kept = append(kept, line)
		}
	}
	sight := func(second float64, broker int32) Act {
		return did(Coordinator, second, Act{Group: "g", Broker: broker})
	}
	for _, tt := range []struct {
		reason string
		acts   []Act
		want   bool // the group must be there
	}{
		{"its coordinator is paused", []Act{sight(-60, 2), did(PauseBroker, -1, Act{Broker: 2})}, false},
		{"another has just been paused", []Act{sight(-60, 1), did(PauseBroker, -1, Act{Broker: 2})}, true},
		{"it takes over for another", []Act{sight(-60, 1), did(KillBroker, -8, Act{Broker: 2})}, false},
		{"it took over long ago", []Act{sight(-60, 1), did(KillBroker, -30, Act{Broker: 2})}, true},
		{"another was back before it had to", []Act{sight(-60, 1), did(PauseBroker, -8, Act{Broker: 2}), did(ResumeBroker, -7, Act{Broker: 2})}, true},
		{"it was seen where it was no more", []Act{
			sight(-60, 1), did(PauseBroker, -50, Act{Broker: 1}), sight(-48, 1), did(ResumeBroker, -30, Act{Broker: 1}),
			did(PauseBroker, -1, Act{Broker: 2})}, false},
		{"it was seen just before it was there no more", []Act{
			sight(-50.5, 1), did(PauseBroker, -50, Act{Broker: 1}), did(ResumeBroker, -30, Act{Broker: 1}), did(PauseBroker, -1, Act{Broker: 2})}, false},
		{"it was told by one that had just come back", []Act{
			sight(-60, 1), did(PauseBroker, -50, Act{Broker: 1}), did(ResumeBroker, -30, Act{Broker: 1}), sight(-29.5, 1),
			did(PauseBroker, -1, Act{Broker: 2})}, false},
		{"it was seen again when all was well", []Act{
			sight(-60, 1), did(PauseBroker, -50, Act{Broker: 1}), did(ResumeBroker, -30, Act{Broker: 1}), sight(-20, 1),
			did(PauseBroker, -1, Act{Broker: 2})}, true},
	} {
		missing := false
		for _, v := range judgeAt(t, resting(tt.acts...), strings.Join(kept, "")) {
			missing = missing || v.Rule == "a group that can be read lacks a sample"
		}
		if missing != tt.want {
			t.Errorf("%s: missed %v, want %v", tt.reason, missing, tt.want)
		}
	}
}

// TestCommitThatASuccessorDoesNotShowYet: a coordinator that takes over shows what its
// high watermark covers, which trails, and stands while too few replicas are in sync.
func TestCommitThatASuccessorDoesNotShowYet(t *testing.T) {
	page := edit(t, restingPage, `kafka_group_partition_committed_offset{group="g",topic="t",partition="0"} 4`+"\n", "",
		`kafka_group_partition_hwm_lag{group="g",topic="t",partition="0"} 6`+"\n", "", `kafka_group_partition_lso_lag{group="g",topic="t",partition="0"} 6`+"\n", "",
		`kafka_group_topic_hwm_lag{group="g",topic="t"} 6`, `kafka_group_topic_hwm_lag{group="g",topic="t"} 0`,
		`kafka_group_topic_lso_lag{group="g",topic="t"} 6`, `kafka_group_topic_lso_lag{group="g",topic="t"} 0`,
		`kafka_group_uncommitted_partitions{group="g"} 0`, `kafka_group_uncommitted_partitions{group="g"} 1`)
	for _, tt := range []struct {
		reason string
		stop   float64 // when its coordinator was stopped
		want   bool    // the commit must be there
	}{{"at once", -69.9, false}, {"later", -60, true}} {
		acts := resting(did(Coordinator, -80, Act{Group: "g", Broker: 2}), did(StopBroker, tt.stop, Act{Broker: 2}), did(Leader, -20, Act{Topic: "t", Partition: 1, Broker: 1}))
		missing := false
		for _, v := range judgeAt(t, acts, page) {
			missing = missing || strings.Contains(v.Rule, "commit") || strings.Contains(v.Rule, "lacks a part")
		}
		if missing != tt.want {
			t.Errorf("%s: missed %v, want %v", tt.reason, missing, tt.want)
		}
	}
}

// TestLogStartUnderRetention: between two log starts of the record a log may have
// started at any batch.
func TestLogStartUnderRetention(t *testing.T) {
	truth, err := Learn(resting(did(Retention, -79, Act{Topic: "t"}), did(Append, -75, Act{Topic: "t", Partition: 0, Offset: 10, Records: 5, Acks: -1}),
		did(Append, -74, Act{Topic: "t", Partition: 0, Offset: 15, Records: 5, Acks: -1}),
		Act{Kind: LogStart, Sent: at(-50), Answered: at(-40), Topic: "t", Partition: 0, Offset: 15}))
	if err != nil {
		t.Fatal(err)
	}
	start := &truth.topics["t"][0].partitions[0].start
	for _, tt := range []struct {
		value, second int64
		want          bool
	}{{0, -60, true}, {10, -60, true}, {15, -60, false}, {20, -60, false}, {0, -45, true}, {10, -45, true}, {12, -45, false}, {15, -45, true},
		{10, -30, false}, {15, -30, true}, {20, -30, true}} {
		m := momentOf(at(float64(tt.second)))
		if got := start.holds(tt.value, m, m); got != tt.want {
			t.Errorf("%d at second %d: %v, want %v", tt.value, tt.second, got, tt.want)
		}
	}
}

// TestTopicMadeAnew: a topic that is made anew has the commits that its coordinator,
// away when it was deleted, has not dropped; its counters begin at 0, however long
// nothing was shown of it.
func TestTopicMadeAnew(t *testing.T) {
	anew := []Act{did(DeleteTopic, -40, Act{Topic: "t"}), did(CreateTopic, -30, Act{Topic: "t", Replicas: [][]int32{{1, 2}, {2, 1}}})}
	away := []Act{did(KillBroker, -45, Act{Broker: 2}), did(Leader, -20, Act{Topic: "t", Partition: 1, Broker: 1})}
	for _, tt := range []struct {
		reason string
		acts   []Act
		want   bool // the commit may be there
	}{{"all have heard", anew, false}, {"a broker was away", append(away, anew...), true}} {
		truth, err := Learn(resting(tt.acts...))
		if err != nil {
			t.Fatal(err)
		}
		values, none := truth.commits[commitKey{"g", placeKey{"t", 1, 0}}].values(momentOf(at(0)), momentOf(at(0.1)))
		if got := len(values) > 0; got != tt.want || !none {
			t.Errorf("%s: commits %v, none %v", tt.reason, values, none)
		}
	}
	truth, err := Learn(resting(anew...))
	if err != nil {
		t.Fatal(err)
	}
	judge := NewJudge(truth)
	falls := false
	for _, sc := range []struct {
		second float64
		text   string
	}{{-50, observed + `{topic="t",partition="0"} 9` + "\n"}, {-35, ""}, {-26, ""}, {-10, observed + `{topic="t",partition="0"} 1` + "\n"}, {-5, observed + `{topic="t",partition="0"} 0` + "\n"}} {
		for _, v := range judge.Judge(Scrape{Exporter: "e", Start: at(sc.second), End: at(sc.second + 0.1), At: at(sc.second + 0.1), Period: time.Second, Text: []byte("# TYPE " + observed + " counter\n" + sc.text)}) {
			if v.Rule == "a counter falls" {
				falls = true
				if sc.second != -5 {
					t.Errorf("at %v: %v", sc.second, v)
				}
			}
		}
	}
	if !falls {
		t.Error("a counter that falls within one life of its topic was not found")
	}
}

// TestForgottenTransaction: a replica that comes back after the first records of an
// open transaction were deleted may lead without knowing of it.
func TestForgottenTransaction(t *testing.T) {
	open := []Act{
		did(Append, -50, Act{Topic: "t", Partition: 0, Offset: 10, Records: 5, Acks: -1, TransactionalID: "producer 7"}),
		did(Append, -49, Act{Topic: "t", Partition: 0, Offset: 15, Records: 5, Acks: -1}),
	}
	deleted := did(DeleteRecords, -45, Act{Topic: "t", Partition: 0, Offset: 15})
	for _, tt := range []struct {
		reason string
		acts   []Act
		want   bool // the last stable offset may be the high watermark
	}{
		{"known everywhere", []Act{deleted}, false},
		{"back before", []Act{did(StopBroker, -60, Act{Broker: 2}), did(StartBroker, -55, Act{Broker: 2}), deleted}, false},
		{"back afterwards", []Act{did(StopBroker, -60, Act{Broker: 2}), deleted, did(StartBroker, -40, Act{Broker: 2})}, true},
		{"back, and nothing deleted", []Act{did(StopBroker, -60, Act{Broker: 2}), did(StartBroker, -40, Act{Broker: 2})}, false},
		{"back, and less deleted", []Act{did(StopBroker, -60, Act{Broker: 2}), did(DeleteRecords, -45, Act{Topic: "t", Partition: 0, Offset: 10}), did(StartBroker, -40, Act{Broker: 2})}, false},
	} {
		truth, err := Learn(resting(append(open, tt.acts...)...))
		if err != nil {
			t.Fatal(err)
		}
		if got := truth.topics["t"][0].partitions[0].stable(20, 20, momentOf(at(0)), momentOf(at(0.1))); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.reason, got, tt.want)
		}
	}
}

// TestBlockers: a blocker is a transaction of the record that holds the last
// stable offset, no younger than the stall.
func TestBlockers(t *testing.T) {
	acts := resting(
		did(Append, -50, Act{Topic: "t", Partition: 0, Offset: 10, Records: 5, Acks: -1, TransactionalID: "producer 7"}),
		did(Append, -40, Act{Topic: "t", Partition: 0, Offset: 15, Records: 5, Acks: -1, TransactionalID: "producer 8"}))
	page := edit(t, restingPage,
		`high_watermark{topic="t",partition="0"} 10`, `high_watermark{topic="t",partition="0"} 20`,
		`log_end_offset{topic="t",partition="0"} 10`, `log_end_offset{topic="t",partition="0"} 20`,
		`unstable_offsets{topic="t",partition="0"} 0`, `unstable_offsets{topic="t",partition="0"} 10`,
		`hwm_lag{group="g",topic="t",partition="0"} 6`, `hwm_lag{group="g",topic="t",partition="0"} 16`,
		`kafka_group_topic_hwm_lag{group="g",topic="t"} 6`, `kafka_group_topic_hwm_lag{group="g",topic="t"} 16`)
	for _, tt := range []struct{ series, rule string }{
		{`kafka_partition_blocking_transaction_info{topic="t",partition="0",producer_id="7"} 1`, ""},
		{`kafka_partition_blocking_transaction_info{topic="t",partition="0",producer_id=""} 1`, ""},
		{`kafka_partition_blocking_transaction_info{topic="t",partition="0",producer_id="8"} 1`, "the blocker is not the transaction that holds the last stable offset"},
		{`kafka_partition_blocking_transaction_info{topic="t",partition="1",producer_id=""} 1`, "a blocker is shown though nothing is held back"},
		{`kafka_partition_open_transactions{topic="t",partition="0"} 2`, ""},
		{`kafka_partition_open_transactions{topic="t",partition="0"} 3`, "more transactions are open than were begun"},
		{`kafka_partition_blocking_transaction_age_seconds{topic="t",partition="1"} 3`, "a blocker is shown though nothing is held back"},
	} {
		found := judgeAt(t, acts, page+tt.series+"\n")
		if tt.rule == "" && len(found) > 0 || tt.rule != "" && (len(found) != 1 || found[0].Rule != tt.rule) {
			t.Errorf("%s: found %v, want %q", tt.series, found, tt.rule)
		}
	}
}

// TestVerdicts: what is said of a transaction agrees with what its coordinator
// knows by the record.
func TestVerdicts(t *testing.T) {
	begin := did(BeginTransaction, -60, Act{TransactionalID: "producer 7", Timeout: 30 * time.Second})
	batch := did(Append, -50, Act{Topic: "t", Partition: 0, Offset: 10, Records: 5, Acks: -1, TransactionalID: "producer 7"})
	stray := batch
	stray.Unregistered = true
	end := did(EndTransaction, -40, Act{TransactionalID: "producer 7", Committed: true})
	young := did(Append, -4, Act{Topic: "t", Partition: 0, Offset: 10, Records: 5, Acks: -1, TransactionalID: "producer 7"})
	long := did(BeginTransaction, -60, Act{TransactionalID: "producer 7", Timeout: time.Hour})
	lost := did(LostMarker, -38, Act{TransactionalID: "producer 7", Topic: "t", Partition: 0})
	complete := did(CompleteTransaction, -39, Act{TransactionalID: "producer 7"})
	page := edit(t, restingPage,
		`high_watermark{topic="t",partition="0"} 10`, `high_watermark{topic="t",partition="0"} 15`,
		`log_end_offset{topic="t",partition="0"} 10`, `log_end_offset{topic="t",partition="0"} 15`,
		`unstable_offsets{topic="t",partition="0"} 0`, `unstable_offsets{topic="t",partition="0"} 5`,
		`hwm_lag{group="g",topic="t",partition="0"} 6`, `hwm_lag{group="g",topic="t",partition="0"} 11`,
		`kafka_group_topic_hwm_lag{group="g",topic="t"} 6`, `kafka_group_topic_hwm_lag{group="g",topic="t"} 11`)
	const hasEnded, tooEarly = "a transaction is called open that has ended", "a transaction is called overdue too early"
	for _, tt := range []struct {
		reason  string
		acts    []Act
		verdict string
		rule    string
	}{
		{"an open one is ongoing", []Act{long, batch}, "ongoing", ""},
		{"an open one is not hanging", []Act{long, batch}, "hanging", "an open transaction is called hanging"},
		{"an open one is not completing", []Act{long, batch}, "completing", "an open transaction is called completing"},
		{"a coordinator may have forgotten it", []Act{long, batch}, "ownerless", ""},
		{"one may not know", []Act{long, batch}, "unknown", ""},
		{"an open one past its timeout is overdue", []Act{begin, batch}, "overdue", ""},
		{"an open one is not overdue before its timeout", []Act{long, batch}, "overdue", tooEarly},
		{"nor right after it", []Act{did(BeginTransaction, -60, Act{TransactionalID: "producer 7", Timeout: 2 * time.Second}), young}, "overdue", tooEarly},
		{"an ended one may be completing", []Act{long, batch, end}, "completing", ""},
		{"one that was lost may hang", []Act{long, batch, end, complete, lost}, "hanging", ""},
		{"and is not ongoing", []Act{long, batch, end, complete, lost}, "ongoing", hasEnded},
		{"a stray one may hang", []Act{long, stray}, "hanging", ""},
		{"and is not ongoing", []Act{long, stray}, "ongoing", hasEnded},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			found := judgeAt(t, resting(tt.acts...), page+fmt.Sprintf("kafka_partition_blocking_transaction_info{topic=\"t\",partition=\"0\",producer_id=\"7\",verdict=%q} 1\n", tt.verdict))
			if tt.rule == "" && len(found) > 0 || tt.rule != "" && (len(found) != 1 || found[0].Rule != tt.rule) {
				t.Errorf("found %v, want %q", found, tt.rule)
			}
		})
	}
	const off = "the deadline is not begin and timeout"
	for _, tt := range []struct {
		verdict  string
		deadline float64 // seconds from the page's epoch
		rule     string
	}{
		{"ongoing", 3550, ""},
		{"ongoing", 3549, off},
		{"ongoing", 3602, off},
		{"unknown", 3550, "a deadline of a transaction that is unknown"},
	} {
		found := judgeAt(t, resting(long, batch), page+fmt.Sprintf("kafka_partition_blocking_transaction_info{topic=\"t\",partition=\"0\",producer_id=\"7\",verdict=%q} 1\n"+
			"kafka_partition_blocking_transaction_deadline_timestamp_seconds{topic=\"t\",partition=\"0\"} %v\n", tt.verdict, float64(at(tt.deadline).UnixMilli())/1000))
		if tt.rule == "" && len(found) > 0 || tt.rule != "" && (len(found) != 1 || found[0].Rule != tt.rule) {
			t.Errorf("%s with a deadline at %v: found %v, want %q", tt.verdict, tt.deadline, found, tt.rule)
		}
	}
}

// TestExpiredView: when no sweep ends for three periods, nothing of Kafka is
// shown any more.
func TestExpiredView(t *testing.T) {
	truth, err := Learn(resting())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		age  float64
		want bool
	}{{2.9, false}, {3.1, true}} {
		sc := Scrape{Exporter: fmt.Sprint(tt.age), Start: at(0), End: at(0.1), At: at(0.1 + tt.age), Period: time.Second, Text: []byte(restingPage)}
		if found := NewJudge(truth).Judge(sc); (len(found) > 0) != tt.want {
			t.Errorf("%v s after the sweep: %v", tt.age, found)
		}
	}
}

// TestAggregatesStandAlone: where partitions of groups are not shown, sums are
// held to the record.
func TestAggregatesStandAlone(t *testing.T) {
	var kept []string
	for line := range strings.Lines(restingPage) {
		if !strings.Contains(line, "kafka_group_partition_") {
			kept = append(kept, line)
		}
	}
	page := strings.Join(kept, "")
	truth, err := Learn(resting())
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		page string
		want int
	}{
		{page, 0},
		{edit(t, page, `topic_hwm_lag{group="g",topic="t"} 6`, `topic_hwm_lag{group="g",topic="t"} 7`), 1},
	} {
		judge := NewJudge(truth)
		judge.Without = map[string]bool{committed: true, hwmLag: true, lsoLag: true}
		found := judge.Judge(Scrape{Exporter: "e", Start: at(0), End: at(0.1), At: at(0.1), Period: time.Second, Text: []byte(tt.page)})
		if len(found) != tt.want {
			t.Errorf("found %v, want %d", found, tt.want)
		}
	}
}

// TestRecordRoundTrip: a record survives being written and read.
func TestRecordRoundTrip(t *testing.T) {
	acts := resting(Act{Kind: EndTransaction, Sent: at(1), TransactionalID: "x", Committed: true}, did(JoinGroup, 1, Act{Group: "g", Member: "m", Topics: []string{"t"}}))
	var b strings.Builder
	if err := Encode(&b, acts); err != nil {
		t.Fatal(err)
	}
	back, err := Decode(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, acts) {
		t.Errorf("read back %v, want %v", back, acts)
	}
	if _, err := Decode(strings.NewReader("{}\nnonsense\n")); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("error %v does not name line 2", err)
	}
}

// TestContradictions: a record that cannot be is refused.
func TestContradictions(t *testing.T) {
	for name, act := range map[string]Act{
		"batches that overlap":  did(Append, 0, Act{Topic: "t", Offset: 5, Records: 3}),
		"an unknown topic":      did(Append, 0, Act{Topic: "u", Records: 3}),
		"an unknown partition":  did(Append, 0, Act{Topic: "t", Partition: 2, Records: 3}),
		"an unknown kind":       did("paint", 0, Act{}),
		"a deletion of nothing": did(DeleteTopic, 0, Act{Topic: "u"}),
	} {
		if _, err := Learn(resting(act)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestOutOfDateLeader: a leader that stood still until it had a successor may answer
// for a batch that is lost; one that stood still for less loses nothing.
func TestOutOfDateLeader(t *testing.T) {
	for _, tt := range []struct {
		name    string
		paused  float64
		acks    int16
		refused bool
	}{
		{"out of date", -60, 1, false},
		{"out of date, and replicated", -60, -1, true},
		{"still the leader", -42, 1, true},
	} {
		waited := did(Append, -41, Act{Topic: "t", Offset: 12, Records: 3, Acks: tt.acks})
		waited.Answered = at(-39.9)
		_, err := Learn(resting(
			did(PauseBroker, tt.paused, Act{Broker: 1}), waited, did(ResumeBroker, -40, Act{Broker: 1}),
			did(Append, -30, Act{Topic: "t", Offset: 10, Records: 4, Acks: -1})))
		if (err != nil) != tt.refused {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
