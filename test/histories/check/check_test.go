package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var at = Partition{Topic: "t", Index: 0}

// complain compares complaints with the beginnings that are wanted, one each.
func complain(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("complaints %q, want %q", got, want)
	}
	for i := range got {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("complaint %q, want %q", got[i], want[i])
		}
	}
}

// batchAt is a batch as a broker has it, at an offset.
func batchAt(offset int64, p Producer, inTransaction bool, values ...string) []byte {
	raw := Batch(p, 0, inTransaction, 1, values...)
	for i := range 8 {
		raw[7-i] = byte(offset >> (8 * i))
	}
	return raw
}

// What a consumer is to leave out is what the answer calls aborted, and no more: a
// batch that the limit of bytes cut off is neither.
func TestConsume(t *testing.T) {
	one, two := Producer{ID: 1}, Producer{ID: 2}
	cut := batchAt(5, two, true, "e")
	answer := kmsg.FetchResponseTopicPartition{
		RecordBatches:       slices.Concat(batchAt(0, one, true, "a", "b"), batchAt(2, two, true, "c"), batchAt(3, NoProducer, false, "d", "d2"), cut[:len(cut)-1]),
		AbortedTransactions: []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 1, FirstOffset: 0}, {ProducerID: 2, FirstOffset: 4}},
	}
	for _, c := range []struct {
		from      int64
		committed bool
		want      string
	}{
		{0, false, "[{0 a} {1 b} {2 c} {3 d} {4 d2}] 5"},
		{0, true, "[{2 c} {3 d} {4 d2}] 5"},
		{4, true, "[{4 d2}] 5"},
	} {
		records, next, err := Consume(&answer, c.from, c.committed)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(records, " ", next); got != c.want {
			t.Errorf("from %d, committed %v: %s, want %s", c.from, c.committed, got, c.want)
		}
	}
	answer.RecordBatches[len(answer.RecordBatches)-len(cut)] ^= 1 // the last value of the batch before
	if _, _, err := Consume(&answer, 0, false); err == nil {
		t.Error("a wrong CRC went unnoticed")
	}
}

func TestOffsets(t *testing.T) {
	o := NewOffsets()
	see := func(epoch int32, what string, offset, sent, answered int64) {
		o.See(at, Sight{epoch, what, offset, sent, answered})
	}
	see(1, HighWatermark, 10, 1, 2)
	see(1, LogEnd, 10, 3, 4)
	see(1, LastStable, 9, 5, 6)
	see(2, HighWatermark, 8, 7, 8) // another leader may trail
	see(1, LogEnd, 8, 1, 9)        // asked before any answer
	complain(t, o.List())
	see(1, LogEnd, 9, 10, 11)
	complain(t, o.List(), "log end offset 9 after high watermark 10", "log end offset 9 after log end offset 10")
}

func TestOffsetsTogether(t *testing.T) {
	o := NewOffsets()
	o.Together(at, 3, 5, 7)
	o.Together(at, 0, -1, -1)
	complain(t, o.List())
	o.Together(at, 0, 8, 7)
	o.Together(at, 8, 7, 7)
	o.Together(at, 6, 5, 7)
	o.Cut(at)
	o.Together(at, 6, 5, 7)
	complain(t, o.List(), "last stable offset 8 above", "log start offset 8 above high", "log start offset 6 above last stable")
}

