package group

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// SharePartition is a partition, by its topic's id, that a share group begins
// with.
type SharePartition struct {
	TopicID   kafka.TopicID
	Partition int32
	// Start is where, NoOffset for where the group's setting says.
	Start kafka.Offset
}

// ShareStates keeps what share groups were delivered, as the share coordinator
// does (KIP-932). done is invoked once, in a later event or before the call
// returns; an error says that the state is as it was.
type ShareStates interface {
	// Initialize sets state up for partitions, in place of what there is; epoch
	// is the group's.
	Initialize(groupID string, partitions []SharePartition, epoch int32, done func(error))
	// Delete forgets all that is kept for a group.
	Delete(groupID string, done func(error))
	// DeleteTopics forgets what is kept for topics of a group.
	DeleteTopics(groupID string, topics []kafka.TopicID, done func(error))
}
