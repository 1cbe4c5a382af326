package commitlog

import (
	"fmt"
	"testing"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// now is the brokers' time in these tests, in ms.
const now int64 = 1_700_000_000_000

// testLog is a leader's log whose high watermark follows its end.
type testLog struct {
	*Log
	t     *testing.T
	epoch kafka.LeaderEpoch
}

func newLog(t *testing.T, change ...func(*Config)) *testLog {
	c := DefaultConfig()
	c.RetentionTime = -1
	for _, f := range change {
		f(&c)
	}
	l := &testLog{Log: New(&c, func() time.Duration { return 24 * time.Hour }, now), t: t}
	t.Cleanup(func() {
		if err := l.Check(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *testLog) client(p Producing, n int, timestamps ...int64) kafka.Offset {
	l.t.Helper()
	records := make([]Record, n)
	for i := range records {
		records[i] = Record{TimestampMs: now, Value: []byte{byte(i)}}
		if i < len(timestamps) {
			records[i].TimestampMs = timestamps[i]
		}
	}
	a, err := l.AppendClient(Build(p, records).Raw, Append{NowMs: now, LeaderEpoch: l.epoch})
	if err != nil {
		l.t.Fatal(err)
	}
	l.AdvanceHighWatermark(l.LogEndOffset())
	return a.FirstOffset
}

func (l *testLog) plain(n int, timestamps ...int64) kafka.Offset {
	l.t.Helper()
	return l.client(Plainly(), n, timestamps...)
}

func (l *testLog) txn(p kafka.ProducerID, e kafka.ProducerEpoch, seq int32, n int, timestamps ...int64) kafka.Offset {
	l.t.Helper()
	return l.client(Producing{Producer: kafka.Producer{ID: p, Epoch: e}, BaseSequence: seq, Transactional: true}, n, timestamps...)
}

func (l *testLog) mark(commit bool, p kafka.ProducerID, e kafka.ProducerEpoch) {
	l.t.Helper()
	m := Marker{Producer: kafka.Producer{ID: p, Epoch: e}, Commit: commit}
	if _, err := l.AppendMarker(m, 0, Append{NowMs: now, LeaderEpoch: l.epoch}); err != nil {
		l.t.Fatal(err)
	}
	l.AdvanceHighWatermark(l.LogEndOffset())
}

// expect is log start..log end/high watermark/last stable offset.
func (l *testLog) expect(want string) {
	l.t.Helper()
	got := fmt.Sprintf("%d..%d/%d/%d", l.LogStartOffset(), l.LogEndOffset(), l.HighWatermark(), l.LastStableOffset())
	if got != want {
		l.t.Fatalf("got %s, want %s\n%v", got, want, l.Log)
	}
}

func (l *testLog) segmentsExpect(want string) {
	l.t.Helper()
	var bases []kafka.Offset
	for _, s := range l.segments {
		bases = append(bases, s.base)
	}
	if got := fmt.Sprint(bases); got != want {
		l.t.Fatalf("segments %s, want %s", got, want)
	}
}

func TestB6Roll(t *testing.T) {
	size := int64(len(Build(Plainly(), []Record{{TimestampMs: now, Value: []byte{0}}}).Raw))
	t.Run("segment.bytes", func(t *testing.T) {
		l := newLog(t, func(c *Config) { c.SegmentBytes = 2 * size })
		for range 5 {
			l.plain(1)
		}
		l.segmentsExpect("[0 2 4]")
	})
	t.Run("segment.ms, by the batches' timestamps", func(t *testing.T) {
		l := newLog(t, func(c *Config) { c.SegmentTime = time.Hour })
		hour := time.Hour.Milliseconds()
		l.plain(1, now-2*hour)
		l.plain(1, now-hour) // an hour is not more than an hour
		l.plain(1, now-hour+1)
		l.plain(1, now-5*hour) // an older one does not roll
		l.segmentsExpect("[0 2]")
	})
	t.Run("segment.jitter.ms, for each segment something else", func(t *testing.T) {
		hour := time.Hour.Milliseconds()
		c := DefaultConfig()
		c.SegmentTime, c.SegmentJitter = time.Hour, time.Hour
		seen := make(map[time.Duration]bool)
		for base := range kafka.Offset(20) {
			s := newSegment(base, now)
			s.append(Build(Plainly(), []Record{{TimestampMs: now, Value: []byte{0}}}), 4096, now)
			early := s.jitter(c)
			seen[early] = true
			at := now + hour - early.Milliseconds()
			if early < 0 || early >= time.Hour || s.shouldRoll(c, 1, at, base, at) || !s.shouldRoll(c, 1, at+1, base, at+1) {
				t.Errorf("segment %d rolls %v early", base, early)
			}
		}
		if len(seen) < 10 {
			t.Errorf("20 segments have %d moments", len(seen))
		}
	})
	// The first batch has no entry. A time index of three has room for two, beside
	// the one for the end of the segment.
	t.Run("segment.index.bytes", func(t *testing.T) {
		for _, r := range []struct {
			name  string
			bytes int
			later int64 // what the timestamp of each batch is above that of the one before
			want  string
		}{
			{"offsets", 3*12 + 4, 0, "[0 6]"},
			{"times", 3 * 12, 1, "[0 3 6]"},
			{"both have room", 1024, 1, "[0]"},
		} {
			l := newLog(t, func(c *Config) { c.SegmentIndexBytes, c.IndexIntervalBytes = r.bytes, 0 })
			for i := range int64(8) {
				l.plain(1, now+i*r.later)
			}
			t.Log(r.name)
			l.segmentsExpect(r.want)
		}
	})
	t.Run("an index that was cut off has room again", func(t *testing.T) {
		l := newLog(t, func(c *Config) { c.SegmentIndexBytes, c.IndexIntervalBytes = 5*12, 0 })
		for i := range int64(5) {
			l.plain(1, now+i)
		}
		l.active().truncate(2)
		if s := l.active(); s.timed != 1 || len(s.index) != 1 || s.timedMs != now+1 {
			t.Errorf("%d times, %d offsets, the last of %d", s.timed, len(s.index), s.timedMs-now)
		}
	})
}

func TestB7RetentionByTime(t *testing.T) {
	l := newLog(t, func(c *Config) { c.SegmentTime, c.RetentionTime = time.Hour, 3*time.Hour })
	hour := time.Hour.Milliseconds()
	l.txn(1, 0, 0, 2, now-10*hour, now-10*hour)
	l.plain(2, now-8*hour, now-8*hour)
	l.plain(2, now-2*hour, now-2*hour)
	l.segmentsExpect("[0 2 4]")
	l.DeleteOldSegments(now)
	l.segmentsExpect("[4]")
	l.expect("4..6/6/4")
	l.DeleteOldSegments(now + 2*hour)
	l.segmentsExpect("[6]")
	l.expect("6..6/6/6")
	l.plain(1)
	l.expect("6..7/7/6")
}

func TestB7RetentionKeepsWhatIsNotReplicated(t *testing.T) {
	l := newLog(t, func(c *Config) { c.RetentionTime = time.Hour })
	old := now - 2*time.Hour.Milliseconds()
	a := Append{NowMs: now}
	for range 2 {
		if _, err := l.AppendClient(Build(Plainly(), []Record{{TimestampMs: old}}).Raw, a); err != nil {
			t.Fatal(err)
		}
	}
	l.AdvanceHighWatermark(1)
	if n := l.DeleteOldSegments(now); n != 0 {
		t.Fatalf("%d segments deleted", n)
	}
	l.AdvanceHighWatermark(2)
	l.DeleteOldSegments(now)
	l.expect("2..2/2/2")
}

func TestB7RetentionBySize(t *testing.T) {
	size := int64(len(Build(Plainly(), []Record{{TimestampMs: now, Value: []byte{0}}}).Raw))
	l := newLog(t, func(c *Config) { c.SegmentBytes, c.RetentionBytes = size, 2*size+1 })
	for range 5 {
		l.plain(1)
	}
	l.DeleteOldSegments(now)
	l.segmentsExpect("[2 3 4]")
	l.config.Delete = false
	l.config.RetentionBytes = 0
	l.DeleteOldSegments(now)
	l.segmentsExpect("[2 3 4]")
	if _, err := l.DeleteBefore(4); err != nil {
		t.Fatal(err)
	}
	l.DeleteOldSegments(now)
	l.segmentsExpect("[4]")
}

// The first unstable offset snaps to the base of the batch that the log start
// is in, so that it may lie below it (rule B9).
func TestB9LastStableOffsetBelowTheLogStart(t *testing.T) {
	l := newLog(t)
	l.txn(1, 0, 0, 5)
	l.plain(5)
	l.expect("0..10/10/0")
	for _, step := range []struct {
		to   kafka.Offset
		want string
	}{
		{2, "2..10/10/0"}, // within the transaction's own batch
		{6, "6..10/10/5"},
		{10, "10..10/10/10"},
	} {
		if _, err := l.DeleteBefore(step.to); err != nil {
			t.Fatal(err)
		}
		l.expect(step.want)
	}
	if _, err := l.DeleteBefore(11); err != kafka.ErrOffsetOutOfRange {
		t.Fatal(err)
	}
}

// A committed transaction below the high watermark pins the last stable offset
// until its marker is below it too (rule C10).
func TestC10UnreplicatedMarkerPinsTheLastStableOffset(t *testing.T) {
	l := newLog(t)
	l.txn(1, 0, 0, 3)
	a := Append{NowMs: now}
	if _, err := l.AppendMarker(Marker{Producer: kafka.Producer{ID: 1}, Commit: true}, 0, a); err != nil {
		t.Fatal(err)
	}
	if _, err := l.AppendClient(Build(Plainly(), make([]Record, 2)).Raw, a); err != nil {
		t.Fatal(err)
	}
	l.expect("0..6/3/0")
	l.AdvanceHighWatermark(4)
	l.expect("0..6/4/4")
	l.AdvanceHighWatermark(6)
	l.expect("0..6/6/6")
}

// The search for aborted transactions ends at the first index entry behind the
// bytes that are returned (rule D5).
func TestD5UpperBoundOfTheAbortedList(t *testing.T) {
	abort := func(l *testLog, e kafka.ProducerEpoch) {
		l.txn(1, e, 0, 1)
		l.mark(false, 1, e+1)
	}
	read := func(l *testLog, maxBytes int) string {
		r, aborted, err := l.Read(Read{From: 0, Bound: l.LastStableOffset(), MaxBytes: maxBytes, AtLeastOne: true, Aborted: true})
		if err != nil {
			t.Fatal(err)
		}
		var firsts []kafka.Offset
		for _, a := range aborted {
			firsts = append(firsts, a.FirstOffset)
		}
		return fmt.Sprintf("%d batches %v", len(r.Batches()), firsts)
	}
	sparse, dense := newLog(t), newLog(t, func(c *Config) { c.IndexIntervalBytes = 0 })
	for e := range kafka.ProducerEpoch(3) {
		abort(sparse, e)
		abort(dense, e)
	}
	for _, test := range []struct {
		name     string
		log      *testLog
		maxBytes int
		want     string
	}{
		{"no index entry: all of the log", sparse, 1, "1 batches [0 2 4]"},
		{"an entry for every batch", dense, 1, "1 batches [0]"},
		{"the cut goes through the second batch: its entry does not bound", dense, len(dense.segments[0].batches[0].Raw) + 1, "1 batches [0]"},
		{"all bytes", dense, 1 << 20, "6 batches [0 2 4]"},
	} {
		if got := read(test.log, test.maxBytes); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestE8TimestampLookup(t *testing.T) {
	l := newLog(t)
	l.plain(4, 1000, 5000, 3000, 4000)
	l.plain(1, 6000)
	for target, want := range map[int64]string{
		0: "0 1000", 1000: "0 1000", 1001: "1 5000", 5000: "1 5000", 5001: "4 6000", 6001: "none",
	} {
		if got := lookup(t, l.Log, target); got != want {
			t.Errorf("timestamp %d: got %s, want %s", target, got, want)
		}
	}
	if _, err := l.DeleteBefore(2); err != nil {
		t.Fatal(err)
	}
	if got := lookup(t, l.Log, 1001); got != "2 3000" {
		t.Errorf("at or after the log start: got %s", got)
	}
	l.txn(1, 0, 0, 1, 7000)
	l.mark(false, 1, 1)
	if got := lookup(t, l.Log, 6500); got != "5 7000" {
		t.Errorf("an aborted record counts: got %s", got)
	}
	if got := lookup(t, l.Log, 7001); got != fmt.Sprintf("6 %d", now) {
		t.Errorf("a marker counts: got %s", got)
	}
	at, found, err := l.MaxTimestampOffset()
	if err != nil || !found || at.Offset != 6 {
		t.Errorf("greatest timestamp at %+v, %v, %v", at, found, err)
	}
}

func lookup(t *testing.T, l *Log, target int64) string {
	t.Helper()
	at, found, err := l.OffsetForTimestamp(target)
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		return "none"
	}
	return fmt.Sprint(at.Offset, at.TimestampMs)
}

func TestE8TimestampsOfCompressedBatches(t *testing.T) {
	l := newLog(t)
	if _, err := l.AppendClient(compressed(Gzip, packGzip).Raw, Append{NowMs: now}); err != nil {
		t.Fatal(err)
	}
	if got := lookup(t, l.Log, 1500); got != "1 3000" {
		t.Fatalf("got %s", got)
	}
}

// A truncated marker opens its transaction again and leaves the index (rule
// C13); a batch that the offset is in goes whole.
func TestC13Truncation(t *testing.T) {
	l := newLog(t)
	l.txn(1, 0, 0, 3)
	l.mark(false, 1, 1)
	l.plain(4)
	l.expect("0..8/8/8")
	l.TruncateTo(6, now)
	l.expect("0..6/6/6")
	if n := len(l.segments[0].batches); n != 2 {
		t.Fatalf("%d batches are left", n)
	}
	l.TruncateTo(3, now)
	l.expect("0..3/3/0")
	if len(l.segments[0].aborted) != 0 {
		t.Fatal("the index still has the aborted transaction")
	}
	if got := l.Producers()[0]; got.Producer.Epoch != 0 || got.CurrentTxnStartOffset != 0 || got.LastSequence != 2 {
		t.Fatalf("producer %+v", got)
	}
	l.mark(true, 1, 1)
	l.expect("0..4/4/4")
}

func TestC13TruncationOverSegments(t *testing.T) {
	l := newLog(t, func(c *Config) { c.SegmentBytes = 80 })
	for seq := range int32(5) {
		l.txn(1, 0, seq, 1)
	}
	l.segmentsExpect("[0 1 2 3 4]")
	l.TruncateTo(2, now)
	l.segmentsExpect("[0 1 2]")
	l.expect("0..2/2/0")
	if got := l.Producers()[0].LastSequence; got != 1 {
		t.Fatalf("last sequence %d", got)
	}
	l.txn(1, 0, 2, 1)
	l.expect("0..3/3/0")
}

// Readers keep what they have read when the log is truncated and written anew.
func TestTruncationLeavesReadersAlone(t *testing.T) {
	l := newLog(t)
	l.plain(1)
	l.plain(2)
	l.plain(3)
	r, _, err := l.Read(Read{From: 0, Bound: 6, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	before := string(r.Bytes())
	l.TruncateTo(1, now)
	l.plain(4)
	if string(r.Bytes()) != before {
		t.Fatal("what was read has changed")
	}
}

// What a restart forgets and finds (rule C12).
func TestC12Recovery(t *testing.T) {
	open := func(l *testLog) { l.txn(1, 0, 0, 2); l.plain(2) }
	for _, test := range []struct {
		name          string
		history       func(*testLog)
		clean, killed string
		producersLeft int
	}{
		{"an open transaction stays open", open, "0..4/4/0", "0..4/4/0", 1},
		{
			"that a marker was not replicated is forgotten",
			func(l *testLog) {
				l.txn(1, 0, 0, 2)
				l.Checkpoint()
				_, err := l.AppendMarker(Marker{Producer: kafka.Producer{ID: 1}, Commit: true}, 0, Append{NowMs: now})
				if err != nil {
					l.t.Fatal(err)
				}
			},
			"0..3/2/2", "0..3/2/2", 1,
		},
		{
			"data below the log start in the last segment is not replayed by a load, but by a recovery",
			func(l *testLog) {
				open(l)
				if _, err := l.DeleteBefore(3); err != nil {
					l.t.Fatal(err)
				}
			},
			"3..4/4/2", "3..4/4/2", 1,
		},
		{
			"nothing above the log start",
			func(l *testLog) {
				open(l)
				if _, err := l.DeleteBefore(4); err != nil {
					l.t.Fatal(err)
				}
			},
			"4..4/4/4", "4..4/4/4", 0,
		},
	} {
		for _, clean := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, clean %v", test.name, clean), func(t *testing.T) {
				l := newLog(t)
				test.history(l)
				l.Checkpoint()
				l.Recover(clean, now)
				want := test.killed
				if clean {
					want = test.clean
				}
				l.expect(want)
				if got := len(l.Producers()); got != test.producersLeft {
					t.Fatalf("%d producers, want %d: %v", got, test.producersLeft, l.Producers())
				}
			})
		}
	}
}

// After a kill the producers are those that replaying the whole log gives, over
// segments and their snapshots.
func TestC12RecoveryOverSegments(t *testing.T) {
	for _, clean := range []bool{true, false} {
		l := newLog(t, func(c *Config) { c.SegmentBytes = 200 })
		for e := range kafka.ProducerEpoch(5) {
			l.txn(1, e, 0, 1)
			l.txn(2, 0, int32(e), 1)
			l.mark(e%2 == 0, 1, e+1)
		}
		want := fmt.Sprint(l.Producers(), l.LastStableOffset())
		l.Checkpoint()
		l.Recover(clean, now)
		if got := fmt.Sprint(l.Producers(), l.LastStableOffset()); got != want {
			t.Fatalf("clean %v: got %s, want %s", clean, got, want)
		}
	}
}

// Segments that fall behind take their snapshots along; a restart then knows
// only later producers.
func TestC12RestartAfterRetention(t *testing.T) {
	l := newLog(t, func(c *Config) { c.RetentionTime = time.Hour })
	old := now - 2*time.Hour.Milliseconds()
	l.txn(1, 0, 0, 2, old, old)
	l.DeleteOldSegments(now)
	l.expect("2..2/2/2")
	l.plain(3)
	l.expect("2..5/5/2")
	l.Checkpoint()
	l.Recover(false, now)
	l.expect("2..5/5/5")
}

func TestE5LeaderEpochs(t *testing.T) {
	l := newLog(t)
	l.AssignEpoch(0)
	l.plain(3)
	l.epoch = 2
	l.AssignEpoch(2)
	l.plain(2)
	l.epoch = 3
	l.AssignEpoch(3)
	for requested, want := range map[kafka.LeaderEpoch]EpochEnd{
		-1: UndefinedEpochEnd, 0: {0, 3}, 1: {0, 3}, 2: {2, 5}, 3: {3, 5}, 4: UndefinedEpochEnd,
	} {
		if got := l.EndOfEpoch(requested); got != want {
			t.Errorf("end of epoch %d: got %v, want %v", requested, got, want)
		}
	}
	for offset, want := range map[kafka.Offset]kafka.LeaderEpoch{0: 0, 2: 0, 3: 2, 4: 2, 5: 3} {
		if got := l.EpochAt(offset); got != want {
			t.Errorf("epoch at %d: got %d, want %d", offset, got, want)
		}
	}
	if _, err := l.DeleteBefore(4); err != nil {
		t.Fatal(err)
	}
	if got := l.epochs.String(); got != "[2@4 3@5]" {
		t.Errorf("after deletion: %s", got)
	}
	if got := l.EndOfEpoch(0); got != (EpochEnd{0, 4}) {
		t.Errorf("end of an epoch before the log start: %v", got)
	}
	l.TruncateTo(5, now)
	if got := l.epochs.String(); got != "[2@4]" {
		t.Errorf("an epoch without records stays after truncation to the log end: %s", got)
	}
	l.AssignEpoch(4)
	l.AssignEpoch(5)
	if got := l.epochs.String(); got != "[2@4 5@5]" {
		t.Errorf("two leaders that wrote nothing: %s", got)
	}
}

func TestReadBounds(t *testing.T) {
	l := newLog(t)
	l.plain(3)
	l.plain(2)
	for _, test := range []struct {
		name     string
		from     kafka.Offset
		bound    kafka.Offset
		maxBytes int
		want     string
	}{
		{"whole batches from within one", 1, 5, 1 << 20, "[N(3)@0-2 N(2)@3-4] <nil>"},
		{"up to the bound", 0, 3, 1 << 20, "[N(3)@0-2] <nil>"},
		{"a batch that the bound is in is held back", 0, 4, 1 << 20, "[N(3)@0-2] <nil>"},
		{"at the bound", 3, 3, 1 << 20, "[] <nil>"},
		{"beyond the bound", 4, 3, 1 << 20, "[] <nil>"},
		{"too small for the first", 0, 5, 10, "[] <nil>"},
		{"at the end", 5, 5, 1 << 20, "[] <nil>"},
		{"beyond the end", 6, 5, 1 << 20, "OFFSET_OUT_OF_RANGE"},
		{"before the start", -1, 5, 1 << 20, "OFFSET_OUT_OF_RANGE"},
	} {
		r, _, err := l.Read(Read{From: test.from, Bound: test.bound, MaxBytes: test.maxBytes})
		got := fmt.Sprint(r.Batches(), " ", err)
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

// A follower that replays what the leader wrote has the same offsets, producers
// and index.
func TestFollowerEqualsLeader(t *testing.T) {
	leader, follower := newLog(t, func(c *Config) { c.SegmentBytes = 300 }), newLog(t, func(c *Config) { c.SegmentBytes = 300 })
	leader.txn(1, 0, 0, 2)
	leader.txn(2, 0, 0, 1)
	leader.plain(3)
	leader.mark(false, 1, 1)
	leader.txn(1, 1, 0, 1)
	leader.mark(true, 2, 1)
	for follower.LogEndOffset() < leader.LogEndOffset() {
		r, _, err := leader.Read(Read{From: follower.LogEndOffset(), Bound: leader.LogEndOffset(), MaxBytes: 150, AtLeastOne: true})
		if err != nil {
			t.Fatal(err)
		}
		follower.AppendFollower(r.Batches(), now)
		follower.FollowHighWatermark(leader.HighWatermark())
	}
	if got, want := follower.Log.String(), leader.Log.String(); got != want {
		t.Fatalf("follower %s\nleader   %s", got, want)
	}
	index := func(l *testLog) (s string) {
		for _, seg := range l.segments {
			s += fmt.Sprint(seg.base, seg.aborted)
		}
		return s
	}
	if index(follower) != index(leader) {
		t.Fatalf("follower %s\nleader   %s", index(follower), index(leader))
	}
}
