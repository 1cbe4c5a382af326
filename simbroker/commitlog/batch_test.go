package commitlog

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

var recordsOfEveryKind = []Record{
	{TimestampMs: 1000, Key: []byte("k"), Value: []byte("v"), Headers: []RecordHeader{{Key: "h", Value: []byte("x")}, {Key: "null"}}},
	{TimestampMs: 3000, Value: []byte{}},
	{TimestampMs: 2000, Key: []byte{}},
}

// A1 fixes every byte of a batch.
func TestA1Layout(t *testing.T) {
	b := Build(Producing{Producer: kafka.Producer{ID: 7, Epoch: 2}, BaseSequence: 5, Transactional: true},
		[]Record{{TimestampMs: 1000, Key: []byte("k"), Value: []byte("v")}, {TimestampMs: 1002}})
	b.stamp(9, 4)
	want := "0000000000000009" + // base offset
		"00000041" + "00000004" + "02" + // length, leader epoch, magic
		fmt.Sprintf("%08x", binary.BigEndian.Uint32(b.Raw[17:])) + // CRC
		"0010" + "00000001" + // attributes, last offset delta
		"00000000000003e8" + "00000000000003ea" + // base and max timestamp
		"0000000000000007" + "0002" + "00000005" + "00000002" + // producer, sequence, count
		"10" + "00" + "00" + "00" + "026b" + "0276" + "00" + // length 8, attributes, deltas, key, value, headers
		"0c" + "00" + "04" + "02" + "01" + "01" + "00"
	if got := hex.EncodeToString(b.Raw); got != want {
		t.Fatalf("got  %s\nwant %s", got, want)
	}
	if !b.ValidCRC() {
		t.Fatal("the stamps are within the CRC")
	}
}

func TestA4Marker(t *testing.T) {
	for _, m := range []Marker{
		{Producer: kafka.Producer{ID: 9, Epoch: 3}, Commit: true, CoordinatorEpoch: 5},
		{Producer: kafka.Producer{ID: 9, Epoch: 3}, CoordinatorEpoch: -1},
	} {
		b, err := Parse(BuildMarker(m, 1000).Raw)
		if err != nil || len(b.Raw) != 78 || b.Attributes != 0x30 || b.BaseSequence != -1 || b.Count != 1 || !b.ValidCRC() {
			t.Fatalf("%v: %d bytes, %+v, %v", m, len(b.Raw), b.Header, err)
		}
		if got, ok := b.Marker(); !ok || got != m {
			t.Fatalf("got %v %v, want %v", got, ok, m)
		}
	}
	if _, ok := Build(Plainly(), []Record{{}}).Marker(); ok {
		t.Fatal("a data batch is a marker")
	}
}

func TestA3LastSequence(t *testing.T) {
	for _, test := range []struct{ base, delta, want int32 }{
		{0, 0, 0}, {5, 2, 7}, {2147483646, 1, 2147483647}, {2147483646, 3, 1}, {2147483647, 1, 0}, {-1, 4, -1},
	} {
		if got := (Header{BaseSequence: test.base, LastOffsetDelta: test.delta}).LastSequence(); got != test.want {
			t.Errorf("%d + %d: got %d, want %d", test.base, test.delta, got, test.want)
		}
	}
}

// compressed is a batch of the records as a client compresses them.
func compressed(codec Codec, pack func([]byte) []byte) Batch {
	b := Build(Plainly(), recordsOfEveryKind)
	h := b.Header
	h.Attributes |= Attributes(codec)
	return seal(h, append(make([]byte, headerBytes), pack(b.Raw[headerBytes:])...))
}

