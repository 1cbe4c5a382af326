// Package commitlog is a partition's log on one replica.
package commitlog

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// Record is one record of a batch.
type Record struct {
	Offset      kafka.Offset // ignored when building
	TimestampMs int64
	Key         []byte // nil for none
	Value       []byte // nil for a tombstone
	Headers     []RecordHeader
}

// RecordHeader is one header of a record.
type RecordHeader struct {
	Key   string
	Value []byte
}

// Attributes are a batch's flags (rule A2).
type Attributes int16

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

// Batch is a record batch: its header, parsed, and all of its bytes, which
// nobody may change.
type Batch struct {
	Header
	Raw []byte
}

// Records decodes the batch, decompressing it if need be.
func (b Batch) Records() ([]Record, error) { return nil, nil }

// Marker is an end-of-transaction marker (rule A4).
type Marker struct {
	Producer         kafka.Producer
	Commit           bool
	CoordinatorEpoch kafka.CoordinatorEpoch
}

// IsControl says whether the batch is a control batch.
func (a Attributes) IsControl() bool { return a&0x20 != 0 }

// IsTransactional says whether the batch belongs to a transaction.
func (a Attributes) IsTransactional() bool { return a&0x10 != 0 }

// Marker decodes a control batch; ok is false for other batches.
func (b Batch) Marker() (m Marker, ok bool) { return Marker{}, false }

// Records is a run of batches as a fetch returns them.
type Records struct{ batches []Batch }

// Size is the number of bytes.
func (r Records) Size() int { return 0 }

// Bytes is all of the batches' bytes in a row, without a copy where they lie
// in a row already. Nobody may change them.
func (r Records) Bytes() []byte { return nil }

// Batches are the batches one by one.
func (r Records) Batches() []Batch { return r.batches }
