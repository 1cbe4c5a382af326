package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/collector"
	"github.com/lso-exporter/lso-exporter/metrics"
)

// What tells more about groups costs at most one Fetch, four questions to the
// time index and one OffsetFetch a broker and sweep, whatever the number of
// groups and partitions, and nothing once there is nothing left to ask.
func TestRequestsAboutGroups(t *testing.T) {
	const brokers, partitions, groups = 3, 300, 40
	w := newWorld(t, brokers, nil)
	w.fill(size{partitions, groups})
	for i := range int32(partitions) {
		w.mustProduce(i%brokers+1, "t", i, 4)
	}
	for i := range int32(partitions) {
		w.mustCommit(fmt.Sprint("g", i%groups), "t", i, int64(i%4))
	}
	e, client := w.exporter(collector.Options{Period: 3 * time.Second, StillAfter: 9 * time.Second}, metrics.Options{})
	fetched, quiet := 0, 0
	for sweep := range 12 {
		clear(client.counts)
		e.sweep()
		counts := client.counts
		if counts["Fetch"] > brokers || counts["ListOffsets"] > 8*brokers || counts["OffsetFetch"] > 2*brokers {
			t.Errorf("sweep %d: requests %v", sweep, counts)
		}
		fetched += counts["Fetch"]
		total := 0
		for _, n := range counts {
			total += n
		}
		if total <= budget(brokers) && counts["Fetch"] == 0 && counts["ListOffsets"] == 4*brokers {
			quiet++
		}
		w.wait(3 * time.Second)
	}
	if fetched == 0 {
		t.Error("nothing was fetched for groups that stand still")
	}
	if quiet < 6 {
		t.Errorf("%d of 12 sweeps of a cluster at rest made no optional request", quiet)
	}
}
