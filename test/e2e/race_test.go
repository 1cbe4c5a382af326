package e2e

import (
	"strconv"
	"testing"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
)

// Field report F10: commits that race with the reads of a sweep. A consumer
// reads and commits whatever has just been written, between any two requests of
// the exporter: no lag is negative, none is above what was ever unread, and no
// commit is called ahead.
func TestCommitsRaceWithReads(t *testing.T) {
	w := newWorld(t, 2, nil)
	w.createTopic("t", []int32{1}, []int32{2})
	for p := range int32(2) {
		w.mustProduce(p+1, "t", p, 990)
		w.mustCommit("g", "t", p, 975)
	}
	coordinator := w.coordinator(0, "g")
	e, client := w.exporter(collector.Options{}, metrics.Options{})
	const ahead, sweeps = 15, 100
	turn := 0
	client.before = func() {
		p := int32(turn % 2)
		turn++
		w.mustProduce(p+1, "t", p, ahead)
		end := w.latest(p+1, "t", p, false)
		if code := w.commit(coordinator, "g", "t", p, end); code != 0 {
			t.Fatalf("commit: error %d", code)
		}
	}
	most := 0.0
	for range sweeps {
		page := parsePage(e.sweep())
		w.wait(period)
		for p := range 2 {
			lag := value(t, page, "kafka_group_partition_hwm_lag", "group", "g", "topic", "t", "partition", strconv.Itoa(p))
			if lag < 0 || int64(lag)%ahead != 0 {
				t.Fatalf("lag %v", lag)
			}
			most = max(most, lag)
		}
		if n := len(page["kafka_group_partition_ahead_offsets"]); n > 0 {
			t.Fatalf("%d commits are called ahead", n)
		}
	}
	if most == 0 {
		t.Error("no sweep saw a lag: the commits did not race with it")
	}
}
