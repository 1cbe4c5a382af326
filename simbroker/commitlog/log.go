// Package commitlog is a partition's log on one replica: batches in segments
// with their sparse indexes, the four offsets, the aborted transactions index
// and the leader epoch cache (sections A, B, D and E of the semantics; KIP-98,
// KIP-101). Kafka calls it UnifiedLog.
//
//	log start          last stable        high watermark        log end
//	    │ read_committed    │ read_uncommitted    │ replicas only    │
//	    ├───────────────────┼─────────────────────┼──────────────────┤
//
// It guarantees log start ≤ high watermark ≤ log end and last stable ≤ high
// watermark; the last stable offset may lie before the log start after a
// deletion that ends within a batch of an open transaction (rule B9). Batches
// keep the bytes that the producer sent: the leader stamps base offset and
// epoch, and rewrites timestamps under LogAppendTime only.
//
// Everything is kept in memory, also what counts as being on disk: Recover
// forgets what a restart forgets. It leaves out tiered storage.
// It does not lock; a Log belongs to one event loop.
package commitlog

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// Log is one replica's log of a partition. There is always a last segment to
// append to.
type Log struct {
	config     *Config
	segments   []*segment
	arena      arena
	producers  *producer.Manager
	epochs     epochs
	expiration func() time.Duration // producer.id.expiration.ms

	logStart      kafka.Offset
	logEnd        kafka.Offset
	highWatermark kafka.Offset
	unstable      kafka.Offset // the first unstable offset; NoOffset if there is none

	checkpoint kafka.Offset // the high watermark as it was last written to disk
	cleaned    kafka.Offset // up to where the cleaner has been
}

// New returns an empty log that starts at offset 0. The config may be that of
// many logs, and must not change. expiration is asked for
// producer.id.expiration.ms whenever producers are loaded or expired.
func New(config *Config, expiration func() time.Duration, nowMs int64) *Log {
	return &Log{
		config:     config,
		segments:   []*segment{newSegment(0, nowMs)},
		producers:  producer.NewManager(0),
		expiration: expiration,
		unstable:   kafka.NoOffset,
	}
}

// Configure gives the log other properties of its topic, as New does.
func (l *Log) Configure(c *Config) { l.config = c }

// Config is the topic's present properties.
func (l *Log) Config() Config { return *l.config }

// LogStartOffset is the first offset that can be read.
func (l *Log) LogStartOffset() kafka.Offset { return l.logStart }

// HighWatermark is where consumers stop: all below is replicated.
func (l *Log) HighWatermark() kafka.Offset { return l.highWatermark }

// LogEndOffset is the offset of the next record.
func (l *Log) LogEndOffset() kafka.Offset { return l.logEnd }

// LastStableOffset is where read_committed readers stop: the first unstable
// offset where there is one below the high watermark, else that (rule C10).
func (l *Log) LastStableOffset() kafka.Offset {
	if l.unstable != kafka.NoOffset && l.unstable < l.highWatermark {
		return l.unstable
	}
	return l.highWatermark
}

// Size is the number of bytes in the log.
func (l *Log) Size() int64 {
	var n int64
	for _, s := range l.segments {
		n += s.size
	}
	return n
}

