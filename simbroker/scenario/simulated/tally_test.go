package simulated

import (
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker"
)

// tallyStory counts the same records wherever they are: in a store, a partition,
// or a topic of several partitions.
const tallyStory = `# Nothing is lost, whatever it is compared with.
topic T1 partitions=2
topic T2 partitions=2

insert S1 12
send-once S1 T1-0 batch=3 => 12 written
tally T1-0 of S1 => 12 once, 0 lost, 0 doubled
tally T1 of S1 => 12 once, 0 lost, 0 doubled
tally T1 of T1-0 => 12 once, 0 lost, 0 doubled
tally T1-0 of T1 => 12 once, 0 lost, 0 doubled
tally T1-1 of S1 => 0 once, 12 lost, 0 doubled
transform X1 G1 T1-0 T2-1 => 12 written, 2 committed
await tally T2 of T1 => 12 once, 0 lost, 0 doubled
# The store's records twice, each in a partition of its own.
send-once S1 T1-1 => 12 written
tally T1 of S1 => 0 once, 0 lost, 12 doubled
tally T2 of T1 => 12 once, 12 lost, 0 doubled
insert S2 13
tally T1-1 of S2 => 12 once, 1 lost, 0 doubled
at-least-once G2 T1-1 S3 => 12 handled
tally S3 of T1-1 => 12 once, 0 lost, 0 doubled
`

func TestTally(t *testing.T) {
	tell(t, tallyStory, New(start(t, simbroker.Config{Clock: simbroker.Simulated(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))})))
}
