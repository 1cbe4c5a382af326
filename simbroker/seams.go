package simbroker

import (
	"iter"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/controller"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/producer"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/share"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// What follows is what the rooms of a broker need from elsewhere: other rooms
// of the same broker, other brokers, the controller. Each type implements an
// interface that a room declares.

// peers implements replica.Peers.
type peers struct{ *broker }

func (b peers) Fetch(leader kafka.BrokerID, req replica.FetchRequest, done func(replica.FetchResult, error)) {
	if len(b.cluster.faults.installed) == 0 {
		b.fetch(leader, req, done)
		return
	}
	b.cluster.faults.fetches(b.broker, req, done, func(req replica.FetchRequest, done func(replica.FetchResult, error)) {
		b.fetch(leader, req, done)
	})
}

func (b peers) fetch(leader kafka.BrokerID, req replica.FetchRequest, done func(replica.FetchResult, error)) {
	to := b.cluster.broker(leader)
	b.cluster.network.call(b.port, to.port, 0, func(reply func(func())) {
		to.replicas.Fetch(req, func(r replica.FetchResult) { reply(func() { done(r, nil) }) })
	}, func(err error) { done(replica.FetchResult{}, err) })
}

func (b peers) AlterPartition(change replica.ISRChange, done func(replica.PartitionState, error)) {
	b.agent.AlterPartition(controller.ISRChange{
		TopicPartition: change.Partition,
		LeaderEpoch:    change.LeaderEpoch,
		PartitionEpoch: change.PartitionEpoch,
		ISR:            change.ISR,
	}, func(p *controller.Partition, err error) {
		t, ok := b.agent.Image().Topic(change.Partition.Topic)
		switch {
		case err != nil:
			done(replica.PartitionState{}, err)
		case !ok:
			done(replica.PartitionState{}, kafka.ErrUnknownTopicOrPartition)
		default:
			done(partitionState(change.Partition, t.ID, p, topicConfig(b.agent.Config().Topic(t.Config))), nil)
		}
	})
}

// metadata implements replica.Metadata.
type metadata struct{ *broker }

func (b metadata) Exists(tp kafka.TopicPartition) bool {
	_, ok := b.agent.Image().Partition(tp)
	return ok
}

func (b metadata) Unfenced(id kafka.BrokerID) bool {
	other, ok := b.agent.Image().Broker(id)
	return ok && !other.Fenced
}

func (b metadata) Rack(id kafka.BrokerID) string {
	if other, ok := b.agent.Image().Broker(id); ok && !other.Fenced {
		return other.Rack
	}
	return ""
}

// transactionVerifier implements replica.Verifier: AddPartitionsToTxn between
// brokers (rule G10).
type transactionVerifier struct{ *broker }

func (b transactionVerifier) Verify(req replica.VerifyRequest, done func([]error)) {
	all := func(err error) []error {
		errs := make([]error, len(req.Partitions))
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	coordinator, err := b.agent.Coordinator(kafka.TransactionStateTopic, req.TransactionalID)
	if err != nil {
		done(all(err))
		return
	}
	to := b.cluster.broker(coordinator.ID)
	b.cluster.network.call(b.port, to.port, b.agent.Config().Duration("request.timeout.ms"), func(reply func(func())) {
		to.verify(req, func(errs []error, err error) {
			if errs == nil {
				errs = all(err)
			}
			reply(func() { done(errs) })
		})
	}, func(error) { done(all(kafka.ErrCoordinatorNotAvailable)) })
}

// verify serves AddPartitionsToTxn of another broker: with one error for each
// partition, or one for all.
func (b *broker) verify(req replica.VerifyRequest, done func([]error, error)) {
	if req.Add {
		b.txn.AddPartitions(txn.AddPartitionsRequest{
			TransactionalID: req.TransactionalID,
			Producer:        req.Producer,
			Partitions:      req.Partitions,
			ClientVersion:   txn.TV2,
		}, func(err error) { done(nil, err) })
		return
	}
	done(b.txn.VerifyPartitions(txn.VerifyPartitionsRequest{
		TransactionalID: req.TransactionalID,
		Producer:        req.Producer,
		Partitions:      req.Partitions,
	}), nil)
}

// markerChannel implements txn.Markers: WriteTxnMarkers between brokers.
type markerChannel struct{ *broker }

func (b markerChannel) Leader(tp kafka.TopicPartition) (kafka.BrokerID, bool) {
	p, ok := b.agent.Image().Partition(tp)
	if !ok || p.Leader == kafka.NoBroker {
		return kafka.NoBroker, false
	}
	return p.Leader, true
}

func (b markerChannel) Write(leader kafka.BrokerID, m txn.Marker, done func([]error, error)) {
	b.cluster.faults.markers(b.broker, m, done, func(m txn.Marker, done func([]error, error)) {
		to := b.cluster.broker(leader)
		timeout := b.agent.Config().Duration("request.timeout.ms")
		b.cluster.network.call(b.port, to.port, timeout, func(reply func(func())) {
			to.writeMarker(m, func(results []error) { reply(func() { done(results, nil) }) })
		}, func(err error) { done(nil, err) })
	})
}

// writeMarker serves WriteTxnMarkers of a coordinator, one error a partition.
// Those of __consumer_offsets pass the group coordinator, which applies the
// pending offsets (rule H6).
func (b *broker) writeMarker(m txn.Marker, done func([]error)) {
	results := make([]error, len(m.Partitions))
	left := len(m.Partitions)
	answer := func(i int) func(error) {
		return func(err error) {
			results[i] = err
			if left--; left == 0 {
				done(results)
			}
		}
	}
	timeout := b.agent.Config().Duration("request.timeout.ms")
	for i, tp := range m.Partitions {
		answered := answer(i)
		switch _, hosted := b.replicas.Status(tp); {
		case !hosted:
			answered(kafka.ErrUnknownTopicOrPartition)
		case tp.Topic == kafka.ConsumerOffsetsTopic:
			b.groups.CompleteTransaction(tp.Partition, group.Marker{
				Producer:           m.Producer,
				Commit:             m.Commit,
				CoordinatorEpoch:   m.CoordinatorEpoch,
				TransactionVersion: m.TransactionVersion,
				Timeout:            timeout,
			}, answered)
		default:
			b.replicas.WriteMarkers(replica.MarkersRequest{
				Producer:           m.Producer,
				CoordinatorEpoch:   m.CoordinatorEpoch,
				Commit:             m.Commit,
				TransactionVersion: int8(m.TransactionVersion),
				Timeout:            timeout,
				Partitions:         []kafka.TopicPartition{tp},
			}, func(r []replica.MarkerResult) { answered(r[0].Err) })
		}
	}
}

// producerIDs implements txn.IDs.
type producerIDs struct{ *broker }

func (b producerIDs) Block(done func(kafka.ProducerID, int64, error)) {
	b.agent.AllocateProducerIDs(func(first kafka.ProducerID, count int64) { done(first, count, nil) })
}

// features implements txn.Features.
type features struct{ *broker }

func (b features) TransactionVersion() int16 {
	return b.agent.Image().Features().Levels["transaction.version"]
}

// transactionLog implements txn.Log.
type transactionLog struct{ *broker }

func (b transactionLog) Append(partition int32, records []txn.Record, timeout time.Duration, done func(error)) {
	req := replica.AppendRequest{
		Partition: kafka.TopicPartition{Topic: kafka.TransactionStateTopic, Partition: partition},
		Producer:  kafka.Producer{ID: kafka.NoProducerID, Epoch: kafka.NoProducerEpoch},
		MinISR:    true,
		Timeout:   timeout,
	}
	now := b.host.Now().UnixMilli()
	for _, r := range records {
		req.Records = append(req.Records, commitlog.Record{TimestampMs: now, Key: r.Key, Value: r.Value})
	}
	if _, err := b.replicas.Append(req, done); err != nil {
		done(err)
	}
}

func (b transactionLog) Records(partition int32) iter.Seq[txn.Record] {
	return func(yield func(txn.Record) bool) {
		for e := range b.entries(kafka.TopicPartition{Topic: kafka.TransactionStateTopic, Partition: partition}) {
			if !e.Marker && !yield(txn.Record{Key: e.Key, Value: e.Value}) {
				return
			}
		}
	}
}

// entries reads the local log of an internal partition from start to end.
func (b *broker) entries(tp kafka.TopicPartition) iter.Seq[group.Entry] {
	return func(yield func(group.Entry) bool) {
		log := b.replicas.Log(tp)
		if log == nil {
			return
		}
		for batch := range log.Batches(log.LogStartOffset()) {
			if !yieldBatch(batch, yield) {
				return
			}
		}
	}
}

func yieldBatch(batch commitlog.Batch, yield func(group.Entry) bool) bool {
	e := group.Entry{Producer: kafka.Producer{ID: kafka.NoProducerID, Epoch: kafka.NoProducerEpoch}}
	if batch.Attributes.IsTransactional() {
		e.Producer = batch.Producer
	}
	if m, ok := batch.Marker(); ok {
		e.Offset, e.Marker, e.Commit = batch.BaseOffset, true, m.Commit
		return yield(e)
	}
	records, err := batch.Records()
	if err != nil {
		return true // what cannot be read stays unread, as in Kafka
	}
	for _, r := range records {
		e.Offset, e.Record = r.Offset, group.Record{Key: r.Key, Value: r.Value}
		if !yield(e) {
			return false
		}
	}
	return true
}

// offsetsLog implements group.Log.
type offsetsLog struct{ *broker }

func offsetsPartition(partition int32) kafka.TopicPartition {
	return kafka.TopicPartition{Topic: kafka.ConsumerOffsetsTopic, Partition: partition}
}

func (b offsetsLog) Append(partition int32, batch group.Batch, done func(error)) (kafka.Offset, error) {
	req := replica.AppendRequest{
		Partition:     offsetsPartition(partition),
		Producer:      batch.Producer,
		Transactional: batch.Producer.ID != kafka.NoProducerID,
		Guard:         batch.Guard,
		Sequenced:     true,
		Timeout:       batch.Timeout,
	}
	now := b.host.Now().UnixMilli()
	for _, r := range batch.Records {
		req.Records = append(req.Records, commitlog.Record{TimestampMs: now, Key: r.Key, Value: r.Value})
	}
	return b.replicas.Append(req, done)
}

func (b offsetsLog) AppendMarker(partition int32, m group.Marker, done func(kafka.Offset, error)) {
	b.replicas.WriteMarkers(replica.MarkersRequest{
		Producer:           m.Producer,
		CoordinatorEpoch:   m.CoordinatorEpoch,
		Commit:             m.Commit,
		TransactionVersion: int8(m.TransactionVersion),
		Timeout:            m.Timeout,
		Partitions:         []kafka.TopicPartition{offsetsPartition(partition)},
	}, func(r []replica.MarkerResult) { done(r[0].Offset, r[0].Err) })
}

func (b offsetsLog) HighWatermark(partition int32) kafka.Offset {
	s, _ := b.replicas.Status(offsetsPartition(partition))
	return s.HighWatermark
}

func (b offsetsLog) Entries(partition int32) iter.Seq[group.Entry] {
	return b.entries(offsetsPartition(partition))
}

// groupTopics implements group.Topics.
type groupTopics struct{ *broker }

func (b groupTopics) Topic(name string) (group.Topic, bool) {
	t, ok := b.agent.Image().Topic(name)
	if !ok {
		return group.Topic{}, false
	}
	return group.Topic{Name: t.Name, ID: t.ID, Partitions: int32(len(t.Partitions))}, true
}

func (b groupTopics) TopicByID(id kafka.TopicID) (group.Topic, bool) {
	t, ok := b.agent.Image().TopicByID(id)
	if !ok {
		return group.Topic{}, false
	}
	return b.Topic(t.Name)
}

func (b groupTopics) Names() []string {
	topics := b.agent.Image().Topics()
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.Name
	}
	return names
}

func (b groupTopics) Version() int64 { return b.agent.Image().Offset() }

// shareStates implements group.ShareStates: a message to the store, which is
// everywhere.
type shareStates struct{ *broker }

func (b shareStates) Initialize(groupID string, partitions []group.SharePartition, epoch int32, done func(error)) {
	b.cluster.network.send(b.port, func() {
		var failed error
		for _, p := range partitions {
			if err := b.cluster.shares.Initialize(share.Key{Group: groupID, TopicID: p.TopicID, Partition: p.Partition}, epoch, p.Start); err != nil {
				failed = err
			}
		}
		done(failed)
	})
}

func (b shareStates) Delete(groupID string, done func(error)) {
	b.cluster.network.send(b.port, func() {
		b.cluster.shares.DeleteGroup(groupID)
		done(nil)
	})
}

func (b shareStates) DeleteTopics(groupID string, topics []kafka.TopicID, done func(error)) {
	b.cluster.network.send(b.port, func() {
		for _, id := range topics {
			b.cluster.shares.DeleteGroupTopic(groupID, id)
		}
		done(nil)
	})
}

// topicName is the name that a topic's id has now.
func (b *broker) topicName(id kafka.TopicID) (string, bool) {
	t, ok := b.agent.Image().TopicByID(id)
	if !ok {
		return "", false
	}
	return t.Name, true
}

// endOffset asks a partition's leader for the high watermark.
func (b *broker) endOffset(tp kafka.TopicPartition, done func(kafka.Offset, error)) {
	p, ok := b.agent.Image().Partition(tp)
	if !ok || p.Leader == kafka.NoBroker {
		done(kafka.NoOffset, kafka.ErrLeaderNotAvailable)
		return
	}
	to := b.cluster.broker(p.Leader)
	b.cluster.network.call(b.port, to.port, b.agent.Config().Duration("request.timeout.ms"), func(reply func(func())) {
		at, err := to.replicas.ListOffsets(replica.ListOffsetsRequest{
			ReplicaID: replica.ConsumerReplica, Partition: tp, CurrentLeaderEpoch: -1, Timestamp: replica.Latest,
		})
		reply(func() { done(at.Offset, err) })
	}, func(err error) { done(kafka.NoOffset, err) })
}

// offsetsVerifier implements group.Verifier.
type offsetsVerifier struct{ *broker }

func (b offsetsVerifier) Verify(v group.Verification, done func(producer.Guard, error)) {
	support := map[group.VerifyMode]replica.TransactionSupport{
		group.DefaultError:          replica.DefaultError,
		group.GenericErrorSupported: replica.GenericErrorSupported,
		group.AddPartition:          replica.AddPartition,
	}[v.Mode]
	b.replicas.Verify(v.Partition, v.TransactionalID, v.Producer, support, done)
}
