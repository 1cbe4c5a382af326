package collector

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// batchOf says what a record batch (rule A1) holds.
type batchOf struct {
	base     int64
	last     int64   // last offset; at least that of the last record
	offsets  []int64 // of its records; nil: all from base to last
	producer int64   // of a transaction; 0: a plain batch
	control  string  // "commit" or "abort": an end marker
	codec    *kgo.CompressionCodec
	value    []byte
}

// append appends the batch in format v2.
func (b batchOf) append(t *testing.T, dst []byte) []byte {
	t.Helper()
	offsets := b.offsets
	if offsets == nil {
		for o := b.base; o <= b.last; o++ {
			offsets = append(offsets, o)
		}
	}
	var records []byte
	for _, o := range offsets {
		r := kmsg.Record{OffsetDelta: int32(o - b.base), Value: b.value}
		if b.control != "" {
			r.Key = []byte{0, 0, 0, map[string]byte{"abort": 0, "commit": 1}[b.control]}
		}
		body := r.AppendTo(nil)
		// The length that stands in front counts what comes behind it.
		_, n := binary.Varint(body)
		body = body[n:]
		records = append(binary.AppendVarint(records, int64(len(body))), body...)
	}
	batch := kmsg.RecordBatch{
		FirstOffset: b.base, Magic: 2, LastOffsetDelta: int32(b.last - b.base), ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1,
		NumRecords: int32(len(offsets)),
	}
	if b.producer != 0 {
		batch.ProducerID, batch.ProducerEpoch, batch.Attributes = b.producer, 0, 0x10
	}
	if b.control != "" {
		batch.Attributes |= 0x20
	}
	if b.codec != nil {
		compressor, err := kgo.DefaultCompressor(*b.codec)
		if err != nil {
			t.Fatal(err)
		}
		out, codec := compressor.Compress(new(bytes.Buffer), records)
		records = bytes.Clone(out)
		batch.Attributes |= int16(codec)
	}
	batch.Records = records
	raw := batch.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return append(dst, raw...)
}

// logOf returns batches one after the other.
func logOf(t *testing.T, batches ...batchOf) []byte {
	t.Helper()
	var all []byte
	for _, b := range batches {
		all = b.append(t, all)
	}
	return all
}
