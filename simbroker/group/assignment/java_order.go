package assignment

import (
	"cmp"
	"encoding/binary"
	"slices"
	"unicode/utf16"

	"github.com/lso-exporter/lso-exporter/simbroker/kafka"
)

// inJavaOrder is items as a java.util.HashMap with their hashes as keys goes through
// them; that is how Kafka comes by members and topics. The table is of the size that
// it grows to, or of the one that it is made with for a known number of keys.
func inJavaOrder[T any](items []T, made bool, hash func(T) uint32) []T {
	buckets := 16
	for 4*len(items) > 3*buckets || made && 4*len(items) == 3*buckets {
		buckets *= 2
	}
	bucket := func(item T) int {
		h := hash(item)
		return int(h^h>>16) & (buckets - 1)
	}
	return slices.SortedStableFunc(slices.Values(items), func(a, b T) int { return cmp.Compare(bucket(a), bucket(b)) })
}

// hashOfMember is Java's hash of a member's id.
func hashOfMember(m Assignee) uint32 {
	var hash uint32
	for _, unit := range utf16.Encode([]rune(m.ID)) {
		hash = 31*hash + uint32(unit)
	}
	return hash
}

// hashOfTopic is Java's hash of a topic's id.
func hashOfTopic(id kafka.TopicID) uint32 {
	mixed := binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:])
	return uint32(mixed>>32) ^ uint32(mixed)
}

// hashOfPartition is Java's hash of a partition's number.
func hashOfPartition(p Partition) uint32 { return uint32(p.Number) }
