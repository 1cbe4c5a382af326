package simbroker

import (
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

func TestInOrder(t *testing.T) {
	for _, c := range []struct {
		name                     string
		start, stable, high, end kafka.Offset
		firstBatch               kafka.Offset
		want                     bool
	}{
		{"empty", 0, 0, 0, 0, 0, true},
		{"all equal after retention", 7, 7, 7, 7, 7, true},
		{"transaction open, follower behind", 0, 2, 5, 9, 0, true},
		{"log start inside the batch of an open transaction", 6, 5, 10, 10, 5, true},
		{"LSO before the log start, of no batch there", 6, 4, 10, 10, 5, false},
		{"LSO beyond the high watermark", 0, 6, 5, 9, 0, false},
		{"high watermark beyond the log end", 0, 5, 10, 9, 0, false},
		{"log start beyond the high watermark", 8, 5, 7, 9, 5, false},
	} {
		s := replica.PartitionStatus{LogStartOffset: c.start, LastStableOffset: c.stable, HighWatermark: c.high, LogEndOffset: c.end}
		if got := inOrder(s, c.firstBatch); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
