package assignment

import "github.com/lso-exporter/lso-exporter/simbroker/kafka"

// Assignee is a member as an assignor sees it.
type Assignee struct {
	ID         string
	InstanceID *string
	// Topics is what the member subscribes to, with the number of partitions.
	Topics map[kafka.TopicID]int32
	Has    Set // its present target
}
