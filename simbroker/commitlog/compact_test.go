package commitlog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// compactedLog is a log whose cleaner has work with every segment, of which each
// batch begins one: they are a minute apart, and segment.ms is less.
type compactedLog struct {
	*testLog
	nowMs        int64
	appendedAtMs int64
}

func newCompactedLog(t *testing.T, change ...func(*Config)) *compactedLog {
	l := newLog(t, append([]func(*Config){func(c *Config) {
		c.Compact, c.Delete, c.SegmentTime, c.MinCleanableDirtyRatio, c.DeleteRetention = true, false, time.Second, 0.01, time.Hour
	}}, change...)...)
	return &compactedLog{testLog: l, nowMs: now, appendedAtMs: now - 24*time.Hour.Milliseconds()}
}

// put appends a batch of records, each key or key=value, as one producer.
func (l *compactedLog) put(p Producing, records ...string) {
	l.t.Helper()
	l.appendedAtMs += time.Minute.Milliseconds()
	var batch []Record
	for _, r := range records {
		key, value, ok := strings.Cut(r, "=")
		record := Record{TimestampMs: l.appendedAtMs, Key: []byte(key)}
		if ok {
			record.Value = []byte(value)
		}
		batch = append(batch, record)
	}
	if _, err := l.AppendClient(Build(p, batch).Raw, Append{NowMs: l.nowMs}); err != nil {
		l.t.Fatal(err)
	}
	l.AdvanceHighWatermark(l.LogEndOffset())
}

func (l *compactedLog) plain(records ...string) { l.t.Helper(); l.put(Plainly(), records...) }

func (l *compactedLog) open(id kafka.ProducerID, seq int32, records ...string) {
	l.t.Helper()
	l.put(Producing{Producer: kafka.Producer{ID: id}, BaseSequence: seq, Transactional: true}, records...)
}

func (l *compactedLog) end(commit bool, id kafka.ProducerID) {
	l.t.Helper()
	l.appendedAtMs += time.Minute.Milliseconds()
	at := Append{NowMs: l.appendedAtMs}
	if _, err := l.AppendMarker(Marker{Producer: kafka.Producer{ID: id}, Commit: commit}, 0, at); err != nil {
		l.t.Fatal(err)
	}
	l.AdvanceHighWatermark(l.LogEndOffset())
}

// holds compares what the log holds: offset:key=value of each record, offset:C
// or :A of a marker, first-last of a batch without records, and a * behind
// those with a delete horizon.
func (l *compactedLog) holds(want string) {
	l.t.Helper()
	var got []string
	for b := range l.Batches(0) {
		star := ""
		if _, ok := b.deleteHorizon(); ok {
			star = "*"
		}
		records, err := b.Records()
		if err != nil || !b.ValidCRC() {
			l.t.Fatalf("%v: %v", b, err)
		}
		m, isMarker := b.Marker()
		switch {
		case len(records) == 0:
			got = append(got, fmt.Sprintf("%d-%d", b.BaseOffset, b.LastOffset()))
		case isMarker && m.Commit:
			got = append(got, fmt.Sprintf("%d:C%s", b.BaseOffset, star))
		case isMarker:
			got = append(got, fmt.Sprintf("%d:A%s", b.BaseOffset, star))
		default:
			for _, r := range records {
				one := fmt.Sprintf("%d:%s", r.Offset, r.Key)
				if r.Value != nil {
					one += "=" + string(r.Value)
				}
				got = append(got, one+star)
			}
		}
	}
	if s := strings.Join(got, " "); s != want {
		l.t.Fatalf("got  %s\nwant %s", s, want)
	}
}

func (l *compactedLog) compact(want bool) {
	l.t.Helper()
	if got := l.Compact(l.nowMs); got != want {
		l.t.Fatalf("cleaned %v, want %v: %v", got, want, l.Log)
	}
}

// B10: the last record of each key stays, with its offset; the last segment is
// left alone, and a log that is clean already, too.
func TestB10LastOfEachKey(t *testing.T) {
	l := newCompactedLog(t)
	l.plain("a=1", "b=1", "a=2")
	l.plain("c=1", "b=2")
	l.plain("a=3")
	l.compact(true)
	l.holds("2:a=2 3:c=1 4:b=2 5:a=3")
	l.compact(false)
	l.plain("z=1")
	l.compact(true)
	l.holds("3:c=1 4:b=2 5:a=3 6:z=1")
	l.expect("0..7/7/7")
	if got := lookup(t, l.Log, 0); !strings.HasPrefix(got, "3") {
		t.Errorf("the first record is %s", got)
	}
	if r, _, err := l.Read(Read{From: 1, Bound: l.LogEndOffset(), MaxBytes: 1 << 20}); err != nil || r.Batches()[0].LastOffset() != 4 {
		t.Errorf("a read in a gap: %v, %v", r.Batches(), err)
	}
	l.TruncateTo(3, l.nowMs)
	l.plain("c=2")
	l.plain("z=2")
	l.compact(true)
}

// B10: compressed batches stay compressed.
func TestB10CompressedBatches(t *testing.T) {
	l := newCompactedLog(t, func(c *Config) { c.Compression = CompressTo(Zstd) })
	l.plain("a=1", "b=1", "c=1")
	l.plain("b=2")
	l.plain("z=1")
	l.compact(true)
	l.holds("0:a=1 2:c=1 3:b=2 4:z=1")
	for b := range l.Batches(0) {
		if b.Attributes.Codec() != Zstd {
			t.Errorf("%v has codec %v", b, b.Attributes.Codec())
		}
	}
}

