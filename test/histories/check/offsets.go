package check

import (
	"fmt"
	"slices"
)

// The offsets of a partition, by what they are called.
const (
	LogStart      = "log start offset"
	LastStable    = "last stable offset"
	HighWatermark = "high watermark"
	LogEnd        = "log end offset"
)

// ascending is the order that always holds between them.
var ascending = []string{LogStart, LastStable, HighWatermark, LogEnd}

// Offsets holds what leaders say of their partitions' offsets to
//
//	log start ≤ last stable ≤ high watermark ≤ log end
//
// and to none of them going back under one leader epoch. A last stable offset may
// lie below the log start where records were deleted amid a batch (rule B9).
type Offsets struct {
	Complaints
	last map[lastKey]Sight
	cut  map[Partition]bool
}

type lastKey struct {
	at    Partition
	epoch int32
	what  string
}

// Sight is one offset as an answer told it. No two answers of one broker are about
// the same moment: Sent and Answered, of any clock that does not go back, enclose
// it.
type Sight struct {
	Epoch          int32
	What           string
	Offset         int64
	Sent, Answered int64
}

// String is the sight in words.
func (s Sight) String() string { return fmt.Sprintf("%s %d", s.What, s.Offset) }

// NewOffsets returns a checker that has seen nothing.
func NewOffsets() *Offsets {
	return &Offsets{last: map[lastKey]Sight{}, cut: map[Partition]bool{}}
}

// Cut notes that records of a partition may have been deleted amid a batch.
func (o *Offsets) Cut(at Partition) { o.cut[at] = true }

// See judges an offset by those that were seen before. As none goes back, one that
// was answered before this was asked for bounds it: what is lower in rank, or the
// same, was no greater.
func (o *Offsets) See(at Partition, s Sight) {
	for _, what := range ascending[:slices.Index(ascending, s.What)+1] {
		before, known := o.last[lastKey{at, s.Epoch, what}]
		if !known || before.Answered > s.Sent || before.Offset <= s.Offset {
			continue
		}
		if what == LogStart && s.What == LastStable && o.cut[at] {
			continue
		}
		o.add("%v, leader epoch %d: %v after %v", at, s.Epoch, s, before)
	}
	key := lastKey{at, s.Epoch, s.What}
	if before, known := o.last[key]; !known || before.Offset <= s.Offset {
		o.last[key] = s
	}
}

// Together judges offsets of one answer, which are all of one moment: those of a
// Fetch. -1 stands for one that is not told.
func (o *Offsets) Together(at Partition, logStart, lastStable, highWatermark int64) {
	switch {
	case lastStable < 0 || highWatermark < 0:
	case lastStable > highWatermark:
		o.add("%v: last stable offset %d above high watermark %d", at, lastStable, highWatermark)
	case logStart > highWatermark:
		o.add("%v: log start offset %d above high watermark %d", at, logStart, highWatermark)
	case logStart > lastStable && !o.cut[at]:
		o.add("%v: log start offset %d above last stable offset %d, and no record was deleted", at, logStart, lastStable)
	}
}
