package application

import (
	"strconv"
	"time"
)

// Aborter writes transactions to a partition and aborts every nth of them:
// offsets with nothing to read.
//
// Its moments: of each transaction "written", then "committed" or "aborted".
type Aborter struct {
	TransactionalID string
	To              Partition
	Transactions    int           // 0 means DefaultBatch
	Every           int           // the nth is aborted; 0 aborts none
	Batch           int           // records in a transaction; 0 means DefaultBatch
	Timeout         time.Duration // of transactions; 0 means DefaultTimeout
}

func (a Aborter) live(l *Life) error {
	p, err := l.client.transactionalProducer(a.TransactionalID, timeoutOf(a.Timeout))
	if err != nil {
		return err
	}
	for n := 1; n <= batchOf(a.Transactions); n++ {
		if err := p.send(a.To, keysFrom(l.Counts.Written, batchOf(a.Batch))); err != nil {
			return err
		}
		l.Counts.Written += batchOf(a.Batch)
		if err := l.reach("written"); err != nil {
			return err
		}
		if a.Every == 0 || n%a.Every != 0 {
			if err := p.commit(l); err != nil {
				return err
			}
			continue
		}
		if err := p.end(false); err != nil {
			return err
		}
		l.Counts.Aborted++
		if err := l.reach("aborted"); err != nil {
			return err
		}
	}
	return nil
}

// keysFrom are the keys of n records that follow on so many.
func keysFrom(before, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = strconv.Itoa(before + i + 1)
	}
	return keys
}

// Storm is two or more instances that were given the same transactional id by
// mistake. They take turns, each with a transaction of one record, and who is
// fenced begins anew at once, which fences the others: nothing is ever committed.
//
// Its moments: "turn".
type Storm struct {
	TransactionalID string
	To              Partition
	Instances       int           // 0 means 2
	Turns           int           // of each instance; 0 means DefaultBatch
	Timeout         time.Duration // of transactions; 0 means DefaultTimeout
}

func (a Storm) live(l *Life) error {
	instances := make([]*producer, max(a.Instances, 2))
	start := func(i int) (err error) {
		l.Counts.Started++
		instances[i], err = l.client.transactionalProducer(a.TransactionalID, timeoutOf(a.Timeout))
		return err
	}
	for i := range instances {
		if err := start(i); err != nil {
			return err
		}
	}
	for range batchOf(a.Turns) {
		for i, p := range instances {
			err := a.work(l, p)
			if Fenced(err) {
				l.Counts.Fenced++
				err = start(i)
			}
			if err != nil {
				return err
			}
			if err := l.reach("turn"); err != nil {
				return err
			}
		}
	}
	return nil
}

// work is one transaction of one record.
func (a Storm) work(l *Life, p *producer) error {
	if err := p.send(a.To, keysFrom(l.Counts.Written, 1)); err != nil {
		return err
	}
	l.Counts.Written++
	if err := p.end(true); err != nil {
		return err
	}
	l.Counts.Committed++
	return nil
}
