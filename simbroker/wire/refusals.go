package wire

import (
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// denied is a lack of rights with Kafka's own words.
func denied(err kafka.Error) error { return &controller.Refusal{Err: err, Message: spelledOut[err]} }

// invalidRequest is INVALID_REQUEST with words of its own.
func invalidRequest(message string) error {
	return &controller.Refusal{Err: kafka.ErrInvalidRequest, Message: message}
}

// fencedBefore is the error for a client's version: before the one that
// introduced PRODUCER_FENCED, it was INVALID_PRODUCER_EPOCH (rule G7).
func fencedBefore(introduced, version int16, err error) error {
	if version < introduced && domainError(err) == kafka.ErrProducerFenced {
		return kafka.ErrInvalidProducerEpoch
	}
	return err
}
