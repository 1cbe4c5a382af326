package application

import "time"

// Transform consumes one partition and produces to another, exactly once: what
// it wrote and the offset that it read up to are committed in one transaction
// (KIP-98, KIP-447).
//
// Its moments: "started", when it has its transactional id; of each transaction
// "written", "offsets", "committed".
type Transform struct {
	TransactionalID string
	Group           string
	From, To        Partition
	Batch           int           // records in a transaction; 0 means DefaultBatch
	Timeout         time.Duration // of transactions; 0 means DefaultTimeout
}

// DefaultTimeout is an application's transaction timeout unless it is told, that
// of Java's producer.
const DefaultTimeout = time.Minute

func timeoutOf(d time.Duration) time.Duration {
	if d == 0 {
		return DefaultTimeout
	}
	return d
}

func (a Transform) live(l *Life) error {
	// Whoever had the id before is fenced, and its transaction aborted, before
	// the offsets are read.
	p, err := l.client.transactionalProducer(a.TransactionalID, timeoutOf(a.Timeout))
	if err != nil {
		return err
	}
	if err := l.reach("started"); err != nil {
		return err
	}
	r := reader{client: l.client, from: a.From}
	if err := r.begin(a.Group); err != nil {
		return err
	}
	for {
		keys, next, err := r.poll(batchOf(a.Batch))
		if err != nil || len(keys) == 0 {
			return err
		}
		if err := p.send(a.To, keys); err != nil {
			return err
		}
		l.Counts.Written += len(keys)
		if err := l.reach("written"); err != nil {
			return err
		}
		if err := p.sendOffset(a.Group, a.From, next); err != nil {
			return err
		}
		if err := l.reach("offsets"); err != nil {
			return err
		}
		if err := p.commit(l); err != nil {
			return err
		}
	}
}

// commit commits a transaction and counts it.
func (p *producer) commit(l *Life) error {
	if err := p.end(true); err != nil {
		return err
	}
	l.Counts.Committed++
	return l.reach("committed")
}
