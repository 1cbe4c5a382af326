package commitlog

import (
	"encoding/binary"
	"fmt"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Record is one record of a batch.
type Record struct {
	Offset      kafka.Offset // told by the batch; ignored when building
	TimestampMs int64
	Key         []byte // nil for none
	Value       []byte // nil for a tombstone
	Headers     []RecordHeader
}

// RecordHeader is one header of a record.
type RecordHeader struct {
	Key   string
	Value []byte // nil for none
}

// Records decodes the batch's records, decompressing them if need be. Where
// the timestamp type is LogAppendTime all have the batch's. INVALID_RECORD if
// they are malformed or fewer or more than the header says, CORRUPT_MESSAGE if
// they cannot be decompressed, MESSAGE_TOO_LARGE if that makes too many bytes.
func (b Batch) Records() ([]Record, error) {
	body, err := decompress(b.Attributes.Codec(), b.Raw[headerBytes:])
	if err == errDecompressedSize {
		return nil, fmt.Errorf("decompress %v batch at offset %d: %w (%v)", b.Attributes.Codec(), b.BaseOffset, kafka.ErrMessageTooLarge, err)
	}
	if err != nil {
		return nil, fmt.Errorf("decompress %v batch at offset %d: %w (%v)", b.Attributes.Codec(), b.BaseOffset, kafka.ErrCorruptMessage, err)
	}
	r := reader{b: body}
	records := make([]Record, 0, min(max(int(b.Count), 0), len(body)))
	for len(r.b) > 0 && !r.bad {
		rec := r.record(b)
		if b.Attributes.TimestampType() == LogAppendTime {
			rec.TimestampMs = b.MaxTimestampMs
		}
		records = append(records, rec)
	}
	if r.bad || int32(len(records)) != b.Count {
		return nil, fmt.Errorf("decode batch at offset %d: %d of %d records: %w", b.BaseOffset, len(records), b.Count, kafka.ErrInvalidRecord)
	}
	return records, nil
}

// reader takes a record apart. Once bad, it yields zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) record(b Batch) Record {
	body := reader{b: r.bytes(r.varint()), bad: r.bad}
	body.bytes(1) // attributes, unused
	rec := Record{
		TimestampMs: b.BaseTimestampMs + body.varint(),
		Offset:      b.BaseOffset + kafka.Offset(body.varint()),
		Key:         body.nullable(),
		Value:       body.nullable(),
	}
	for n := body.varint(); n > 0 && !body.bad; n-- {
		rec.Headers = append(rec.Headers, RecordHeader{Key: string(body.nullable()), Value: body.nullable()})
	}
	r.bad = r.bad || body.bad
	return rec
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) bytes(n int64) []byte {
	if n < 0 || n > int64(len(r.b)) {
		r.fail()
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// nullable reads bytes that may be absent: nil then, else not nil.
func (r *reader) nullable() []byte {
	n := r.varint()
	if n == -1 || r.bad {
		return nil
	}
	return r.bytes(n)
}

func (r *reader) fail() { r.bad, r.b = true, nil }
