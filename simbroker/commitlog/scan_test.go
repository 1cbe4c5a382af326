package commitlog

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// scanAll shows what a scan tells of each record, and how it ends.
func scanAll(b Batch) string {
	var seen []string
	s := b.scan()
	for g, ok := s.next(); ok; g, ok = s.next() {
		seen = append(seen, fmt.Sprintf("%d/%d/%d/%d", g.timestampMs, g.offsetDelta, g.keySize, g.valueSize))
	}
	if s.err != nil {
		seen = append(seen, s.err.Error())
	}
	return strings.Join(seen, " ")
}

// packed is a batch whose header declares n records and whose body is what pack
// makes of the bytes.
func packed(codec Codec, n int32, body []byte) Batch {
	h := Build(Plainly(), []Record{{TimestampMs: now}}).Header
	h.Count, h.LastOffsetDelta, h.Attributes = n, n-1, Attributes(codec)
	return seal(h, append(make([]byte, headerBytes), body...))
}

// A real Kafka answers the same for each, but that it says nothing of offsets.
func TestA5CompressedBatches(t *testing.T) {
	row := func(deltas ...int64) []byte {
		var b []byte
		for _, d := range deltas {
			b = appendRecord(b, Record{Value: []byte("v")}, 0, d)
		}
		return b
	}
	packs := map[Codec]func([]byte) []byte{
		Gzip: packGzip, Snappy: func(b []byte) []byte { return s2.EncodeSnappy(nil, b) }, LZ4: packLZ4, Zstd: packZstd,
	}
	for _, test := range []struct {
		why  string
		n    int32
		body func(pack func([]byte) []byte) []byte
		want error
		but  map[Codec]error
	}{
		{"good", 3, func(pack func([]byte) []byte) []byte { return pack(row(0, 1, 2)) }, nil, nil},
		{"garbage", 3, func(func([]byte) []byte) []byte { return []byte("certainly not compressed data at all") }, kafka.ErrUnknownServerError, nil},
		{"nothing", 3, func(func([]byte) []byte) []byte { return nil }, kafka.ErrUnknownServerError, map[Codec]error{Zstd: kafka.ErrInvalidRecord}},
		{"cut short", 3, func(pack func([]byte) []byte) []byte { b := pack(row(0, 1, 2)); return b[:len(b)-2] }, kafka.ErrUnknownServerError, nil},
		{"bytes behind", 3, func(pack func([]byte) []byte) []byte { return append(pack(row(0, 1, 2)), 1, 2, 3) }, kafka.ErrUnknownServerError, map[Codec]error{Gzip: nil, LZ4: nil}},
		{"one record fewer than declared", 4, func(pack func([]byte) []byte) []byte { return pack(row(0, 1, 2)) }, kafka.ErrInvalidRecord, nil},
		{"one record more than declared", 2, func(pack func([]byte) []byte) []byte { return pack(row(0, 1, 2)) }, kafka.ErrInvalidRecord, nil},
		{"the same offset twice", 2, func(pack func([]byte) []byte) []byte { return pack(row(0, 0)) }, kafka.ErrUnknownServerError, nil},
		{"an offset left out", 2, func(pack func([]byte) []byte) []byte { return pack(row(0, 2)) }, kafka.ErrUnknownServerError, nil},
		{"a record cut short", 1, func(pack func([]byte) []byte) []byte { return pack([]byte{10, 0, 0}) }, kafka.ErrInvalidRecord, nil},
		{"bytes in a record", 1, func(pack func([]byte) []byte) []byte { return pack(append(row(0), 1, 1)) }, kafka.ErrInvalidRecord, nil},
	} {
		for codec, pack := range packs {
			want := test.want
			if special, ok := test.but[codec]; ok {
				want = special
			}
			l := newLog(t)
			_, err := l.AppendClient(packed(codec, test.n, test.body(pack)).Raw, Append{NowMs: now})
			if err != want {
				t.Errorf("%s, %v: got %v, want %v", test.why, codec, err, want)
			}
		}
	}
}

