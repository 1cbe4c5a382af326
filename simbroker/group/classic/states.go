package classic

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
)

// predecessors is the table of legal transitions of classic groups: from which
// states each state may be entered.
var predecessors = [...][]group.State{
	group.Empty:               {group.PreparingRebalance},
	group.PreparingRebalance:  {group.Stable, group.CompletingRebalance, group.Empty},
	group.CompletingRebalance: {group.PreparingRebalance},
	group.Stable:              {group.CompletingRebalance},
	group.Dead:                {group.Stable, group.PreparingRebalance, group.CompletingRebalance, group.Empty, group.Dead},
}

// mayFollow says whether the table allows the step from one state to another.
func mayFollow(to, from group.State) bool { return slices.Contains(predecessors[to], from) }
