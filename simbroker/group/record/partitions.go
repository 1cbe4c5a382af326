package record

import (
	"github.com/lso-exporter/lso-exporter/simbroker/group/assignment"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
	"github.com/lso-exporter/lso-exporter/simbroker/message"
)

// WritePartitions appends [topic id uuid │ [partition i32]].
func WritePartitions(w *message.Writer, s assignment.Set) {
	sorted := assignment.Sorted(s)
	w.Length(assignment.CountTopics(sorted))
	assignment.EachTopic(sorted, func(topic kafka.TopicID, partitions []int32) {
		w.UUID(topic)
		w.Int32s(partitions)
		w.Tags()
	})
}

// ReadPartitions reads what WritePartitions writes.
func ReadPartitions(r *message.Reader) assignment.Set {
	s := make(assignment.Set)
	for range r.Length() {
		topic := r.UUID()
		for _, n := range r.Int32s() {
			s[assignment.Partition{Topic: topic, Number: n}] = true
		}
		r.Tags(nil)
	}
	return s
}

// TagEpochs is the tagged field of a topic's partitions that has their
// assignment epochs.
const TagEpochs = 0

// WriteOwnership appends [topic id uuid │ [partition i32] │ tag 0 [epoch i32]].
func WriteOwnership(w *message.Writer, o assignment.Ownership) {
	sorted := assignment.Sorted(o)
	w.Length(assignment.CountTopics(sorted))
	assignment.EachTopic(sorted, func(topic kafka.TopicID, partitions []int32) {
		epochs := message.Writer{Flexible: true}
		epochs.Length(len(partitions))
		for _, n := range partitions {
			epochs.Int32(o[assignment.Partition{Topic: topic, Number: n}])
		}
		w.UUID(topic)
		w.Int32s(partitions)
		w.Tags(message.Tag{Number: TagEpochs, Value: epochs.B})
	})
}

// ReadOwnership reads what WriteOwnership writes. Partitions without epochs, as
// brokers before 4.3 wrote them, were assigned at the member's epoch.
func ReadOwnership(r *message.Reader, memberEpoch int32) assignment.Ownership {
	o := make(assignment.Ownership)
	for range r.Length() {
		topic := r.UUID()
		partitions := r.Int32s()
		var epochs []int32
		r.Tags(func(number int, v message.Reader) {
			if number == TagEpochs {
				v.Flexible = true
				epochs = v.Int32s()
			}
		})
		for i, n := range partitions {
			o[assignment.Partition{Topic: topic, Number: n}] = max(memberEpoch, 0)
			if len(epochs) == len(partitions) {
				o[assignment.Partition{Topic: topic, Number: n}] = epochs[i]
			}
		}
	}
	return o
}