// Batches runs over the batches from the one that contains the offset up to
// the log end offset. The log must not change meanwhile.
func (l *Log) Batches(from kafka.Offset) iter.Seq[Batch] {
	return func(yield func(Batch) bool) {
		for _, s := range l.segments[l.segmentOf(from):] {
			for _, b := range s.batches[s.find(from):] {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// Producers lists what the log knows of its producers, by id.
func (l *Log) Producers() []producer.State { return l.producers.States() }

// StartVerification gives the guard under which a transaction may be opened
// (rule G10); see producer.Manager.
func (l *Log) StartVerification(p kafka.Producer, firstSequence int32, epochBump bool, nowMs int64) producer.Guard {
	return l.producers.StartVerification(p, firstSequence, epochBump, nowMs)
}

// ExpireProducers forgets idle producers (rule C11).
func (l *Log) ExpireProducers(nowMs int64) { l.producers.Expire(nowMs, l.expireMs()) }

func (l *Log) expireMs() int64 { return l.expiration().Milliseconds() }

// segmentOf is the index of the segment that contains the offset.
func (l *Log) segmentOf(offset kafka.Offset) int {
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].base > offset })
	return max(i-1, 0)
}

func (l *Log) active() *segment { return l.segments[len(l.segments)-1] }

// roll begins a segment at the log end, with a snapshot of the producers.
func (l *Log) roll(nowMs int64) {
	if l.active().base == l.logEnd && l.active().size == 0 {
		return
	}
	l.segments = append(l.segments, newSegment(l.logEnd, nowMs))
	l.producers.AdvanceTo(l.logEnd)
	l.producers.TakeSnapshot()
}

// AdvanceHighWatermark raises a leader's high watermark, to the log end at
// most, and says whether it rose (rule F1: it never falls on a leader).
func (l *Log) AdvanceHighWatermark(to kafka.Offset) bool {
	if to > l.logEnd {
		panic(fmt.Sprintf("commitlog: high watermark %d beyond the log end %d", to, l.logEnd))
	}
	if to <= l.highWatermark {
		return false
	}
	l.setHighWatermark(to)
	return true
}

// FollowHighWatermark takes over the leader's high watermark as far as the
// local log reaches (rule F3); it may fall.
func (l *Log) FollowHighWatermark(leaders kafka.Offset) {
	l.setHighWatermark(min(max(leaders, l.logStart), l.logEnd))
}

func (l *Log) setHighWatermark(to kafka.Offset) {
	if to == l.highWatermark {
		return
	}
	l.highWatermark = to
	l.producers.Replicated(to)
	l.findUnstable()
}

// findUnstable brings the first unstable offset up to date. One before the log
// start is replaced by that, or rather by the base offset of the batch that
// contains it (rule B9).
func (l *Log) findUnstable() {
	first, ok := l.producers.FirstUnstableOffset()
	if !ok {
		l.unstable = kafka.NoOffset
		return
	}
	if first < l.logStart {
		first = l.batchBase(l.logStart)
	}
	l.unstable = first
}

// batchBase is the base offset of the batch that contains the offset or
// follows it, the log end if there is none.
func (l *Log) batchBase(offset kafka.Offset) kafka.Offset {
	for b := range l.Batches(offset) {
		return b.BaseOffset
	}
	return l.logEnd
}

// DeleteBefore raises the log start offset (rules B8 and B9), never above the
// high watermark: OFFSET_OUT_OF_RANGE. It says whether the offset rose.
// Segments that it leaves behind go with the next DeleteOldSegments.
func (l *Log) DeleteBefore(offset kafka.Offset) (raised bool, err error) {
	if offset > l.highWatermark {
		return false, kafka.ErrOffsetOutOfRange
	}
	return l.raiseLogStart(offset), nil
}

func (l *Log) raiseLogStart(to kafka.Offset) bool {
	if to <= l.logStart {
		return false
	}
	l.logStart = to
	l.epochs.truncateFromStart(to)
	l.producers.LogStartAdvanced(to)
	l.findUnstable()
	return true
}

// DeleteOldSegments applies retention (rule B7): whole segments go, oldest
// first, that are wholly below the high watermark and too old, too many or
// before the log start. Open transactions do not hold them. It returns how
// many went.
func (l *Log) DeleteOldSegments(nowMs int64) int {
	n := l.deleteWhile(nowMs, func(i int) bool {
		return i+1 < len(l.segments) && l.segments[i+1].base <= l.logStart
	})
	if !l.config.Delete {
		return n
	}
	if limit := l.config.RetentionBytes; limit >= 0 {
		excess := l.Size() - limit
		n += l.deleteWhile(nowMs, func(i int) bool {
			excess -= l.segments[i].size
			return excess >= 0
		})
	}
	if limit := l.config.RetentionTime; limit >= 0 {
		n += l.deleteWhile(nowMs, func(i int) bool {
			return nowMs-l.segments[i].largestTimestampMs() > limit.Milliseconds()
		})
	}
	return n
}

func (l *Log) deleteWhile(nowMs int64, expired func(i int) bool) int {
	n := 0
	for ; n < len(l.segments); n++ {
		last := n == len(l.segments)-1
		end := l.logEnd
		if !last {
			end = l.segments[n+1].base
		}
		if last && l.segments[n].size == 0 || l.highWatermark < end || !expired(n) {
			break
		}
	}
	if n == 0 {
		return 0
	}
	if n == len(l.segments) {
		l.roll(nowMs)
	}
	gone := l.segments[:n]
	l.segments = slices.Clone(l.segments[n:])
	l.raiseLogStart(l.segments[0].base)
	for _, s := range gone {
		l.producers.DropSnapshot(s.base)
	}
	return n
}

// Check reports a broken invariant; nil for none.
func (l *Log) Check() error {
	if l.logStart > l.highWatermark || l.highWatermark > l.logEnd {
		return fmt.Errorf("not log start ≤ high watermark ≤ log end: %v", l)
	}
	if l.LastStableOffset() > l.highWatermark {
		return fmt.Errorf("not last stable offset ≤ high watermark: %v", l)
	}
	next := l.segments[0].base
	for _, s := range l.segments {
		for _, b := range s.batches {
			if b.BaseOffset < next || b.LastOffset() < b.BaseOffset {
				return fmt.Errorf("batch %v does not follow offset %d", b, next)
			}
			next = b.LastOffset() + 1
		}
	}
	if next > l.logEnd {
		return fmt.Errorf("last batch ends at %d, after the log end %d", next, l.logEnd)
	}
	return nil
}

// String shows offsets, epochs and producers in one line.
func (l *Log) String() string {
	return fmt.Sprintf("%d..%d/%d/%d segments %d epochs %v producers %v",
		l.logStart, l.logEnd, l.highWatermark, l.LastStableOffset(), len(l.segments), &l.epochs, l.producers)
}
