package simbroker

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// markerChannel implements txn.Markers: WriteTxnMarkers between brokers.
type markerChannel struct {
	*node
	brokers *nodes
	faults  *faults
}

func (b markerChannel) Leader(tp kafka.TopicPartition) (kafka.BrokerID, bool) {
	p, ok := b.agent.Image().Partition(tp)
	if !ok || p.Leader == kafka.NoBroker {
		return kafka.NoBroker, false
	}
	return p.Leader, true
}

func (b markerChannel) Write(leader kafka.BrokerID, m txn.Marker, done func([]error, error)) {
	b.faults.markers(b.host, m, done, func(m txn.Marker, done func([]error, error)) {
		to := b.brokers.node(leader)
		timeout := b.agent.Config().Duration("request.timeout.ms")
		b.brokers.call(b.port, to.port, timeout, func(reply func(func())) {
			to.writeMarker(m, func(results []error) { reply(func() { done(results, nil) }) })
		}, func(err error) { done(nil, err) })
	})
}

// writeMarker serves WriteTxnMarkers of a coordinator, one error a partition.
// Those of __consumer_offsets pass the group coordinator, which applies the
// pending offsets (rule H6).
func (n *node) writeMarker(m txn.Marker, done func([]error)) {
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
	timeout := n.agent.Config().Duration("request.timeout.ms")
	for i, tp := range m.Partitions {
		answered := answer(i)
		switch _, hosted := n.replicas.Status(tp); {
		case !hosted:
			answered(kafka.ErrUnknownTopicOrPartition)
		case tp.Topic == kafka.ConsumerOffsetsTopic:
			n.groups.CompleteTransaction(tp.Partition, group.Marker{
				Producer:           m.Producer,
				Commit:             m.Commit,
				CoordinatorEpoch:   m.CoordinatorEpoch,
				TransactionVersion: m.TransactionVersion,
				Timeout:            timeout,
			}, answered)
		default:
			n.replicas.WriteMarkers(replica.MarkersRequest{
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
