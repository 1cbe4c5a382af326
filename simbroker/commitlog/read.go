package commitlog

import (
	"math"
	"sort"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Read says what to read.
type Read struct {
	From     kafka.Offset
	Bound    kafka.Offset // log end, high watermark or last stable offset
	MaxBytes int
	// AtLeastOne returns the first batch even if it is larger than MaxBytes.
	AtLeastOne bool
	// Cut returns of the batch after the last one as much as MaxBytes allow, as
	// Kafka does, whose clients pass over it.
	Cut bool
	// Aborted asks for the aborted transactions of what is read.
	Aborted bool
}

// Read returns batches from the one that contains the offset, all below the
// bound and of one segment (rules D2 and D3), with the aborted transactions
// that a read_committed reader must know, nil unless asked for (rule D5).
// OFFSET_OUT_OF_RANGE outside log start and log end.
func (l *Log) Read(r Read) (Records, []AbortedTxn, error) {
	if r.From < l.logStart || r.From > l.logEnd {
		return Records{}, nil, kafka.ErrOffsetOutOfRange
	}
	var s *segment
	var first int
	if r.From < r.Bound {
		s, first = l.locate(r.From)
	}
	if s == nil {
		if r.Aborted {
			return Records{}, []AbortedTxn{}, nil
		}
		return Records{}, nil, nil
	}
	limit := int64(r.MaxBytes)
	if r.AtLeastOne {
		limit = max(limit, int64(len(s.batches[first].Raw)))
	}
	start := s.positions[first]
	end := s.positionOf(r.Bound) // of the batches that may be read
	stop := min(end, start+limit)
	n := first + sort.Search(len(s.batches)-first, func(i int) bool { return s.position(first+i+1) > stop })
	records := Records{batches: s.batches[first:n:n], size: int(s.position(n) - start)}
	if r.Cut && n < len(s.batches) {
		records.cut(s.batches[n], int(min(end, start+limit)-s.position(n)))
	}
	if !r.Aborted {
		return records, nil, nil
	}
	// Kafka cuts the last batch where the bytes end; the search for aborted
	// transactions goes by that cut.
	return records, l.aborted(r.From, s, stop), nil
}

// locate finds the first batch at or after the offset: nil if there is none.
func (l *Log) locate(offset kafka.Offset) (*segment, int) {
	for _, s := range l.segments[l.segmentOf(offset):] {
		if i := s.find(offset); i < len(s.batches) {
			return s, i
		}
	}
	return nil, 0
}

// aborted collects index entries from the read segment forward (rule D5).
func (l *Log) aborted(from kafka.Offset, read *segment, stop int64) []AbortedTxn {
	found := []AbortedTxn{}
	i := l.segmentOf(read.base)
	upper, ok := read.upperBound(stop)
	if !ok && i+1 < len(l.segments) {
		upper = l.segments[i+1].base
	} else if !ok {
		upper = l.logEnd
	}
	for _, s := range l.segments[i:] {
		for _, a := range s.aborted {
			if a.LastOffset >= from && a.FirstOffset < upper {
				found = append(found, a)
			}
			if a.LastStableOffset >= upper {
				return found
			}
		}
	}
	return found
}

// Available is the number of bytes that a read from the offset up to the bound
// could return, without limit where the bound is in a later segment: a read
// that waits for bytes must then be answered with what its segment holds
// (rule D7).
func (l *Log) Available(from, bound kafka.Offset) int64 {
	if from >= bound {
		return 0
	}
	at, to := l.segmentOf(from), l.segmentOf(bound)
	if at != to {
		return math.MaxInt64
	}
	s := l.segments[at]
	return s.positionOf(bound) - s.positionOf(from)
}
