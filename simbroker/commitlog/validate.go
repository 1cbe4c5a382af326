package commitlog

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// RecordError says what is wrong with one record of a batch (KIP-467).
type RecordError struct {
	Index   int32 // within the batch
	Message string
}

// RecordErrors is the refusal of a batch for the sake of single records.
type RecordErrors struct {
	Err     error // INVALID_RECORD or INVALID_TIMESTAMP
	Records []RecordError
}

// shownRecordErrors is how many the text of a refusal tells.
const shownRecordErrors = 3

// Error is Kafka's text.
func (e *RecordErrors) Error() string {
	if e.Err == kafka.ErrInvalidTimestamp {
		return "One or more records have been rejected due to invalid timestamp"
	}
	var shown []string
	for _, r := range e.Records[:min(len(e.Records), shownRecordErrors)] {
		shown = append(shown, fmt.Sprintf("RecordError(batchIndex=%d, message='%s')", r.Index, r.Message))
	}
	return fmt.Sprintf("One or more records have been rejected due to %d record errors in total, and only showing the first three errors at most: [%s]",
		len(e.Records), strings.Join(shown, ", "))
}

// Unwrap is the kafka.Error.
func (e *RecordErrors) Unwrap() error { return e.Err }

// validation is rule A5 as far as it concerns one batch, which a producer sent.
type validation struct {
	log    *Log
	batch  Batch
	append Append

	maxTimestampMs int64
	inOrder        bool // offset deltas count from 0
	errors         []RecordError
	lateOrEarly    bool // one of them is about a timestamp
}

// validate checks the batch that raw is, in Kafka's order, and returns what the
// log is to keep: the same bytes with the right maximum timestamp, or others
// where compression.type asks for another codec.
func (l *Log) validate(raw []byte, a Append) (Batch, error) {
	b, err := Parse(raw)
	switch {
	case err != nil:
		return Batch{}, err
	case b.BaseOffset != 0:
		return Batch{}, kafka.ErrInvalidRecord
	case len(raw) > l.config.MaxMessageBytes:
		return Batch{}, kafka.ErrMessageTooLarge
	case !b.ValidCRC():
		return Batch{}, kafka.ErrCorruptMessage
	case b.Count <= 0 || b.Count != b.LastOffsetDelta+1:
		return Batch{}, kafka.ErrInvalidRecord
	case b.Attributes.IsControl():
		return Batch{}, kafka.ErrInvalidRecord
	case b.HasProducer() && b.BaseSequence < 0:
		return Batch{}, kafka.ErrInvalidRecord
	}
	v := &validation{log: l, batch: b, append: a, maxTimestampMs: -1, inOrder: true}
	if b, err = v.run(); err != nil {
		return Batch{}, err
	}
	if int64(len(b.Raw)) > l.config.SegmentBytes {
		return Batch{}, kafka.ErrRecordListTooLarge
	}
	return b, nil
}

func (v *validation) run() (Batch, error) {
	s := v.batch.scan()
	for i := int32(0); ; i++ {
		g, ok := s.next()
		if !ok {
			break
		}
		v.record(i, g)
	}
	if s.err != nil {
		return Batch{}, s.err
	}
	if len(v.errors) > 0 {
		refused := &RecordErrors{Err: kafka.ErrInvalidRecord, Records: v.errors}
		if v.lateOrEarly {
			refused.Err = kafka.ErrInvalidTimestamp
		}
		return Batch{}, refused
	}
	return v.kept()
}

func (v *validation) record(i int32, g glimpse) {
	v.inOrder = v.inOrder && g.offsetDelta == int64(i)
	v.maxTimestampMs = max(v.maxTimestampMs, g.timestampMs)
	if v.log.config.Compact && g.keySize < 0 {
		v.refuse(i, "Compacted topic cannot accept message without key in topic partition %v", v.append.Partition)
		return
	}
	v.timestamp(i, g)
}

func (v *validation) refuse(i int32, format string, args ...any) {
	v.errors = append(v.errors, RecordError{i, fmt.Sprintf(format, args...)})
}

// timestamp checks a record's timestamp where it will be kept; -1 is none.
func (v *validation) timestamp(i int32, g glimpse) {
	c, now := v.log.config, v.append.NowMs
	if c.TimestampType == CreateTime && g.timestampMs != -1 {
		before, after := milliseconds(c.TimestampBeforeMax), milliseconds(c.TimestampAfterMax)
		if now-g.timestampMs > before || g.timestampMs-now > after {
			v.lateOrEarly = true
			v.refuse(i, "Timestamp %d of message with offset %d is out of range. The timestamp should be within [%d, %d]",
				g.timestampMs, g.offsetDelta, now-before, now+after)
		}
		return
	}
	if v.batch.Attributes.TimestampType() == LogAppendTime {
		v.lateOrEarly = true
		v.refuse(i, "Invalid timestamp type in message %s. Producer should not set timestamp type to LogAppendTime.", v.describe(g))
	}
}

// milliseconds of a duration, of which the greatest stands for no limit.
func milliseconds(d time.Duration) int64 {
	if ms := d.Milliseconds(); ms < math.MaxInt64/int64(time.Millisecond) {
		return ms
	}
	return math.MaxInt64
}

// describe is a record as Kafka's texts show it.
func (v *validation) describe(g glimpse) string {
	kind := "DefaultRecord"
	if v.batch.Attributes.Codec() != Uncompressed {
		kind = "PartialDefaultRecord"
	}
	return fmt.Sprintf("%s(offset=%d, timestamp=%d, key=%d bytes, value=%d bytes)", kind, g.offsetDelta, g.timestampMs, g.keySize, g.valueSize)
}

// kept is the batch as the log keeps it. A compressed batch whose records do
// not count their offsets from 0 can only be kept by compressing it anew: where
// it is to be kept as it is, Kafka trips over it. Of one that is not
// compressed nobody looks at them.
func (v *validation) kept() (Batch, error) {
	b := v.batch
	from := b.Attributes.Codec()
	to := v.log.config.Compression.codec(from)
	switch {
	case from != to:
		return v.compressedAnew(to)
	case from != Uncompressed && !v.inOrder:
		return Batch{}, kafka.ErrUnknownServerError
	}
	if v.log.config.TimestampType == CreateTime {
		b.stampCreateTime(v.maxTimestampMs)
	}
	return b, nil
}

// compressedAnew is the batch with another codec; MESSAGE_TOO_LARGE where that
// makes it larger than may be.
func (v *validation) compressedAnew(to Codec) (Batch, error) {
	records, err := v.batch.Records()
	if err != nil {
		var refused kafka.Error
		errors.As(err, &refused)
		return Batch{}, refused
	}
	b, err := Build(Producing{
		Producer: v.batch.Producer, BaseSequence: v.batch.BaseSequence, Transactional: v.batch.Attributes.IsTransactional(),
	}, records).Compressed(to)
	switch {
	case err != nil:
		return Batch{}, kafka.ErrUnknownServerError
	case len(b.Raw) > v.log.config.MaxMessageBytes:
		return Batch{}, kafka.ErrMessageTooLarge
	}
	return b, nil
}
