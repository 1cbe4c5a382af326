package commitlog

import (
	"fmt"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// Append is the circumstances of an append by the leader.
type Append struct {
	Partition   kafka.TopicPartition // for texts
	NowMs       int64
	LeaderEpoch kafka.LeaderEpoch
	// Guard and Verify: with Verify, a batch that opens a transaction must
	// bring the guard of its verification (rule G10).
	Guard  producer.Guard
	Verify bool
}

// Appended says where a batch is in the log.
type Appended struct {
	FirstOffset kafka.Offset
	LastOffset  kafka.Offset
	// LogAppendTimeMs is -1 under CreateTime, except for a duplicate: Kafka
	// then answers the original's timestamp.
	LogAppendTimeMs int64
	Duplicate       bool // the batch was there before (rule C2)
}

// AppendClient appends the batch that a producer sent, of which raw is the
// only one. The log keeps raw and writes to it. Errors, by which nothing is
// appended: INVALID_RECORD, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE,
// RECORD_LIST_TOO_LARGE, INVALID_TIMESTAMP (rule A5), UNKNOWN_SERVER_ERROR for
// what cannot be decompressed, a *RecordErrors that wraps one of them, those of
// producer.Manager.Append.
func (l *Log) AppendClient(raw []byte, a Append) (Appended, error) {
	b, err := l.validate(raw, a)
	if err != nil {
		return Appended{}, err
	}
	return l.appendLeader(b, producer.Client, a)
}

// AppendCoordinator appends a batch that a coordinator on this broker has
// built. Errors are those of producer.Manager.Append, and RECORD_LIST_TOO_LARGE.
func (l *Log) AppendCoordinator(b Batch, a Append) (Appended, error) {
	if int64(len(b.Raw)) > l.config.SegmentBytes {
		return Appended{}, kafka.ErrRecordListTooLarge
	}
	return l.appendLeader(b, producer.Coordinator, a)
}

func (l *Log) appendLeader(b Batch, origin producer.Origin, a Append) (Appended, error) {
	logAppendTimeMs := int64(-1)
	if l.config.TimestampType == LogAppendTime {
		logAppendTimeMs = a.NowMs
		b.stampLogAppendTime(a.NowMs)
	}
	b.stamp(l.logEnd, a.LeaderEpoch)
	l.makeRoom(b, a.NowMs)
	if b.HasProducer() {
		p := producing(b)
		if origin == producer.Client {
			if d, found := l.producers.Duplicate(p); found {
				return Appended{d.FirstOffset, d.LastOffset, d.LastTimestampMs, true}, nil
			}
		}
		if err := l.producers.Append(p, origin, a.Guard, a.Verify); err != nil {
			return Appended{}, err
		}
	}
	b.Raw = l.arena.keep(b.Raw)
	l.store(b, a.NowMs)
	l.findUnstable()
	return Appended{b.BaseOffset, b.LastOffset(), logAppendTimeMs, false}, nil
}

// producing is what the producer state needs to know of a data batch.
func producing(b Batch) producer.Batch {
	return producer.Batch{
		Producer: b.Producer, Transactional: b.Attributes.IsTransactional(),
		FirstSequence: b.BaseSequence, LastSequence: b.LastSequence(),
		FirstOffset: b.BaseOffset, LastOffset: b.LastOffset(), LastTimestampMs: b.MaxTimestampMs,
	}
}

// AppendMarker ends a transaction (rules C7 and C8) and returns the marker's
// offset. Errors are those of producer.Manager.End.
func (l *Log) AppendMarker(m Marker, transactionVersion int8, a Append) (kafka.Offset, error) {
	b := BuildMarker(m, a.NowMs)
	if l.config.TimestampType == LogAppendTime {
		b.stampLogAppendTime(a.NowMs)
	}
	b.stamp(l.logEnd, a.LeaderEpoch)
	l.makeRoom(b, a.NowMs)
	done, ok, err := l.producers.End(producer.Marker{
		Producer: m.Producer, Commit: m.Commit, CoordinatorEpoch: m.CoordinatorEpoch,
		Offset: b.BaseOffset, TimestampMs: b.MaxTimestampMs, TransactionVersion: transactionVersion,
	}, producer.Coordinator)
	if err != nil {
		return kafka.NoOffset, err
	}
	b.Raw = l.arena.keep(b.Raw)
	l.store(b, a.NowMs)
	l.indexAborted(done, ok)
	l.findUnstable()
	return b.BaseOffset, nil
}

// AppendFollower appends batches that the leader has sent, which must begin at
// the log end or after it. The log shares their bytes.
func (l *Log) AppendFollower(batches []Batch, nowMs int64) {
	for _, b := range batches {
		if b.BaseOffset < l.logEnd {
			panic(fmt.Sprintf("commitlog: append %v to a log that ends at %d", b, l.logEnd))
		}
		l.makeRoom(b, nowMs)
		done, ok := l.replay(b)
		l.store(b, nowMs)
		l.indexAborted(done, ok)
	}
	l.findUnstable()
}

// replay takes a batch into the producer state without checks.
func (l *Log) replay(b Batch) (producer.CompletedTxn, bool) {
	if !b.HasProducer() {
		return producer.CompletedTxn{}, false
	}
	if m, ok := b.Marker(); ok {
		done, ok, err := l.producers.End(producer.Marker{
			Producer: m.Producer, Commit: m.Commit, CoordinatorEpoch: m.CoordinatorEpoch,
			Offset: b.BaseOffset, TimestampMs: b.MaxTimestampMs,
		}, producer.Replication)
		if err != nil {
			panic(fmt.Sprintf("commitlog: replay %v: %v", b, err))
		}
		return done, ok
	}
	if err := l.producers.Append(producing(b), producer.Replication, producer.Guard{}, false); err != nil {
		panic(fmt.Sprintf("commitlog: replay %v: %v", b, err))
	}
	return producer.CompletedTxn{}, false
}

// makeRoom rolls the last segment if the batch does not fit (rule B6). It comes
// before the producers learn of the batch, as their snapshot is of what lies
// before the new segment. Like Kafka it rolls even for a batch that is refused.
func (l *Log) makeRoom(b Batch, nowMs int64) {
	if l.active().shouldRoll(*l.config, int64(len(b.Raw)), b.MaxTimestampMs, b.LastOffset(), nowMs) {
		l.roll(nowMs)
	}
}

// store adds a batch to the last segment.
func (l *Log) store(b Batch, nowMs int64) {
	if epoch, ok := l.epochs.latest(); !ok || epoch != b.LeaderEpoch {
		l.epochs.assign(b.LeaderEpoch, b.BaseOffset)
	}
	l.active().append(b, l.config.IndexIntervalBytes, nowMs)
	l.logEnd = b.LastOffset() + 1
	l.producers.AdvanceTo(l.logEnd)
}

// indexAborted notes an aborted transaction in the segment that holds its
// marker (rule B4).
func (l *Log) indexAborted(done producer.CompletedTxn, ok bool) {
	if ok && !done.Commit {
		s := l.active()
		s.aborted = append(s.aborted, AbortedTxn{done.ProducerID, done.FirstOffset, done.LastOffset, done.LastStableOffset})
	}
}