// Of a batch that is not compressed nobody looks at offset deltas, but sizes
// count.
func TestA5UncompressedBatches(t *testing.T) {
	good := appendRecord(nil, Record{Value: []byte("v")}, 0, 0)
	for _, test := range []struct {
		why  string
		n    int32
		body []byte
		want error
	}{
		{"the same offset twice", 2, append(bytes.Clone(good), good...), nil},
		{"one record fewer than declared", 2, good, kafka.ErrInvalidRecord},
		{"one record more than declared", 1, append(bytes.Clone(good), good...), kafka.ErrInvalidRecord},
		{"bytes in a record", 1, append([]byte{good[0] + 2}, append(bytes.Clone(good[1:]), 0)...), kafka.ErrInvalidRecord},
		{"a negative size", 1, []byte{9, 0, 0, 0, 0, 0, 0}, kafka.ErrInvalidRecord},
		{"nothing", 1, nil, kafka.ErrInvalidRecord},
	} {
		l := newLog(t)
		if _, err := l.AppendClient(packed(Uncompressed, test.n, test.body).Raw, Append{NowMs: now}); err != test.want {
			t.Errorf("%s: got %v, want %v", test.why, err, test.want)
		}
	}
}

// bomb is a batch of one record of so many bytes, gzipped.
func bomb(size int) Batch {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	head := binary.AppendVarint([]byte{0, 0, 0, 1}, int64(size))
	w.Write(append(binary.AppendVarint(nil, int64(len(head)+size+1)), head...))
	zeros := make([]byte, 1<<20)
	for range size >> 20 {
		w.Write(zeros)
	}
	w.Write([]byte{0})
	w.Close()
	return packed(Gzip, 1, out.Bytes())
}

// A batch that decompresses to a thousand times its size is taken, as Kafka
// takes it, and neither that nor a lookup costs memory. Where its records are
// wanted whole, it is refused.
func TestBatchesThatDecompressToALot(t *testing.T) {
	const size = 33 << 20
	b := bomb(size)
	again := bytes.Clone(b.Raw)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	l := newLog(t)
	if _, err := l.AppendClient(b.Raw, Append{NowMs: now}); err != nil {
		t.Fatal(err)
	}
	if got := lookup(t, l.Log, now); got != fmt.Sprint(0, now) {
		t.Errorf("found %s", got)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("used %d bytes", used)
	}
	if _, err := b.Records(); !errors.Is(err, kafka.ErrMessageTooLarge) {
		t.Errorf("its records: %v", err)
	}
	anew := newLog(t, func(c *Config) { c.Compression = CompressTo(Uncompressed) })
	if _, err := anew.AppendClient(again, Append{NowMs: now}); err != kafka.ErrMessageTooLarge {
		t.Errorf("to be compressed anew: %v", err)
	}
	// Nor does a block of snappy that only says it is large.
	if _, err := newLog(t).AppendClient(packed(Snappy, 1, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}).Raw, Append{NowMs: now}); err != kafka.ErrUnknownServerError {
		t.Errorf("snappy: %v", err)
	}
}

// compression.type: a batch with the wanted codec stays as it is, another is
// compressed anew, with its producer and its transaction, and its offsets
// counted from 0.
func TestCompressionType(t *testing.T) {
	for _, to := range []Codec{Uncompressed, Gzip, Snappy, LZ4, Zstd} {
		for name, from := range map[string]Batch{
			"none": Build(Plainly(), recordsOfEveryKind), "gzip": compressed(Gzip, packGzip),
			"snappy": compressed(Snappy, packXerial), "lz4": compressed(LZ4, packLZ4), "zstd": compressed(Zstd, packZstd),
		} {
			l := newLog(t, func(c *Config) { c.Compression = CompressTo(to) })
			same, raw := from.Attributes.Codec() == to, bytes.Clone(from.Raw)
			if _, err := l.AppendClient(from.Raw, Append{NowMs: now}); err != nil {
				t.Fatalf("%s to %v: %v", name, to, err)
			}
			for b := range l.Batches(0) {
				records, err := b.Records()
				if err != nil || len(records) != 3 || string(records[0].Value) != "v" || b.MaxTimestampMs != 3000 || !b.ValidCRC() {
					t.Errorf("%s to %v: %v, %v", name, to, records, err)
				}
				if b.Attributes.Codec() != to || same != bytes.Equal(b.Raw[headerBytes:], raw[headerBytes:]) {
					t.Errorf("%s to %v: got %v, %d bytes of %d", name, to, b.Attributes.Codec(), len(b.Raw), len(raw))
				}
			}
		}
	}
	l := newLog(t, func(c *Config) { c.Compression = CompressTo(LZ4) })
	l.txn(7, 0, 0, 3)
	for b := range l.Batches(0) {
		if b.String() != "T(7,0,0,3)@0-2" {
			t.Errorf("a transaction: got %v", b)
		}
	}
	gap := packed(Gzip, 2, packGzip(append(appendRecord(nil, Record{}, 0, 0), appendRecord(nil, Record{}, 0, 2)...)))
	if _, err := l.AppendClient(gap.Raw, Append{NowMs: now}); err != nil {
		t.Errorf("an offset left out: %v", err)
	}
	l.AdvanceHighWatermark(l.LogEndOffset())
	if l.LogEndOffset() != 5 {
		t.Errorf("the log ends at %d", l.LogEndOffset())
	}
}

