package oracle

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestProgress: what is said of a group's doing agrees with its offsets, and with
// when records were appended.
func TestProgress(t *testing.T) {
	const state, one = `kafka_group_topic_state{group="g",topic="t",state="undetermined"} 1` + "\n", `{group="g",topic="t",partition="0"}`
	const two = `{group="g",topic="t",partition="1"}`
	for _, tt := range []struct {
		series string // in place of the state, or beside it
		state  bool   // leave the state in
		rule   string
	}{
		{`kafka_group_topic_state{group="g",topic="t",state="consuming"} 1`, false, ""},
		{`kafka_group_topic_state{group="g",topic="t",state="stopped"} 1`, false, ""},
		{`kafka_group_topic_state{group="g",topic="t",state="inactive"} 1`, false, ""},
		{`kafka_group_topic_state{group="g",topic="t",state="caught_up"} 1`, false, "a group that has something to read is said to be caught up"},
		{`kafka_group_topic_state{group="g",topic="t",state="blocked"} 1`, false, "a group is said to be blocked where nothing holds it"},
		{`kafka_group_topic_state{group="g",topic="t",state="ahead"} 1`, false, "a group is said to be ahead and is nowhere"},
		{`kafka_group_topic_state{group="g",topic="t",state="lost"} 1`, false, "a group is said to have lost something and has not"},
		{`kafka_group_topic_state{group="g",topic="t",state="asleep"} 1`, false, "a group is in a state that does not exist"},
		{``, false, "a group that can be read lacks a sample"},
		{`kafka_group_partition_readable_lag` + one + ` 6`, true, ""},
		{`kafka_group_partition_readable_lag` + one + ` 7`, true, "more records are readable than offsets"},
		{`kafka_group_partition_hwm_lag_seconds` + one + ` 50`, true, ""},
		{`kafka_group_partition_hwm_lag_seconds` + two + ` 0`, true, ""},
		{`kafka_group_partition_hwm_lag_seconds` + two + ` 3`, true, "a group that has read everything has an age"},
		{`kafka_group_partition_blocked_seconds` + two + ` 0`, true, "a group is blocked where nothing holds it"},
		{`kafka_group_partition_unassigned` + two + ` 1`, true, "nobody is there to be assigned"},
		{`kafka_group_partition_pending_offset_commit_seconds` + two + ` 0`, true, "a commit is pending that never was"},
		{`kafka_group_topic_max_hwm_lag_seconds{group="g",topic="t"} 9`, true, "a maximum is not that of its parts"},
	} {
		page := restingPage
		if !tt.state {
			page = edit(t, page, state, "")
		}
		found := judgeAt(t, resting(), page+tt.series+"\n")
		if tt.rule == "" && len(found) > 0 || tt.rule != "" && (len(found) != 1 || found[0].Rule != tt.rule) {
			t.Errorf("%s: found %v, want %q", tt.series, found, tt.rule)
		}
	}
}

// TestAgeOfUnreadRecords: what an exporter saw being appended, 80 seconds before the
// scrape, has the age that it has. What came while it did not look may be dated by who
// dated the record, but is no older than the look before.
func TestAgeOfUnreadRecords(t *testing.T) {
	for _, tt := range []struct {
		reason string
		looks  []float64 // seconds before
		ages   map[float64]bool
	}{
		{"seen", []float64{-85, -78, -76, -74}, map[float64]bool{5: false, 50: false, 75: true, 80: true, 85: true, 120: false}},
		{"in a gap", []float64{-140, -60}, map[float64]bool{5: false, 50: false, 75: true, 120: true, 140: true, 190: false}},
		{"there before", []float64{-60}, map[float64]bool{5: false, 60: true, 80: true, 1000: true}},
	} {
		for age, want := range tt.ages {
			truth, err := Learn(resting())
			if err != nil {
				t.Fatal(err)
			}
			judge := NewJudge(truth)
			for _, second := range tt.looks {
				judge.Judge(Scrape{Exporter: "e", Start: at(second), End: at(second + 0.1), At: at(second + 0.1), Period: 4 * time.Second, Text: []byte(restingPage)})
			}
			page := restingPage + fmt.Sprintf("kafka_group_partition_hwm_lag_seconds{group=%q,topic=%q,partition=%q} %v\n", "g", "t", "0", age)
			found := judge.Judge(Scrape{Exporter: "e", Start: at(0), End: at(0.1), At: at(0.1), Period: 4 * time.Second, Text: []byte(page)})
			wrong := slices.ContainsFunc(found, func(v Violation) bool { return v.Rule == "the age of the next unread record is not true" })
			if wrong == want {
				t.Errorf("%s, age %v: found %v", tt.reason, age, found)
			}
		}
	}
}
