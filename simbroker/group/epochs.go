package group

// Member epochs that stand for something else in a heartbeat.
const (
	joinEpoch        int32 = 0  // the member wants to (re)join without partitions
	leaveEpoch       int32 = -1 // it leaves
	staticLeaveEpoch int32 = -2 // a static member leaves and means to come back
)

// initialEpoch is the epoch of a group that nobody has joined, and of its target
// assignment, which is none: the first member makes it 2.
const initialEpoch int32 = 1
