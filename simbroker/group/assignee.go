package group

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// assignee is a member as an assignor sees it.
type assignee struct {
	id         string
	instanceID *string
	// topics is what the member subscribes to, with the number of partitions.
	topics map[kafka.TopicID]int32
	has    partitionSet // its present target
}
