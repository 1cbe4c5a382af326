package commitlog

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// TimestampOffset is a record found by its timestamp.
type TimestampOffset struct {
	Offset      kafka.Offset
	TimestampMs int64
	LeaderEpoch kafka.LeaderEpoch
}

// OffsetForTimestamp finds the first record in the log's order, at or after
// the log start, whose timestamp is the target or later. Markers and aborted
// records count (rule E8).
func (l *Log) OffsetForTimestamp(targetMs int64) (TimestampOffset, bool, error) {
	for _, s := range l.segments {
		if s.maxTimestampMs < targetMs {
			continue
		}
		for _, b := range s.batches[s.find(l.logStart):] {
			if b.MaxTimestampMs < targetMs {
				continue
			}
			found, ok, err := b.firstRecord(targetMs, l.logStart)
			if ok || err != nil {
				return found, ok, err
			}
		}
	}
	return TimestampOffset{}, false, nil
}

// MaxTimestampOffset finds the record with the greatest timestamp, the first of
// several (rule E6).
func (l *Log) MaxTimestampOffset() (TimestampOffset, bool, error) {
	var greatest *segment
	for _, s := range l.segments {
		if s.maxTimestampMs >= 0 && (greatest == nil || s.maxTimestampMs > greatest.maxTimestampMs) {
			greatest = s
		}
	}
	if greatest == nil {
		return TimestampOffset{}, false, nil
	}
	b := greatest.batches[greatest.maxTimestampAt]
	return b.firstRecord(greatest.maxTimestampMs, b.BaseOffset)
}

// firstRecord is the first record at or after an offset with the timestamp or a
// later one.
func (b Batch) firstRecord(targetMs int64, from kafka.Offset) (TimestampOffset, bool, error) {
	s := b.scan()
	defer s.close()
	for g, ok := s.next(); ok; g, ok = s.next() {
		if offset := b.BaseOffset + kafka.Offset(g.offsetDelta); g.timestampMs >= targetMs && offset >= from {
			return TimestampOffset{offset, g.timestampMs, b.LeaderEpoch}, true, nil
		}
	}
	return TimestampOffset{}, false, s.err
}
