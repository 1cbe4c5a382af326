package replica

import (
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Append writes a coordinator's records as one batch. It returns the batch's
// base offset at once, or why nothing was appended, in which case done is never
// called. done is called when the high watermark has passed the batch, or with
// NOT_LEADER_OR_FOLLOWER or REQUEST_TIMED_OUT. Errors: those of a partition
// that this broker does not lead, NOT_ENOUGH_REPLICAS,
// INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE.
func (b *Broker) Append(req AppendRequest, done func(error)) (kafka.Offset, error) {
	p, err := b.writable(req.Partition, req.MinISR)
	if err != nil {
		return kafka.NoOffset, err
	}
	as := commitlog.Plainly()
	if req.Transactional {
		as.Producer, as.Transactional = req.Producer, true
	}
	if req.Sequenced {
		as.BaseSequence = 0
	}
	p.settle()
	appended, err := p.log.AppendCoordinator(commitlog.Build(as, req.Records), commitlog.Append{
		NowMs: b.nowMs(), LeaderEpoch: p.state.LeaderEpoch,
		Guard: req.Guard, Verify: b.cfg.TransactionPartitionVerification,
	})
	if err != nil {
		return kafka.NoOffset, err
	}
	p.appended()
	p.awaitAck(appended.LastOffset+1, orForever(req.Timeout), func(_ kafka.Offset, err error) { done(err) })
	return appended.FirstOffset, nil
}

// AppendMarker writes one end marker as a coordinator's Append writes records,
// with acks=-1 (rules C7 and C8); a timeout of 0 waits for ever. Errors: those of a partition that this broker
// does not lead, NOT_ENOUGH_REPLICAS, INVALID_PRODUCER_EPOCH,
// TRANSACTION_COORDINATOR_FENCED.
func (b *Broker) AppendMarker(tp kafka.TopicPartition, m commitlog.Marker, transactionVersion int8, timeout time.Duration, done func(error)) (kafka.Offset, error) {
	p, err := b.writable(tp, true)
	if err != nil {
		return kafka.NoOffset, err
	}
	p.settle()
	offset, err := p.log.AppendMarker(m, transactionVersion, commitlog.Append{NowMs: b.nowMs(), LeaderEpoch: p.state.LeaderEpoch})
	if err != nil {
		return kafka.NoOffset, err
	}
	p.appended()
	p.awaitAck(offset+1, orForever(timeout), func(_ kafka.Offset, err error) { done(err) })
	return offset, nil
}

func (b *Broker) writable(tp kafka.TopicPartition, minISR bool) (*partition, error) {
	p, err := b.lookupLeader(tp)
	if err == nil && minISR && len(p.state.ISR) < p.minISR() {
		return nil, kafka.ErrNotEnoughReplicas
	}
	return p, err
}

// WriteMarkers appends end markers and answers, partition by partition in the
// request's order, when all of them are replicated or refused (rule G17). A
// partition that this broker does not host is UNKNOWN_TOPIC_OR_PARTITION,
// whether it exists or not.
func (b *Broker) WriteMarkers(req MarkersRequest, done func([]MarkerResult)) {
	results := make([]MarkerResult, len(req.Partitions))
	m := commitlog.Marker{Producer: req.Producer, Commit: req.Commit, CoordinatorEpoch: req.CoordinatorEpoch}
	waiting := 1 // this loop
	finish := func() {
		if waiting--; waiting == 0 {
			done(results)
		}
	}
	for i, tp := range req.Partitions {
		out := &results[i]
		*out = MarkerResult{Partition: tp, Offset: kafka.NoOffset}
		if _, err := b.lookup(tp); err != nil {
			out.Err = kafka.ErrUnknownTopicOrPartition
			continue
		}
		waiting++
		out.Offset, out.Err = b.AppendMarker(tp, m, req.TransactionVersion, req.Timeout, func(err error) {
			out.Err = err
			finish()
		})
		if out.Err != nil && out.Offset == kafka.NoOffset {
			finish()
		}
	}
	finish()
}
