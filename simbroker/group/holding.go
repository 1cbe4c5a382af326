package group

// memberState says how far a member has come on the way to its target. The
// values are those of the records.
type memberState int8

const (
	memberStable        memberState = 0 // it is there, or waits for nothing
	memberUnrevoked     memberState = 1 // it has to give something up
	memberUnreleased    memberState = 2 // others have to
	memberStateOfFuture memberState = 127
)

// holding is what a member has: partitions (P is idPartition) of a group of the
// consumer protocol, or tasks of a streams group. Each is mapped to the member
// epoch at which it was assigned (KIP-1251).
type holding[P comparable] struct {
	epoch    int32
	previous int32 // epoch, which is accepted from a member that missed the answer
	state    memberState
	assigned map[P]int32 // what the member may use
	revoking map[P]int32 // what it still has and must give up
}

// reconciledTo says whether the member has reached a target assignment.
func (h holding[P]) reconciledTo(targetEpoch int32) bool {
	return h.state == memberStable && h.epoch == targetEpoch
}

// owns says whether the member has something, be it only to give it up.
func (h holding[P]) owns(p P) bool {
	_, assigned := h.assigned[p]
	_, revoking := h.revoking[p]
	return assigned || revoking
}

// at is the holding at another epoch.
func (h holding[P]) at(epoch int32) holding[P] {
	h.epoch, h.previous = epoch, h.epoch
	return h
}