func packGzip(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func packLZ4(b []byte) []byte {
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

func packXerial(b []byte) []byte {
	out := append(slices.Clone(xerialMagic), 0, 0, 0, 1, 0, 0, 0, 1)
	for _, half := range [][]byte{b[:len(b)/2], b[len(b)/2:]} {
		block := s2.EncodeSnappy(nil, half)
		out = append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
	}
	return out
}

func packZstd(b []byte) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	return w.EncodeAll(b, nil)
}

func TestRecordsOfEveryCodec(t *testing.T) {
	for name, b := range map[string]Batch{
		"none":           Build(Plainly(), recordsOfEveryKind),
		"gzip":           compressed(Gzip, packGzip),
		"snappy, bare":   compressed(Snappy, func(b []byte) []byte { return s2.EncodeSnappy(nil, b) }),
		"snappy, framed": compressed(Snappy, packXerial),
		"lz4":            compressed(LZ4, packLZ4),
		"zstd":           compressed(Zstd, packZstd),
	} {
		b.stamp(10, 0)
		got, err := b.Records()
		want := slices.Clone(recordsOfEveryKind)
		for i := range want {
			want[i].Offset = kafka.Offset(10 + i)
		}
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
			t.Errorf("%s: %v\ngot  %#v\nwant %#v", name, err, got, want)
		}
		if found := scanAll(b); found != "1000/0/1/1 3000/1/-1/0 2000/2/0/-1" {
			t.Errorf("%s: a scan finds %s", name, found)
		}
	}
}

func TestRecordsThatCannotBeDecoded(t *testing.T) {
	good := Build(Plainly(), recordsOfEveryKind)
	garbage := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	for name, test := range map[string]struct {
		b    Batch
		want error
	}{
		"cut short":         {seal(good.Header, slices.Clone(good.Raw[:len(good.Raw)-1])), kafka.ErrInvalidRecord},
		"varint too long":   {seal(good.Header, append(slices.Clone(good.Raw[:headerBytes]), garbage...)), kafka.ErrInvalidRecord},
		"gzip garbage":      {compressed(Gzip, func([]byte) []byte { return garbage }), kafka.ErrCorruptMessage},
		"snappy garbage":    {compressed(Snappy, func([]byte) []byte { return garbage }), kafka.ErrCorruptMessage},
		"snappy frame only": {compressed(Snappy, func([]byte) []byte { return xerialMagic }), kafka.ErrCorruptMessage},
		"snappy frame cut":  {compressed(Snappy, func(b []byte) []byte { return packXerial(b)[:20] }), kafka.ErrCorruptMessage},
		"lz4 garbage":       {compressed(LZ4, func([]byte) []byte { return garbage }), kafka.ErrCorruptMessage},
		"zstd garbage":      {compressed(Zstd, func([]byte) []byte { return garbage }), kafka.ErrCorruptMessage},
		"unknown codec":     {compressed(5, func(b []byte) []byte { return b }), kafka.ErrCorruptMessage},
	} {
		if _, err := test.b.Records(); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", name, err, test.want)
		}
	}
}

// Whatever bytes come, taking them apart ends with an answer.
func FuzzBatch(f *testing.F) {
	f.Add(Build(Plainly(), recordsOfEveryKind).Raw)
	f.Add(BuildMarker(Marker{}, 0).Raw)
	f.Add(compressed(Snappy, packXerial).Raw)
	f.Fuzz(func(t *testing.T, data []byte) {
		raw, rest, err := Split(data)
		if err != nil || raw == nil {
			return
		}
		if len(raw)+len(rest) != len(data) {
			t.Fatalf("%d and %d bytes of %d", len(raw), len(rest), len(data))
		}
		b, err := Parse(raw)
		if err != nil {
			return
		}
		b.scan()
		b.Marker()
		if records, err := b.Records(); err == nil && int32(len(records)) != b.Count {
			t.Fatalf("%d records, the header says %d", len(records), b.Count)
		}
	})
}

// Small batches that were appended one after the other are read without a
// copy; others are put together.
func TestRecordsInARow(t *testing.T) {
	l := newLog(t)
	for range 3 {
		l.plain(1)
	}
	r, _, err := l.Read(Read{From: 0, Bound: 3, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if row := r.row(); len(row) != r.Size() || &row[0] != &r.Batches()[0].Raw[0] {
		t.Fatal("three small batches do not lie in a row")
	}
	large := Build(Plainly(), []Record{{Value: make([]byte, ownedLength)}})
	if _, err := l.AppendClient(large.Raw, Append{}); err != nil {
		t.Fatal(err)
	}
	r, _, _ = l.Read(Read{From: 0, Bound: 4, MaxBytes: 1 << 20})
	var want []byte
	for b := range l.Batches(0) {
		want = append(want, b.Raw...)
	}
	if r.row() != nil || !bytes.Equal(r.Bytes(), want) || len(want) != r.Size() {
		t.Fatal("batches apart are not put together")
	}
}
