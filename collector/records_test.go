package collector

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/lso-exporter/lso-exporter/lag"
)

// TestRecordsOfAnAnswer counts what a read_committed consumer would get, by the
// client's algorithm (rule D6).
func TestRecordsOfAnAnswer(t *testing.T) {
	aborted := func(producer, first int64) kmsg.FetchResponseTopicPartitionAbortedTransaction {
		return kmsg.FetchResponseTopicPartitionAbortedTransaction{ProducerID: producer, FirstOffset: first}
	}
	type list = []kmsg.FetchResponseTopicPartitionAbortedTransaction
	zstd, gzip, snappy, lz4 := kgo.ZstdCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression()
	broken := logOf(t, batchOf{base: 0, last: 3})
	broken[len(broken)-1]++ // of what the CRC covers
	huge := logOf(t, batchOf{base: 0, last: 0, codec: &zstd, value: make([]byte, maxDecompressedBytes+1)})
	for _, c := range []struct {
		reason  string
		from    lag.Offset
		lso     lag.Offset
		log     []byte
		aborted list
		want    string // committed/all until
	}{
		{reason: "plain records", from: 0, lso: 4, log: logOf(t, batchOf{base: 0, last: 3}), want: "4/4 4"},
		{reason: "from the middle of a batch", from: 2, lso: 4, log: logOf(t, batchOf{base: 0, last: 3}), want: "2/2 4"},
		{reason: "an end marker is no record", from: 3, lso: 4, log: logOf(t, batchOf{base: 3, last: 3, producer: 7, control: "commit"}), want: "0/0 4"},
		{reason: "a committed transaction", from: 0, lso: 4,
			log: logOf(t, batchOf{base: 0, last: 2, producer: 7}, batchOf{base: 3, last: 3, producer: 7, control: "commit"}), want: "3/3 4"},
		{reason: "an aborted transaction", from: 0, lso: 4, aborted: list{aborted(7, 0)},
			log: logOf(t, batchOf{base: 0, last: 2, producer: 7}, batchOf{base: 3, last: 3, producer: 7, control: "abort"}), want: "0/3 4"},
		{reason: "aborted, then committed by the same producer", from: 0, lso: 8, aborted: list{aborted(7, 0)},
			log: logOf(t, batchOf{base: 0, last: 2, producer: 7}, batchOf{base: 3, last: 3, producer: 7, control: "abort"},
				batchOf{base: 4, last: 6, producer: 7}, batchOf{base: 7, last: 7, producer: 7, control: "commit"}), want: "3/6 8"},
		{reason: "two transactions of one producer, both aborted, listed out of order", from: 0, lso: 6, aborted: list{aborted(7, 3), aborted(7, 0)},
			log: logOf(t, batchOf{base: 0, last: 1, producer: 7}, batchOf{base: 2, last: 2, producer: 7, control: "abort"},
				batchOf{base: 3, last: 4, producer: 7}, batchOf{base: 5, last: 5, producer: 7, control: "abort"}), want: "0/4 6"},
		{reason: "two producers, one aborts", from: 0, lso: 6, aborted: list{aborted(7, 0)},
			log: logOf(t, batchOf{base: 0, last: 1, producer: 7}, batchOf{base: 2, last: 3, producer: 8},
				batchOf{base: 4, last: 4, producer: 7, control: "abort"}, batchOf{base: 5, last: 5, producer: 8, control: "commit"}), want: "2/4 6"},
		{reason: "an aborted transaction that began before the position", from: 2, lso: 4, aborted: list{aborted(7, 0)},
			log: logOf(t, batchOf{base: 0, last: 2, producer: 7}, batchOf{base: 3, last: 3, producer: 7, control: "abort"}), want: "0/1 4"},
		{reason: "an aborted transaction beyond the answer is listed too", from: 0, lso: 4, aborted: list{aborted(7, 90)},
			log: logOf(t, batchOf{base: 0, last: 2, producer: 7}, batchOf{base: 3, last: 3, producer: 7, control: "commit"}), want: "3/3 4"},
		{reason: "plain records within somebody's aborted transaction", from: 0, lso: 5, aborted: list{aborted(7, 0)},
			log: logOf(t, batchOf{base: 0, last: 1, producer: 7}, batchOf{base: 2, last: 3}, batchOf{base: 4, last: 4, producer: 7, control: "abort"}), want: "2/4 5"},
		{reason: "compaction left gaps and empty batches", from: 0, lso: 9,
			log: logOf(t, batchOf{base: 0, last: 5, offsets: []int64{1, 4}}, batchOf{base: 6, last: 8, offsets: []int64{}}), want: "2/2 9"},
		{reason: "the last stable offset has moved on meanwhile", from: 0, lso: 2, log: logOf(t, batchOf{base: 0, last: 3}), want: "2/2 4"},
		{reason: "the answer ends before the last stable offset", from: 0, lso: 9, log: logOf(t, batchOf{base: 0, last: 3}), want: "4/4 4"},
		{reason: "the answer ends within a batch", from: 0, lso: 9, log: logOf(t, batchOf{base: 0, last: 3}, batchOf{base: 4, last: 8})[:100], want: "4/4 4"},
		{reason: "the answer ends within its first batch", from: 0, lso: 4, log: logOf(t, batchOf{base: 0, last: 3})[:70], want: "0/0 0 large"},
		{reason: "zstd", from: 1, lso: 4, log: logOf(t, batchOf{base: 0, last: 3, codec: &zstd}), want: "3/3 4"},
		{reason: "gzip", from: 1, lso: 4, log: logOf(t, batchOf{base: 0, last: 3, codec: &gzip}), want: "3/3 4"},
		{reason: "snappy", from: 1, lso: 4, log: logOf(t, batchOf{base: 0, last: 3, codec: &snappy}), want: "3/3 4"},
		{reason: "lz4, aborted", from: 1, lso: 5, aborted: list{aborted(7, 0)},
			log: logOf(t, batchOf{base: 0, last: 3, producer: 7, codec: &lz4, value: bytes.Repeat([]byte("x"), 999)}, batchOf{base: 4, last: 4, producer: 7, control: "abort"}), want: "0/3 5"},
		{reason: "a batch that is damaged proves nothing", from: 0, lso: 4, log: broken, want: "other"},
		{reason: "a batch that decompresses to more than is sensible proves nothing", from: 0, lso: 1, log: huge, want: "other"},
		{reason: "nothing", from: 0, lso: 4, log: nil, want: "0/0 0 large"},
	} {
		t.Run(c.reason, func(t *testing.T) {
			f := newFake(1)
			p := f.topic("orders", 1).partitions[0]
			p.lso, p.hwm, p.leo, p.records, p.aborted = int64(c.lso), int64(c.lso), int64(c.lso), c.log, c.aborted
			s := NewSweeper(f, Options{Serial: true})
			s.consult(fixed{fetches: []lag.WantedFetch{{Topic: "orders", From: c.from}}})
			got := partition(t, s.Sweep(t.Context()), "orders", 0).Fetches
			if len(got) != 1 || got[0].From != c.from {
				t.Fatalf("fetches %+v", got)
			}
			if text := showFetch(got[0]); text != c.want {
				t.Errorf("%s, want %s", text, c.want)
			}
		})
	}
}

