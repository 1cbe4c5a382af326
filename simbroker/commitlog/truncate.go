package commitlog

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// AssignEpoch records that the leader of this epoch starts writing at the log
// end.
func (l *Log) AssignEpoch(epoch kafka.LeaderEpoch) { l.epochs.assign(epoch, l.logEnd) }

// LatestEpoch is the last leader epoch in the log, -1 if there is none.
func (l *Log) LatestEpoch() kafka.LeaderEpoch {
	epoch, _ := l.epochs.latest()
	return epoch
}

// EpochAt is the leader epoch of the record at the offset, -1 if unknown.
func (l *Log) EpochAt(offset kafka.Offset) kafka.LeaderEpoch { return l.epochs.at(offset) }

// EndOfEpoch is the largest epoch in the log that is not above the requested
// one, and its end; UndefinedEpochEnd if it cannot be told, as when the log has
// no such epoch yet (rule E5).
func (l *Log) EndOfEpoch(requested kafka.LeaderEpoch) EpochEnd {
	return l.epochs.end(requested, l.logEnd)
}

// TruncateTo drops what lies at the offset and after it, with the whole batch
// that contains it (rule C13): producers are those before it again, and a
// transaction whose marker goes is open again.
func (l *Log) TruncateTo(offset kafka.Offset, nowMs int64) {
	if offset >= l.logEnd {
		// An epoch may have begun at the log end without a record.
		l.epochs.truncateFromEnd(l.logEnd)
		return
	}
	if offset < l.segments[0].base {
		l.Reset(offset, nowMs)
		return
	}
	keep := l.segmentOf(offset) + 1
	for _, s := range l.segments[keep:] {
		l.producers.DropSnapshot(s.base)
	}
	l.segments = slices.Clone(l.segments[:keep])
	l.active().truncate(offset)
	l.logEnd = offset
	l.logStart = min(l.logStart, offset)
	l.cleaned = min(l.cleaned, offset)
	l.epochs.truncateFromEnd(offset)
	from, replay := l.producers.Truncate(l.logStart, l.logEnd, nowMs, l.expireMs())
	l.rebuild(from, replay)
	l.highWatermark = min(l.highWatermark, l.logEnd)
	l.producers.Replicated(l.highWatermark)
	l.findUnstable()
}

// Reset makes the log an empty one that starts at the offset, as a follower
// does whose end lies before the leader's start (rules F7 and F9).
func (l *Log) Reset(offset kafka.Offset, nowMs int64) {
	l.segments = []*segment{newSegment(offset, nowMs)}
	l.epochs.clear()
	l.producers.Reset(offset)
	l.logStart, l.logEnd, l.highWatermark, l.cleaned = offset, offset, offset, offset
	l.findUnstable()
}

// rebuild replays the batches from the offset into the producers and takes a
// snapshot at the log end.
func (l *Log) rebuild(from kafka.Offset, replay bool) {
	if replay {
		for b := range l.Batches(from) {
			l.replay(b)
		}
	}
	l.producers.AdvanceTo(l.logEnd)
	l.producers.TakeSnapshot()
}

// Checkpoint writes the high watermark to disk, as brokers do every few
// seconds (replication-offset-checkpoint).
func (l *Log) Checkpoint() { l.checkpoint = l.highWatermark }

// Recover makes the log what a new process finds on disk (rule C12). A clean
// stop has written the checkpoint and a snapshot of the producers; after a kill
// the last segment is replayed whole, even below the log start. That a marker
// was not replicated yet is forgotten either way, so that the last stable
// offset may jump forward.
func (l *Log) Recover(clean bool, nowMs int64) {
	if clean {
		l.Checkpoint()
		l.producers.AdvanceTo(l.logEnd)
		l.producers.TakeSnapshot()
	} else {
		l.recoverSegment(nowMs)
	}
	if clean && !l.producers.HasSnapshots() {
		l.producers.Reset(l.logEnd)
	} else {
		from, replay := l.producers.Recover(l.logStart, l.logEnd, nowMs, l.expireMs())
		l.rebuild(from, replay)
	}
	l.highWatermark = min(max(l.checkpoint, l.logStart), l.logEnd)
	l.producers.Replicated(l.highWatermark)
	l.findUnstable()
}

// recoverSegment replays the last segment, which a kill leaves unflushed, onto
// the state before it, and keeps the result as a snapshot.
func (l *Log) recoverSegment(nowMs int64) {
	base := l.active().base
	from, replay := l.producers.Recover(l.logStart, base, nowMs, l.expireMs())
	if replay {
		for b := range l.Batches(from) {
			if b.BaseOffset >= base {
				break
			}
			l.replay(b)
		}
	}
	for _, b := range l.active().batches {
		l.replay(b)
	}
	l.producers.AdvanceTo(max(l.logEnd, l.logStart))
	l.producers.TakeSnapshot()
}
