package assignment

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/lso-exporter/lso-exporter/simbroker/group"
	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// Sizes is the partition counts of topics by id; those that do not exist are
// left out.
func Sizes(names []string, topics group.Topics) map[kafka.TopicID]int32 {
	sizes := make(map[kafka.TopicID]int32, len(names))
	for _, name := range names {
		if t, ok := topics.Topic(name); ok {
			sizes[t.ID] = t.Partitions
		}
	}
	return sizes
}

// Hash is a hash of what a group's topics are: another one when a topic came,
// went, was created anew or has more partitions. Kafka's is an XXH3 that knows
// of racks, too; nobody compares the two.
func Hash(names []string, topics group.Topics) uint64 {
	h := fnv.New64a()
	some := false
	for _, name := range names {
		t, ok := topics.Topic(name)
		if !ok {
			continue
		}
		some = true
		h.Write(t.ID[:])
		var count [4]byte
		binary.BigEndian.PutUint32(count[:], uint32(t.Partitions))
		h.Write(count[:])
	}
	if !some {
		return 0
	}
	return h.Sum64()
}

func sortedTopics(sizes map[kafka.TopicID]int32) []kafka.TopicID {
	return slices.SortedFunc(maps.Keys(sizes), func(a, b kafka.TopicID) int { return bytes.Compare(a[:], b[:]) })
}
