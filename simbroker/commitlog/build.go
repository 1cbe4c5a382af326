package commitlog

import (
	"encoding/binary"
	"fmt"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Producing says in whose name a batch is built.
type Producing struct {
	Producer      kafka.Producer // kafka.NoProducerID and NoProducerEpoch for none
	BaseSequence  int32          // kafka.NoSequence for none
	Transactional bool
}

// Plainly is a batch without a producer.
func Plainly() Producing {
	return Producing{
		Producer:     kafka.Producer{ID: kafka.NoProducerID, Epoch: kafka.NoProducerEpoch},
		BaseSequence: kafka.NoSequence,
	}
}

// Build makes an uncompressed batch of the records, at offset 0 and without a
// leader epoch, as a producer sends it. There must be at least one record.
func Build(p Producing, records []Record) Batch {
	if len(records) == 0 {
		panic("commitlog: a batch of no records")
	}
	h := Header{
		LeaderEpoch: -1, LastOffsetDelta: int32(len(records) - 1),
		BaseTimestampMs: records[0].TimestampMs, MaxTimestampMs: records[0].TimestampMs,
		Producer: p.Producer, BaseSequence: p.BaseSequence, Count: int32(len(records)),
	}
	if p.Transactional {
		h.Attributes |= transactionalFlag
	}
	body := make([]byte, headerBytes, headerBytes+estimate(records))
	for i, r := range records {
		h.MaxTimestampMs = max(h.MaxTimestampMs, r.TimestampMs)
		body = appendRecord(body, r, r.TimestampMs-h.BaseTimestampMs, int64(i))
	}
	return seal(h, body)
}

func estimate(records []Record) int {
	n := 0
	for _, r := range records {
		n += 24 + len(r.Key) + len(r.Value)
	}
	return n
}

// seal writes the header before the records and signs.
func seal(h Header, raw []byte) Batch {
	be := binary.BigEndian
	be.PutUint64(raw, uint64(h.BaseOffset))
	be.PutUint32(raw[atLength:], uint32(len(raw)-overheadBytes))
	be.PutUint32(raw[atLeaderEpoch:], uint32(h.LeaderEpoch))
	raw[atMagic] = 2
	be.PutUint16(raw[atAttributes:], uint16(h.Attributes))
	be.PutUint32(raw[atLastOffsetDelta:], uint32(h.LastOffsetDelta))
	be.PutUint64(raw[atBaseTimestamp:], uint64(h.BaseTimestampMs))
	be.PutUint64(raw[atMaxTimestamp:], uint64(h.MaxTimestampMs))
	be.PutUint64(raw[atProducerID:], uint64(h.Producer.ID))
	be.PutUint16(raw[atProducerEpoch:], uint16(h.Producer.Epoch))
	be.PutUint32(raw[atBaseSequence:], uint32(h.BaseSequence))
	be.PutUint32(raw[atCount:], uint32(h.Count))
	b := Batch{Header: h, Raw: raw}
	b.sign()
	return b
}

func appendRecord(b []byte, r Record, timestampDelta, offsetDelta int64) []byte {
	body := []byte{0} // attributes
	body = binary.AppendVarint(body, timestampDelta)
	body = binary.AppendVarint(body, offsetDelta)
	body = appendNullable(body, r.Key)
	body = appendNullable(body, r.Value)
	body = binary.AppendVarint(body, int64(len(r.Headers)))
	for _, h := range r.Headers {
		body = binary.AppendVarint(body, int64(len(h.Key)))
		body = append(body, h.Key...)
		body = appendNullable(body, h.Value)
	}
	b = binary.AppendVarint(b, int64(len(body)))
	return append(b, body...)
}

func appendNullable(b, v []byte) []byte {
	if v == nil {
		return binary.AppendVarint(b, -1)
	}
	b = binary.AppendVarint(b, int64(len(v)))
	return append(b, v...)
}

// Compressed is the batch, which is not compressed, with its records compressed.
func (b Batch) Compressed(to Codec) (Batch, error) {
	body, err := compress(to, b.Raw[headerBytes:])
	if err != nil {
		return Batch{}, fmt.Errorf("compress batch to %v: %w", to, err)
	}
	h := b.Header
	h.Attributes |= Attributes(to)
	return seal(h, append(make([]byte, headerBytes, headerBytes+len(body)), body...)), nil
}

// reduced is the batch with some of its records only, and the delete horizon if
// it has one. First and last offset stay.
func (b Batch) reduced(records []Record, hasHorizon bool, horizonMs int64) (Batch, error) {
	h := b.Header
	h.Count, h.BaseTimestampMs = int32(len(records)), records[0].TimestampMs
	if hasHorizon {
		h.Attributes |= deleteHorizonFlag
		h.BaseTimestampMs = horizonMs
	}
	if h.Attributes.TimestampType() == CreateTime {
		h.MaxTimestampMs = -1
	}
	var body []byte
	for _, r := range records {
		h.MaxTimestampMs = max(h.MaxTimestampMs, r.TimestampMs)
		body = appendRecord(body, r, r.TimestampMs-h.BaseTimestampMs, int64(r.Offset-h.BaseOffset))
	}
	body, err := compress(h.Attributes.Codec(), body)
	if err != nil {
		return Batch{}, err
	}
	return seal(h, append(make([]byte, headerBytes, headerBytes+len(body)), body...)), nil
}

// emptied is the batch without its records, of which the header stays for the
// sake of its producer or its offsets.
func (b Batch) emptied() Batch {
	h := b.Header
	h.Count, h.BaseTimestampMs = 0, -1
	h.Attributes &^= codecMask | deleteHorizonFlag
	return seal(h, make([]byte, headerBytes))
}

// Marker is an end-of-transaction marker (rule A4).
type Marker struct {
	Producer         kafka.Producer
	Commit           bool
	CoordinatorEpoch kafka.CoordinatorEpoch
}

// String renders the marker as the litmus tests do.
func (m Marker) String() string {
	if m.Commit {
		return fmt.Sprintf("C%v ce %d", m.Producer, m.CoordinatorEpoch)
	}
	return fmt.Sprintf("A%v ce %d", m.Producer, m.CoordinatorEpoch)
}

// BuildMarker makes the marker's control batch, of 78 bytes.
func BuildMarker(m Marker, timestampMs int64) Batch {
	key := []byte{0, 0, 0, 0} // version, type ABORT
	if m.Commit {
		key[3] = 1
	}
	value := binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(m.CoordinatorEpoch))
	h := Header{
		LeaderEpoch: -1, Attributes: transactionalFlag | controlFlag,
		BaseTimestampMs: timestampMs, MaxTimestampMs: timestampMs,
		Producer: m.Producer, BaseSequence: kafka.NoSequence, Count: 1,
	}
	raw := appendRecord(make([]byte, headerBytes, headerBytes+17), Record{Key: key, Value: value}, 0, 0)
	return seal(h, raw)
}

// Marker decodes an end-of-transaction marker; ok is false for other batches.
func (b Batch) Marker() (m Marker, ok bool) {
	if !b.Attributes.IsControl() {
		return Marker{}, false
	}
	records, err := b.Records()
	if err != nil || len(records) != 1 || len(records[0].Key) < 4 || len(records[0].Value) < 6 {
		return Marker{}, false
	}
	kind := binary.BigEndian.Uint16(records[0].Key[2:])
	if kind > 1 {
		return Marker{}, false
	}
	return Marker{
		Producer:         b.Producer,
		Commit:           kind == 1,
		CoordinatorEpoch: kafka.CoordinatorEpoch(binary.BigEndian.Uint32(records[0].Value[2:])),
	}, true
}
