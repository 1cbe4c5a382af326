package assignment

// State says how far a member has come on the way to its target. The values are
// those of the records.
type State int8

// How far a member has come.
const (
	Stable     State = 0   // it is there, or waits for nothing
	Unrevoked  State = 1   // it has to give something up
	Unreleased State = 2   // others have to
	Unknown    State = 127 // a state of later versions
)

// Holding is what a member has: partitions (P is Partition) of a group of the
// consumer protocol, or tasks of a streams group. Each is mapped to the member
// epoch at which it was assigned (KIP-1251).
type Holding[P comparable] struct {
	Epoch    int32
	Previous int32 // epoch, which is accepted from a member that missed the answer
	State    State
	Assigned map[P]int32 // what the member may use
	Revoking map[P]int32 // what it still has and must give up
}

// ReconciledTo says whether the member has reached a target assignment.
func (h Holding[P]) ReconciledTo(targetEpoch int32) bool {
	return h.State == Stable && h.Epoch == targetEpoch
}

// Owns says whether the member has something, be it only to give it up.
func (h Holding[P]) Owns(p P) bool {
	_, assigned := h.Assigned[p]
	_, revoking := h.Revoking[p]
	return assigned || revoking
}

// at is the holding at another epoch.
func (h Holding[P]) at(epoch int32) Holding[P] {
	h.Epoch, h.Previous = epoch, h.Epoch
	return h
}
