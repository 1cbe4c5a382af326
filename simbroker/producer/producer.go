// Package producer keeps what one replica of a partition knows of its
// producers: epochs, sequences, the last five batches for deduplication, open
// transactions and those whose end marker is not yet replicated (KIP-98,
// KIP-360, KIP-890, KIP-1228; section C of the semantics). Kafka calls it
// ProducerStateManager.
//
// It guarantees that a refused batch changes nothing, and that replaying a log
// gives the state that appending it gave. It knows neither logs nor batches'
// bytes; package commitlog drives it.
package producer

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// State is one producer as DescribeProducers shows it (rule G23).
type State struct {
	Producer              kafka.Producer
	LastSequence          int32 // -1 if the epoch has no batch yet
	LastTimestampMs       int64 // the last record's (client's) or marker's
	CoordinatorEpoch      kafka.CoordinatorEpoch
	CurrentTxnStartOffset kafka.Offset // -1 without an open transaction
}

// Guard is the right to begin a transaction in a partition, given by a
// verification and lost when a marker or a transactional batch lands meanwhile
// (rule G11, KIP-890). The zero Guard gives no right; an open transaction
// needs none.
type Guard struct{ id uint64 }
