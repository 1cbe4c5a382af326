package simbroker

import (
	"iter"

	"github.com/lso-exporter/lso-exporter/simbroker/commitlog"
	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// entries reads the local log of an internal partition from start to end.
func (n *node) entries(tp kafka.TopicPartition) iter.Seq[group.Entry] {
	return func(yield func(group.Entry) bool) {
		log := n.replicas.Log(tp)
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