// Every record that is wrong is named, in Kafka's words.
func TestRecordErrors(t *testing.T) {
	l := newLog(t, func(c *Config) { c.Compact = true })
	keyless := Record{TimestampMs: now, Value: []byte("v")}
	_, err := l.AppendClient(Build(Plainly(), []Record{keyless, {TimestampMs: now, Key: []byte("k")}, keyless, keyless, keyless}).Raw, Append{
		Partition: kafka.TopicPartition{Topic: "orders", Partition: 3}, NowMs: now,
	})
	var refused *RecordErrors
	if !errors.As(err, &refused) || refused.Err != kafka.ErrInvalidRecord || len(refused.Records) != 4 || refused.Records[1].Index != 2 {
		t.Fatalf("got %#v", err)
	}
	const each = "RecordError(batchIndex=%d, message='Compacted topic cannot accept message without key in topic partition orders-3')"
	if want := fmt.Sprintf("One or more records have been rejected due to 4 record errors in total, and only showing the first three errors at most: ["+each+", "+each+", "+each+"]", 0, 2, 3); err.Error() != want {
		t.Errorf("got  %s\nwant %s", err, want)
	}

	late := Record{TimestampMs: now + 7_200_000, Value: []byte("v")}
	_, err = newLog(t).AppendClient(Build(Plainly(), []Record{keyless, late}).Raw, Append{NowMs: now})
	if !errors.As(err, &refused) || refused.Err != kafka.ErrInvalidTimestamp || err.Error() != "One or more records have been rejected due to invalid timestamp" {
		t.Fatalf("got %#v", err)
	}
	want := fmt.Sprintf("Timestamp %d of message with offset 1 is out of range. The timestamp should be within [%d, %d]", late.TimestampMs, now-(1<<63-1), now+3_600_000)
	if got := refused.Records[0]; got.Index != 1 || got.Message != want {
		t.Errorf("got  %+v\nwant %s", got, want)
	}

	b := Build(Plainly(), []Record{{TimestampMs: now, Key: []byte("k"), Value: []byte("v")}})
	b.Attributes |= logAppendTimeFlag
	stamped := seal(b.Header, b.Raw)
	_, err = newLog(t, func(c *Config) { c.TimestampType = LogAppendTime }).AppendClient(bytes.Clone(stamped.Raw), Append{NowMs: now})
	if !errors.As(err, &refused) || refused.Records[0].Message != fmt.Sprintf("Invalid timestamp type in message DefaultRecord(offset=0, timestamp=%d, key=1 bytes, value=1 bytes). Producer should not set timestamp type to LogAppendTime.", now) {
		t.Errorf("got %v %+v", err, refused)
	}
	// Where producers set timestamps, the bit is cleared, and a wrong maximum
	// put right.
	stamped.Header.MaxTimestampMs += 5_000_000
	l = newLog(t)
	if _, err := l.AppendClient(seal(stamped.Header, stamped.Raw).Raw, Append{NowMs: stamped.Header.MaxTimestampMs}); err != nil {
		t.Fatal(err)
	}
	l.AdvanceHighWatermark(1)
	plain := Build(Plainly(), []Record{{TimestampMs: now + 1, Value: []byte("v")}})
	plain.Header.MaxTimestampMs = now + 99
	if _, err := l.AppendClient(seal(plain.Header, plain.Raw).Raw, Append{NowMs: now}); err != nil {
		t.Fatal(err)
	}
	l.AdvanceHighWatermark(2)
	for b := range l.Batches(1) {
		if b.Attributes != 0 || b.MaxTimestampMs != now+1 || !b.ValidCRC() {
			t.Errorf("got %+v", b.Header)
		}
	}
}