// Each promise that is broken is one complaint.
func TestLedger(t *testing.T) {
	whole := []Record{{0, "plain"}, {1, "kept"}, {2, "gone"}}
	for _, c := range []struct {
		reason string
		log    Log
		want   []string
	}{
		{"all is well", Log{All: whole, Committed: whole[:2]}, nil},
		{"lost", Log{All: whole[1:], Committed: whole[1:2]}, []string{`"plain" was acknowledged by all in-sync replicas at 0 and is lost`, `"plain" was acknowledged and committed, and is not read`}},
		{"deleted", Log{Start: 1, All: whole[1:], Committed: whole[1:2]}, nil},
		{"hidden", Log{All: whole, Committed: whole[:1]}, []string{`"kept" was acknowledged and committed, and is not read`}},
		{"shown", Log{All: whole, Committed: whole}, []string{`"gone" of abort, which is aborted, is read`}},
		{"doubled", Log{All: append(slices.Clone(whole), Record{3, "plain"}), Committed: whole[:2]}, []string{`"plain" of an idempotent producer is there 2 times`}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			l := NewLedger()
			l.Wrote(at, nil, true, "plain")
			l.Wrote(at, &Transaction{Name: "commit", Outcome: Committed}, true, "kept")
			l.Wrote(at, &Transaction{Name: "abort", Outcome: Aborted}, true, "gone")
			for i, v := range []string{"plain", "kept", "gone"} {
				l.Acknowledged(int64(i), true, v)
			}
			l.Judge(map[Partition]Log{at: c.log})
			complain(t, l.List(), c.want...)
			l.Loosen(at)
			before := len(l.List())
			l.Judge(map[Partition]Log{at: c.log})
			complain(t, l.List()[before:])
		})
	}
}

func TestLedgerAtOnce(t *testing.T) {
	l := NewLedger()
	txn := &Transaction{Name: "x"}
	l.Wrote(at, txn, true, "a", "b")
	l.Acknowledged(4, true, "a", "b")
	l.Saw("r", at, false, []Record{{4, "a"}})
	complain(t, l.List())
	l.Saw("r", at, true, []Record{{4, "a"}})
	l.Saw("r", at, false, []Record{{6, "b"}})
	l.Saw("r", at, false, []Record{{7, "c"}})
	l.Saw("r", Partition{Topic: "u"}, false, []Record{{4, "a"}})
	txn.Outcome = Committed
	l.Saw("r", at, true, []Record{{5, "b"}})
	complain(t, l.List(), "which is open, was read in read_committed", "acknowledged at 5", "which nobody wrote", "which was written to t-0")
}

// A transaction of which nobody knows how it ended is whole all the same.
func TestLedgerWhole(t *testing.T) {
	l := NewLedger()
	l.Wrote(at, &Transaction{Name: "x", Outcome: Unknown}, true, "a", "b")
	l.Acknowledged(0, true, "a", "b")
	all := []Record{{0, "a"}, {1, "b"}}
	l.Judge(map[Partition]Log{at: {All: all}})
	l.Judge(map[Partition]Log{at: {All: all, Committed: all}})
	complain(t, l.List())
	l.Judge(map[Partition]Log{at: {All: all, Committed: all[:1]}})
	complain(t, l.List(), `record "a" in t-0 is read in read_committed, and record "b" in t-0 is not`)
}

func TestPipeline(t *testing.T) {
	out := Partition{Topic: "out"}
	input := map[Partition][]Record{at: {{0, "a"}, {2, "b"}, {5, "c"}}}
	made := func(offsets ...int64) map[Partition][]Record {
		var records []Record
		for i, o := range offsets {
			records = append(records, Record{int64(i), Output(at, o, i)})
		}
		return map[Partition][]Record{out: records}
	}
	for _, c := range []struct {
		reason    string
		committed int64
		output    map[Partition][]Record
		want      []string
	}{
		{"all is well", 6, made(0, 2, 5), nil},
		{"not there yet", 3, made(0, 2), nil},
		{"gap", 6, made(0, 5), []string{"t-0@2 was read, and nothing was written for it"}},
		{"duplicate", 6, made(0, 2, 2, 5), []string{"t-0@2 was written 2 times"}},
		{"uncommitted", 3, made(0, 2, 5), []string{"t-0@5 was not committed as read"}},
		{"out of nothing", 6, made(0, 1, 2, 5), []string{"of no committed record"}},
		{"out of order", 6, made(2, 0, 5), []string{"comes before what stands before it"}},
	} {
		t.Run(c.reason, func(t *testing.T) {
			var p Pipeline
			p.Judge(input, map[Partition]int64{at: c.committed}, c.output)
			complain(t, p.List(), c.want...)
		})
	}
}
