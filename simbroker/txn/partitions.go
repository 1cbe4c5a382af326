package txn

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// AddPartitions adds partitions to a transaction and begins it if need be
// (rule G8). Errors: INVALID_REQUEST, NOT_COORDINATOR,
// COORDINATOR_LOAD_IN_PROGRESS, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED,
// CONCURRENT_TRANSACTIONS and what the log answers.
func (c *Coordinator) AddPartitions(req AddPartitionsRequest, done func(error)) {
	s, t, err := c.known(req.TransactionalID)
	switch {
	case err != nil:
		done(err)
	case t.moving(): // before all else: a pending step may rotate the producer id (rule G4)
		done(kafka.ErrConcurrentTransactions)
	case t.producer.ID != req.Producer.ID:
		done(kafka.ErrInvalidProducerIDMapping)
	case t.producer.Epoch != req.Producer.Epoch:
		done(kafka.ErrProducerFenced)
	case t.state.preparing():
		done(kafka.ErrConcurrentTransactions)
	case t.state == Ongoing && t.hasAll(req.Partitions):
		done(nil)
	default:
		c.append(s, t, t.add(req.Partitions, req.ClientVersion, c.now()), never, done)
	}
}

// VerifyPartitions says for each partition, in the order asked, whether it is
// in the transaction: nil, or TRANSACTION_ABORTABLE (rule G10). The errors of
// AddPartitions stand for all partitions. A pending step is not looked at,
// only the state (rule G4).
func (c *Coordinator) VerifyPartitions(req VerifyPartitionsRequest) []error {
	errs := make([]error, len(req.Partitions))
	_, t, err := c.known(req.TransactionalID)
	switch {
	case err != nil:
	case t.producer.ID != req.Producer.ID:
		err = kafka.ErrInvalidProducerIDMapping
	case t.producer.Epoch != req.Producer.Epoch:
		err = kafka.ErrProducerFenced
	case t.state.preparing():
		err = kafka.ErrConcurrentTransactions
	}
	for i, tp := range req.Partitions {
		switch {
		case err != nil:
			errs[i] = err
		case !t.has(tp):
			errs[i] = kafka.ErrTransactionAbortable
		}
	}
	return errs
}

// known is the transaction of an id that must have one.
func (c *Coordinator) known(id string) (*shard, *transaction, error) {
	if id == "" {
		return nil, nil, kafka.ErrInvalidRequest
	}
	s, t, err := c.find(id)
	if err == nil && t == nil {
		err = kafka.ErrInvalidProducerIDMapping
	}
	return s, t, err
}
