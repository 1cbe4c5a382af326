package simbroker

import (
	"errors"
	"fmt"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/replica"
)

// check finds what is wrong with the broker's logs: every partition whose
// offsets are out of order, and batches that do not follow each other.
func (n *node) check() error {
	var wrong []error
	for _, tp := range n.replicas.Partitions() {
		s, ok := n.replicas.Status(tp)
		if !ok || inOrder(s, n.firstBatch(tp, s.LogStartOffset)) {
			continue
		}
		wrong = append(wrong, fmt.Errorf("broker %d, %v: offsets out of order: log start %d, last stable %d, high watermark %d, log end %d",
			n.id, tp, s.LogStartOffset, s.LastStableOffset, s.HighWatermark, s.LogEndOffset))
	}
	return errors.Join(append(wrong, n.replicas.Check())...)
}

// firstBatch is the base offset of the batch that holds an offset.
func (n *node) firstBatch(tp kafka.TopicPartition, offset kafka.Offset) kafka.Offset {
	for batch := range n.replicas.Log(tp).Batches(offset) {
		return batch.BaseOffset
	}
	return offset
}

// inOrder says whether LogStartOffset ≤ LastStableOffset ≤ HighWatermark ≤
// LogEndOffset. Where DeleteRecords has cut into a batch of an open
// transaction, the LSO may be the base offset of that batch, before the log
// start (rule B9).
func inOrder(s replica.PartitionStatus, firstBatch kafka.Offset) bool {
	stable := s.LogStartOffset <= s.LastStableOffset || s.LastStableOffset == firstBatch
	return stable && s.LastStableOffset <= s.HighWatermark && s.HighWatermark <= s.LogEndOffset && s.LogStartOffset <= s.HighWatermark
}
