package simbroker

import "errors"

// Errors of operations on brokers.
var (
	// ErrUnknownBroker is returned for an id that no broker has.
	ErrUnknownBroker = errors.New("no such broker")
	// ErrState is wrapped by what a broker's state does not allow, such as
	// resuming one that is not paused.
	ErrState = errors.New("not possible in the broker's state")
	// ErrConnectionRefused is what Request returns for a broker that is dead,
	// or that dies before it answers.
	ErrConnectionRefused = errors.New("connection refused")
	// ErrTimeout is what waiting for a broker ends in, as for the answer of one
	// that is paused.
	ErrTimeout = errors.New("timed out")
	// ErrNoAnswer is what Request returns where the broker sends no response:
	// for Produce with acks=0, and where it would close the connection.
	ErrNoAnswer = errors.New("no answer")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("cluster is closed")
)
