package group

// State is a classic group's state (rule H2).
type State int8

// The states of classic groups.
const (
	Empty State = iota
	PreparingRebalance
	CompletingRebalance
	Stable
	Dead
)

var stateNames = [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}

// String is Kafka's name of the state, as ListGroups shows it.
func (s State) String() string { return stateNames[s] }

// Kind is a group's type: which protocol its members speak.
type Kind int8

// The kinds of groups that are served.
const (
	Classic Kind = iota
)

// String is Kafka's name of the type, as ListGroups v5 shows it.
func (k Kind) String() string { return [...]string{"classic"}[k] }
