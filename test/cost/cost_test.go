package cost

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

var ctx = context.Background()

// recordSize is that of the value of a record, in bytes.
const recordSize = 100

// producing sends so many records in a go, and waits for what wait says.
type producing struct {
	b       *testing.B
	cl      *kgo.Client
	records int
}

// sent sends the records and waits until all are acknowledged.
func (p producing) sent() {
	for range p.records {
		p.cl.Produce(ctx, &kgo.Record{Value: make([]byte, recordSize)}, func(_ *kgo.Record, err error) {
			if err != nil {
				p.b.Error(err)
			}
		})
	}
	must(p.b, p.cl.Flush(ctx))
}

// batches sends the records so many at a time, each batch when the one before is
// acknowledged.
func (p producing) batches(size int) {
	part := p
	part.records = size
	for range p.records / size {
		part.sent()
	}
}

// transactions sends the records in transactions of so many each.
func (p producing) transactions(size int) {
	part := p
	part.records = size
	for range p.records / size {
		must(p.b, p.cl.BeginTransaction())
		part.sent()
		must(p.b, p.cl.EndTransaction(ctx, kgo.TryCommit))
	}
}

// produce is a producer that writes records to a partition as fast as it can,
// 10,000 or those of 100 transactions: at least once, idempotent and waiting for
// nothing, and in transactions of some size. offsets/record is how many offsets
// of the log a record takes, with the marker of its transaction.
func produce(b *testing.B, s *site) {
	for _, size := range []int{10, 100, 1000, 10_000} {
		b.Run(fmt.Sprintf("%d-a-transaction", size), func(b *testing.B) {
			records := min(10_000, 100*size)
			topic := s.topic(b, 1)
			least := producing{b, s.client(b, kgo.DefaultProduceTopic(s.topic(b, 1))), records}
			exactly := producing{b, s.client(b, kgo.DefaultProduceTopic(topic), kgo.TransactionalID(s.name("id"))), records}
			compare(b, timed(least.sent), timed(func() { exactly.transactions(size) }))
			ends, err := kadm.NewClient(least.cl).ListEndOffsets(ctx, topic)
			must(b, err)
			end, _ := ends.Lookup(topic, 0)
			b.ReportMetric(float64(end.Offset)/float64(records*(b.N+1)), "offsets/record")
		})
	}
}

// commit is how long one transaction takes from its beginning to the answer to
// its commit, with one record in each of some partitions, beside the same records
// sent and acknowledged.
func commit(b *testing.B, s *site) {
	const rounds = 5
	for _, partitions := range []int32{1, 10, 100} {
		b.Run(fmt.Sprintf("%d-partitions", partitions), func(b *testing.B) {
			topic := s.topic(b, partitions)
			spread := kgo.RecordPartitioner(kgo.RoundRobinPartitioner())
			least := producing{b, s.client(b, kgo.DefaultProduceTopic(topic), spread), int(partitions)}
			exactly := producing{b, s.client(b, kgo.DefaultProduceTopic(topic), spread, kgo.TransactionalID(s.name("id"))), int(partitions)}
			each := func(work func()) func() time.Duration {
				return func() time.Duration {
					return timed(func() {
						for range rounds {
							work()
						}
					})() / rounds
				}
			}
			compare(b, each(least.sent), each(func() { exactly.transactions(int(partitions)) }))
		})
	}
}

// initialize is a producer from nothing to its first record: idempotent,
// and with a transactional id that nobody had before.
func initialize(b *testing.B, s *site) {
	topic := s.topic(b, 1)
	first := func(transaction bool) func() {
		return func() {
			opts := []kgo.Opt{kgo.SeedBrokers(s.seeds...), kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0)}
			if transaction {
				opts = append(opts, kgo.TransactionalID(s.name("id")))
			}
			cl, err := kgo.NewClient(opts...)
			must(b, err)
			defer cl.Close()
			if p := (producing{b, cl, 1}); transaction {
				p.transactions(1)
			} else {
				p.sent()
			}
		}
	}
	compare(b, timed(first(false)), timed(first(true)))
}

// consume is a consumer that reads records, 10,000 or those of 100 transactions:
// plain ones read_uncommitted, and those of transactions of some size
// read_committed.
func consume(b *testing.B, s *site) {
	for _, size := range []int{1, 10, 100, 1000} {
		b.Run(fmt.Sprintf("%d-a-transaction", size), func(b *testing.B) {
			records := min(10_000, 100*size)
			plain, topic := s.topic(b, 1), s.topic(b, 1)
			producing{b, s.client(b, kgo.DefaultProduceTopic(plain)), records}.batches(size)
			producing{b, s.client(b, kgo.DefaultProduceTopic(topic), kgo.TransactionalID(s.name("id"))), records}.transactions(size)
			reading := func(topic string, level kgo.IsolationLevel) func() {
				return func() {
					cl, err := kgo.NewClient(kgo.SeedBrokers(s.seeds...), kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(level))
					must(b, err)
					defer cl.Close()
					for read := 0; read < records; {
						fetches := cl.PollFetches(ctx)
						must(b, fetches.Err0())
						read += fetches.NumRecords()
					}
				}
			}
			compare(b, timed(reading(plain, kgo.ReadUncommitted())), timed(reading(topic, kgo.ReadCommitted())))
		})
	}
}

