package share

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// What is delivered, and how often, is what Kafka 4.3.1's SharePartition answered
// to the same fetches, acknowledgements and locks that ended. A line of
// testdata/acquisitions.txt is one of
//
//	partition limit=5 locks=2000 log=3,6        share.delivery.count.limit, share.partition.max.record.locks, records of each batch
//	fetch m1 exact max=6 size=1: 0-2*1 3-5*2    acquired runs with their deliveries, - for none
//	acknowledge m1 0-2 release
//	expire                                      all locks end
//	release m1                                  a session ends
//	start 7                                     where the group is in the end
func TestAcquisitions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "acquisitions.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var w *world
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSuffix(line, "\n")
		words := strings.Fields(line)
		switch words[0] {
		case "partition":
			w = newWorld(t)
			var logged string
			scan(t, line, "partition limit=%d locks=%d log=%s", &w.settings.DeliveryLimit, &w.settings.MaxLocks, &logged)
			for n := range strings.SplitSeq(logged, ",") {
				var records int
				scan(t, n, "%d", &records)
				w.produce(records)
			}
		case "fetch":
			asked, want, _ := strings.Cut(line, ": ")
			if want == "-" {
				want = "nothing"
			}
			if got := w.fetch(words[1], asking(t, asked)).String(); got != want {
				t.Fatalf("line %d: %s: got %s, in flight %s", number, line, got, w.inFlight())
			}
		case "acknowledge":
			var first, last kafka.Offset
			scan(t, words[2], "%d-%d", &first, &last)
			w.is(w.ack(words[1], all(first, last, map[string]AckType{"accept": Accept, "release": Release, "reject": Reject}[words[3]])), "ok")
		case "expire":
			w.advance(30 * time.Second)
		case "release":
			if p := w.partitions[key]; p != nil {
				w.loop.Do(func() { p.release(words[1]) })
			}
		case "start":
			if p := w.partitions[key]; p != nil && fmt.Sprint(p.start) != words[1] {
				t.Fatalf("line %d: begins at %d, want %s", number, p.start, words[1])
			}
		}
	}
}

// asking is what a line says of a fetch, which does not wait.
func asking(t *testing.T, line string) func(*FetchRequest) {
	return func(r *FetchRequest) {
		var member, mode string
		scan(t, line, "fetch %s %s max=%d size=%d", &member, &mode, &r.MaxRecords, &r.BatchSize)
		r.Exact, r.MinBytes = mode == "exact", 0
	}
}

func scan(t *testing.T, text, format string, into ...any) {
	t.Helper()
	if _, err := fmt.Sscanf(text, format, into...); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
}
