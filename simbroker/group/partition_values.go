package group

import (
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// writePartitions appends [topic id uuid │ [partition i32]].
func writePartitions(w *message.Writer, s partitionSet) {
	sorted := sortedPartitions(s)
	w.Length(topicsIn(sorted))
	byTopic(sorted, func(topic kafka.TopicID, partitions []int32) {
		w.UUID(topic)
		w.Int32s(partitions)
		w.Tags()
	})
}

func readPartitions(r *message.Reader) partitionSet {
	s := make(partitionSet)
	for range r.Length() {
		topic := r.UUID()
		for _, n := range r.Int32s() {
			s[idPartition{topic, n}] = true
		}
		r.Tags(nil)
	}
	return s
}

// tagEpochs is the tagged field of a topic's partitions that has their
// assignment epochs.
const tagEpochs = 0

// writeOwnership appends [topic id uuid │ [partition i32] │ tag 0 [epoch i32]].
func writeOwnership(w *message.Writer, o ownership) {
	sorted := sortedPartitions(o)
	w.Length(topicsIn(sorted))
	byTopic(sorted, func(topic kafka.TopicID, partitions []int32) {
		epochs := message.Writer{Flexible: true}
		epochs.Length(len(partitions))
		for _, n := range partitions {
			epochs.Int32(o[idPartition{topic, n}])
		}
		w.UUID(topic)
		w.Int32s(partitions)
		w.Tags(message.Tag{Number: tagEpochs, Value: epochs.B})
	})
}

// readOwnership reads what writeOwnership writes. Partitions without epochs, as
// brokers before 4.3 wrote them, were assigned at the member's epoch.
func readOwnership(r *message.Reader, memberEpoch int32) ownership {
	o := make(ownership)
	for range r.Length() {
		topic := r.UUID()
		partitions := r.Int32s()
		var epochs []int32
		r.Tags(func(number int, v message.Reader) {
			if number == tagEpochs {
				v.Flexible = true
				epochs = v.Int32s()
			}
		})
		for i, n := range partitions {
			o[idPartition{topic, n}] = max(memberEpoch, 0)
			if len(epochs) == len(partitions) {
				o[idPartition{topic, n}] = epochs[i]
			}
		}
	}
	return o
}
