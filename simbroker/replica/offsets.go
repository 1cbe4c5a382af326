package replica

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
)

// nothingListed is the answer where no offset fits the question.
var nothingListed = ListedOffset{Offset: kafka.NoOffset, TimestampMs: -1, LeaderEpoch: -1}

// ListOffsets answers section E. Errors: UNKNOWN_TOPIC_OR_PARTITION,
// NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH,
// OFFSET_NOT_AVAILABLE, UNSUPPORTED_VERSION for an unknown special timestamp.
func (b *Broker) ListOffsets(req ListOffsetsRequest) (ListedOffset, error) {
	if req.Timestamp < EarliestPendingUpload {
		return nothingListed, kafka.ErrUnsupportedVersion
	}
	p, err := b.lookup(req.Partition)
	if err != nil {
		return nothingListed, err
	}
	if err := p.checkEpoch(req.CurrentLeaderEpoch); err != nil {
		return nothingListed, err
	}
	// A debugging client may ask any replica (rule E3).
	if p.role != Leader && req.ReplicaID != DebugReplica {
		return nothingListed, kafka.ErrNotLeaderOrFollower
	}
	switch req.Timestamp {
	case Latest:
		if p.boundUncertain(req) {
			return nothingListed, kafka.ErrOffsetNotAvailable
		}
		return ListedOffset{p.listBound(req), -1, p.state.LeaderEpoch}, nil
	case Earliest, EarliestLocal:
		start := p.log.LogStartOffset()
		return ListedOffset{start, -1, p.log.EpochAt(start)}, nil
	case LatestTiered, EarliestPendingUpload:
		return nothingListed, nil
	}
	return p.listByTimestamp(req)
}

// listBound is where what the asker may see ends (rule E1).
func (p *partition) listBound(req ListOffsetsRequest) kafka.Offset {
	switch {
	case req.ReplicaID != ConsumerReplica:
		return p.log.LogEndOffset()
	case req.Isolation == ReadCommitted:
		return p.log.LastStableOffset()
	}
	return p.log.HighWatermark()
}

// boundUncertain says whether a client's bound may still grow to what was
// committed under the leader before (rule E9, KIP-207).
func (p *partition) boundUncertain(req ListOffsetsRequest) bool {
	return req.ReplicaID == ConsumerReplica && p.leadership != nil && p.leadership.uncertain()
}

// listByTimestamp is rule E8: what lies at the bound or beyond is not found.
func (p *partition) listByTimestamp(req ListOffsetsRequest) (ListedOffset, error) {
	var at commitlog.TimestampOffset
	var found bool
	var err error
	if req.Timestamp == MaxTimestamp {
		at, found, err = p.log.MaxTimestampOffset()
	} else {
		at, found, err = p.log.OffsetForTimestamp(req.Timestamp)
	}
	switch {
	case err != nil:
		return nothingListed, kafka.ErrUnknownServerError
	case found && at.Offset < p.listBound(req):
		return ListedOffset(at), nil
	case p.boundUncertain(req):
		return nothingListed, kafka.ErrOffsetNotAvailable
	}
	return nothingListed, nil
}

// OffsetForLeaderEpoch is where the largest epoch not above the requested one
// ends in the leader's log, (-1, -1) if it cannot be told (rule E5, KIP-320).
// current is the leader epoch that the asker knows, -1 if none. Errors as for
// ListOffsets.
func (b *Broker) OffsetForLeaderEpoch(tp kafka.TopicPartition, current, requested kafka.LeaderEpoch) (commitlog.EpochEnd, error) {
	p, err := b.lookup(tp)
	if err == nil {
		err = p.checkEpoch(current)
	}
	if err == nil && p.role != Leader {
		err = kafka.ErrNotLeaderOrFollower
	}
	if err != nil {
		return commitlog.UndefinedEpochEnd, err
	}
	return p.log.EndOfEpoch(requested), nil
}

// DescribeProducers lists a partition's producers by id (rule G23); any
// replica answers, other brokers NOT_LEADER_OR_FOLLOWER or
// UNKNOWN_TOPIC_OR_PARTITION.
func (b *Broker) DescribeProducers(tp kafka.TopicPartition) ([]producer.State, error) {
	p, err := b.lookup(tp)
	if err != nil {
		return nil, err
	}
	return p.log.Producers(), nil
}

// DeleteRecords raises log start offsets (rules B8 and B9) and answers,
// partition by partition in order, when every live replica has followed.
// Errors: those of a partition that this broker does not lead,
// INVALID_TOPIC_EXCEPTION, POLICY_VIOLATION, OFFSET_OUT_OF_RANGE,
// REQUEST_TIMED_OUT, with the low watermark of the beginning.
func (b *Broker) DeleteRecords(partitions []DeleteRecordsPartition, timeout time.Duration, done func([]DeletedRecords)) {
	results := make([]DeletedRecords, len(partitions))
	waiting := 1 // this loop
	finish := func() {
		if waiting--; waiting == 0 {
			done(results)
		}
	}
	for i, at := range partitions {
		out := &results[i]
		*out = DeletedRecords{Partition: at.Partition, LowWatermark: kafka.NoOffset}
		p, to, err := b.deleteFrom(at)
		if err != nil {
			out.Err = err
			continue
		}
		waiting++
		p.awaitLowWatermark(to, timeout, func(low kafka.Offset, err error) {
			out.LowWatermark, out.Err = low, err
			finish()
		})
	}
	finish()
}

func (b *Broker) deleteFrom(at DeleteRecordsPartition) (p *partition, to kafka.Offset, err error) {
	if kafka.IsInternal(at.Partition.Topic) {
		return nil, 0, kafka.ErrInvalidTopicException
	}
	p, err = b.lookupLeader(at.Partition)
	if err != nil {
		return nil, 0, err
	}
	if c := p.log.Config(); c.Compact && !c.Delete {
		return nil, 0, kafka.ErrPolicyViolation
	}
	to = at.Offset
	if to == -1 {
		to = p.log.HighWatermark()
	}
	if to < 0 {
		return nil, 0, kafka.ErrOffsetOutOfRange
	}
	raised, err := p.log.DeleteBefore(to)
	if raised {
		p.wakeReaders()
	}
	return p, to, err
}