// showFetch renders what a Fetch found.
func showFetch(f lag.Fetch) string {
	if f.Failed != "" {
		return string(f.Failed)
	}
	text := fmt.Sprintf("%d/%d %d", f.Committed, f.All, f.Until)
	if f.Large {
		text += " large"
	}
	return text
}

// fixed is an advisor that always wants the same.
type fixed struct {
	fetches []lag.WantedFetch
	dates   func(*lag.Sample) []lag.WantedDate
}

func (f fixed) WantFetches(*lag.Sample) []lag.WantedFetch { return f.fetches }

func (f fixed) WantConfirmations(*lag.Sample) []lag.WantedConfirmation { return nil }

func (f fixed) WantDates(s *lag.Sample) []lag.WantedDate {
	if f.dates == nil {
		return nil
	}
	return f.dates(s)
}

// TestFetchesAreBounded: one request a leader, each partition once, so many
// bytes in all; those whose batches are large come first.
func TestFetchesAreBounded(t *testing.T) {
	f := newFake(2)
	f.topic("orders", 400)
	var wants []lag.WantedFetch
	for i := range int32(400) {
		wants = append(wants, lag.WantedFetch{Topic: "orders", Partition: i, From: 1}, lag.WantedFetch{Topic: "orders", Partition: i, From: 2})
	}
	wants = append(wants, lag.WantedFetch{Topic: "orders", Partition: 397, From: 3, Large: true})
	var requests []*kmsg.FetchRequest
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if r, ok := req.(*kmsg.FetchRequest); ok {
			requests = append(requests, r)
		}
		return nil, nil
	}
	s := NewSweeper(f, Options{Serial: true})
	s.consult(fixed{fetches: wants})
	s.Sweep(t.Context())
	if len(requests) != 2 {
		t.Fatalf("%d requests, want one a leader", len(requests))
	}
	for i, r := range requests {
		bytes, seen := int32(0), map[int32]bool{}
		for _, topic := range r.Topics {
			for _, p := range topic.Partitions {
				bytes += p.PartitionMaxBytes
				if seen[p.Partition] {
					t.Errorf("partition %d twice", p.Partition)
				}
				seen[p.Partition] = true
			}
		}
		if bytes > maxFetchBytes || r.MaxBytes != maxFetchBytes || r.MaxWaitMillis != 0 || r.MinBytes != 0 || r.IsolationLevel != 1 || r.SessionEpoch != -1 {
			t.Errorf("request %d asks for %d bytes: %+v", i, bytes, r)
		}
		if first := r.Topics[0].Partitions[0]; i == 1 && (first.Partition != 397 || first.FetchOffset != 3 || first.PartitionMaxBytes != largeFetchBytes) {
			t.Errorf("the first is %+v", first)
		}
	}
}

