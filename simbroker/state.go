package simbroker

// State is what a broker's process does.
type State int8

// The states of a broker.
const (
	Running State = iota + 1
	Paused
	Stopped // after a controlled shutdown
	Killed
)

// String names the state in lower case.
func (s State) String() string {
	return [...]string{"unknown", "running", "paused", "stopped", "killed"}[s]
}
