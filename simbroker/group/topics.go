package group

import (
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Topic is a topic as a coordinator sees it.
type Topic struct {
	Name       string
	ID         kafka.TopicID
	Partitions int32
}

// Topics is the metadata of topics as this broker has it. It answers at once
// and changes with the broker's metadata only.
type Topics interface {
	Topic(name string) (Topic, bool)
	TopicByID(id kafka.TopicID) (Topic, bool)
	// Names lists all topics, sorted.
	Names() []string
	// Version is the metadata offset up to which the broker has come.
	Version() int64
}

// SortedNames is topic names in order, each once.
func SortedNames(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }
