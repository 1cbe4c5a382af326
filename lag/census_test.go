package lag

import (
	"fmt"
	"testing"
)

// How long a transaction has been completing is told from the censuses that saw
// it: the same id with the same start.
func TestCompleting(t *testing.T) {
	deciding := func(id string, start float64, broker BrokerID) DecidingTransaction {
		return DecidingTransaction{ID: id, Start: at(start).Answered, Coordinator: broker}
	}
	tracker := NewTracker(seconds(10))
	for i, step := range []struct {
		at, taken float64 // of the sweep, of its census; 0: none
		deciding  []DecidingTransaction
		want      string
		partial   bool
	}{
		{10, 0, nil, "[]", false},
		{20, 20, []DecidingTransaction{deciding("x", 3, 2)}, "[{2 0s}]", false},
		{30, 20, []DecidingTransaction{deciding("x", 3, 2)}, "[{2 0s}]", false},
		{80, 80, []DecidingTransaction{deciding("x", 3, 2), deciding("y", 79, 2), deciding("z", 9, 1)}, "[{1 0s} {2 1m0s}]", false},
		{140, 140, []DecidingTransaction{deciding("x", 139, 2), deciding("y", 79, 2)}, "[{2 1m0s}]", false}, // x is another one
		{200, 200, []DecidingTransaction{deciding("x", 139, 3)}, "[{3 1m0s}]", false},                       // its coordinator moved
		{260, 260, nil, "[]", false},
		{320, 320, []DecidingTransaction{deciding("x", 139, 3)}, "[{3 0s}]", false},
		{380, 380, nil, "[]", true},
		{440, 440, []DecidingTransaction{deciding("x", 139, 3)}, "[{3 2m0s}]", false}, // one coordinator did not answer in between
		{500, 0, nil, "[]", false},
	} {
		s := sampled(step.at, nil)
		if step.taken > 0 {
			s.Census = &Census{Taken: at(step.taken).Answered, Deciding: step.deciding}
			if !step.partial {
				s.Census.IDs = Known([]IDCount{})
			}
		}
		if got := fmt.Sprint(tracker.Observe(s).Completing); got != step.want {
			t.Errorf("sweep %d: %s, want %s", i+1, got, step.want)
		}
	}
}
