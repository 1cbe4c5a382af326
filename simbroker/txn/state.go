package txn

// State is a transaction's state, by its byte in the log (rule G3).
type State int8

// The states. Dead and PrepareEpochFence are only ever pending: they are
// neither persisted nor listed.
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

var stateNames = [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}

// String is Kafka's name of the state, as ListTransactions shows it.
func (s State) String() string { return stateNames[s] }

// ParseState is the state of a name. Names are case-sensitive (rule G21).
func ParseState(name string) (State, bool) {
	for i, n := range stateNames {
		if n == name {
			return State(i), true
		}
	}
	return 0, false
}
