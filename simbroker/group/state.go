package group

// State is a group's state. Classic groups move from state to state by a table
// (rule H2); those of the other kinds have the state that their members and
// epochs amount to (rule H3).
type State int8

// The states of groups.
const (
	Empty               State = iota // no members; offsets may remain
	PreparingRebalance               // classic: members are to join
	CompletingRebalance              // classic: the leader is to bring the assignment
	Stable                           // all members have theirs
	Dead                             // the coordinator gave the group up
	Assigning                        // consumer, streams: the group epoch has no target assignment yet
	Reconciling                      // consumer, streams: members are on the way to their targets
	NotReady                         // streams: topics that the topology needs are missing
)

var stateNames = [...]string{
	Empty:               "Empty",
	PreparingRebalance:  "PreparingRebalance",
	CompletingRebalance: "CompletingRebalance",
	Stable:              "Stable",
	Dead:                "Dead",
	Assigning:           "Assigning",
	Reconciling:         "Reconciling",
	NotReady:            "NotReady",
}

// String is Kafka's name of the state, as ListGroups shows it.
func (s State) String() string { return stateNames[s] }

// Kind is a group's type: which protocol its members speak.
type Kind int8

// The kinds of groups.
const (
	Classic  Kind = iota // JoinGroup (KIP-62), and simple groups
	Consumer             // ConsumerGroupHeartbeat (KIP-848)
	Share                // ShareGroupHeartbeat (KIP-932)
	Streams              // StreamsGroupHeartbeat (KIP-1071)
)

// String is Kafka's name of the type, as ListGroups v5 shows it.
func (k Kind) String() string {
	return [...]string{Classic: "classic", Consumer: "consumer", Share: "share", Streams: "streams"}[k]
}
