package group

import "slices"

// State is a classic group's state (rule H2).
type State int8

// The states of classic groups.
const (
	Empty               State = iota // no members; offsets may remain
	PreparingRebalance               // members are to join
	CompletingRebalance              // the leader is to bring the assignment
	Stable                           // all members have theirs
	Dead                             // the coordinator gave the group up
)

var stateNames = [...]string{
	Empty:               "Empty",
	PreparingRebalance:  "PreparingRebalance",
	CompletingRebalance: "CompletingRebalance",
	Stable:              "Stable",
	Dead:                "Dead",
}

// predecessors is the table of legal transitions: from which states each state
// may be entered.
var predecessors = [...][]State{
	Empty:               {PreparingRebalance},
	PreparingRebalance:  {Stable, CompletingRebalance, Empty},
	CompletingRebalance: {PreparingRebalance},
	Stable:              {CompletingRebalance},
	Dead:                {Stable, PreparingRebalance, CompletingRebalance, Empty, Dead},
}

// String is Kafka's name of the state, as ListGroups shows it.
func (s State) String() string { return stateNames[s] }

// mayFollow says whether the table allows the step from one state to s.
func (s State) mayFollow(from State) bool { return slices.Contains(predecessors[s], from) }

// Kind is a group's type: which protocol its members speak.
type Kind int8

// The kinds of groups that are served.
const (
	Classic Kind = iota
)

// String is Kafka's name of the type, as ListGroups v5 shows it.
func (k Kind) String() string { return [...]string{Classic: "classic"}[k] }
