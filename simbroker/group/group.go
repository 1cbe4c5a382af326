package group

import (
	"fmt"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

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

// predecessors is the table of legal transitions of classic groups: from which
// states each state may be entered.
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

// group is a group of any kind, as far as the coordinator treats them alike.
type group interface {
	fmt.Stringer
	kind() Kind
	// listing is how ListGroups shows the group.
	listing() Listing
	// validateCommit says whether offsets may be committed, and for which
	// partitions: a nil check allows all.
	validateCommit(a commitAttempt) (commitCheck, error)
	// validateFetch says whether a client that names a member may read offsets.
	validateFetch(memberID *string, epoch int32) error
	// validateOffsetDelete says whether the group is of a kind, and in a state,
	// in which single offsets may be deleted.
	validateOffsetDelete() error
	// subscribes says whether members consume a topic.
	subscribes(topic string) bool
	// expiresFrom is when the retention of a commit for a topic begins, in
	// milliseconds; false while it may not expire.
	expiresFrom(topic string, stored *commit) (int64, bool)
	// tombstones end the group in the log, its offsets aside.
	tombstones() []Record
}

// modern is a group of one of the newer protocols. It changes by its records
// alone.
type modern interface {
	group
	// replay takes one record into the group, at a moment in milliseconds. What
	// cannot be read changes nothing.
	replay(r Record, now int64)
}

// newModern is a group that nobody has joined.
func newModern(kind Kind, id string) modern {
	switch kind {
	case Consumer:
		return newConsumer(id)
	case Share:
		return newShare(id)
	case Streams:
		return newStreams(id)
	}
	panic("group " + id + ": kind " + kind.String() + " has no records of its own protocol")
}

// commitAttempt is what a commit says of who commits (rules H4, H5).
type commitAttempt struct {
	memberID      string
	instanceID    *string
	epoch         int32 // the classic generation or the member epoch
	transactional bool
	// knowsEpochs is set for OffsetCommit from v9 on, which members of the
	// consumer protocol must use.
	knowsEpochs bool
}

// anonymous says whether the attempt names no member at all.
func (a commitAttempt) anonymous() bool {
	return a.epoch < 0 && a.memberID == "" && a.instanceID == nil
}

// commitCheck says whether one partition may be committed. Its error refuses
// the whole request.
type commitCheck func(tp idPartition) error

// Refusal is an error with the words that Kafka adds to it.
type Refusal struct {
	Err     kafka.Error
	Message string
}

// Error is the message.
func (r *Refusal) Error() string { return r.Message }

// Unwrap is the error as Kafka names it.
func (r *Refusal) Unwrap() error { return r.Err }

// refuse makes a Refusal.
func refuse(err kafka.Error, format string, args ...any) error {
	return &Refusal{Err: err, Message: fmt.Sprintf(format, args...)}
}

// notA refuses a request for a group of another kind, in Kafka's words.
func notA(kind, id string) error {
	return refuse(kafka.ErrGroupIDNotFound, "Group %s is not a %s group.", id, kind)
}

// notFound refuses a request for a group that does not exist.
func notFound(id string) error {
	return refuse(kafka.ErrGroupIDNotFound, "Group %s not found.", id)
}
