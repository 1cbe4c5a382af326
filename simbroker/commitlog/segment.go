package commitlog

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// AbortedTxn is an entry of the aborted transactions index (rule B4).
type AbortedTxn struct {
	ProducerID       kafka.ProducerID
	FirstOffset      kafka.Offset
	LastOffset       kafka.Offset // of the marker
	LastStableOffset kafka.Offset
}

// indexEntry is an entry of a segment's sparse offset index: the last offset
// of the batch at the position (rule B3).
type indexEntry struct {
	offset   kafka.Offset
	position int64
	timedMs  int64 // the timestamp of the time index's entry with it, or -1 without one
}

// How many bytes an entry takes in the files that Kafka keeps.
const (
	offsetIndexEntryBytes = 8
	timeIndexEntryBytes   = 12
)

// segment is a run of the log, with the indexes that Kafka keeps beside it.
type segment struct {
	base      kafka.Offset
	batches   []Batch
	positions []int64 // of the batches, in bytes from the segment's start
	size      int64

	index          []indexEntry
	indexedAt      int64 // bytes appended since the last index entry
	timed          int   // how many entries the time index has
	timedMs        int64 // the timestamp of its last one, or -1
	maxTimestampMs int64 // -1 if no batch has a timestamp
	maxTimestampAt int   // the batch that has it first
	aborted        []AbortedTxn

	modifiedMs int64 // when it was last appended to, or created
	createdMs  int64
}

func newSegment(base kafka.Offset, nowMs int64) *segment {
	return &segment{base: base, maxTimestampMs: -1, timedMs: -1, modifiedMs: nowMs, createdMs: nowMs}
}

func (s *segment) append(b Batch, indexInterval int, nowMs int64) {
	if b.MaxTimestampMs > s.maxTimestampMs {
		s.maxTimestampMs, s.maxTimestampAt = b.MaxTimestampMs, len(s.batches)
	}
	if s.indexedAt > int64(indexInterval) {
		e := indexEntry{b.LastOffset(), s.size, -1}
		if s.maxTimestampMs > s.timedMs {
			e.timedMs = s.maxTimestampMs
			s.timed, s.timedMs = s.timed+1, e.timedMs
		}
		s.index = append(s.index, e)
		s.indexedAt = 0
	}
	n := int64(len(b.Raw))
	s.batches = append(s.batches, b)
	s.positions = append(s.positions, s.size)
	s.size += n
	s.indexedAt += n
	s.modifiedMs = nowMs
}

// find is the index of the batch that contains the offset, or of the next one;
// len(batches) if there is none.
func (s *segment) find(offset kafka.Offset) int {
	return sort.Search(len(s.batches), func(i int) bool { return s.batches[i].LastOffset() >= offset })
}

// position is where the batch begins, the segment's end for the one after the
// last.
func (s *segment) position(i int) int64 {
	if i == len(s.batches) {
		return s.size
	}
	return s.positions[i]
}

// positionOf is where the batch that contains the offset begins.
func (s *segment) positionOf(offset kafka.Offset) int64 { return s.position(s.find(offset)) }

// upperBound is the offset of the first index entry at or after the position
// (rule D5).
func (s *segment) upperBound(position int64) (kafka.Offset, bool) {
	i := sort.Search(len(s.index), func(i int) bool { return s.index[i].position >= position })
	if i == len(s.index) {
		return 0, false
	}
	return s.index[i].offset, true
}

// shouldRoll is rule B6.
func (s *segment) shouldRoll(c Config, size int64, maxTimestampMs int64, last kafka.Offset, nowMs int64) bool {
	if s.size > c.SegmentBytes-size || last-s.base > math.MaxInt32 {
		return true
	}
	if s.size == 0 {
		return false
	}
	if s.indexesFull(c.SegmentIndexBytes) {
		return true
	}
	waited := nowMs - s.createdMs
	if first := s.batches[0].MaxTimestampMs; first >= 0 {
		waited = maxTimestampMs - first
	}
	return waited > (c.segmentTime() - s.jitter(c)).Milliseconds()
}

// indexesFull says whether an index of so many bytes has no room for another
// entry. The time index keeps its last one for the end of the segment.
func (s *segment) indexesFull(bytes int) bool {
	return len(s.index) >= bytes/offsetIndexEntryBytes || s.timed >= bytes/timeIndexEntryBytes-1
}

// jitter is how much earlier the segment rolls than segment.ms says, up to
// segment.jitter.ms: for each segment something else, which Kafka leaves to
// chance, and which is the same here when a history is played again.
func (s *segment) jitter(c Config) time.Duration {
	most := min(c.SegmentJitter, c.SegmentTime).Milliseconds()
	if most <= 0 {
		return 0
	}
	mixed := (uint64(s.base)<<32 ^ uint64(s.createdMs)) * 0x9e3779b97f4a7c15
	return time.Duration(mixed>>1%uint64(most)) * time.Millisecond
}

// largestTimestampMs is that of the records, or of the last change where no
// record has one.
func (s *segment) largestTimestampMs() int64 {
	if s.maxTimestampMs >= 0 {
		return s.maxTimestampMs
	}
	return s.modifiedMs
}

// truncate drops the batch that contains the offset and all after it. What is
// kept moves to arrays of its own, as readers may still hold the old ones.
func (s *segment) truncate(to kafka.Offset) {
	n := s.find(to)
	s.size = s.position(n)
	s.batches, s.positions = slices.Clone(s.batches[:n]), slices.Clone(s.positions[:n])
	s.index = slices.DeleteFunc(s.index, func(e indexEntry) bool { return e.offset >= to })
	s.timed, s.timedMs = 0, -1
	for _, e := range s.index {
		if e.timedMs >= 0 {
			s.timed, s.timedMs = s.timed+1, e.timedMs
		}
	}
	s.indexedAt = s.size
	if n := len(s.index); n > 0 {
		s.indexedAt = s.size - s.index[n-1].position
	}
	s.aborted = slices.DeleteFunc(slices.Clone(s.aborted), func(a AbortedTxn) bool { return a.LastOffset >= to })
	s.maxTimestampMs, s.maxTimestampAt = -1, 0
	for i, b := range s.batches {
		if b.MaxTimestampMs > s.maxTimestampMs {
			s.maxTimestampMs, s.maxTimestampAt = b.MaxTimestampMs, i
		}
	}
}