// delay is how long a record takes from its producer to a consumer, the
// median of a second with a record every 2 milliseconds: at least once, and
// exactly once with a commit now and then. Both linger as long as they are told.
func delay(b *testing.B, s *site) {
	const (
		every  = 2 * time.Millisecond
		length = time.Second
	)
	for _, linger := range []time.Duration{0, 20 * time.Millisecond} {
		for _, interval := range []time.Duration{20 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond} {
			b.Run(fmt.Sprintf("linger-%v/commit-every-%v", linger, interval), func(b *testing.B) {
				seen := func(transaction bool) func() time.Duration {
					topic := s.topic(b, 1)
					opts := []kgo.Opt{kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(linger)}
					level := kgo.ReadUncommitted()
					if transaction {
						opts, level = append(opts, kgo.TransactionalID(s.name("id"))), kgo.ReadCommitted()
					}
					producer := s.client(b, opts...)
					consumer := s.client(b, kgo.ConsumeTopics(topic), kgo.FetchIsolationLevel(level))
					return func() time.Duration {
						var sending sync.WaitGroup
						sending.Go(func() { steadily(b, producer, transaction, every, length, interval) })
						defer sending.Wait()
						return median(b, consumer, int(length/every))
					}
				}
				compare(b, seen(false), seen(true))
			})
		}
	}
}

// steadily sends records that carry their time, and commits now and then.
func steadily(b *testing.B, cl *kgo.Client, transaction bool, every, length, interval time.Duration) {
	begin := func() {
		if transaction {
			if err := cl.BeginTransaction(); err != nil {
				b.Error(err)
			}
		}
	}
	end := func() {
		if err := cl.Flush(ctx); err != nil {
			b.Error(err)
		}
		if transaction {
			if err := cl.EndTransaction(ctx, kgo.TryCommit); err != nil {
				b.Error(err)
			}
		}
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	begin()
	committed := time.Now()
	for range length / every {
		<-tick.C
		now := time.Now()
		value := binary.BigEndian.AppendUint64(make([]byte, 0, recordSize), uint64(now.UnixNano()))
		cl.Produce(ctx, &kgo.Record{Value: value}, nil)
		if transaction && now.Sub(committed) >= interval {
			end()
			begin()
			committed = time.Now()
		}
	}
	end()
}

// median is the middle of the delays of so many records.
func median(b *testing.B, cl *kgo.Client, records int) time.Duration {
	var delays []time.Duration
	for len(delays) < records {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			b.Error(err)
			return 0
		}
		now := time.Now().UnixNano()
		fetches.EachRecord(func(r *kgo.Record) {
			delays = append(delays, time.Duration(now-int64(binary.BigEndian.Uint64(r.Value))))
		})
	}
	slices.Sort(delays)
	return delays[len(delays)/2]
}

// transform is a pipeline that reads 10,000 records, and writes as many,
// 500 at a time: with its offsets committed after each, and with both in one
// transaction.
func transform(b *testing.B, s *site) {
	const records, batch = 10_000, 500
	from := s.topic(b, 1)
	producing{b, s.client(b, kgo.DefaultProduceTopic(from)), records}.sent()
	to := s.topic(b, 1)
	least := func() {
		cl, err := kgo.NewClient(kgo.SeedBrokers(s.seeds...), kgo.ConsumerGroup(s.name("group")), kgo.ConsumeTopics(from), kgo.DisableAutoCommit(),
			kgo.DefaultProduceTopic(to), kgo.ProducerLinger(0), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		must(b, err)
		defer cl.Close()
		for done := 0; done < records; {
			fetches := cl.PollRecords(ctx, batch)
			must(b, fetches.Err0())
			must(b, cl.ProduceSync(ctx, copies(fetches)...).FirstErr())
			must(b, cl.CommitRecords(ctx, fetches.Records()...))
			done += fetches.NumRecords()
		}
	}
	exactly := func() {
		session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(s.seeds...), kgo.ConsumerGroup(s.name("group")), kgo.ConsumeTopics(from),
			kgo.TransactionalID(s.name("id")), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DefaultProduceTopic(to), kgo.ProducerLinger(0),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		must(b, err)
		defer session.Close()
		for done := 0; done < records; {
			fetches := session.PollRecords(ctx, batch)
			must(b, fetches.Err0())
			must(b, session.Begin())
			must(b, session.ProduceSync(ctx, copies(fetches)...).FirstErr())
			if committed, err := session.End(ctx, kgo.TryCommit); !committed || err != nil {
				b.Fatalf("committed %v, %v", committed, err)
			}
			done += fetches.NumRecords()
		}
	}
	compare(b, timed(least), timed(exactly))
}

func copies(fetches kgo.Fetches) []*kgo.Record {
	var records []*kgo.Record
	fetches.EachRecord(func(r *kgo.Record) { records = append(records, &kgo.Record{Value: r.Value}) })
	return records
}
