package txn

import "slices"

// State is a transaction's state, by its byte in the log (rule G3).
type State int8

// The states. Dead and PrepareEpochFence are only ever pending in Kafka: they
// are neither persisted nor listed, though ListTransactions knows their names.
// Fencing and the PrepareAbort that follows it fall into one event here, so
// PrepareEpochFence lasts no time at all.
const (
	Empty             State = 0
	Ongoing           State = 1
	PrepareCommit     State = 2
	PrepareAbort      State = 3
	CompleteCommit    State = 4
	CompleteAbort     State = 5
	Dead              State = 6
	PrepareEpochFence State = 7
)

// notPending is the pending state of a transaction that moves nowhere.
const notPending State = -1

var stateNames = [...]string{
	Empty:             "Empty",
	Ongoing:           "Ongoing",
	PrepareCommit:     "PrepareCommit",
	PrepareAbort:      "PrepareAbort",
	CompleteCommit:    "CompleteCommit",
	CompleteAbort:     "CompleteAbort",
	Dead:              "Dead",
	PrepareEpochFence: "PrepareEpochFence",
}

// predecessors is the table of legal transitions: from which states each state
// may be entered. PrepareAbort from Empty and the Complete states is the abort
// of nothing that transaction protocol 2 allows.
var predecessors = [...][]State{
	Empty:             {Empty, CompleteCommit, CompleteAbort},
	Ongoing:           {Ongoing, Empty, CompleteCommit, CompleteAbort},
	PrepareCommit:     {Ongoing},
	PrepareAbort:      {Ongoing, Empty, CompleteCommit, CompleteAbort},
	CompleteCommit:    {PrepareCommit},
	CompleteAbort:     {PrepareAbort},
	Dead:              {Empty, CompleteCommit, CompleteAbort},
	PrepareEpochFence: {},
}

// String is Kafka's name of the state, as ListTransactions shows it.
func (s State) String() string { return stateNames[s] }

// ParseState is the state of a name. Names are case-sensitive (rule G21).
func ParseState(name string) (State, bool) {
	i := slices.Index(stateNames[:], name)
	return State(i), i >= 0
}

// preparing says whether end markers are on their way.
func (s State) preparing() bool { return s == PrepareCommit || s == PrepareAbort }

// mayFollow says whether the table allows the step from one state to s.
func (s State) mayFollow(from State) bool { return slices.Contains(predecessors[s], from) }
