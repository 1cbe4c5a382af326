package commitlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Where the fields of a v2 batch lie (rule A1).
const (
	atLength          = 8
	atLeaderEpoch     = 12
	atMagic           = 16
	atCRC             = 17
	atAttributes      = 21 // the CRC covers all from here on
	atLastOffsetDelta = 23
	atBaseTimestamp   = 27
	atMaxTimestamp    = 35
	atProducerID      = 43
	atProducerEpoch   = 51
	atBaseSequence    = 53
	atCount           = 57
	headerBytes       = 61

	// overheadBytes are those before what the length counts.
	overheadBytes = 12
	// magicBytes is how much must be there to tell the magic.
	magicBytes = atMagic + 1
	// leastLength is the least length of a batch of any magic.
	leastLength = 14
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Attributes are a batch's flags (rule A2).
type Attributes int16

const (
	codecMask         Attributes = 0x07
	logAppendTimeFlag Attributes = 0x08
	transactionalFlag Attributes = 0x10
	controlFlag       Attributes = 0x20
	deleteHorizonFlag Attributes = 0x40
)

// Codec is the compression of the batch's records.
func (a Attributes) Codec() Codec { return Codec(a & codecMask) }

// TimestampType says who set the timestamps.
func (a Attributes) TimestampType() TimestampType { return TimestampType(a & logAppendTimeFlag >> 3) }

// IsTransactional says whether the batch belongs to a transaction.
func (a Attributes) IsTransactional() bool { return a&transactionalFlag != 0 }

// IsControl says whether the batch is a control batch.
func (a Attributes) IsControl() bool { return a&controlFlag != 0 }

// Header is the fixed part of a record batch (rule A1).
type Header struct {
	BaseOffset      kafka.Offset
	LeaderEpoch     kafka.LeaderEpoch
	Attributes      Attributes
	LastOffsetDelta int32
	BaseTimestampMs int64
	MaxTimestampMs  int64
	Producer        kafka.Producer // (-1,-1) without one (rule A3)
	BaseSequence    int32
	Count           int32
}

// LastOffset is the offset of the batch's last record.
func (h Header) LastOffset() kafka.Offset { return h.BaseOffset + kafka.Offset(h.LastOffsetDelta) }

// HasProducer says whether the batch has a producer id.
func (h Header) HasProducer() bool { return h.Producer.ID != kafka.NoProducerID }

// LastSequence is the sequence of the batch's last record: after 2147483647
// comes 0 (rule A3).
func (h Header) LastSequence() int32 {
	if h.BaseSequence == kafka.NoSequence {
		return kafka.NoSequence
	}
	last := int64(h.BaseSequence) + int64(h.LastOffsetDelta)
	if last > 1<<31-1 {
		last -= 1 << 31
	}
	return int32(last)
}

// Batch is a record batch: its header, parsed, and all of its bytes, which
// nobody may change once it is in a log.
type Batch struct {
	Header
	Raw []byte
}

// CorruptError is CORRUPT_MESSAGE, with Kafka's text.
type CorruptError struct{ Text string }

// Error is the text.
func (e *CorruptError) Error() string { return e.Text }

// Unwrap is the kafka.Error.
func (e *CorruptError) Unwrap() error { return kafka.ErrCorruptMessage }

// Split cuts the first batch, of whatever magic, off b. Without a whole batch
// first is nil; a length that no batch has, or an unknown magic, is a
// *CorruptError.
func Split(b []byte) (first, rest []byte, err error) {
	if len(b) < overheadBytes {
		return nil, b, nil
	}
	length := int32(binary.BigEndian.Uint32(b[atLength:]))
	if length < leastLength {
		return nil, b, &CorruptError{fmt.Sprintf("Record size %d is less than the minimum record overhead (%d)", length, leastLength)}
	}
	if len(b) < magicBytes {
		return nil, b, nil
	}
	if magic := int8(b[atMagic]); magic < 0 || magic > 2 {
		return nil, b, &CorruptError{fmt.Sprintf("Invalid magic found in record: %d", magic)}
	}
	if int64(len(b)) < overheadBytes+int64(length) {
		return nil, b, nil
	}
	n := overheadBytes + int(length)
	return b[:n:n], b[n:], nil
}

// Magic is the format version of the batch that raw begins with; Split has
// seen to it that it is there.
func Magic(raw []byte) int8 { return int8(raw[atMagic]) }

// Parse reads the header of the v2 batch that raw is. It checks neither CRC
// nor records. CORRUPT_MESSAGE if raw is too short for a header.
func Parse(raw []byte) (Batch, error) {
	if len(raw) < headerBytes {
		return Batch{}, kafka.ErrCorruptMessage
	}
	be := binary.BigEndian
	return Batch{
		Header: Header{
			BaseOffset:      kafka.Offset(be.Uint64(raw)),
			LeaderEpoch:     kafka.LeaderEpoch(be.Uint32(raw[atLeaderEpoch:])),
			Attributes:      Attributes(be.Uint16(raw[atAttributes:])),
			LastOffsetDelta: int32(be.Uint32(raw[atLastOffsetDelta:])),
			BaseTimestampMs: int64(be.Uint64(raw[atBaseTimestamp:])),
			MaxTimestampMs:  int64(be.Uint64(raw[atMaxTimestamp:])),
			Producer: kafka.Producer{
				ID:    kafka.ProducerID(be.Uint64(raw[atProducerID:])),
				Epoch: kafka.ProducerEpoch(be.Uint16(raw[atProducerEpoch:])),
			},
			BaseSequence: int32(be.Uint32(raw[atBaseSequence:])),
			Count:        int32(be.Uint32(raw[atCount:])),
		},
		Raw: raw,
	}, nil
}

// ValidCRC says whether the checksum is right.
func (b Batch) ValidCRC() bool {
	return crc32.Checksum(b.Raw[atAttributes:], castagnoli) == binary.BigEndian.Uint32(b.Raw[atCRC:])
}

// stamp writes what the leader decides, which lies outside the CRC (rule A2).
func (b *Batch) stamp(base kafka.Offset, epoch kafka.LeaderEpoch) {
	b.BaseOffset, b.LeaderEpoch = base, epoch
	binary.BigEndian.PutUint64(b.Raw, uint64(base))
	binary.BigEndian.PutUint32(b.Raw[atLeaderEpoch:], uint32(epoch))
}

// stampLogAppendTime gives all records the broker's time.
func (b *Batch) stampLogAppendTime(nowMs int64) {
	b.Attributes |= logAppendTimeFlag
	b.MaxTimestampMs = nowMs
	binary.BigEndian.PutUint16(b.Raw[atAttributes:], uint16(b.Attributes))
	binary.BigEndian.PutUint64(b.Raw[atMaxTimestamp:], uint64(nowMs))
	b.sign()
}

// stampCreateTime keeps the records' own timestamps, of which max is the
// greatest, whatever the header says.
func (b *Batch) stampCreateTime(max int64) {
	if b.MaxTimestampMs == max && b.Attributes.TimestampType() == CreateTime {
		return
	}
	b.Attributes &^= logAppendTimeFlag
	b.MaxTimestampMs = max
	binary.BigEndian.PutUint16(b.Raw[atAttributes:], uint16(b.Attributes))
	binary.BigEndian.PutUint64(b.Raw[atMaxTimestamp:], uint64(max))
	b.sign()
}

// deleteHorizon is from when the batch's tombstones, or its marker, may go; the
// cleaner keeps it in place of the base timestamp (KIP-534).
func (b Batch) deleteHorizon() (ms int64, ok bool) {
	return b.BaseTimestampMs, b.Attributes&deleteHorizonFlag != 0
}

func (b *Batch) sign() {
	binary.BigEndian.PutUint32(b.Raw[atCRC:], crc32.Checksum(b.Raw[atAttributes:], castagnoli))
}

// String renders the batch as the litmus tests do, with N for batches without
// a producer, I for idempotent ones.
func (b Batch) String() string {
	at := fmt.Sprintf("@%d", b.BaseOffset)
	if b.LastOffsetDelta > 0 {
		at += fmt.Sprintf("-%d", b.LastOffset())
	}
	kind := "I"
	switch m, ok := b.Marker(); {
	case ok && m.Commit:
		return fmt.Sprintf("C%v%s", m.Producer, at)
	case ok:
		return fmt.Sprintf("A%v%s", m.Producer, at)
	case !b.HasProducer():
		return fmt.Sprintf("N(%d)%s", b.Count, at)
	case b.Attributes.IsTransactional():
		kind = "T"
	}
	return fmt.Sprintf("%s(%d,%d,%d,%d)%s", kind, b.Producer.ID, b.Producer.Epoch, b.BaseSequence, b.Count, at)
}