// TestReadIsMissing: without the right to read a topic nothing is known, the
// lack is counted, and nobody asks again each sweep.
func TestReadIsMissing(t *testing.T) {
	f := newFake(1)
	f.topic("orders", 1).partitions[0].fetchError = 29
	f.group("g", 1).commit("orders", 0, 3)
	runner := NewRunner(f, Options{Serial: true, Period: 30 * time.Second, Now: stepping(), NoTimeIndex: true, Disabled: noLookUps})
	for range 6 {
		runner.Sweep(t.Context())
	}
	row := runner.View().Groups[0].Topics[0].Partitions[0]
	if row.State != lag.StateUndetermined || row.Readable.IsKnown() {
		t.Errorf("state %s, readable %v", row.State, row.Readable)
	}
	if n := count(f.take())["Fetch"]; n != 1 {
		t.Errorf("%d Fetch requests in 6 sweeps, want 1", n)
	}
}

// stepping returns a clock that goes on by a second whenever somebody looks at
// it, so that a sweep takes as long as it has requests, about half a minute.
func stepping() func() time.Time {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

// TestF08 is field report F08: on a fresh start 300 groups' partitions have
// nothing left below the high watermark, and 60 wait at a last stable offset.
// Nothing is fetched for any of them, no sweep waits, no age is 0.
func TestF08(t *testing.T) {
	f := newFake(3)
	topic := f.topic("orders", 360)
	g := f.group("g", 1)
	for i, p := range topic.partitions {
		p.start, p.lso, p.hwm, p.leo = 9, 9, 9, 9
		if i >= 300 {
			p.start, p.hwm, p.leo = 0, 20, 20
			g.commit("orders", int32(i), 9)
		} else {
			g.commit("orders", int32(i), 5)
		}
	}
	f.before = func(_ int32, req kmsg.Request) (kmsg.Response, error) {
		if req.Key() == kmsg.Fetch.Int16() {
			t.Error("a Fetch")
		}
		return nil, nil
	}
	runner := NewRunner(f, Options{Serial: true, Now: stepping(), Disabled: noLookUps})
	for sweep := range 12 {
		begun := time.Now()
		runner.Sweep(context.Background())
		if took := time.Since(begun); took > time.Second {
			t.Fatalf("sweep %d took %v", sweep, took)
		}
		view := runner.View()
		rows := view.Groups[0].Topics[0].Partitions
		if len(rows) != 360 || !view.Complete() {
			t.Fatalf("sweep %d: %d rows, missed %v", sweep, len(rows), view.Missed)
		}
		for _, row := range rows {
			if row.LSOLag != lag.Known(lag.Count(0)) || row.LSOLagFor.IsKnown() {
				t.Fatalf("sweep %d, partition %d: LSO lag %v, age %v", sweep, row.Partition, row.LSOLag, row.LSOLagFor)
			}
			if row.Partition < 300 && row.HWMLagFor.IsKnown() {
				t.Fatalf("sweep %d, partition %d: nothing is there, age %v", sweep, row.Partition, row.HWMLagFor)
			}
		}
	}
}

// TestOptionalQuestionsCostNobodyElse: a broker that does not answer an optional
// question is spared it, and answers the rest.
func TestOptionalQuestionsCostNobodyElse(t *testing.T) {
	f := newFake(2)
	f.topic("orders", 2)
	asked := 0
	f.before = func(broker int32, req kmsg.Request) (kmsg.Response, error) {
		if broker == 1 && req.Key() == kmsg.Fetch.Int16() {
			asked++
			return nil, context.DeadlineExceeded
		}
		return nil, nil
	}
	s := NewSweeper(f, Options{Serial: true})
	s.consult(fixed{fetches: []lag.WantedFetch{{Topic: "orders", Partition: 0, From: 1}, {Topic: "orders", Partition: 1, From: 1}}})
	sweeps := map[string]int{}
	for range 20 {
		sample := s.Sweep(t.Context())
		sweeps[missed(sample)]++
		for i := range 2 {
			if got := offsets(partition(t, sample, "orders", i)); got != "0 5 7 9" {
				t.Fatalf("partition %d: offsets %s", i, got)
			}
		}
		if n := len(partition(t, sample, "orders", 1).Fetches); n != 1 {
			t.Errorf("%d Fetches of the other broker", n)
		}
	}
	if want := map[string]int{"[broker 1: suspended 1]": 16, "[broker 1: timeout 1]": 4}; !maps.Equal(sweeps, want) || asked != 4 {
		t.Errorf("asked %d times, missed %v, want %v", asked, sweeps, want)
	}
}
