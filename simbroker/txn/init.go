package txn

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// InitProducerID allocates a producer id, or bumps the epoch of the one a
// transactional id has, aborting what it left open (rules G5, G6, G15). Errors:
// INVALID_REQUEST, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
// INVALID_TRANSACTION_TIMEOUT, CONCURRENT_TRANSACTIONS, PRODUCER_FENCED and
// what the log answers.
func (c *Coordinator) InitProducerID(req InitProducerIDRequest, done func(kafka.Producer, error)) {
	refuse := func(err error) { done(noProducer, err) }
	if (req.Expected.ID == kafka.NoProducerID) != (req.Expected.Epoch == kafka.NoProducerEpoch) {
		refuse(kafka.ErrInvalidRequest)
		return
	}
	if req.TransactionalID == nil {
		id, err := c.ids.generate()
		if err != nil {
			refuse(err)
			return
		}
		done(kafka.Producer{ID: id}, nil)
		return
	}
	s, t, err := c.initial(*req.TransactionalID, req.Timeout)
	switch {
	case err != nil:
		refuse(err)
	case t.moving():
		refuse(kafka.ErrConcurrentTransactions)
	case !t.mayInit(req.Expected):
		refuse(kafka.ErrProducerFenced)
	case t.state.preparing():
		refuse(kafka.ErrConcurrentTransactions)
	case t.state == Ongoing:
		c.fence(s, t, func(err error) {
			if err == nil {
				err = kafka.ErrConcurrentTransactions
			}
			refuse(err)
		})
	default:
		next, err := c.nextIncarnation(t, req)
		if err != nil {
			refuse(err)
			return
		}
		c.append(s, t, next, never, func(err error) {
			if err != nil {
				refuse(err)
				return
			}
			done(next.producer, nil)
		})
	}
}

// initial is the transaction of an id, made in memory if the id is unknown.
func (c *Coordinator) initial(id string, timeout time.Duration) (*shard, *transaction, error) {
	if id == "" {
		return nil, nil, kafka.ErrInvalidRequest
	}
	if timeout <= 0 || timeout > c.cfg.MaxTimeout {
		return nil, nil, kafka.ErrInvalidTransactionTimeout
	}
	s, t, err := c.find(id)
	if err != nil || t != nil {
		return s, t, err
	}
	producerID, err := c.ids.generate()
	if err != nil {
		return nil, nil, err
	}
	t = newTransaction(id, producerID, timeout, c.now())
	s.transactions.put(t)
	return s, t, nil
}

// mayInit says whether the producer id that a client brings may go on: it is
// the present one, or the one before if its epochs ran out, which makes the
// request a retry of the rotation.
func (t *transaction) mayInit(expected kafka.Producer) bool {
	return expected == noProducer ||
		t.producer.Epoch == kafka.NoProducerEpoch ||
		expected.ID == t.producer.ID ||
		expected.ID == t.previousID && expected.Epoch >= lastUsableEpoch
}

// nextIncarnation prepares a higher epoch, or a new producer id if there is
// none left.
func (c *Coordinator) nextIncarnation(t *transaction, req InitProducerIDRequest) (entry, error) {
	expected := req.Expected != noProducer
	if !t.exhausted() || expected && req.Expected.Epoch != t.producer.Epoch {
		return t.bump(req.Expected, req.Timeout, c.now())
	}
	id, err := c.ids.generate()
	if err != nil {
		return entry{}, err
	}
	return t.rotate(id, expected, req.Timeout, c.now()), nil
}
