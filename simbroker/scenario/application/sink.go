package application

import (
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
)

// Sink writes what it reads to another partition by two-phase commit, as sinks
// of Flink do: each transaction lasts from one checkpoint to the next and has a
// transactional id of its own, PREFIX-0-1, PREFIX-0-2 and so on. A checkpoint
// keeps the position and the transaction in the Store; only then is it committed.
// An instance that starts commits the transaction of the last checkpoint, if
// that was not done, and aborts those that are newer: it initializes one id after
// the other until it finds one that nobody had.
//
// A transaction that has timed out before it is committed is lost with what is in
// it, as the position is behind it.
//
// Its moments: "written", "checkpointed", "committed".
type Sink struct {
	Prefix   string // of transactional ids
	From, To Partition
	State    *Store        // of checkpoints
	Batch    int           // records in a transaction; 0 means DefaultBatch
	Timeout  time.Duration // of transactions; 0 means DefaultTimeout
}

// id is the transactional id of the transaction that ends with a checkpoint.
func (a Sink) id(number int) string { return fmt.Sprintf("%s-0-%d", a.Prefix, number) }

func (a Sink) live(l *Life) error {
	if err := a.restore(l); err != nil {
		return err
	}
	r := reader{client: l.client, from: a.From, position: a.State.checkpoint.position}
	for {
		keys, next, err := r.poll(batchOf(a.Batch))
		if err != nil || len(keys) == 0 {
			return err
		}
		number := a.State.checkpoint.number + 1
		p, err := l.client.transactionalProducer(a.id(number), timeoutOf(a.Timeout))
		if err != nil {
			return err
		}
		if err := p.send(a.To, keys); err != nil {
			return err
		}
		l.Counts.Written += len(keys)
		if err := l.reach("written"); err != nil {
			return err
		}
		a.State.checkpoint = checkpoint{number, next, p}
		if err := l.reach("checkpointed"); err != nil {
			return err
		}
		if err := p.commit(l); err != nil {
			return err
		}
		a.State.checkpoint.pending = nil
	}
}

// restore ends the transactions that the last instance left.
func (a Sink) restore(l *Life) error {
	last := &a.State.checkpoint
	if last.pending != nil {
		p := *last.pending
		p.client = l.client
		err := p.end(true)
		switch {
		case err == nil:
			l.Counts.Committed++
		case !ended(err):
			return err
		}
		last.pending = nil
	}
	for number := last.number + 1; ; number++ {
		p, err := l.client.transactionalProducer(a.id(number), timeoutOf(a.Timeout))
		if err != nil {
			return err
		}
		if p.epoch == 0 {
			return nil // nobody had it
		}
		l.Counts.Aborted++
	}
}

// ended says whether an error of EndTxn means that the transaction has an end
// already, its own or that of its timeout, which the producer cannot tell apart.
func ended(err error) bool {
	return Fenced(err) || errors.Is(err, kerr.InvalidTxnState)
}
