package replica

import (
	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// replica is a partition's log on this broker, with what metadata says of the
// partition.
type replica struct {
	*process
	state PartitionState // the newest that was applied since the start
	log   *commitlog.Log
}

// checkEpoch compares the leader epoch that a client knows with ours (rule E4);
// -1 is none.
func (r *replica) checkEpoch(known kafka.LeaderEpoch) error {
	switch {
	case known == -1:
		return nil
	case known < r.state.LeaderEpoch:
		return kafka.ErrFencedLeaderEpoch
	case known > r.state.LeaderEpoch:
		return kafka.ErrUnknownLeaderEpoch
	}
	return nil
}

// minISR is min.insync.replicas as far as there are replicas (rule F2).
func (r *replica) minISR() int {
	return min(r.state.Config.MinInsyncReplicas, len(r.state.Replicas))
}

// append takes over a leader's records, high watermark and log start (rules F3
// and F9). It says whether the records fit.
//
// What a deposed leader alone has may end amid a batch of the new leader, whose log
// starts in that batch since records were deleted: no epoch is left there by which it
// would show that they differ, and the batch does not fit.
func (r *replica) append(got *FetchedPartition) (fits bool) {
	if batches := got.Records.Batches(); len(batches) > 0 {
		first := batches[0].BaseOffset
		if end := r.log.LogEndOffset(); first < end {
			if r.log.LogStartOffset() != end {
				return false
			}
			// A log that was to start amid a batch starts with that batch.
			r.log.Reset(first, r.nowMs())
		}
		r.log.AppendFollower(batches, r.nowMs())
	}
	r.log.FollowHighWatermark(got.HighWatermark)
	if got.LogStartOffset > r.log.LogStartOffset() && got.LogStartOffset <= r.log.HighWatermark() {
		if _, err := r.log.DeleteBefore(got.LogStartOffset); err != nil {
			panic(err)
		}
	}
	return true
}

// truncate drops what the leader does not have (rule F5, KIP-595).
func (r *replica) truncate(d commitlog.EpochEnd) {
	to := min(d.EndOffset, r.log.LogEndOffset())
	if own := r.log.EndOfEpoch(d.Epoch); own.Epoch >= 0 {
		to = min(own.EndOffset, r.log.LogEndOffset())
		if own.Epoch == d.Epoch {
			to = min(to, d.EndOffset)
		}
	}
	r.log.TruncateTo(to, r.nowMs())
}

// recoverRange follows a leader whose log lies from start to end, elsewhere than
// this one (rules F7 and F9). It says whether that was possible.
func (r *replica) recoverRange(start, end kafka.Offset) bool {
	switch {
	case end < r.log.LogEndOffset():
		r.log.TruncateTo(end, r.nowMs())
	case start > r.log.LogEndOffset():
		r.log.Reset(start, r.nowMs())
	default:
		return false
	}
	return true
}
