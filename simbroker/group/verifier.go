package group

import (
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// VerifyMode says what a TxnOffsetCommit's version lets the coordinator of the
// transaction do with the partition of __consumer_offsets (rule G10).
type VerifyMode int8

// The modes, by Kafka's names.
const (
	// DefaultError verifies; a partition outside the transaction is answered
	// with INVALID_TXN_STATE (TxnOffsetCommit up to v3).
	DefaultError VerifyMode = iota
	// GenericErrorSupported verifies; the answer is TRANSACTION_ABORTABLE (v4).
	GenericErrorSupported
	// AddPartition adds the partition to the transaction (v5).
	AddPartition
)

// Verification asks the coordinator of a transaction about one partition.
type Verification struct {
	TransactionalID string
	Producer        kafka.Producer
	Partition       kafka.TopicPartition
	Mode            VerifyMode
}

// Verifier asks the transaction coordinator for the right to write to a
// partition. done is invoked once, in a later event or before Verify returns,
// with a guard, or with the error that the client is to get by the mode. The
// zero guard and no error answer a verification that is not needed, as where
// the partition has the transaction open already.
type Verifier interface {
	Verify(v Verification, done func(producer.Guard, error))
}
