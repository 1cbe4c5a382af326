package replica

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// ask puts a request to the Verifier. While partitions are to be added and the
// coordinator answers CONCURRENT_TRANSACTIONS, because the transaction before
// is still being completed, it asks again for a while, sparing the client the
// retry (KIP-890). Each time again is called first: the marker that ends that
// transaction takes the guards of before with it (rule G11).
func (b *Broker) ask(req VerifyRequest, again func(), done func([]error)) {
	giveUp := b.deps.Clock.Now().Add(b.cfg.AddPartitionsToTxnRetryBackoffMax)
	var try func()
	try = func() {
		b.deps.Verifier.Verify(req, func(errs []error) {
			retry := req.Add && slices.Contains(errs, error(kafka.ErrConcurrentTransactions)) && b.deps.Clock.Now().Before(giveUp)
			if !retry {
				done(errs)
				return
			}
			b.deps.Clock.After(b.cfg.AddPartitionsToTxnRetryBackoff, func() {
				again()
				try()
			})
		})
	}
	try()
}

// verificationError is what a client of that protocol version is told of the
// coordinator's refusal (rule G10).
func verificationError(err error, support TransactionSupport) error {
	switch err {
	case kafka.ErrConcurrentTransactions:
		if support == AddPartition {
			return err
		}
		return kafka.ErrNotEnoughReplicas
	case kafka.ErrCoordinatorLoadInProgress, kafka.ErrCoordinatorNotAvailable, kafka.ErrNotCoordinator:
		return kafka.ErrNotEnoughReplicas
	}
	return fencedError(err, support)
}

// fencedError translates the refusals that Produce and TxnOffsetCommit have in
// common.
func fencedError(err error, support TransactionSupport) error {
	switch err {
	case kafka.ErrProducerFenced:
		return kafka.ErrInvalidProducerEpoch
	case kafka.ErrTransactionAbortable:
		if support == DefaultError {
			return kafka.ErrInvalidTxnState
		}
	}
	return err
}

// Verify asks for a Guard to write transactional offsets to an internal
// partition that this broker leads (rule G10, TxnOffsetCommit). The guard is
// the zero one where none is needed. Unlike Produce it passes
// CONCURRENT_TRANSACTIONS on in every version; a coordinator that is not to be
// found is COORDINATOR_NOT_AVAILABLE or whatever it answered.
func (b *Broker) Verify(tp kafka.TopicPartition, transactionalID string, p kafka.Producer, support TransactionSupport, done func(producer.Guard, error)) {
	add := support == AddPartition
	if !add && !b.cfg.TransactionPartitionVerification {
		done(producer.Guard{}, nil)
		return
	}
	part, err := b.lookupLeader(tp)
	if err != nil {
		done(producer.Guard{}, err)
		return
	}
	guard := part.log.StartVerification(p, kafka.NoSequence, add, b.nowMs())
	if !guard.Needed() {
		done(guard, nil)
		return
	}
	req := VerifyRequest{TransactionalID: transactionalID, Producer: p, Partitions: []kafka.TopicPartition{tp}, Add: add}
	b.deps.Verifier.Verify(req, func(errs []error) { done(guard, fencedError(errs[0], support)) })
}
