package application

import "errors"

// Producer sends every row of a Store to a partition, from the first.
//
// Its moments: "sent", when a batch was sent and its answer has come, or will
// not come.
type Producer struct {
	From *Store
	To   Partition
	// Batch is how many records it sends at a time; 0 means DefaultBatch.
	Batch   int
	Promise Promise
	// LoseRequest and LoseAnswer say which of its requests, counted from 1, does
	// not get to the broker, and which answer does not come back, as when a
	// connection breaks. 0 loses none.
	LoseRequest, LoseAnswer int
}

// DefaultBatch is how many records an application takes at a time unless it is
// told.
const DefaultBatch = 10

// errLost is what a producer sees of a connection that breaks.
var errLost = errors.New("connection lost")

func (a Producer) live(l *Life) (err error) {
	p := l.client.plainProducer()
	if a.Promise == Once {
		if p, err = l.client.idempotentProducer(); err != nil {
			return err
		}
	}
	if err := l.client.learn(); err != nil {
		return err
	}
	requests := 0
	for rest := a.From.Rows; len(rest) > 0; {
		n := min(batchOf(a.Batch), len(rest))
		written, err := a.send(p, rest[:n], &requests)
		if err != nil {
			return err
		}
		l.Counts.Written += written
		rest = rest[n:]
		if err := l.reach("sent"); err != nil {
			return err
		}
	}
	return nil
}

// send sends a batch and returns how many records were acknowledged.
func (a Producer) send(p *producer, keys []string, requests *int) (int, error) {
	req := p.request(a.To, keys)
	try := func() (int16, error) {
		*requests++
		if *requests == a.LoseRequest {
			return 0, errLost
		}
		code, err := p.once(a.To, req)
		if *requests == a.LoseAnswer {
			return 0, errLost
		}
		return code, err
	}
	if a.Promise == AtMostOnce {
		if code, err := try(); code != 0 || err != nil {
			return 0, nil // not its concern
		}
		return len(keys), nil
	}
	return len(keys), p.retried("Produce", try)
}

func batchOf(n int) int {
	if n == 0 {
		return DefaultBatch
	}
	return n
}

// Outbox relays the rows of a Store to a partition, with an idempotent producer,
// and marks those that it has sent. An instance that dies in between leaves rows
// to the next one that were sent already: the topic has them twice, and who reads
// it must know them by their keys.
//
// Its moments: "sent", "marked".
type Outbox struct {
	From  *Store
	To    Partition
	Batch int // rows at a time; 0 means DefaultBatch
}

func (a Outbox) live(l *Life) error {
	p, err := l.client.idempotentProducer()
	if err != nil {
		return err
	}
	for {
		rows := a.From.unrelayed(batchOf(a.Batch))
		if len(rows) == 0 {
			return nil
		}
		if err := p.send(a.To, rows); err != nil {
			return err
		}
		l.Counts.Written += len(rows)
		if err := l.reach("sent"); err != nil {
			return err
		}
		a.From.relayed += len(rows)
		if err := l.reach("marked"); err != nil {
			return err
		}
	}
}
