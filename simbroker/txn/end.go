package txn

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// verdict is what becomes of a request to end a transaction.
type verdict int8

const (
	refused verdict = iota // with an error
	ended                  // it has ended like this already: say so again
	proceed                // persist the Prepare state
)

// EndTxn commits or aborts (rules G12 to G15). It answers when the Prepare
// state is replicated, with the producer id and epoch for the next
// transaction; to a TV1 client, which goes on with its own, with NoProducerID.
// Errors: INVALID_REQUEST, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS,
// INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS,
// INVALID_TXN_STATE and what the log answers.
func (c *Coordinator) EndTxn(req EndTxnRequest, done func(kafka.Producer, error)) {
	s, t, err := c.known(req.TransactionalID)
	if err != nil {
		done(noProducer, err)
		return
	}
	decide := t.decideTV1
	if req.ClientVersion == TV2 {
		decide = t.decideTV2
	}
	switch v, err := decide(req.Producer, req.Commit); {
	case v == refused:
		done(noProducer, err)
	case v == ended && req.ClientVersion == TV2:
		done(t.producer, nil)
	case v == ended:
		done(noProducer, nil)
	default:
		c.prepare(s, t, req.Commit, req.ClientVersion, done)
	}
}

// decideTV1 is rule G13. The producer is checked before a pending step is.
func (t *transaction) decideTV1(p kafka.Producer, commit bool) (verdict, error) {
	switch {
	case t.producer.ID != p.ID:
		return refused, kafka.ErrInvalidProducerIDMapping
	case t.producer.Epoch != p.Epoch:
		return refused, kafka.ErrProducerFenced
	case t.moving():
		return refused, kafka.ErrConcurrentTransactions
	}
	switch {
	case t.state == Ongoing:
		return proceed, nil
	case t.state == Empty || t.state.committing() != commit:
		return refused, kafka.ErrInvalidTxnState
	case t.state.preparing():
		return refused, kafka.ErrConcurrentTransactions
	}
	return ended, nil
}

// decideTV2 is rule G14. A pending step is checked first, as it may replace the
// producer id. With epoch bumps an equal epoch is no retry: a retry comes with
// the epoch before, or with the last epoch of the id before.
func (t *transaction) decideTV2(p kafka.Producer, commit bool) (verdict, error) {
	rotated := t.previousID == p.ID && p.Epoch == lastUsableEpoch && t.producer.Epoch == 0
	retry := rotated || t.producer.Epoch == p.Epoch+1
	valid := t.producer.Epoch == p.Epoch
	switch {
	case t.state.preparing():
		valid = t.producer.Epoch == p.Epoch+1
	case t.state == CompleteCommit || t.state == CompleteAbort:
		valid = valid || retry
	}
	switch {
	case t.moving():
		return refused, kafka.ErrConcurrentTransactions
	case t.producer.ID != p.ID && !rotated:
		return refused, kafka.ErrInvalidProducerIDMapping
	case !valid:
		return refused, kafka.ErrProducerFenced
	case t.state == Ongoing:
		return proceed, nil
	case t.state.preparing() && t.state.committing() == commit:
		return refused, kafka.ErrConcurrentTransactions
	case t.state.preparing():
		return refused, kafka.ErrInvalidTxnState
	case retry && t.state != Empty && t.state.committing() == commit:
		return ended, nil
	case commit || retry && t.state != Empty:
		return refused, kafka.ErrInvalidTxnState
	}
	return proceed, nil // an abort of nothing bumps the epoch
}

// committing says of a Prepare or Complete state whether it is a commit.
func (s State) committing() bool { return s == PrepareCommit || s == CompleteCommit }

// prepare persists PrepareCommit or PrepareAbort, answers, and starts to write
// the end markers (rule G12).
func (c *Coordinator) prepare(s *shard, t *transaction, commit bool, v ClientVersion, done func(kafka.Producer, error)) {
	nextID := kafka.NoProducerID
	if v == TV2 && t.exhausted() {
		id, err := c.ids.generate()
		if err != nil {
			done(noProducer, err)
			return
		}
		nextID = id
	}
	c.append(s, t, t.end(commit, v, nextID, c.now()), never, func(err error) {
		if err != nil {
			done(noProducer, err)
			return
		}
		answer := noProducer
		if v == TV2 {
			answer = t.producer
			if t.nextID != kafka.NoProducerID {
				answer = kafka.Producer{ID: t.nextID}
			}
		}
		// The step to Complete is pending before anybody hears of Prepare, so that
		// whoever comes next finds it so; the markers leave after the answer.
		begin := c.begin(s, t)
		done(answer, nil)
		begin()
	})
}

// fence aborts an Ongoing transaction for another reason than its client's
// wish, in the protocol that the cluster has finalised (rules G5, G16).
func (c *Coordinator) fence(s *shard, t *transaction, done func(error)) {
	answer := func(_ kafka.Producer, err error) { done(err) }
	if c.env.Features.TransactionVersion() >= int16(TV2) {
		c.prepare(s, t, false, TV2, answer)
		return
	}
	t.fenceInMemory()
	c.prepare(s, t, false, TV1, func(_ kafka.Producer, err error) {
		t.failedFence = err != nil
		done(err)
	})
}

// abortTimedOut fences every Ongoing transaction that has run out of time
// (rule G16).
func (c *Coordinator) abortTimedOut() {
	now := c.now()
	for _, s := range c.sortedShards() {
		if s.loading {
			continue
		}
		for _, t := range s.transactions.open() {
			if !t.moving() && t.start+t.timeout.Milliseconds() < now {
				c.fence(s, t, func(error) {}) // a failure is tried again by the next scan
			}
		}
	}
}
