package group

import (
	"fmt"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

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
