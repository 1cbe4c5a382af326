package diagnose

import (
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/lag"
)

// unending is a watch that has gone on for hours when the scene's sweeps come.
func (s scene) unending() *Watch {
	s.options.Unending = true
	change := s.change
	s.sweeps = append([]time.Duration{5 * time.Hour}, s.sweeps...)
	s.change = func(v *lag.View, n int) {
		if n > 0 {
			change(v, n-1)
		}
	}
	return s.watch()
}

// What a tracker says to have stopped has stopped, for as long as it says so.
func TestUnendingWatchOfAGroupThatStops(t *testing.T) {
	states := []lag.GroupState{lag.StateConsuming, lag.StateStopped, lag.StateStopped, lag.StateConsuming, lag.StateStopped}
	commits := []lag.Offset{100, 200, 200, 300, 400}
	for n, want := range []string{
		"nothing is held back",
		"its commit has not moved for the 1 m that it was watched",
		"its commit has not moved for the 6 m that it was watched",
		"nothing is held back",
		"its commit has not moved for the 1 m that it was watched",
	} {
		w := scene{
			sweeps: []time.Duration{20 * time.Minute, 15 * time.Minute, 10 * time.Minute, 5 * time.Minute, 0}[:n+1],
			change: func(v *lag.View, n int) { group(v, "billing", "orders", 3, commits[n], states[n]) },
		}.unending()
		var b strings.Builder
		if err := w.Report().Text(&b, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) {
			t.Errorf("after %d sweeps, no %q in\n%s", n+1, want, b.String())
		}
		if remembered := states[n] == lag.StateStopped; (len(w.commits) > 0) != remembered {
			t.Errorf("after %d sweeps, in state %s, %d commits are remembered", n+1, states[n], len(w.commits))
		}
	}
}

// A sweep that does not see a group that has stopped, or cannot tell, is no sign
// that it has moved; one that sees everything and not the group is.
func TestUnendingWatchOfAGroupThatIsNotSeen(t *testing.T) {
	missed := func(v *lag.View) {
		v.Missed = []lag.Miss{{Kind: lag.MissTimeout, Subject: "broker 2", Count: 1}}
	}
	for name, c := range map[string]struct {
		between func(*lag.View)
		want    string
	}{
		"not read":   {missed, "for the 11 m that it was watched"},
		"not looked": {func(v *lag.View) { group(v, "billing", "orders", 3, 200, lag.StateUndetermined) }, "for the 11 m that it was watched"},
		"gone":       {func(*lag.View) {}, "for the 1 m that it was watched"},
		"moved on":   {func(v *lag.View) { group(v, "billing", "orders", 3, 300, lag.StateUndetermined) }, "for the 1 m that it was watched"},
	} {
		w := scene{sweeps: []time.Duration{10 * time.Minute, 5 * time.Minute, 0}, change: func(v *lag.View, n int) {
			if n == 1 {
				c.between(v)
				return
			}
			group(v, "billing", "orders", 3, 200, lag.StateStopped)
		}}.unending()
		var b strings.Builder
		if err := w.Report().Text(&b, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, b.String())
		}
	}
}

// What a group did hours ago is nothing of what it does.
func TestUnendingWatchForgets(t *testing.T) {
	for name, c := range map[string]struct {
		state lag.GroupState
		want  string
	}{
		"lost":         {lag.StateLost, "has lost up to 9,000 offsets"},
		"inactive":     {lag.StateInactive, "none of its commits has moved for the 1 m that it was watched"},
		"undetermined": {lag.StateUndetermined, "COULD NOT TELL"},
	} {
		w := scene{sweeps: []time.Duration{time.Hour, 0}, change: func(v *lag.View, n int) {
			partition(v, "orders", 3).LogStart = lag.Known[lag.Offset](9100)
			state := c.state
			if n == 0 {
				state = lag.StateConsuming
			}
			group(v, "billing", "orders", 3, lag.Offset(50+50*n), state)
		}}.unending()
		var b strings.Builder
		if err := w.Report().Text(&b, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: no %q in\n%s", name, c.want, b.String())
		}
	}
}
