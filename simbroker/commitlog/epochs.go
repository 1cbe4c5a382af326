package commitlog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// EpochEnd says where a leader epoch ends: the first offset after it.
type EpochEnd struct {
	Epoch     kafka.LeaderEpoch
	EndOffset kafka.Offset
}

// UndefinedEpochEnd is the answer where nothing is known: (-1, -1).
var UndefinedEpochEnd = EpochEnd{Epoch: -1, EndOffset: -1}

// epochStart says where a leader epoch begins.
type epochStart struct {
	epoch kafka.LeaderEpoch
	start kafka.Offset
}

// epochs is the leader epoch cache (KIP-101, KIP-279): epochs and start
// offsets both rise.
type epochs struct{ entries []epochStart }

// assign records that an epoch starts at the offset. Entries that would break
// the order are dropped: they are of leaders that never wrote.
func (c *epochs) assign(epoch kafka.LeaderEpoch, start kafka.Offset) {
	if n := len(c.entries); n > 0 && c.entries[n-1].epoch == epoch {
		return
	}
	c.entries = slices.DeleteFunc(c.entries, func(e epochStart) bool { return e.epoch >= epoch || e.start >= start })
	c.entries = append(c.entries, epochStart{epoch, start})
}

func (c *epochs) latest() (kafka.LeaderEpoch, bool) {
	if len(c.entries) == 0 {
		return -1, false
	}
	return c.entries[len(c.entries)-1].epoch, true
}

// end is the largest epoch not above the requested one, and its end.
func (c *epochs) end(requested kafka.LeaderEpoch, logEnd kafka.Offset) EpochEnd {
	latest, ok := c.latest()
	switch {
	case !ok || requested < 0:
		return UndefinedEpochEnd
	case requested == latest:
		return EpochEnd{latest, logEnd}
	case requested > latest:
		return UndefinedEpochEnd
	}
	higher := slices.IndexFunc(c.entries, func(e epochStart) bool { return e.epoch > requested })
	if higher == 0 {
		return EpochEnd{requested, c.entries[0].start}
	}
	return EpochEnd{c.entries[higher-1].epoch, c.entries[higher].start}
}

// at is the epoch of the record at the offset, -1 if unknown.
func (c *epochs) at(offset kafka.Offset) kafka.LeaderEpoch {
	epoch := kafka.LeaderEpoch(-1)
	for _, e := range c.entries {
		if e.start > offset {
			break
		}
		epoch = e.epoch
	}
	return epoch
}

func (c *epochs) truncateFromEnd(end kafka.Offset) {
	c.entries = slices.DeleteFunc(c.entries, func(e epochStart) bool { return e.start >= end })
}

// truncateFromStart drops the epochs that end before the offset; the one that
// contains it starts there from now on.
func (c *epochs) truncateFromStart(start kafka.Offset) {
	last := -1
	for i, e := range c.entries {
		if e.start <= start {
			last = i
		}
	}
	if last < 0 {
		return
	}
	c.entries = slices.Delete(c.entries, 0, last)
	c.entries[0].start = start
}

func (c *epochs) clear() { c.entries = nil }

// String lists epochs with their start offsets.
func (c *epochs) String() string {
	var s []string
	for _, e := range c.entries {
		s = append(s, fmt.Sprintf("%d@%d", e.epoch, e.start))
	}
	return "[" + strings.Join(s, " ") + "]"
}