// B10: a tombstone goes delete.retention.ms after the cleaner has met it.
func TestB10Tombstones(t *testing.T) {
	l := newCompactedLog(t)
	l.plain("a=1", "b=1")
	l.plain("a", "c=1")
	l.plain("z=1")
	l.compact(true)
	l.holds("1:b=1 2:a* 3:c=1* 4:z=1")
	l.nowMs += time.Hour.Milliseconds() - 1
	l.plain("z=2")
	l.compact(true)
	l.holds("1:b=1 2:a* 3:c=1* 4:z=1 5:z=2")
	l.nowMs++
	l.plain("z=3")
	l.compact(true)
	l.holds("1:b=1 3:c=1* 5:z=2 6:z=3")
	for b := range l.Batches(3) {
		records, _ := b.Records()
		if records[0].TimestampMs != l.appendedAtMs-3*time.Minute.Milliseconds() {
			t.Errorf("the timestamp has changed to %d", records[0].TimestampMs)
		}
		break
	}
}

// B10: aborted data goes at once, its marker in a later run and after
// delete.retention.ms; the index of aborted transactions goes with the marker's
// data. A commit marker goes the same way when its data is gone.
func TestB10Transactions(t *testing.T) {
	l := newCompactedLog(t)
	l.open(1, 0, "a=1", "b=1")
	l.end(false, 1)
	l.open(2, 0, "a=2")
	l.end(true, 2)
	l.plain("a=3")
	l.plain("z=1")
	// Of a producer that is known the header of its last data stays.
	l.compact(true)
	l.holds("0-1 2:A 3-3 4:C 5:a=3 6:z=1")
	if ab := l.aborted(0, l.segments[0], 1<<30); len(ab) != 1 {
		t.Errorf("aborted %v", ab)
	}
	l.nowMs += 25 * time.Hour.Milliseconds() // both expire
	l.ExpireProducers(l.nowMs)
	l.plain("z=2")
	l.compact(true)
	l.holds("2:A 4:C 5:a=3 6:z=1 7:z=2")
	l.plain("z=3")
	l.compact(true)
	l.holds("2:A* 4:C* 5:a=3 7:z=2 8:z=3")
	if ab := l.aborted(0, l.segments[0], 1<<30); len(ab) != 0 {
		t.Errorf("aborted %v", ab)
	}
	l.nowMs += time.Hour.Milliseconds()
	l.plain("z=4")
	l.compact(true)
	l.holds("5:a=3 8:z=3 9:z=4")
}

// B10: nothing is cleaned in the segment of the last stable offset or behind it.
func TestB10StopsAtTheLastStableOffset(t *testing.T) {
	l := newCompactedLog(t)
	l.plain("a=1")
	l.plain("a=2")
	l.open(1, 0, "t=1")
	l.plain("a=3")
	l.plain("a=4")
	l.compact(true)
	l.holds("1:a=2 2:t=1 3:a=3 4:a=4")
	l.end(true, 1)
	l.plain("z=1")
	l.compact(true)
	l.holds("2:t=1 4:a=4 5:C 6:z=1")
}

// B10: min.compaction.lag.ms protects young records, max.compaction.lag.ms makes
// old ones due, and min.cleanable.dirty.ratio is the share that is worth it.
func TestB10WhenToClean(t *testing.T) {
	young := newCompactedLog(t, func(c *Config) { c.MinCompactionLag = 24*time.Hour - 150*time.Second })
	young.plain("a=1")
	young.plain("a=2")
	young.plain("a=3")
	young.plain("a=4")
	young.compact(true)
	young.holds("1:a=2 2:a=3 3:a=4")

	lazy := newCompactedLog(t, func(c *Config) { c.MinCleanableDirtyRatio = 0.5 })
	lazy.plain("a=1")
	lazy.plain("a=2")
	lazy.compact(true)
	lazy.plain("a=3")
	lazy.compact(false) // half of it is not more than half
	lazy.plain("a=4")
	lazy.compact(true)
	lazy.holds("2:a=3 3:a=4")

	overdue := newCompactedLog(t, func(c *Config) { c.MinCleanableDirtyRatio, c.MaxCompactionLag = 1, 25*time.Hour })
	overdue.plain("a=1")
	overdue.plain("a=2")
	overdue.compact(false)
	overdue.nowMs += time.Hour.Milliseconds()
	overdue.compact(false)
	overdue.nowMs += time.Minute.Milliseconds() + 1
	overdue.compact(true)
	if at := (Config{Compact: true, SegmentTime: time.Hour, MaxCompactionLag: time.Minute}).segmentTime(); at != time.Minute {
		t.Errorf("segments are rolled after %v", at)
	}
}

// Segments that have become small are put together, up to segment.bytes.
func TestB10SegmentsArePutTogether(t *testing.T) {
	l := newCompactedLog(t)
	for i := range 6 {
		l.plain(fmt.Sprintf("a=%d", i))
	}
	l.segmentsExpect("[0 1 2 3 4 5]")
	l.compact(true)
	l.segmentsExpect("[0 5]")
	l.Recover(false, l.nowMs)
	l.holds("4:a=4 5:a=5")
}
