package scenario

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
)

// Attribute bits of a record batch (rule A2).
const (
	attrTransactional = 0x10
	attrControl       = 0x20
)

// batch is a record batch in format v2 (rule A1), as a scenario writes and
// reads it. Its records all carry the same value; their timestamps count up by
// a millisecond.
type batch struct {
	baseOffset    int64
	magic         int8
	attributes    int16
	producerID    int64
	producerEpoch int16
	baseSequence  int32
	timestamp     int64 // of the first record
	records       int
	count         int32   // as the header states it
	lastOffset    int64   // when read
	corrupt       bool    // write a wrong CRC
	marker        *marker // of a control batch
	tombstone     []byte  // the key of the only record, which has no value
}

// marker is an end-of-transaction marker (rule A4).
type marker struct {
	commit           bool
	coordinatorEpoch int32
}

// Positions of header fields (rule A1).
const (
	posLength      = 8
	posMagic       = 16
	posCRC         = 17
	posAttributes  = 21
	posLastDelta   = 23
	posBaseTime    = 27
	posMaxTime     = 35
	posProducerID  = 43
	posEpoch       = 51
	posSequence    = 53
	posCount       = 57
	headerSize     = 61
	lengthOverhead = 12 // base offset and length itself
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode writes the batch as a producer would send it.
func (b batch) encode() []byte {
	out := make([]byte, headerSize)
	for i := range b.records {
		out = append(out, b.record(i)...)
	}
	last := max(b.records-1, 0)
	be := binary.BigEndian
	be.PutUint64(out, uint64(b.baseOffset))
	be.PutUint32(out[posLength:], uint32(len(out)-lengthOverhead))
	be.PutUint32(out[posLength+4:], ^uint32(0)) // no leader epoch
	out[posMagic] = byte(b.magic)
	be.PutUint16(out[posAttributes:], uint16(b.attributes))
	be.PutUint32(out[posLastDelta:], uint32(last))
	be.PutUint64(out[posBaseTime:], uint64(b.timestamp))
	be.PutUint64(out[posMaxTime:], uint64(b.timestamp+int64(last)))
	be.PutUint64(out[posProducerID:], uint64(b.producerID))
	be.PutUint16(out[posEpoch:], uint16(b.producerEpoch))
	be.PutUint32(out[posSequence:], uint32(b.baseSequence))
	be.PutUint32(out[posCount:], uint32(b.count))
	crc := crc32.Checksum(out[posAttributes:], castagnoli)
	if b.corrupt {
		crc = ^crc
	}
	be.PutUint32(out[posCRC:], crc)
	return out
}

func (b batch) record(i int) []byte {
	// Compacted topics want a key.
	key, value := []byte("key"), []byte("record")
	switch {
	case b.marker != nil:
		key, value = b.marker.encode()
	case b.tombstone != nil:
		key, value = b.tombstone, nil
	}
	body := []byte{0} // attributes
	body = binary.AppendVarint(body, int64(i))
	body = binary.AppendVarint(body, int64(i))
	body = appendBytes(body, key)
	body = appendBytes(body, value)
	body = binary.AppendVarint(body, 0) // headers
	return append(binary.AppendVarint(nil, int64(len(body))), body...)
}

func appendBytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

func (m marker) encode() (key, value []byte) {
	key = []byte{0, 0, 0, 0}
	if m.commit {
		key[3] = 1
	}
	return key, binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(m.coordinatorEpoch))
}

// readBatches reads what a Fetch returned; a batch that is cut off at the end
// is left out, as consumers do.
func readBatches(data []byte) ([]batch, error) {
	var batches []batch
	for len(data) >= headerSize {
		size := lengthOverhead + int(int32(binary.BigEndian.Uint32(data[posLength:])))
		if size < headerSize {
			return nil, fmt.Errorf("batch of %d bytes", size)
		}
		if size > len(data) {
			break
		}
		b, err := readBatch(data[:size])
		if err != nil {
			return nil, err
		}
		batches, data = append(batches, b), data[size:]
	}
	return batches, nil
}

func readBatch(data []byte) (batch, error) {
	be := binary.BigEndian
	b := batch{
		baseOffset:    int64(be.Uint64(data)),
		magic:         int8(data[posMagic]),
		attributes:    int16(be.Uint16(data[posAttributes:])),
		producerID:    int64(be.Uint64(data[posProducerID:])),
		producerEpoch: int16(be.Uint16(data[posEpoch:])),
		baseSequence:  int32(be.Uint32(data[posSequence:])),
		timestamp:     int64(be.Uint64(data[posBaseTime:])),
		count:         int32(be.Uint32(data[posCount:])),
	}
	b.records, b.lastOffset = int(b.count), b.baseOffset+int64(int32(be.Uint32(data[posLastDelta:])))
	if b.magic != 2 {
		return b, fmt.Errorf("batch at %d has magic %d", b.baseOffset, b.magic)
	}
	if want, got := be.Uint32(data[posCRC:]), crc32.Checksum(data[posAttributes:], castagnoli); want != got {
		return b, fmt.Errorf("batch at %d has CRC %08x, its bytes have %08x", b.baseOffset, want, got)
	}
	if b.attributes&attrControl != 0 {
		m, err := readMarker(data[headerSize:])
		if err != nil {
			return b, fmt.Errorf("control batch at %d: %w", b.baseOffset, err)
		}
		b.marker = &m
	}
	return b, nil
}

// readMarker reads the only record of a control batch (rule A4).
func readMarker(record []byte) (marker, error) {
	r := reader{rest: record}
	r.varint() // length
	r.take(1)  // attributes
	r.varint() // timestamp delta
	r.varint() // offset delta
	key, value := r.bytes(), r.bytes()
	if r.failed || len(key) != 4 || len(value) != 6 || binary.BigEndian.Uint16(key[2:]) > 1 {
		return marker{}, errors.New("no end-of-transaction marker")
	}
	return marker{commit: key[3] == 1, coordinatorEpoch: int32(binary.BigEndian.Uint32(value[2:]))}, nil
}

type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) take(n int64) []byte {
	if n < 0 || n > int64(len(r.rest)) {
		r.failed = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) bytes() []byte { return r.take(r.varint()) }

func (b batch) control() bool       { return b.attributes&attrControl != 0 }
func (b batch) transactional() bool { return b.attributes&attrTransactional != 0 }

// render prints a batch as texts write it, with its offsets.
func (b batch) render(s *symbols) string {
	switch {
	case b.marker != nil:
		return fmt.Sprintf("%c(%s,%d)@%d", b.marker.letter(), s.producer(b.producerID), b.producerEpoch, b.baseOffset)
	case b.producerID < 0:
		return fmt.Sprintf("N(%d)@%s", b.count, b.offsets())
	}
	kind := 'I'
	if b.transactional() {
		kind = 'T'
	}
	return fmt.Sprintf("%c(%s,%d,%d,%d)@%s", kind, s.producer(b.producerID), b.producerEpoch, b.baseSequence, b.count, b.offsets())
}

func (b batch) offsets() string {
	if b.lastOffset == b.baseOffset {
		return fmt.Sprint(b.baseOffset)
	}
	return fmt.Sprintf("%d-%d", b.baseOffset, b.lastOffset)
}

func (m marker) letter() rune {
	if m.commit {
		return 'C'
	}
	return 'A'
}
