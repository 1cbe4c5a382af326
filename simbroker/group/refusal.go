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

// Refuse makes a Refusal.
func Refuse(err kafka.Error, format string, args ...any) error {
	return &Refusal{Err: err, Message: fmt.Sprintf(format, args...)}
}

// NotA refuses a request for a group of another kind, in Kafka's words.
func NotA(kind, id string) error {
	return Refuse(kafka.ErrGroupIDNotFound, "Group %s is not a %s group.", id, kind)
}

// NotFound refuses a request for a group that does not exist.
func NotFound(id string) error {
	return Refuse(kafka.ErrGroupIDNotFound, "Group %s not found.", id)
}
