package producer

import (
	"math"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// cachedBatches is how many batches of a producer are remembered for
// deduplication (rule C2).
const cachedBatches = 5

// entry is one producer. Its epoch is that of the last batch or marker.
type entry struct {
	epoch            kafka.ProducerEpoch
	coordinatorEpoch kafka.CoordinatorEpoch
	lastTimestampMs  int64
	txnStart         kafka.Offset // NoOffset without an open transaction
	batches          []cachedBatch
}

// cachedBatch is a batch of the entry's epoch.
type cachedBatch struct {
	lastSequence int32
	lastOffset   kafka.Offset
	offsetDelta  int32
	timestampMs  int64
}

func (c cachedBatch) firstOffset() kafka.Offset { return c.lastOffset - kafka.Offset(c.offsetDelta) }

// firstSequence goes back over the wrap of sequences (rule A3).
func (c cachedBatch) firstSequence() int32 {
	if c.lastSequence < c.offsetDelta {
		return math.MaxInt32 - (c.offsetDelta - c.lastSequence) + 1
	}
	return c.lastSequence - c.offsetDelta
}

func newEntry(p kafka.Producer) *entry {
	return &entry{epoch: p.Epoch, coordinatorEpoch: kafka.NoCoordinatorEpoch, lastTimestampMs: -1, txnStart: kafka.NoOffset}
}

func (e *entry) lastSequence() int32 {
	if len(e.batches) == 0 {
		return kafka.NoSequence
	}
	return e.batches[len(e.batches)-1].lastSequence
}

// lastDataOffset is the last offset of the epoch's last batch.
func (e *entry) lastDataOffset() kafka.Offset {
	if len(e.batches) == 0 {
		return kafka.NoOffset
	}
	return e.batches[len(e.batches)-1].lastOffset
}

// setEpoch forgets the batches of another epoch.
func (e *entry) setEpoch(epoch kafka.ProducerEpoch) {
	if e.epoch != epoch {
		e.batches = e.batches[:0]
		e.epoch = epoch
	}
}

func (e *entry) add(b Batch) {
	e.setEpoch(b.Producer.Epoch)
	if len(e.batches) == cachedBatches {
		copy(e.batches, e.batches[1:])
		e.batches = e.batches[:cachedBatches-1]
	}
	e.batches = append(e.batches, cachedBatch{
		lastSequence: b.LastSequence, lastOffset: b.LastOffset,
		offsetDelta: int32(b.LastOffset - b.FirstOffset), timestampMs: b.LastTimestampMs,
	})
	e.lastTimestampMs = b.LastTimestampMs
}

// checkMarker is rule C7.
func (e *entry) checkMarker(mk Marker) error {
	if mk.Producer.Epoch < e.epoch {
		return kafka.ErrInvalidProducerEpoch
	}
	if mk.TransactionVersion >= 2 && mk.Producer.Epoch == e.epoch && e.txnStart != kafka.NoOffset {
		return kafka.ErrInvalidProducerEpoch
	}
	if mk.CoordinatorEpoch < e.coordinatorEpoch {
		return kafka.ErrTransactionCoordinatorFenced
	}
	return nil
}

func (e *entry) end(mk Marker) {
	e.setEpoch(mk.Producer.Epoch)
	e.coordinatorEpoch = mk.CoordinatorEpoch
	e.lastTimestampMs = mk.TimestampMs
	e.txnStart = kafka.NoOffset
}

func (e *entry) expired(nowMs, expirationMs int64) bool {
	return e.txnStart == kafka.NoOffset && nowMs-e.lastTimestampMs >= expirationMs
}
