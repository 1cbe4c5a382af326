package application

// Consumer reads a partition read_committed and has an effect outside Kafka for
// each record.
//
// Its moments: "handled", when the effects of a batch have happened, and
// "committed", when its offset is. AtMostOnce reaches them in the other order.
type Consumer struct {
	// Group is where offsets are committed. Without one they are kept in the
	// Store, together with the effects, and Kafka knows nothing of the consumer.
	Group   string
	From    Partition
	Into    *Store
	Batch   int // records at a time; 0 means DefaultBatch
	Promise Promise
}

func (a Consumer) live(l *Life) error {
	r := reader{client: l.client, from: a.From}
	if a.Group == "" {
		r.position = a.Into.positions[a.From]
	} else if err := r.begin(a.Group); err != nil {
		return err
	}
	for {
		keys, next, err := r.poll(batchOf(a.Batch))
		if err != nil || len(keys) == 0 {
			return err
		}
		steps := []func() error{
			func() error { a.handle(l, keys, next); return l.reach("handled") },
			func() error { return a.commit(l, next) },
		}
		if a.Promise == AtMostOnce {
			steps[0], steps[1] = steps[1], steps[0]
		}
		for _, step := range steps {
			if err := step(); err != nil {
				return err
			}
		}
	}
}

func (a Consumer) handle(l *Life, keys []string, next int64) {
	for _, key := range keys {
		if a.Promise == Once && a.Into.has(key) {
			l.Counts.Skipped++
			continue
		}
		a.Into.Effects = append(a.Into.Effects, key)
		l.Counts.Handled++
	}
	if a.Group == "" {
		a.Into.keep(a.From, next)
	}
}

func (a Consumer) commit(l *Life, next int64) error {
	if a.Group == "" {
		return nil
	}
	if err := l.client.commit(a.Group, a.From, next); err != nil {
		return err
	}
	return l.reach("committed")
}
