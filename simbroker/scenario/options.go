package scenario

import "time"

// Options say how to play a scenario.
type Options struct {
	// Namespace is a prefix of the real names of topics, transactional ids and
	// groups, so that several scenarios, and several runs of one, can share a
	// cluster.
	Namespace string
	// Given are the scenario's properties that the cluster was started with.
	// The others are set dynamically, for all brokers, and reset at the end.
	Given map[string]string
	// Features are the levels that the cluster was given in the place of the text's.
	Features map[string]int16
	// Within is how long an awaited output may take; zero means DefaultWithin.
	Within time.Duration
	// Requests is how many requests one step may make, before it is taken for one
	// without an end; zero means DefaultRequests.
	Requests int
	// Settle is for writing new texts: an awaited command without an expected
	// output ends when its output has been the same for this long.
	Settle time.Duration
	// Observe, if set, is told each step as it ends.
	Observe func(StepResult)
	// Trace, if set, is told each request as it is answered.
	Trace func(Exchange)
}

// DefaultWithin is how long an awaited output may take unless the step or the
// Options say otherwise, on the cluster's clock.
const DefaultWithin = 30 * time.Second

// DefaultRequests is how many requests a step may make unless the Options say
// otherwise.
const DefaultRequests = 250_000
