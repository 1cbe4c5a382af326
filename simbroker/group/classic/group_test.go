package classic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

// Rule H2: the table of states, drawn. A row is the state left, a column the
// state entered.
func TestH2Transitions(t *testing.T) {
	const table = `
                    Empty PreparingRebalance CompletingRebalance Stable Dead
Empty               .     x                  .                   .      x
PreparingRebalance  x     .                  x                   .      x
CompletingRebalance .     x                  .                   x      x
Stable              .     x                  .                   .      x
Dead                .     .                  .                   .      x`
	lines := strings.Split(strings.TrimSpace(table), "\n")
	for from, line := range lines[1:] {
		for to, cell := range strings.Fields(line)[1:] {
			legal := cell == "x"
			if mayFollow(group.State(to), group.State(from)) != legal {
				t.Errorf("%s to %s: %t", group.State(from), group.State(to), !legal)
			}
			moves := func() (moved bool) {
				defer func() { moved = recover() == nil }()
				g := New("G1", 0)
				g.state = group.State(from)
				g.move(group.State(to), 1)
				return
			}()
			if moves != legal {
				t.Errorf("%s to %s: moves %t", group.State(from), group.State(to), moves)
			}
		}
	}
}

// Rule H2: the protocol that all support and most prefer.
func TestH2Vote(t *testing.T) {
	tests := []struct {
		members [][]string
		want    string
	}{
		{[][]string{{"range", "sticky"}}, "range"},
		{[][]string{{"range", "sticky"}, {"sticky", "range"}, {"sticky", "range"}}, "sticky"},
		{[][]string{{"range", "sticky"}, {"sticky"}}, "sticky"},
		{[][]string{{"range", "sticky"}, {"sticky", "range"}}, "range"},
	}
	for _, test := range tests {
		g := New("G1", 0)
		for i, names := range test.members {
			m := &Member{ID: fmt.Sprint(i), ProtocolType: "connect"}
			for _, name := range names {
				m.Protocols = append(m.Protocols, group.Protocol{Name: name})
			}
			g.add(m)
		}
		if got := g.vote(); got != test.want {
			t.Errorf("%v: %s, want %s", test.members, got, test.want)
		}
	}
}
