package application

// Promise is how often a record has its effect when something goes wrong.
type Promise uint8

const (
	// AtMostOnce loses records rather than double them: a producer that sends
	// nothing again, a consumer that commits before it handles.
	AtMostOnce Promise = iota + 1
	// AtLeastOnce doubles records rather than lose them: a producer that sends
	// again what was not acknowledged, a consumer that handles before it commits.
	AtLeastOnce
	// Once does neither: an idempotent producer (KIP-98), a consumer that knows
	// what it has handled.
	Once
)
