package group

// Member epochs that stand for something else in a heartbeat.
const (
	JoinEpoch        int32 = 0  // the member wants to (re)join without partitions
	LeaveEpoch       int32 = -1 // it leaves
	StaticLeaveEpoch int32 = -2 // a static member leaves and means to come back
)

// InitialEpoch is the epoch of a group that nobody has joined, and of its target
// assignment, which is none: the first member makes it 2.
const InitialEpoch int32 = 1
