package simbroker

import (
	"iter"
	"time"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
	"github.com/lso-exporter/lso-exporter/simbroker/txn"
)

// txnEnvironment is what the transaction coordinator of a broker needs from
// elsewhere.
func txnEnvironment(n *node, brokers *nodes, f *faults) txn.Environment {
	return txn.Environment{
		Log:      transactionLog{n},
		Markers:  markerChannel{n, brokers, f},
		IDs:      producerIDs{n},
		Features: features{n},
	}
}

// transactionLog implements txn.Log.
type transactionLog struct{ *node }

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

// producerIDs implements txn.IDs.
type producerIDs struct{ *node }

func (b producerIDs) Block(done func(kafka.ProducerID, int64, error)) {
	b.agent.AllocateProducerIDs(func(first kafka.ProducerID, count int64) { done(first, count, nil) })
}

// features implements txn.Features.
type features struct{ *node }

func (b features) TransactionVersion() int16 {
	return b.agent.Image().Features().Levels["transaction.version"]
}
